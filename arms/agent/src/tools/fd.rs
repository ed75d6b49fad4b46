//! `fd`: files and folders by name.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::DirEntry;
use serde::Deserialize;

use super::cut;
use super::walk::Root;

/// Paths returned where the call sets no limit.
const LIMIT: usize = 1000;

/// Its arguments.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Arguments {
    pattern: Option<String>,
    path: Option<String>,
    #[serde(rename = "type")]
    kind: Option<Kind>,
    extension: Option<String>,
    #[serde(default)]
    glob: bool,
    #[serde(default)]
    hidden: bool,
    max_depth: Option<usize>,
    limit: Option<usize>,
}

/// Arguments of `glob`, the same search with fewer of them.
#[derive(Debug, Deserialize)]
pub(super) struct Glob {
    pattern: String,
    path: Option<String>,
    #[serde(default)]
    hidden: bool,
    limit: Option<usize>,
}

impl Arguments {
    /// What `glob` asks for.
    pub(super) fn of_glob(given: Glob) -> Self {
        let Glob { pattern, path, hidden, limit } = given;
        let kind = Some(Kind::File);
        Self { pattern: Some(pattern), path, hidden, limit, kind, glob: true, ..Self::default() }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Directory,
    Symlink,
}

/// What a name must be like.
enum Name {
    Any,
    /// Somewhere in the last part of the path.
    Regex(RegexMatcher),
    /// All of the last part of the path.
    Glob(GlobMatcher),
    /// All of the path below the root: the glob holds a slash.
    PathGlob(GlobMatcher),
}

pub(super) fn run(given: &Arguments, workspace: &Path) -> Result<String, String> {
    let root = Root::of(workspace, given.path.as_deref())?;
    if !root.is_folder() {
        return Err(format!("{} is a file, not a folder", given.path.as_deref().unwrap_or(".")));
    }
    let name = name_asked(given)?;
    let limit = given.limit.unwrap_or(LIMIT);
    let mut found = Vec::new();
    let mut walk = root.walk(given.hidden);
    for entry in
        walk.max_depth(given.max_depth).build().filter_map(Result::ok).filter(|entry| entry.depth() > 0)
    {
        if fits(&name, given, &root, &entry) {
            let slash = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
            found.push(format!("{}{slash}\n", root.spelled(&entry)));
        }
    }
    found.sort();
    if found.is_empty() {
        return Ok("[Nothing found.]".to_owned());
    }
    let shown = cut::fitting(found.iter().map(String::as_str)).min(limit);
    let mut text = found[..shown].concat();
    if shown < found.len() {
        text.push_str(&format!("[{shown} of {} paths; narrow the search to see the others.]", found.len()));
    }
    Ok(text)
}

fn name_asked(given: &Arguments) -> Result<Name, String> {
    let Some(pattern) = given.pattern.as_deref().filter(|pattern| !pattern.is_empty()) else {
        return Ok(Name::Any);
    };
    if !given.glob {
        let regex = RegexMatcherBuilder::new().build(pattern);
        return Ok(Name::Regex(
            regex.map_err(|error| format!("pattern is not a regular expression: {error}"))?,
        ));
    }
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let matcher = glob.map_err(|error| format!("pattern is not a glob: {error}"))?.compile_matcher();
    Ok(if pattern.contains('/') { Name::PathGlob(matcher) } else { Name::Glob(matcher) })
}

fn fits(name: &Name, given: &Arguments, root: &Root, entry: &DirEntry) -> bool {
    let last = entry.file_name();
    let named = match name {
        Name::Any => true,
        Name::Regex(regex) => regex.is_match(last.as_encoded_bytes()).unwrap_or(false),
        Name::Glob(glob) => glob.is_match(last),
        Name::PathGlob(glob) => glob.is_match(root.below(entry)),
    };
    let extension = given.extension.as_deref().map(|wanted| wanted.trim_start_matches('.'));
    let extended = extension.is_none_or(|wanted| {
        Path::new(last).extension().is_some_and(|found| found.eq_ignore_ascii_case(wanted))
    });
    let kind = entry.file_type();
    let of_kind = match given.kind {
        None => true,
        Some(Kind::File) => kind.is_some_and(|kind| kind.is_file()),
        Some(Kind::Directory) => kind.is_some_and(|kind| kind.is_dir()),
        Some(Kind::Symlink) => kind.is_some_and(|kind| kind.is_symlink()),
    };
    named && extended && of_kind
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/main.rs", "fn main() {}\n"),
            ("src/deep/mod.rs", ""),
            ("b.txt", ""),
            ("a.TXT", ""),
            (".hidden.txt", ""),
            (".git/x.txt", ""),
            (".gitignore", "target\n"),
            ("target/out.txt", ""),
            ("src/target/out.txt", ""),
        ] {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    fn find(given: Arguments) -> String {
        run(&given, tree().path()).unwrap()
    }

    #[test]
    fn names_are_found_in_order_without_ignored_and_hidden_ones() {
        assert_eq!(
            find(Arguments::default()),
            "a.TXT\nb.txt\nsrc/\nsrc/deep/\nsrc/deep/mod.rs\nsrc/main.rs\n"
        );
        let hidden = find(Arguments { hidden: true, extension: Some(".txt".into()), ..Arguments::default() });
        assert_eq!(hidden, ".hidden.txt\na.TXT\nb.txt\n");
        let directories =
            Arguments { kind: Some(Kind::Directory), path: Some("./src/".into()), ..Arguments::default() };
        assert_eq!(find(directories), "src/deep/\n");
        assert_eq!(find(Arguments { max_depth: Some(1), ..Arguments::default() }), "a.TXT\nb.txt\nsrc/\n");
        assert_eq!(
            find(Arguments { limit: Some(1), ..Arguments::default() }),
            "a.TXT\n[1 of 6 paths; narrow the search to see the others.]"
        );
    }

    #[test]
    fn patterns_are_regular_expressions_or_globs() {
        let by = |pattern: &str, glob: bool| {
            find(Arguments { pattern: Some(pattern.into()), glob, ..Arguments::default() })
        };
        assert_eq!(by("^m.*rs$", false), "src/deep/mod.rs\nsrc/main.rs\n");
        assert_eq!(by("*.txt", true), "b.txt\n");
        assert_eq!(by("src/**/*.rs", true), "src/deep/mod.rs\nsrc/main.rs\n");
        assert_eq!(by("src/*.rs", true), "src/main.rs\n");
        assert_eq!(by("nothing", false), "[Nothing found.]");
        let fault = |pattern: &str, glob| {
            run(&Arguments { pattern: Some(pattern.into()), glob, ..Arguments::default() }, tree().path())
                .unwrap_err()
        };
        assert!(fault("(", false).starts_with("pattern is not a regular expression: "));
        assert!(fault("[", true).starts_with("pattern is not a glob: "));
        let missing = Arguments { path: Some("no".into()), ..Arguments::default() };
        assert_eq!(run(&missing, tree().path()).unwrap_err(), "no: no such file or folder");
    }
}
