//! Files that people write: TOML read so that everything wrong with it has a file, a line, a column and a key.
//!
//! For experiment, task, plan, surface and lexicon files alike. What the values mean, and whether the names in them
//! exist, is left to the crates that read them. Nothing is opened here: the text comes in as an argument.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One thing that is wrong with a file, printed as `file:line:column: key: message` with the line below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// Line and column, both from 1 (columns in characters); none where the problem is the file as a whole.
    pub position: Option<(usize, usize)>,
    /// Dotted path of the key; none where there is no key.
    pub key: Option<String>,
    /// What is wrong, the value, and the remedy.
    pub message: String,
    /// The line with a caret below it; none where there is none or where it may hold a secret.
    pub excerpt: Option<String>,
}

impl Problem {
    /// A problem of a file as a whole.
    pub fn of_file(file: &Path, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), position: None, key: None, message: message.into(), excerpt: None }
    }

    /// The same about a named key.
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same without the line: for values that must not be repeated.
    pub fn without_excerpt(mut self) -> Self {
        self.excerpt = None;
        self
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some((line, column)) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        if let Some(key) = &self.key {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.message)?;
        match &self.excerpt {
            Some(excerpt) => write!(f, "\n{excerpt}"),
            None => Ok(()),
        }
    }
}

/// A TOML file's name and text.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Where it was read from, as shown to people.
    pub file: &'a Path,
    /// Its text.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// Reads the file into plain structs (`deny_unknown_fields`, `toml::Spanned` where a place is wanted). Every unknown
    /// key is reported, and the first value of a wrong shape; a text that is not TOML is one problem.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Vec<Problem>> {
        let mut table = DeTable::parse(self.text).map_err(|error| vec![self.not_toml(&error)])?;
        let mut problems = Vec::new();
        loop {
            let error = match T::deserialize(toml::Deserializer::from(table.clone())) {
                Ok(value) if problems.is_empty() => return Ok(value),
                Ok(_) => return Err(in_order(problems)),
                Err(error) => error,
            };
            problems.push(self.wrong_shape(&error));
            // An unknown key hides every problem behind it: take it out and look again.
            let unknown = error.message().starts_with("unknown field");
            let removed = unknown && error.span().is_some_and(|span| remove_key(table.get_mut(), &span));
            if !removed {
                return Err(in_order(problems));
            }
        }
    }

    /// A problem at some bytes of the text; the key is the innermost one that holds them.
    pub fn at(&self, span: Range<usize>, message: impl Into<String>) -> Problem {
        let (line, column) = self.position(span.start);
        Problem {
            file: self.file.to_owned(),
            position: Some((line, column)),
            key: self.key_at(&span),
            message: message.into(),
            excerpt: Some(self.excerpt(&span)),
        }
    }

    fn not_toml(&self, error: &toml::de::Error) -> Problem {
        let message = format!("not valid TOML: {}", error.message().replace('\n', ", "));
        match error.span() {
            Some(span) => self.at(span, message),
            None => Problem::of_file(self.file, message),
        }
    }

    fn wrong_shape(&self, error: &toml::de::Error) -> Problem {
        let message = explain(error.message());
        let missing = missing_field(error.message());
        match (error.span(), missing) {
            // The file itself has no header to point at: its span is the whole text, or empty.
            (Some(span), Some(key)) if self.key_at(&span).is_none() || span.is_empty() => {
                Problem::of_file(self.file, message).with_key(key)
            }
            (Some(span), Some(key)) => {
                let mut problem = self.at(span, message);
                let table = problem.key.take().unwrap_or_default();
                problem.with_key(format!("{table}.{key}"))
            }
            (Some(span), None) => self.at(span, message),
            (None, Some(key)) => Problem::of_file(self.file, message).with_key(key),
            (None, None) => Problem::of_file(self.file, message),
        }
    }

    fn position(&self, offset: usize) -> (usize, usize) {
        let before = &self.text[..floor_char_boundary(self.text, offset)];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    fn excerpt(&self, span: &Range<usize>) -> String {
        let start = floor_char_boundary(self.text, span.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let end = floor_char_boundary(self.text, span.end).clamp(start, line_end);
        let line = self.text[line_start..line_end].trim_end_matches('\r');
        let number = self.position(start).0.to_string();
        let gutter = " ".repeat(number.len());
        let before = line.get(..start - line_start).unwrap_or(line);
        let indent: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let carets = "^".repeat(self.text[start..end].chars().count().max(1));
        match masked(line) {
            Some(shown) => format!(" {number} | {shown}"),
            None => format!(" {number} | {line}\n {gutter} | {indent}{carets}"),
        }
    }

    fn key_at(&self, span: &Range<usize>) -> Option<String> {
        let (table, _) = DeTable::parse_recoverable(self.text);
        let mut path = Vec::new();
        walk(table.get_ref(), span, &mut path);
        (!path.is_empty()).then(|| path.join("."))
    }
}

fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| problem.position);
    problems
}

