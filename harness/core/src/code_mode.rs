//! Code mode of a surface: in which shape a model is shown a way to act by scripts, and what a script may take.

use serde::{Deserialize, Serialize};

/// How tools are called by code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CodeMode {
    /// What the model is shown.
    pub shape: CodeShape,
    /// When it is shown.
    #[serde(default)]
    pub mode: CodeSwitch,
    /// Tools that are shown as tools although the surface hides them behind code; no declaration tells of them.
    #[serde(default)]
    pub direct_tools: Vec<String>,
    /// What a script finds beside the language and its functions.
    #[serde(default)]
    pub preludes: Vec<CodePrelude>,
    /// Bytes of declarations that the tools of servers may add where a shape declares functions in a description; a server
    /// whose declarations do not fit is named there and found by a script's own search.
    #[serde(default = "inline_bytes")]
    pub inline_bytes: usize,
    /// Said at the end of every request, and paid for every time; none = nothing.
    #[serde(default)]
    pub each_turn: Option<String>,
    /// What a script may take.
    #[serde(default)]
    pub limits: CodeLimits,
}

fn inline_bytes() -> usize {
    3000
}

/// What the model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeShape {
    /// `eval`, whose description declares every bridged tool; globals stay from script to script.
    Eval,
    /// `list_functions`, `get_function_details`, `execute_typescript`.
    Catalog,
    /// `execute_bash` over a read-only tree of declarations, and `execute_typescript`.
    Filesystem,
    /// `execute_typescript` alone.
    Sidecar,
    /// `exec`, whose description declares every bridged tool, and `wait` for what it leaves running.
    Exec,
    /// As `exec`, beside direct tools whose descriptions say how code calls them.
    Mixed,
}

impl CodeShape {
    /// Every shape.
    pub const ALL: [Self; 6] =
        [Self::Eval, Self::Catalog, Self::Filesystem, Self::Sidecar, Self::Exec, Self::Mixed];

    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Eval => "eval",
            Self::Catalog => "catalog",
            Self::Filesystem => "filesystem",
            Self::Sidecar => "sidecar",
            Self::Exec => "exec",
            Self::Mixed => "mixed",
        }
    }

    /// The tools that it brings.
    pub fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Eval => &["eval"],
            Self::Catalog => &["list_functions", "get_function_details", "execute_typescript"],
            Self::Filesystem => &["execute_bash", "execute_typescript"],
            Self::Sidecar => &["execute_typescript"],
            Self::Exec | Self::Mixed => &["exec", "wait"],
        }
    }
}

/// When code mode is shown. Where it is not, tools that the surface hides behind code are shown as tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeSwitch {
    /// Always.
    #[default]
    On,
    /// Never.
    Off,
    /// To a model that is made to act through code alone.
    Auto,
}

/// A part of what a script finds beside the language and its functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodePrelude {
    /// Functions that add to the output.
    Output,
    /// Values kept from one script to the next.
    Store,
    /// A search of the functions from within a script.
    Search,
}

/// What a script may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct CodeLimits {
    /// From its start to its end, calls included, in milliseconds.
    pub time_ms: u64,
    /// Memory of the engine, in bytes.
    pub memory_bytes: usize,
    /// Captured output, in bytes.
    pub output_bytes: usize,
    /// The returned value, in bytes.
    pub value_bytes: usize,
    /// The value of one nested call, in bytes.
    pub nested_bytes: usize,
    /// Nested calls.
    pub calls: usize,
    /// After an end that was not its own: how long its calls are waited for, in milliseconds.
    pub drain_ms: u64,
    /// After so many milliseconds a script that `exec` runs is left running in the background.
    pub yield_ms: u64,
}

impl Default for CodeLimits {
    fn default() -> Self {
        Self {
            time_ms: 300_000,
            memory_bytes: 64 << 20,
            output_bytes: 256 << 10,
            value_bytes: 256 << 10,
            nested_bytes: 1 << 20,
            calls: 1000,
            drain_ms: 500,
            yield_ms: 30_000,
        }
    }
}

/// A server of look-alikes whose tools a surface adds: a catalogue that has grown by other people's tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SurfaceServer {
    /// Its name in the reference agent's catalogue.
    pub name: String,
    /// What the model sees of each of its tools.
    pub model: crate::surface::ModelExposure,
    /// Can code call each of them?
    pub code: crate::surface::CodeExposure,
}
