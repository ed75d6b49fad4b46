//! Arguments of a call from a lexicon's template. The placeholders are described at `bench_core::LexiconRule`.

use bench_core::Action;
use serde_json::{Map, Value};

/// Names that a template may use.
const NAMES: [&str; 19] = [
    "command",
    "path",
    "offset",
    "limit",
    "content",
    "old",
    "new",
    "whole",
    "pattern",
    "group",
    "workspace",
    "hunk",
    "added",
    "first",
    "last",
    "lines",
    "tag",
    "tool",
    "arguments",
];

/// The values that an action gives to placeholders.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Values {
    known: Map<String, Value>,
    /// Is any name a placeholder, and not only those of [`NAMES`]?
    open: bool,
}

impl Values {
    /// Values of an action; what it does not say is absent.
    pub(super) fn of(action: &Action) -> Self {
        let mut values = Map::new();
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                values.insert(name.to_owned(), value);
            }
        };
        match action {
            Action::Run { command } => set("command", Some(command.as_str().into())),
            Action::Read { path, offset, limit } => {
                set("path", Some(path.as_str().into()));
                set("offset", offset.map(Into::into));
                set("limit", limit.map(Into::into));
            }
            Action::Write { path, content } => {
                set("path", Some(path.as_str().into()));
                set("content", Some(content.as_str().into()));
                set("added", added(content).map(Into::into));
            }
            Action::Edit { path, old, new, whole } => {
                set("path", Some(path.as_str().into()));
                set("old", Some(old.as_str().into()));
                set("new", Some(new.as_str().into()));
                set("whole", whole.as_deref().map(Into::into));
                let exchange = whole.as_deref().and_then(|whole| Exchange::of(old, new, whole));
                set("hunk", exchange.as_ref().map(|exchange| exchange.hunk().into()));
                set("first", exchange.as_ref().map(|exchange| exchange.first.into()));
                set("last", exchange.as_ref().map(|exchange| exchange.last().into()));
                set("lines", exchange.map(|exchange| exchange.after.into()));
                set("added", whole.as_deref().and_then(added).map(Into::into));
            }
            Action::Search { pattern, path } | Action::Find { pattern, path } => {
                set("pattern", Some(pattern.as_str().into()));
                set("path", Some(path.as_str().into()));
            }
            Action::Use { values: said, .. } => return Self { known: said.clone(), open: true },
            Action::Answer { .. } => {}
        }
        Self { known: values, open: false }
    }

    /// The values of `{group}` and `{tool}` for what makes a tool callable.
    pub(super) fn of_load(group: &str, tool: &str) -> Self {
        let known = Map::from_iter([("group".to_owned(), group.into()), ("tool".to_owned(), tool.into())]);
        Self { known, open: false }
    }

    /// The same with the workspace's path.
    pub(super) fn in_workspace(mut self, workspace: &str) -> Self {
        self.known.insert("workspace".to_owned(), workspace.into());
        self
    }

    /// The same with the tag of a file's snapshot.
    pub(super) fn with_tag(mut self, tag: &str) -> Self {
        self.known.insert("tag".to_owned(), tag.into());
        self
    }

    /// The values of `{tool}` and `{arguments}` for code that calls a nested tool.
    pub(super) fn of_nested(tool: &str, arguments: &Value) -> Self {
        let arguments = Value::String(arguments.to_string());
        let known = Map::from_iter([("tool".to_owned(), tool.into()), ("arguments".to_owned(), arguments)]);
        Self { known, open: false }
    }

    /// Fills a template in; `None` when it needs a value that is absent.
    pub(super) fn fill(&self, template: &Value) -> Option<Value> {
        match template {
            Value::String(text) => self.fill_text(text),
            Value::Array(items) => {
                items.iter().map(|item| self.fill(item)).collect::<Option<_>>().map(Value::Array)
            }
            Value::Object(fields) => {
                let mut filled = Map::new();
                for (key, value) in fields {
                    if !self.is_left_out(value) {
                        filled.insert(key.clone(), self.fill(value)?);
                    }
                }
                Some(Value::Object(filled))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Some(template.clone()),
        }
    }

    /// Is it exactly an optional placeholder without a value?
    fn is_left_out(&self, value: &Value) -> bool {
        let placeholder = value.as_str().and_then(|text| self.whole_placeholder(text));
        placeholder.is_some_and(|p| p.form == Form::Optional && !self.known.contains_key(p.name))
    }

    fn fill_text(&self, text: &str) -> Option<Value> {
        if let Some(Placeholder { name, form: Form::Plain | Form::Optional, .. }) =
            self.whole_placeholder(text)
        {
            return self.known.get(name).cloned();
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            filled.push_str(&rest[..at]);
            rest = &rest[at..];
            let Some(placeholder) = self.placeholder_at(rest) else {
                filled.push('{');
                rest = &rest[1..];
                continue;
            };
            rest = &rest[placeholder.length..];
            match (self.known.get(placeholder.name), placeholder.form) {
                (Some(value), Form::Shell) => filled.push_str(&shell_quoted(&plain(value))),
                (Some(value), Form::Plain | Form::Optional) => filled.push_str(&plain(value)),
                (None, Form::Optional) => {}
                (None, Form::Plain | Form::Shell) => return None,
            }
        }
        filled.push_str(rest);
        Some(Value::String(filled))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Optional,
    Shell,
}

struct Placeholder<'a> {
    name: &'a str,
    form: Form,
    length: usize,
}

