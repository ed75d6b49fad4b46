//! `rg`: the text of files.

use std::io;
use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use ignore::{Walk, WalkBuilder};
use serde::Deserialize;

use super::cut;
use super::walk::Root;

/// Characters of one line that are shown.
const LINE: usize = 500;

/// Its arguments.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    file_type: Option<String>,
    case_sensitive: Option<bool>,
    #[serde(default)]
    fixed_strings: bool,
    #[serde(default)]
    hidden: bool,
    #[serde(default)]
    context: usize,
    max_matches_per_file: Option<u64>,
}

/// Arguments of `grep`, the same search with fewer of them.
#[derive(Debug, Deserialize)]
pub(super) struct Grep {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    context: usize,
}

impl Arguments {
    /// What `grep` asks for.
    pub(super) fn of_grep(given: Grep) -> Self {
        let Grep { pattern, path, glob, ignore_case, literal, context } = given;
        let case_sensitive = Some(!ignore_case);
        Self { pattern, path, glob, case_sensitive, fixed_strings: literal, context, ..Self::default() }
    }
}

pub(super) fn run(given: &Arguments, workspace: &Path) -> Result<String, String> {
    let root = Root::of(workspace, given.path.as_deref())?;
    let matcher = matcher_asked(given)?;
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .before_context(given.context)
        .after_context(given.context)
        .max_matches(given.max_matches_per_file)
        .build();
    let mut lines = Lines::default();
    for entry in walk_asked(given, &root)?.filter_map(Result::ok) {
        if entry.file_type().is_some_and(|kind| kind.is_file()) && !lines.is_full() {
            lines.begin_file(root.spelled(&entry), given.context > 0);
            // A file that cannot be read is passed over, as one that cannot be entered is.
            let _ = searcher.search_path(&matcher, entry.path(), &mut lines);
            lines.end_file();
        }
    }
    Ok(lines.text())
}

fn matcher_asked(given: &Arguments) -> Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .fixed_strings(given.fixed_strings)
        .case_insensitive(given.case_sensitive == Some(false))
        .line_terminator(Some(b'\n'))
        .build(&given.pattern)
        .map_err(|error| format!("pattern is not a regular expression for one line: {error}"))
}

fn walk_asked(given: &Arguments, root: &Root) -> Result<Walk, String> {
    let mut walk: WalkBuilder = root.walk(given.hidden);
    if let Some(glob) = &given.glob {
        let mut overrides = OverrideBuilder::new(root.path());
        let built = overrides.add(glob).and_then(|overrides| overrides.build());
        walk.overrides(built.map_err(|error| format!("glob cannot be used: {error}"))?);
    }
    if let Some(file_type) = &given.file_type {
        let mut types = TypesBuilder::new();
        types.add_defaults().select(file_type);
        walk.types(
            types.build().map_err(|_| format!("file_type {file_type:?} is not known; use glob instead"))?,
        );
    }
    Ok(walk.build())
}

/// The lines of the result, file after file.
#[derive(Debug, Default)]
struct Lines {
    kept: Vec<String>,
    bytes: usize,
    full: bool,
    file: String,
    with_context: bool,
    /// How many lines stood before this file: what a binary file has given so far is taken back.
    before_file: usize,
    is_binary: bool,
}

impl Lines {
    fn begin_file(&mut self, path: String, with_context: bool) {
        (self.file, self.with_context, self.before_file, self.is_binary) =
            (path, with_context, self.kept.len(), false);
    }

    fn end_file(&mut self) {
        if self.is_binary {
            self.kept.truncate(self.before_file);
        }
    }

    fn is_full(&self) -> bool {
        self.full
    }

    fn add(&mut self, mark: char, number: Option<u64>, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        let end = line.char_indices().nth(LINE).map_or(line.len(), |(at, _)| at);
        let more = if end < line.len() { "…" } else { "" };
        let number = number.unwrap_or_default();
        self.keep(format!("{}{mark}{number}{mark}{}{more}\n", self.file, &line[..end]))
    }

    fn keep(&mut self, line: String) -> bool {
        self.bytes += line.len();
        self.full |= self.bytes > cut::BYTES || self.kept.len() >= cut::LINES;
        if !self.full {
            self.kept.push(line);
        }
        !self.full
    }