/// Appends the keys that lead to the innermost value or key that holds the span.
fn walk(table: &DeTable<'_>, span: &Range<usize>, path: &mut Vec<String>) {
    for (key, value) in table {
        if holds(&key.span(), span) {
            path.push(key.get_ref().to_string());
            return;
        }
        let mut inner = vec![key.get_ref().to_string()];
        if walk_value(value, span, &mut inner) {
            path.append(&mut inner);
            return;
        }
    }
}

fn walk_value(value: &Spanned<DeValue<'_>>, span: &Range<usize>, path: &mut Vec<String>) -> bool {
    let before = path.len();
    match value.get_ref() {
        DeValue::Table(table) => walk(table, span, path),
        DeValue::Array(array) => {
            if array.iter().any(|item| walk_value(item, span, path)) {
                return true;
            }
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => {}
    }
    path.len() > before || holds(&value.span(), span)
}

fn remove_key(table: &mut DeTable<'_>, span: &Range<usize>) -> bool {
    let found = table.keys().find(|key| key.span() == *span).map(|key| key.get_ref().to_string());
    if let Some(key) = found {
        return table.remove(key.as_str()).is_some();
    }
    table.iter_mut().any(|(_, value)| remove_key_in(value.get_mut(), span))
}

fn remove_key_in(value: &mut DeValue<'_>, span: &Range<usize>) -> bool {
    match value {
        DeValue::Table(table) => remove_key(table, span),
        DeValue::Array(array) => array.iter_mut().any(|item| remove_key_in(item.get_mut(), span)),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_) => false,
    }
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end && !outer.is_empty()
}

fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A line whose value may be a secret, with the value left out: an error message ends in logs that others read.
fn masked(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let at = ["key", "secret", "password", "passwd", "authorization"]
        .iter()
        .filter_map(|word| lower.find(word))
        .min()?;
    let equals = at + line[at..].find('=')?;
    Some(format!("{}= … (value not shown)", &line[..equals]))
}

/// Puts the deserializer's words into ours: what is wrong, what is known, what was probably meant.
fn explain(message: &str) -> String {
    let words: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let rest = || words[1..].iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    if message.starts_with("unknown field") && !words.is_empty() {
        return unknown("key", words[0], &rest());
    }
    if message.starts_with("unknown variant") && !words.is_empty() {
        return unknown("word", words[0], &rest());
    }
    if let Some(key) = missing_field(message) {
        return format!("the key `{key}` is missing: add it");
    }
    let kinds = [
        (" u16", " a whole number from 0 to 65535"),
        (" u32", " a whole number from 0 to 4294967295"),
        (" u64", " a whole number of at least 0"),
        (" f64", " a number"),
    ];
    let plain = message.replace('\n', ", ");
    if let Some((value, _)) = plain.split_once(", expected struct ") {
        return format!("{value}, expected a table");
    }
    let kind = kinds.iter().find(|(kind, _)| plain.ends_with(&format!("expected{kind}")));
    match kind {
        Some((kind, words)) => format!("{}{words}", plain.trim_end_matches(kind)),
        None => plain,
    }
}

