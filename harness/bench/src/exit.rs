//! Exit codes: the one place where they are given meaning. docs/exit-codes.md says the same to people.

use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every gate passed, or none was asked for.
    Good,
    /// A gate failed.
    GateFailed,
    /// Usage, or something that cannot be accepted before the first cell.
    Usage,
    /// Inconclusive.
    Inconclusive,
    /// The run is invalid or holds no valid cell.
    Invalid,
    /// The required isolation cannot be enforced here.
    Isolation,
    /// A published report or page is out of date.
    Stale,
    /// The environment failed us: disk, a held lock, an upstream down for good.
    Environment,
    /// A fault of our own.
    Ours,
    /// Interrupted.
    Interrupted,
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::GateFailed => 1,
            Self::Usage => 2,
            Self::Inconclusive => 3,
            Self::Invalid => 4,
            Self::Isolation => 5,
            Self::Stale => 6,
            Self::Environment => 7,
            Self::Ours => 70,
            Self::Interrupted => 130,
        }
    }

    /// The meaning of a run's own exit code (`overall.exit_code` of analysis.json).
    pub(crate) fn of_analysis(code: i32) -> Self {
        match code {
            0 => Self::Good,
            1 => Self::GateFailed,
            3 => Self::Inconclusive,
            4 => Self::Invalid,
            _ => Self::Ours,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// An error with the exit code that it ends in.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
}

impl Failure {
    /// The error with its causes. What the words so far hold already is not said again: many an error names its cause in
    /// the middle, with the remedy after it.
    pub(crate) fn words(&self) -> String {
        let mut text = String::new();
        for cause in self.error.chain().map(ToString::to_string) {
            if !text.contains(&cause) {
                let between = if text.is_empty() { "" } else { ": " };
                text.push_str(between);
                text.push_str(&cause);
            }
        }
        text
    }
}

/// Puts an exit code on an error.
pub(crate) trait OrExit<T> {
    /// `Err(e)` becomes a failure with this exit code.
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrExit<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure { exit, error: error.into() })
    }
}

/// A failure made of words alone.
pub(crate) fn fail<T>(exit: Exit, words: impl Into<String>) -> Result<T, Failure> {
    Err(Failure { exit, error: anyhow::anyhow!(words.into()) })
}
