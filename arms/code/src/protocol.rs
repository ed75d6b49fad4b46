//! What the agent and the worker say to each other: JSON, a line each, over one socket.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest line that the agent reads of a worker, in bytes.
pub(crate) const LONGEST_LINE: usize = 16 << 20;

/// Said to the worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(crate) enum ToWorker {
    /// Run a script.
    Run(Box<Order>),
    /// A call came to its end.
    Answer {
        /// Number of the call.
        call: u64,
        /// Its value, or why it failed.
        result: Result<Value, String>,
    },
}

/// A script with what it may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    /// Number of the script: calls that name another one are refused.
    pub(crate) epoch: u64,
    /// TypeScript.
    pub(crate) script: String,
    /// Functions by their places among the globals.
    pub(crate) functions: Vec<Place>,
    /// What else is there.
    pub(crate) preludes: Vec<Prelude>,
    /// Values kept from earlier scripts, for the prelude that keeps them.
    pub(crate) stored: serde_json::Map<String, Value>,
    /// Most memory of the engine, in bytes.
    pub(crate) memory_bytes: usize,
    /// Most bytes of captured output.
    pub(crate) output_bytes: usize,
    /// Most bytes of the returned value.
    pub(crate) value_bytes: usize,
}

/// Where a function stands among the globals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The global object that holds it.
    pub(crate) object: String,
    /// Its name there.
    pub(crate) name: String,
    /// The tool that it calls.
    pub(crate) tool: String,
    /// What it does, for scripts that look it up.
    pub(crate) about: String,
}

/// A part of what a script finds beside the language and its functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prelude {
    /// `text(value)` and `display(value)` add to the output.
    Output,
    /// `store(name, value)` and `load(name)` keep values from one script to the next.
    Store,
    /// `ALL_TOOLS` and `searchTools(words, limit?)`: functions by what they do.
    Search,
    /// `yield_control()`: hand over what was printed so far and go on.
    Yield,
}

impl Prelude {
    /// How it is declared.
    pub fn declaration(self) -> &'static str {
        match self {
            Self::Output => {
                "declare function text(value: unknown): void;\ndeclare function display(value: unknown): void;\n"
            }
            Self::Store => {
                "declare function store(name: string, value: unknown): void;\ndeclare function load(name: string): unknown;\n"
            }
            Self::Search => {
                "declare const ALL_TOOLS: { name: string; description: string }[];\ndeclare function searchTools(words: string, limit?: number): { name: string; description: string }[];\n"
            }
            Self::Yield => "declare function yield_control(): Promise<void>;\n",
        }
    }
}

/// Said by the worker.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(crate) enum FromWorker {
    /// A function was called.
    Call {
        /// The script that called it.
        epoch: u64,
        /// Number of the call.
        call: u64,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// Calls of the script that were open when it was made.
        open: usize,
    },
    /// Output, as it comes.
    Output {
        /// The script.
        epoch: u64,
        /// Some of it.
        text: String,
    },
    /// The script hands over what it has so far and goes on.
    Yielded {
        /// The script.
        epoch: u64,
    },
    /// The script is over.
    Ended(Box<Ended>),
}

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// The script.
    pub(crate) epoch: u64,
    /// The returned value as the model is to see it, or the error.
    pub(crate) result: Result<Option<String>, String>,
    /// What the script should know beside its result: rejections that nobody handled, output that was left out.
    pub(crate) remarks: Vec<String>,
    /// Values that it stored.
    pub(crate) stored: serde_json::Map<String, Value>,
    /// Did it change what the language brings? Then nothing of it can be kept.
    pub(crate) tampered: Option<String>,
}
