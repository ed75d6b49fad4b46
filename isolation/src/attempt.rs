//! What a cell tried, as the watchers saw it and before anybody judged it.
//!
//! The tap ([`crate::audit`]), the supervisor ([`crate::notify`]) and the manifest ([`crate::manifest`]) all speak
//! this; [`crate::classify`] says what it means.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Different attempts that one cell's list holds at most; one more, and the list is incomplete.
pub const MOST_DIFFERENT: usize = 1024;

/// Longest target that is kept, in bytes; what is longer is cut.
const LONGEST: usize = 1024;

/// One attempt, or the same one several times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The kind of act, by which it is judged.
    pub act: Act,
    /// The act in the kernel's own words: `fs.read_file`, `openat`, `chmod`, `scope.signal`, …
    pub operation: String,
    /// On what.
    pub target: Target,
    /// Name of the process; empty = not known.
    pub process: String,
    /// Was it refused? For a watcher that sees the attempt before the kernel decides: would the walls refuse it?
    pub denied: bool,
    /// Did the target exist? none = nobody looked.
    pub found: Option<bool>,
    /// How often.
    pub count: u64,
}

/// Kinds of act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Act {
    /// Content was asked for.
    Read,
    /// A file, a name, a mode, an owner, times or attributes were to be changed.
    Write,
    /// A program was to be run.
    Execute,
    /// Existence, size or times were asked for.
    Look,
    /// Somebody else's socket was addressed.
    Connect,
    /// Another process was to be signalled, traced or read.
    Control,
    /// A call that is refused to everybody, naming no target.
    Call,
}

/// On what.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// A path as the cell sees it, links resolved as far as it exists. It travels as text: names that are none, or that
    /// would blow a report up, must not silence the one who reports them.
    #[serde(serialize_with = "as_text")]
    Path(PathBuf),
    /// A network address, or an abstract unix socket.
    Address(String),
    /// A process outside the cell.
    Outsider(String),
    /// Something of the cell itself, or nothing in particular; the text says what.
    Own(String),
    /// The watcher could not read what it was. Never fine.
    Unreadable,
}

fn as_text<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(&path.to_string_lossy()))
}

/// Without control characters.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

impl Target {
    /// As it stands in a record.
    pub fn text(&self) -> String {
        let text = match self {
            Self::Path(path) => path.to_string_lossy().into_owned(),
            Self::Address(text) | Self::Outsider(text) | Self::Own(text) => text.clone(),
            Self::Unreadable => "unreadable".to_owned(),
        };
        shown(&text)
    }

    /// Its path, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Path(path) => Some(path),
            Self::Address(_) | Self::Outsider(_) | Self::Own(_) | Self::Unreadable => None,
        }
    }

    fn cut(self) -> Self {
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        match self {
            Self::Path(path) if path.as_os_str().len() > LONGEST => {
                let kept = path.as_os_str().as_bytes()[..LONGEST].to_vec();
                Self::Path(PathBuf::from(std::ffi::OsString::from_vec(kept)))
            }
            Self::Path(_) | Self::Address(_) | Self::Outsider(_) | Self::Own(_) | Self::Unreadable => self,
        }
    }
}

/// Attempts by operation, target and process, with their counts: bounded, and honest about its bound.
#[derive(Debug, Default)]
pub struct Tally {
    entries: HashMap<(String, Target, String), Attempt>,
    overflow: u64,
}

impl Tally {
    /// Adds one.
    pub fn add(&mut self, mut attempt: Attempt) {
        attempt.target = attempt.target.cut();
        let key = (attempt.operation.clone(), attempt.target.clone(), attempt.process.clone());
        let room = self.entries.len() < MOST_DIFFERENT;
        match self.entries.get_mut(&key) {
            Some(known) => {
                known.count = known.count.saturating_add(attempt.count);
                known.denied &= attempt.denied;
            }
            None if room => {
                self.entries.insert(key, attempt);
            }
            None => self.overflow = self.overflow.saturating_add(attempt.count),
        }
    }

    /// Attempts that found no place: more than none, and the list is incomplete.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// The list, most frequent first; equal counts by operation and target.
    pub fn into_attempts(self) -> Vec<Attempt> {
        let mut attempts: Vec<Attempt> = self.entries.into_values().collect();
        attempts.sort_by_cached_key(|a| {
            (std::cmp::Reverse(a.count), a.operation.clone(), a.target.text(), a.process.clone())
        });
        attempts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn attempt(operation: &str, path: &str) -> Attempt {
        Attempt {
            act: Act::Read,
            operation: operation.into(),
            target: Target::Path(path.into()),
            process: "sh".into(),
            denied: true,
            found: Some(true),
            count: 1,
        }
    }

    #[test]
    fn equal_attempts_are_counted_and_different_ones_are_bounded() {
        let mut tally = Tally::default();
        for _ in 0..3 {
            tally.add(attempt("openat", "/x"));
        }
        tally.add(Attempt { denied: false, ..attempt("openat", "/x") });
        for number in 0..MOST_DIFFERENT + 5 {
            tally.add(attempt("openat", &format!("/y/{number}")));
        }
        assert_eq!(tally.overflow(), 6);
        let list = tally.into_attempts();
        assert_eq!(list.len(), MOST_DIFFERENT);
        assert_eq!(
            (list[0].count, list[0].denied),
            (4, false),
            "one that got through is not hidden by refusals"
        );
    }

    #[test]
    fn a_target_is_cut_and_its_control_characters_are_not_shown() {
        let mut tally = Tally::default();
        tally.add(attempt("openat", &format!("/{}", "a".repeat(1 << 20))));
        let list = tally.into_attempts();
        assert_eq!(list[0].target.text().len(), LONGEST);
        assert_eq!(Target::Path("/a\n\u{1b}[2J".into()).text(), "/a\u{fffd}\u{fffd}[2J");
    }

    #[test]
    fn a_name_that_is_no_text_is_told_all_the_same_and_in_bounded_length() {
        use std::os::unix::ffi::OsStringExt;
        let mut tally = Tally::default();
        for byte in [0xff, b'\n', b'"', 1] {
            let name = std::ffi::OsString::from_vec([b"/", [byte; 5000].as_slice()].concat());
            tally.add(Attempt { target: Target::Path(name.into()), ..attempt("openat", "") });
        }
        for told in tally.into_attempts() {
            let text = serde_json::to_vec(&told).unwrap();
            assert!(text.len() < 4 * LONGEST, "{} bytes", text.len());
            assert!(serde_json::from_slice::<Attempt>(&text).is_ok());
        }
    }
}
