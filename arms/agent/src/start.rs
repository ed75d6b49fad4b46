//! What the agent is told when it starts. The one place that looks at its environment.

use std::ffi::OsString;
use std::path::PathBuf;

use bench_core::experiment::{Capabilities, ModelSettings};
use bench_core::{Surface, WireKind};

/// The variables by which the harness speaks to the agent; shell commands of the model do not inherit them.
pub(crate) const VARIABLES: [&str; 7] = [
    "BENCH_BASE_URL",
    "BENCH_API_KEY",
    "BENCH_MODEL",
    "BENCH_SURFACE",
    "BENCH_SETTINGS",
    "BENCH_WIRE",
    "BENCH_CAPABILITIES",
];

/// Everything that one conversation needs.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// Up to and including the version part.
    pub base_url: String,
    /// Sent as bearer token.
    pub api_key: String,
    /// Model id.
    pub model: String,
    /// What the model is shown.
    pub surface: Surface,
    /// The API that is spoken.
    pub wire: WireKind,
    /// What the model can do beyond plain calls of tools.
    pub capabilities: Capabilities,
    /// Settings that are sent where they are set.
    pub settings: ModelSettings,
    /// What the user asks for.
    pub instruction: String,
    /// Where the tools work.
    pub workspace: PathBuf,
}

/// Why the agent cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("the arguments are not `-- INSTRUCTION`; this command is started by `bench run`")]
    Arguments,
    #[error("{0} is not set or not UTF-8; this command is started by `bench run`, which sets it")]
    Missing(&'static str),
    #[error("{name} does not hold what it should: {source}")]
    Malformed { name: &'static str, source: serde_json::Error },
    #[error("the working directory cannot be named: {0}")]
    Workspace(std::io::Error),
}

impl Start {
    /// From arguments, environment and working directory of this process.
    pub(crate) fn from_process(args: impl Iterator<Item = OsString>) -> Result<Self, StartError> {
        let args: Vec<OsString> = args.collect();
        let [dashes, instruction] = args.as_slice() else { return Err(StartError::Arguments) };
        if dashes != "--" {
            return Err(StartError::Arguments);
        }
        Ok(Self {
            base_url: variable("BENCH_BASE_URL")?,
            api_key: variable("BENCH_API_KEY")?,
            model: variable("BENCH_MODEL")?,
            surface: json_variable("BENCH_SURFACE")?,
            wire: json_text("BENCH_WIRE", &format!("{:?}", variable("BENCH_WIRE")?))?,
            capabilities: json_variable("BENCH_CAPABILITIES")?,
            settings: json_variable("BENCH_SETTINGS")?,
            instruction: instruction.to_str().ok_or(StartError::Arguments)?.to_owned(),
            workspace: std::env::current_dir().map_err(StartError::Workspace)?,
        })
    }
}

fn variable(name: &'static str) -> Result<String, StartError> {
    std::env::var(name).map_err(|_| StartError::Missing(name))
}

fn json_variable<T: serde::de::DeserializeOwned>(name: &'static str) -> Result<T, StartError> {
    json_text(name, &variable(name)?)
}

fn json_text<T: serde::de::DeserializeOwned>(name: &'static str, text: &str) -> Result<T, StartError> {
    serde_json::from_str(text).map_err(|source| StartError::Malformed { name, source })
}

/// Where the program of this name lies, by the `PATH` of the cell. A name with a slash is looked at as it is.
pub(crate) fn program_on_path(name: &str) -> Option<String> {
    use std::os::unix::fs::PermissionsExt as _;
    let runs = |path: &std::path::Path| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(name));
    let found = if name.contains('/') {
        Some(PathBuf::from(name)).filter(|path| runs(path))
    } else {
        places.find(|path| runs(path))
    };
    found.map(|path| path.to_string_lossy().into_owned())
}