    fn text(self) -> String {
        let mut text = self.kept.concat();
        if self.full {
            text.push_str("[There are more matches; narrow the search to see them.]");
        } else if text.is_empty() {
            text.push_str("[Nothing found.]");
        }
        text
    }
}

impl Sink for &mut Lines {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        // Between two files with context the same mark as between two places of one file.
        if self.with_context && self.kept.len() == self.before_file && self.before_file > 0 {
            self.keep("--\n".to_owned());
        }
        Ok(self.add(':', found.line_number(), found.bytes()))
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> io::Result<bool> {
        if self.kept.len() == self.before_file && self.before_file > 0 {
            self.keep("--\n".to_owned());
        }
        Ok(self.add('-', near.line_number(), near.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        Ok(self.keep("--\n".to_owned()))
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/main.rs", "fn main() {\n    start();\n}\n"),
            ("b.txt", "one\ntwo\nthree\nTwo\nfive\nsix\ntwo (2)"),
            ("a.bin", "two\0"),
            (".hidden", "two\n"),
            (".ignore", "skipped\n"),
            ("skipped/c.txt", "two\n"),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn search(pattern: &str, change: impl Fn(&mut Arguments)) -> Result<String, String> {
        let mut given = Arguments { pattern: pattern.into(), ..Arguments::default() };
        change(&mut given);
        run(&given, tree().path())
    }

    #[test]
    fn matches_come_in_order_without_binary_hidden_and_ignored_files() {
        assert_eq!(search("tw.", |_| {}).unwrap(), "b.txt:2:two\nb.txt:7:two (2)\n");
        assert_eq!(
            search("two", |a| a.hidden = true).unwrap(),
            ".hidden:1:two\nb.txt:2:two\nb.txt:7:two (2)\n"
        );
        assert_eq!(search("TWO", |a| a.case_sensitive = Some(false)).unwrap().lines().count(), 3);
        assert_eq!(search("two (2)", |a| a.fixed_strings = true).unwrap(), "b.txt:7:two (2)\n");
        assert_eq!(search("two", |a| a.max_matches_per_file = Some(1)).unwrap(), "b.txt:2:two\n");
        assert_eq!(
            search("two", |a| a.path = Some("./b.txt".into())).unwrap(),
            "b.txt:2:two\nb.txt:7:two (2)\n"
        );
        assert_eq!(search("fn", |a| a.path = Some("src".into())).unwrap(), "src/main.rs:1:fn main() {\n");
        assert_eq!(search("nowhere", |_| {}).unwrap(), "[Nothing found.]");
    }

    #[test]
    fn files_are_chosen_by_glob_and_type_and_context_is_marked() {
        assert_eq!(search("t", |a| a.glob = Some("*.rs".into())).unwrap(), "src/main.rs:2:    start();\n");
        assert_eq!(
            search("t", |a| a.file_type = Some("rust".into())).unwrap(),
            "src/main.rs:2:    start();\n"
        );
        assert!(search("start", |a| a.glob = Some("!*.rs".into())).unwrap().starts_with("[Nothing"));
        assert_eq!(
            search("two|main", |a| a.context = 1).unwrap(),
            "b.txt-1-one\nb.txt:2:two\nb.txt-3-three\n--\nb.txt-6-six\nb.txt:7:two (2)\n\
             --\nsrc/main.rs:1:fn main() {\nsrc/main.rs-2-    start();\n"
        );
    }

    #[test]
    fn what_cannot_be_searched_is_named() {
        assert!(search("(", |_| {}).unwrap_err().starts_with("pattern is not a regular expression"));
        assert!(
            search("x", |a| a.file_type = Some("klingon".into()))
                .unwrap_err()
                .contains("\"klingon\" is not known")
        );
        assert!(search("x", |a| a.glob = Some("[".into())).unwrap_err().starts_with("glob cannot be used"));
        assert_eq!(search("x", |a| a.path = Some("no".into())).unwrap_err(), "no: no such file or folder");
    }

    #[test]
    fn long_results_and_long_lines_are_capped() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), format!("{}\n", "x".repeat(600)).repeat(300)).unwrap();
        let text = run(&Arguments { pattern: "x".into(), ..Arguments::default() }, folder.path()).unwrap();
        assert!(text.len() < cut::BYTES + 100 && text.ends_with("narrow the search to see them.]"));
        assert_eq!(text.lines().next().unwrap().chars().count(), "f:1:".len() + LINE + 1);
    }
}
