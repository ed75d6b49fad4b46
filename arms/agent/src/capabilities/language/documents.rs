//! The files that a server has been told of, each with the text that it was told last.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use serde_json::{Value, json};

/// Most files of a workspace that a server is told of.
const MOST: usize = 400;
/// Larger files are made and not written; none is told of, unless it is asked for.
const LARGEST: u64 = 1 << 20;

/// A change to tell: method and parameters.
type Told = (&'static str, Value);

/// A file that is open in the server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Open {
    version: i64,
    text: String,
}

/// Open files.
#[derive(Debug, Clone, Default)]
pub(super) struct Documents {
    open: BTreeMap<PathBuf, Open>,
    /// How often all of them were opened anew.
    versions: i64,
    /// Files beyond [`MOST`].
    pub(super) left_out: usize,
}

impl Documents {
    /// Looks at the workspace and answers what the server has to be told: opened, changed and closed files.
    pub(super) fn look(
        &mut self,
        folder: &Path,
        file: &Path,
        endings: &[(String, String)],
    ) -> Result<Vec<Told>, String> {
        let mut found = sources(folder, endings);
        self.left_out = found.len().saturating_sub(MOST);
        found.truncate(MOST);
        if !found.iter().any(|path| path == file) {
            found.push(file.to_owned());
        }
        let mut texts = BTreeMap::new();
        for path in found {
            match std::fs::read_to_string(&path) {
                Ok(text) => drop(texts.insert(path, text)),
                Err(error) if path == file => return Err(format!("{}: {error}", file.display())),
                // One that has just gone, or is no text, is nothing to look into.
                Err(_) => {}
            }
        }
        let is_same = |(path, open): (&PathBuf, &Open)| texts.get(path) == Some(&open.text);
        let is_stale = !self.open.iter().all(is_same);
        // A file that includes one which has changed is another one too, and a server may not look at it again by itself.
        let mut told = if is_stale { self.close_all() } else { Vec::new() };
        for (path, text) in texts {
            told.extend(self.seen(&path, text, endings));
        }
        Ok(told)
    }

    fn close_all(&mut self) -> Vec<Told> {
        self.versions += 1;
        let open = std::mem::take(&mut self.open);
        let close = |path: &PathBuf| ("textDocument/didClose", json!({"textDocument": {"uri": uri(path)}}));
        open.keys().map(close).collect()
    }

    fn seen(&mut self, path: &Path, text: String, endings: &[(String, String)]) -> Option<Told> {
        if self.open.contains_key(path) {
            return None;
        }
        let version = self.versions + 1;
        let id = language_of(path, endings);
        let params = json!({
            "textDocument": {"uri": uri(path), "languageId": id, "version": version, "text": text},
        });
        self.open.insert(path.to_owned(), Open { version, text });
        Some(("textDocument/didOpen", params))
    }

    /// The text that the server knows of a file.
    pub(super) fn text(&self, path: &Path) -> Option<&str> {
        self.open.get(path).map(|open| open.text.as_str())
    }

    /// Every open file with its version.
    pub(super) fn versions(&self) -> Vec<(String, i64)> {
        self.open.iter().map(|(path, open)| (uri(path), open.version)).collect()
    }
}

/// Sources of the workspace in a fixed order; what is ignored by git is not among them.
pub(super) fn sources(folder: &Path, endings: &[(String, String)]) -> Vec<PathBuf> {
    let mut walk = WalkBuilder::new(folder);
    walk.require_git(false).parents(false).git_global(false).follow_links(false);
    walk.sort_by_file_name(std::ffi::OsStr::cmp).max_filesize(Some(LARGEST));
    let is_source = |path: &Path| endings.iter().any(|(ending, _)| has_ending(path, ending));
    walk.build()
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(ignore::DirEntry::into_path)
        .filter(|path| is_source(path))
        .collect()
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|own| own == ending)
}

fn language_of<'a>(path: &Path, endings: &'a [(String, String)]) -> &'a str {
    endings.iter().find(|(ending, _)| has_ending(path, ending)).map_or("plaintext", |(_, id)| id.as_str())
}

/// A file below the folder, whole; the reason where it is none.
pub(super) fn inside(folder: &Path, file: &str) -> Result<PathBuf, String> {
    let fault = |error: std::io::Error| format!("{file}: {error}");
    let full = folder.join(file).canonicalize().map_err(fault)?;
    let folder = folder.canonicalize().map_err(fault)?;
    if !full.is_file() {
        return Err(format!("{file} is not a file"));
    }
    if !full.starts_with(&folder) {
        return Err(format!("{file} lies outside the working directory"));
    }
    Ok(full)
}

/// A path as a `file:` URI.
pub(super) fn uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let encoded: String = path
        .as_os_str()
        .as_bytes()
        .iter()
        .map(|byte| if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("file://{encoded}")
}

/// The path that a `file:` URI names; `None` for any other.
pub(super) fn path_of(uri: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    let encoded = uri.strip_prefix("file://")?.as_bytes();
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut at = 0;
    while at < encoded.len() {
        let hex = encoded.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| encoded[at] == b'%') {
            Some(byte) => {
                bytes.push(byte);
                at += 3;
            }
            None => {
                bytes.push(encoded[at]);
                at += 1;
            }
        }
    }
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn endings() -> Vec<(String, String)> {
        vec![("c".into(), "c".into())]
    }

    fn methods(told: Vec<Told>) -> String {
        told.into_iter()
            .map(|(method, _)| method.trim_start_matches("textDocument/"))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn a_server_hears_of_files_as_they_come_change_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path();
        let write = |name: &str, text: &str| std::fs::write(here.join(name), text).unwrap();
        write("a.c", "int a;");
        write("b.c", "int b;");
        write("c.txt", "no source");
        let mut documents = Documents::default();
        let mut look = || methods(documents.look(here, &here.join("a.c"), &endings()).unwrap());
        assert_eq!(look(), "didOpen didOpen");
        assert_eq!(look(), "");
        write("b.c", "int c;");
        assert_eq!(look(), "didClose didClose didOpen didOpen");
        std::fs::remove_file(here.join("b.c")).unwrap();
        assert_eq!(look(), "didClose didClose didOpen");
        assert_eq!(documents.versions()[0].1, 3, "what is said of an older text is told apart");
    }

    #[test]
    fn files_outside_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("d")).unwrap();
        let refused = |file: &str| inside(folder.path(), file).unwrap_err();
        assert_eq!(refused("d"), "d is not a file");
        assert_eq!(refused("/etc/passwd"), "/etc/passwd lies outside the working directory");
        assert!(refused("none").starts_with("none: "));
    }

    proptest! {
        #[test]
        fn a_path_comes_back_from_its_uri(path in "/[a-zä %?#.]{0,20}") {
            let path = PathBuf::from(path);
            prop_assert_eq!(path_of(&uri(&path)), Some(path));
        }
    }
}