impl Values {
    /// The placeholder that a text is and nothing else.
    fn whole_placeholder<'a>(&self, text: &'a str) -> Option<Placeholder<'a>> {
        self.placeholder_at(text).filter(|placeholder| placeholder.length == text.len())
    }

    /// The placeholder that a text begins with. Other braces (of a shell, of JSON) are text.
    fn placeholder_at<'a>(&self, text: &'a str) -> Option<Placeholder<'a>> {
        let inner = text.strip_prefix('{')?;
        let (inner, _) = inner.split_once('}')?;
        let (name, form) = match (inner.strip_suffix('?'), inner.strip_suffix("|sh")) {
            (Some(name), _) => (name, Form::Optional),
            (None, Some(name)) => (name, Form::Shell),
            (None, None) => (inner, Form::Plain),
        };
        let is_name =
            |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let known = NAMES.contains(&name) || self.open && is_name(name);
        known.then_some(Placeholder { name, form, length: inner.len() + 2 })
    }
}

/// A file's text as the added lines of a patch; none where a patch would add a line end that is not there.
fn added(text: &str) -> Option<String> {
    let lines = text.strip_suffix('\n')?;
    Some(lines.split('\n').map(|line| format!("+{line}")).collect::<Vec<_>>().join("\n"))
}

/// An edit as whole lines that give way to others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Exchange {
    /// Number of the first line, from 1.
    first: usize,
    before: String,
    after: String,
}

impl Exchange {
    /// `whole` is the text after the edit: the place is known where the new text stands there once.
    fn of(old: &str, new: &str, whole: &str) -> Option<Self> {
        let at = whole.find(new).filter(|_| !new.is_empty() && whole.ends_with('\n'))?;
        if whole.matches(new).count() != 1 {
            return None;
        }
        let start = whole[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = at + new.len();
        let line_end = match new.ends_with('\n') && old.ends_with('\n') {
            true => end,
            false => end + whole[end..].find('\n')? + 1,
        };
        let around = |middle: &str| format!("{}{middle}{}", &whole[start..at], &whole[end..line_end]);
        let first = whole[..start].matches('\n').count() + 1;
        Some(Self { first, before: around(old), after: around(new) })
    }

    /// Number of the last line that gives way.
    fn last(&self) -> usize {
        self.first + self.before.lines().count() - 1
    }

    /// As removed and added lines of a patch.
    fn hunk(&self) -> String {
        let signed = |sign: char, text: &str| {
            text.trim_end_matches('\n').split('\n').map(|line| format!("{sign}{line}")).collect::<Vec<_>>()
        };
        [signed('-', &self.before), signed('+', &self.after)].concat().join("\n")
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A text as one word of a POSIX shell.
fn shell_quoted(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./,:@%+=".contains(&b);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(offset: Option<u32>) -> Values {
        Values::of(&Action::Read { path: "a b.txt".into(), offset, limit: None })
    }

    #[test]
    fn placeholders_take_values_with_their_type() {
        let template = json!({"path": "{path}", "offset": "{offset?}", "limit": "{limit?}", "deep": [{"p": "{path}"}], "n": 1});
        assert_eq!(
            read(Some(3)).fill(&template).unwrap().to_string(),
            r#"{"path":"a b.txt","offset":3,"deep":[{"p":"a b.txt"}],"n":1}"#
        );
        assert_eq!(
            read(None).fill(&template).unwrap().to_string(),
            r#"{"path":"a b.txt","deep":[{"p":"a b.txt"}],"n":1}"#
        );
    }

    #[test]
    fn inside_a_text_they_become_text_and_other_braces_stay() {
        let template = json!("sed -n '{offset},$p' {path|sh} | awk '{print ${x}}' {unknown} {limit?}.{");
        assert_eq!(
            read(Some(3)).fill(&template),
            Some(json!("sed -n '3,$p' 'a b.txt' | awk '{print ${x}}' {unknown} .{"))
        );
        assert_eq!(read(None).fill(&template), None, "a needed value is absent");
        assert_eq!(
            Values::of_load("files", "fd").fill(&json!({"load": "{group}"})),
            Some(json!({"load": "files"}))
        );
    }

    #[test]
    fn an_edit_becomes_whole_lines_of_a_patch() {
        let whole = "one\nlet x = 2;\nthree\n";
        let hunk = |old, new, whole| Exchange::of(old, new, whole).map(|exchange| exchange.hunk());
        assert_eq!(hunk("x = 1", "x = 2", whole).as_deref(), Some("-let x = 1;\n+let x = 2;"));
        assert_eq!(hunk("y\n", "one\n", whole).as_deref(), Some("-y\n+one"));
        assert_eq!(hunk("a", "e", whole), None, "it stands there more than once");
        let lines = |old, new| Exchange::of(old, new, whole).map(|e| (e.first, e.last(), e.after));
        assert_eq!(lines("x = 1", "x = 2"), Some((2, 2, "let x = 2;\n".into())));
        assert_eq!(lines("a\nb\nc", "x = 2"), Some((2, 4, "let x = 2;\n".into())));
        assert_eq!(lines("one\nfour\n", "one\n"), Some((1, 2, "one\n".into())));
        assert_eq!(added("a\n\nb\n").as_deref(), Some("+a\n+\n+b"));
        assert_eq!(added("a"), None);
    }

    proptest! {
        #[test]
        fn a_quoted_text_is_one_word_with_the_same_bytes(text in "[^\0]{0,20}") {
            let quoted = shell_quoted(&text);
            let unquoted = quoted.strip_prefix('\'').and_then(|q| q.strip_suffix('\''));
            let back = unquoted.map_or(quoted.clone(), |inner| inner.replace("'\\''", "'"));
            prop_assert_eq!(back, text);
        }
    }
}
