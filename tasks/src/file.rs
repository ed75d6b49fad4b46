//! `task.toml` and plans as they are written: plain structs that keep the place of each value.

use serde::Deserialize;
use toml::Spanned;

/// The version of the task format that this build reads.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// `task.toml`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TaskFile {
    /// Version of the task format: 1.
    pub format_version: Spanned<u32>,
    /// One line for people.
    pub title: Spanned<String>,
    /// `default` or `orchestration`; `default` where it is not written.
    pub track: Option<Spanned<String>>,
    /// What tasks of one family share; the task itself where it is not written.
    pub cluster: Option<Spanned<String>>,
    /// Programs beyond shell and coreutils (with grep, sed and awk) that must be on PATH.
    #[serde(default)]
    pub requires: Vec<Spanned<String>>,
    /// A text that stands in every hidden file of this task and nowhere else.
    pub canary: Spanned<String>,
    /// Names of configuration (`conftest.py`, `.cargo`, …) that the check sees as the agent left it.
    #[serde(default)]
    pub agent_configuration: Vec<Spanned<String>>,
    /// What the user answers when the agent asks him; the first entry that fits the question.
    #[serde(default)]
    pub ask: Vec<bench_core::AskAnswer>,
}

/// A plan: `oracle.toml`, or a cheat.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlanFile {
    /// Version of the task format: 1.
    pub format_version: Spanned<u32>,
    /// The steps; the last one, and only that, is the answer.
    #[serde(default)]
    pub step: Vec<Spanned<StepFile>>,
}

/// A step: exactly one of its action keys.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct StepFile {
    /// Run a shell command.
    pub run: Option<Spanned<String>>,
    /// Read a file.
    pub read: Option<Spanned<String>>,
    /// With `read`: first line wanted, from 1.
    pub offset: Option<Spanned<u32>>,
    /// With `read`: lines wanted.
    pub limit: Option<Spanned<u32>>,
    /// Write a whole file.
    pub write: Option<Spanned<WriteFile>>,
    /// Replace a text that stands exactly once.
    pub edit: Option<Spanned<EditFile>>,
    /// Search file contents.
    pub search: Option<Spanned<SearchFile>>,
    /// Find files by name.
    pub find: Option<Spanned<SearchFile>>,
    /// Say the final answer and stop.
    pub answer: Option<Spanned<String>>,
    /// Actions that do not depend on one another.
    pub together: Option<Spanned<Vec<Spanned<StepFile>>>>,
}

/// The value of `write`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WriteFile {
    /// The file, relative to the workspace.
    pub path: Spanned<String>,
    /// Its new text.
    pub content: Option<Spanned<String>>,
    /// Instead of `content`: a file of the task folder below `oracle/` whose text is written.
    pub content_file: Option<Spanned<String>>,
}

/// The value of `edit`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct EditFile {
    /// The file, relative to the workspace.
    pub path: Spanned<String>,
    /// Text that stands there exactly once.
    pub old: Spanned<String>,
    /// What takes its place.
    pub new: Spanned<String>,
}

/// The value of `search` (a regular expression) and `find` (a glob on the file's name).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SearchFile {
    /// What is looked for.
    pub pattern: Spanned<String>,
    /// Where, relative to the workspace; `.` for everywhere.
    pub path: Spanned<String>,
}
