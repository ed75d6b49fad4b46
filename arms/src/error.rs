//! What can be wrong with the catalogue, and why an arm cannot be started here.

use std::path::PathBuf;

/// A file of the catalogue that cannot be used. These files are compiled in, so this is a fault of this build.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// Not what a file of its kind must be.
    #[error("catalogue file {file}: {source}")]
    Malformed {
        /// The file, relative to the crate.
        file: String,
        /// What is wrong, with its place.
        source: Box<toml::de::Error>,
    },
    /// A part that does not fit the rest.
    #[error("catalogue file {file}: {fault}")]
    Inconsistent {
        /// The file, relative to the crate.
        file: String,
        /// What does not fit.
        fault: String,
    },
}

/// Why an arm cannot be started on this machine.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// No such agent.
    #[error("arm {arm:?}: there is no agent {agent:?}; the agents are {known}")]
    UnknownAgent {
        /// The arm.
        arm: String,
        /// The agent.
        agent: String,
        /// What exists.
        known: String,
    },
    /// No such surface of that agent.
    #[error("arm {arm:?}: agent {agent:?} has no surface {surface:?}; its surfaces are {known}")]
    UnknownSurface {
        /// The arm.
        arm: String,
        /// The agent.
        agent: String,
        /// The surface.
        surface: String,
        /// What exists.
        known: String,
    },
    /// Real agents are looked for in one directory, and none was given.
    #[error(
        "arm {arm:?}: agent {agent:?} is looked for in the directory of agents, and none is set; set BENCH_AGENTS_DIR to one and install it there:\n{install}"
    )]
    NoAgentsDir {
        /// The arm.
        arm: String,
        /// The agent.
        agent: String,
        /// Command lines that install it.
        install: String,
    },
    /// The agent is not there.
    #[error("arm {arm:?}: agent {agent:?} is not installed: {path} is missing; install it with\n{install}")]
    NotInstalled {
        /// The arm.
        arm: String,
        /// The agent.
        agent: String,
        /// The path looked at.
        path: PathBuf,
        /// Command lines that install it.
        install: String,
    },
    /// `agent = "command"` without a command line.
    #[error("arm {arm:?}: its agent needs a command line; set command = [\"PROGRAM\", \"ARGUMENT\", …]")]
    NoCommand {
        /// The arm.
        arm: String,
    },
    /// The program of the command line is not there.
    #[error(
        "arm {arm:?}: the program {program:?} of its command is not found; give an absolute path or one that is on PATH"
    )]
    NoProgram {
        /// The arm.
        arm: String,
        /// The program as written.
        program: String,
    },
    /// A command line for an agent that brings its own.
    #[error(
        "arm {arm:?}: agent {agent:?} brings its own command line; remove command, or set agent = \"command\""
    )]
    CommandNotWanted {
        /// The arm.
        arm: String,
        /// The agent.
        agent: String,
    },
}