fn missing_field(message: &str) -> Option<&str> {
    message.strip_prefix("missing field `")?.strip_suffix('`')
}

/// The message for a word that is not among the known ones: what kind, the value, the known ones, the likely one.
pub fn unknown(kind: &str, value: &str, known: &[impl AsRef<str>]) -> String {
    unknown_to(kind, value, "", known)
}

/// The same for words that belong to something: `owner` follows the value, for example "of agent `pi`".
pub fn unknown_to(kind: &str, value: &str, owner: &str, known: &[impl AsRef<str>]) -> String {
    let owner = if owner.is_empty() { String::new() } else { format!(" {owner}") };
    let list: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let known =
        if list.is_empty() { "none is known".to_owned() } else { format!("known: {}", list.join(", ")) };
    match nearest(value, &list) {
        Some(near) => format!("unknown {kind} `{value}`{owner}; did you mean `{near}`? ({known})"),
        None => format!("unknown {kind} `{value}`{owner}; {known}"),
    }
}

/// The known word that was probably meant; none when nothing is close.
pub fn nearest<'k>(value: &str, known: &[&'k str]) -> Option<&'k str> {
    known
        .iter()
        .map(|word| (strsim::damerau_levenshtein(&value.to_lowercase(), word), *word))
        .filter(|(distance, word)| *distance * 3 <= word.len() || word.starts_with(value) && value.len() > 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    #[allow(dead_code, reason = "only its shape matters")]
    struct Outer {
        seed: u32,
        key_env: Option<String>,
        arm: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its shape matters")]
    struct Inner {
        name: String,
    }

    fn problems(text: &str) -> String {
        let source = Source { file: Path::new("x.toml"), text };
        let found = source.parse::<Outer>().unwrap_err();
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn every_unknown_key_is_named_with_its_place() {
        let text = "sed = 1\nseed = 2\n[[arm]]\nname = \"a\"\nnmae = \"b\"\n";
        insta::assert_snapshot!(problems(text), @r#"
        x.toml:1:1: sed: unknown key `sed`; did you mean `seed`? (known: seed, key-env, arm)
         1 | sed = 1
           | ^^^
        x.toml:5:1: arm.nmae: unknown key `nmae`; did you mean `name`? (known: name)
         5 | nmae = "b"
           | ^^^^
        "#);
    }

    #[test]
    fn a_wrong_type_shows_the_line_and_the_key() {
        insta::assert_snapshot!(problems("seed = \"ä\"\narm = []\n"), @r#"
        x.toml:1:8: seed: invalid type: string "ä", expected a whole number from 0 to 4294967295
         1 | seed = "ä"
           |        ^^^
        "#);
    }

    #[test]
    fn a_missing_key_is_reported_at_its_table() {
        insta::assert_snapshot!(problems("seed = 1\n\n[[arm]]\n"), @r#"
        x.toml:3:1: arm.name: the key `name` is missing: add it
         3 | [[arm]]
           | ^^^^^^^
        "#);
    }

    #[test]
    fn text_that_is_no_toml_is_one_problem() {
        insta::assert_snapshot!(problems("seed = 1\narm = [\n"), @r#"
        x.toml:2:8: arm: not valid TOML: unclosed array, expected `]`
         2 | arm = [
           |        ^
        "#);
    }

    #[test]
    fn a_line_that_may_hold_a_secret_is_never_repeated() {
        let shown = problems("seed = 1\narm = []\nkey-env = [\"sk-abc\"]\n");
        assert!(!shown.contains("sk-abc"), "{shown}");
        let shown = problems("seed = 1\narm = []\napi-key = \"sk-abc\"\n");
        assert!(!shown.contains("sk-abc"), "{shown}");
    }

    #[test]
    fn a_far_word_gets_no_suggestion() {
        assert_eq!(nearest("zebra", &["bare", "loaded"]), None);
        assert_eq!(nearest("lodaed", &["bare", "loaded"]), Some("loaded"));
    }
}
