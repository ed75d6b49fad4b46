//! A task: instruction, starting workspace, hidden check.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::digest::Sha256Hex;
use crate::id::TaskId;

/// A loaded task. The reference plan is loaded apart ([`crate::Plan`]) and never travels with it into a cell.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its folder's name.
    pub id: TaskId,
    /// One line for people.
    pub title: String,
    /// What it must show.
    pub track: Track,
    /// Unit of generalisation; the task itself unless the file names one.
    pub cluster: String,
    /// What the agent is told, byte for byte.
    pub instruction: String,
    /// Programs beyond shell and coreutils that must be on PATH; a task without them is skipped with this reason.
    pub requires: Vec<String>,
    /// Its folder on the harness's side.
    pub dir: PathBuf,
    /// A text that stands in every hidden file and nowhere else; seen in a request it proves a leak.
    pub canary: String,
    /// What the user answers when he is asked, first fitting entry first. Stays on the harness's side until he is asked.
    pub asks: Vec<AskAnswer>,
    /// Names of configuration that the hidden check sees as the agent left it; all other is the task's own there.
    pub agent_configuration: Vec<String>,
    /// Digest over every file of the task.
    pub sha256: Sha256Hex,
}

/// An answer of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AskAnswer {
    /// Text that the question holds, capitals aside; empty = any question.
    pub when: String,
    /// What he says.
    pub answer: String,
}

impl Task {
    /// The starting workspace.
    pub fn workspace_dir(&self) -> PathBuf {
        self.dir.join("workspace")
    }

    /// The hidden check.
    pub fn verify_dir(&self) -> PathBuf {
        self.dir.join("verify")
    }
}

/// What a task is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Track {
    /// A surface must not make ordinary work dearer or worse.
    Default,
    /// Rich capabilities must pay here.
    Orchestration,
}
