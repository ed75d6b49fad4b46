//! The reference plan of a task, in words that no tool is named by.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A reference plan: steps in order; the last one is the final answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<Step>,
    /// What agents play that the plan starts, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<String, Plan>,
}

/// Actions that do not depend on one another: one turn may carry them all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// At least one action; more than one means "together".
    pub actions: Vec<Action>,
}

/// One thing to do. Paths are relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Run a shell command.
    Run {
        /// The command line.
        command: String,
    },
    /// Read a file.
    Read {
        /// The file.
        path: String,
        /// First line wanted, from 1.
        offset: Option<u32>,
        /// Lines wanted.
        limit: Option<u32>,
    },
    /// Write a whole file.
    Write {
        /// The file.
        path: String,
        /// Its new text.
        content: String,
    },
    /// Replace one exact text in a file by another.
    Edit {
        /// The file.
        path: String,
        /// Text that stands there exactly once.
        old: String,
        /// What takes its place.
        new: String,
        /// The whole text after the edit, where the loader could compute it: what a surface without an edit tool needs.
        whole: Option<String>,
    },
    /// Search file contents.
    Search {
        /// Regular expression.
        pattern: String,
        /// Where, "." for everywhere.
        path: String,
    },
    /// Find files by name.
    Find {
        /// Glob on the file's name.
        pattern: String,
        /// Where, "." for everywhere.
        path: String,
    },
    /// Use a capability beyond reading, writing and running.
    Use {
        /// Which, in the lexicon's words: `delegate`, `gather`, `start-background`, ….
        capability: String,
        /// What it needs to be told, by the names that the lexicon's rule fills in.
        values: serde_json::Map<String, serde_json::Value>,
    },
    /// Say the final answer and stop.
    Answer {
        /// What is said.
        text: String,
    },
}

/// The kind of an action: the key of the lexicon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActionKind {
    /// [`Action::Run`].
    Run,
    /// [`Action::Read`].
    Read,
    /// [`Action::Write`].
    Write,
    /// [`Action::Edit`].
    Edit,
    /// [`Action::Search`].
    Search,
    /// [`Action::Find`].
    Find,
    /// [`Action::Use`].
    Use,
    /// [`Action::Answer`].
    Answer,
}

impl Action {
    /// Its kind.
    pub fn kind(&self) -> ActionKind {
        match self {
            Self::Run { .. } => ActionKind::Run,
            Self::Read { .. } => ActionKind::Read,
            Self::Write { .. } => ActionKind::Write,
            Self::Edit { .. } => ActionKind::Edit,
            Self::Search { .. } => ActionKind::Search,
            Self::Find { .. } => ActionKind::Find,
            Self::Use { .. } => ActionKind::Use,
            Self::Answer { .. } => ActionKind::Answer,
        }
    }
}

impl ActionKind {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Search => "search",
            Self::Find => "find",
            Self::Use => "use",
            Self::Answer => "answer",
        }
    }
}
