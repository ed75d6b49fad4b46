//! How an agent is started: rendered purely by an adapter, carried out by the runner.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::evidence::Housekeeping;

/// Everything that starting an agent takes. Every path that the agent can see is neutral: it names no arm and no repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// What is executed.
    pub program: Program,
    /// Arguments after `argv[0]`.
    pub args: Vec<String>,
    /// Environment beyond the allow-list (PATH, HOME, TMPDIR, LANG, TERM).
    pub env: BTreeMap<String, String>,
    /// Files placed into HOME before the start.
    pub files: Vec<PlacedFile>,
    /// Directories and files that the agent must read and execute beyond the system's.
    pub readable: Vec<PathBuf>,
    /// What its program is known to do outside and is refused: counted and shown, never its wandering.
    pub housekeeping: Vec<Housekeeping>,
    /// Entries put before the standard PATH.
    pub path_prefix: Vec<PathBuf>,
    /// The API that it speaks.
    pub wire: WireKind,
}

/// What is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// This binary again, by the hidden subcommand that is the first argument.
    Own,
    /// A program by absolute path.
    Path(PathBuf),
}

/// A file placed into the cell's HOME.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedFile {
    /// Relative to HOME.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// A model API as it is on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireKind {
    /// OpenAI chat completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
    /// Gemini generateContent.
    Gemini,
}

impl WireKind {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::Gemini => "gemini",
        }
    }
}
