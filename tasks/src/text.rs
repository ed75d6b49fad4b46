//! The text of the workspace's files while a plan is played, as far as the plan alone decides it: what an edit must match,
//! and the whole text after it.
//!
//! A `run` step may change any file, but what it changes cannot be known here. Rule: a file that exists when the task is
//! loaded is taken to be changed by `write` and `edit` steps only (a plan that changes it by a command *and* edits it
//! afterwards is a plan to rewrite; `bench verify` finds it); a file that does not exist then is unknown once a command ran.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// What is known about a file's text at some point of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KnownText {
    /// Exactly this.
    Text(String),
    /// It may exist (made by a command) or is no text.
    Unknown,
    /// Nothing can have made it.
    Absent,
}

/// The workspace as the plan changes it.
pub(crate) struct Texts {
    workspace: PathBuf,
    changed: BTreeMap<String, KnownText>,
    command_ran: bool,
}

impl Texts {
    pub(crate) fn new(workspace: PathBuf) -> Self {
        Self { workspace, changed: BTreeMap::new(), command_ran: false }
    }

    /// A command ran: files that nobody knew may exist now.
    pub(crate) fn command_ran(&mut self) {
        self.command_ran = true;
    }

    /// The text of a file now.
    pub(crate) fn of(&self, path: &str) -> KnownText {
        if let Some(known) = self.changed.get(&normal(path)) {
            return known.clone();
        }
        match fs::read(self.workspace.join(path)) {
            Ok(bytes) => String::from_utf8(bytes).map_or(KnownText::Unknown, KnownText::Text),
            Err(_) if self.command_ran => KnownText::Unknown,
            Err(_) => KnownText::Absent,
        }
    }

    /// The file has this text from now on.
    pub(crate) fn set(&mut self, path: &str, text: String) {
        self.changed.insert(normal(path), KnownText::Text(text));
    }
}

/// `./a//b` and `a/b` are one file.
fn normal(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_nobody_made_is_absent_until_a_command_ran() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("old"), "text").unwrap();
        let mut texts = Texts::new(dir.path().to_owned());
        assert_eq!(texts.of("new"), KnownText::Absent);
        texts.command_ran();
        assert_eq!(texts.of("new"), KnownText::Unknown);
        assert_eq!(texts.of("old"), KnownText::Text("text".to_owned()), "what existed stays known");
        texts.set("./new", "made".to_owned());
        assert_eq!(texts.of("new"), KnownText::Text("made".to_owned()));
    }
}
