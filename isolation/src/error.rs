//! Why a cell could not be run, told apart by what follows from it.

use crate::message::Refusal;

/// The launcher could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LauncherError {
    /// A system call failed.
    #[error("the launcher process could not be started: {step}: {source}")]
    Start {
        /// Which step.
        step: &'static str,
        /// The kernel's answer.
        #[source]
        source: std::io::Error,
    },
    /// It started and did not answer as it should.
    #[error(
        "the launcher process (`sandbox-exec`) does not work: {detail}; its own message may stand on stderr above"
    )]
    Silent {
        /// What happened.
        detail: String,
    },
}

/// A cell could not be run; everything here is the harness's or the machine's doing, never the agent's.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A wall could not be put up. The program never ran.
    #[error("isolation unavailable: {wall}: {detail}; {remedy}")]
    IsolationUnavailable {
        /// Which wall.
        wall: String,
        /// Why not.
        detail: String,
        /// What can be done.
        remedy: String,
    },
    /// A probe made inside the walls went through them. The program never ran.
    #[error(
        "isolation unavailable: the walls do not hold: {probe}: {outcome}; move what is exposed out of every directory \
         that the cell may read, or look at `bench doctor`"
    )]
    ProbeWentThrough {
        /// What was tried.
        probe: String,
        /// What happened.
        outcome: String,
    },
    /// The program could not be executed.
    #[error("{program} cannot be executed in the cell: {source}; {remedy}")]
    NotExecutable {
        /// Which.
        program: String,
        /// The kernel's answer.
        #[source]
        source: std::io::Error,
        /// What can be done.
        remedy: &'static str,
    },
    /// The launcher, or the supervisor of this cell, is gone.
    #[error("the launcher is gone: {detail}; start the same command again to continue")]
    LauncherDied {
        /// What was seen.
        detail: String,
    },
    /// Something else that must stand before the start does not.
    #[error("the cell could not be set up: {step}: {detail}")]
    Setup {
        /// Which step.
        step: String,
        /// Why not.
        detail: String,
    },
}

impl LaunchError {
    pub(crate) fn setup(step: &str, detail: impl std::fmt::Display) -> Self {
        Self::Setup { step: step.to_owned(), detail: detail.to_string() }
    }
}

impl From<Refusal> for LaunchError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoWall { wall, detail } => {
                let remedy = crate::reach::reachable().remedy.unwrap_or_else(|| {
                    "this kernel has Landlock, so look at what else restricts the harness (container, seccomp)".into()
                });
                Self::IsolationUnavailable { wall, detail, remedy }
            }
            Refusal::ProbeWentThrough { probe, outcome } => Self::ProbeWentThrough { probe, outcome },
            Refusal::NotExecutable { program, errno } => {
                let source = std::io::Error::from_raw_os_error(errno);
                Self::NotExecutable { program, source, remedy: exec_remedy(errno) }
            }
            Refusal::Setup { step, detail } => Self::Setup { step, detail },
        }
    }
}

fn exec_remedy(errno: i32) -> &'static str {
    match errno {
        libc::ENOENT => "check that it exists, and the interpreter that it names too",
        libc::EACCES => {
            "make it executable, and name the directory in which it is installed as readable for the cell"
        }
        libc::ENOEXEC => {
            "it is no program of this machine: wrong architecture, or a script without a first line `#!…`"
        }
        libc::E2BIG => "arguments and environment together are too long",
        _ => "see `man 2 execve` for this error",
    }
}
