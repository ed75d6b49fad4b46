//! What the harness and the processes of the launcher say to each other.
//!
//! An order travels as JSON in a memfd, since a datagram has a size limit and a policy has none; reports are small and
//! travel as one JSON datagram each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bench_core::{IsolationLevel, Program};
use serde::{Deserialize, Serialize};

use crate::attempt::Attempt;
use crate::seen;
use crate::spec::{CellSpec, Policy};

/// The launcher's first word to the harness.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Set when the launcher cannot work.
    pub(crate) fault: Option<String>,
}

/// A cell to be started; the descriptors travel beside it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    /// `None` = the launcher's own image.
    pub(crate) program: Option<PathBuf>,
    /// Arguments after argv\[0\].
    pub(crate) args: Vec<String>,
    /// The whole environment.
    pub(crate) env: BTreeMap<String, String>,
    /// Directory in which it starts.
    pub(crate) cwd: PathBuf,
    /// The rules of its walls.
    pub(crate) policy: Policy,
    /// Which walls.
    pub(crate) level: IsolationLevel,
    /// The word of the cell's canary, where the kernel's audit records are listened to.
    pub(crate) canary: Option<String>,
    /// Milliseconds from exec.
    pub(crate) wall_ms: u64,
}

impl Order {
    /// The order that a spec makes at a level. The directory may be given as the harness or as the cell sees it.
    pub(crate) fn of(spec: &CellSpec, level: IsolationLevel, canary: Option<String>) -> Self {
        let program = match &spec.program {
            Program::Own => None,
            Program::Path(path) => Some(path.clone()),
        };
        Self {
            program,
            args: spec.args.clone(),
            env: spec.env.clone(),
            cwd: seen::as_seen(level, &spec.policy.writable, &spec.cwd),
            policy: spec.policy.clone(),
            level,
            canary,
            wall_ms: spec.wall_ms,
        }
    }
}

impl Order {
    /// Where the canary lies in a root of the cell's own.
    pub(crate) fn canary_path(&self) -> Option<PathBuf> {
        self.canary.as_ref().map(|word| PathBuf::from(format!("/canary-{word}")))
    }
}

/// What a cell tells the harness: perhaps `Listening`, then `Started` and `Ended`, or `Refused`. `R` = [`Raised`], or its JSON
/// where it is only passed on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report<R = Raised> {
    /// The cell's own network has a listener, which travels beside this; the program waits for [`GO`].
    Listening,
    /// The walls stand, every probe held, the program runs.
    Started {
        /// Process id of the cell's supervisor, from whom all that the program starts descends.
        supervisor: u32,
        /// The walls.
        raised: R,
    },
    /// The program never ran.
    Refused(Refusal),
    /// Some of what was tried, as the supervisor heard it.
    Attempts(Vec<Attempt>),
    /// That was all of it; `hole` = why it may not be.
    Watched {
        /// Why the list is not complete.
        hole: Option<String>,
        /// Calls answered.
        calls: u64,
    },
    /// The program and everything that it left are gone.
    Ended(Ended),
}

/// What the agent process says before exec: the walls as they stand around it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Raised {
    /// Which walls.
    pub(crate) level: IsolationLevel,
    /// Rules asked for.
    pub(crate) requested: Vec<String>,
    /// Rules that hold.
    pub(crate) enforced: Vec<String>,
    /// What stays open.
    pub(crate) missing: Vec<String>,
    /// Who hears of attempts.
    pub(crate) detector: String,
    /// Probes that held.
    pub(crate) probes: Vec<String>,
    /// Landlock ABI of the kernel.
    pub(crate) landlock_abi: Option<u32>,
    /// User id of the program.
    pub(crate) uid: u32,
    /// Monotonic time just before exec.
    pub(crate) exec_at_ns: u64,
    /// CPU that putting up the walls took, to be left out of the program's.
    pub(crate) setup_cpu_us: u64,
}

/// The datagram by which the harness lets a program start whose listener it has taken.
pub(crate) const GO: &[u8] = b"g";

/// Why a program never ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Refusal {
    /// A wall could not be put up.
    NoWall {
        /// Which.
        wall: String,
        /// Why.
        detail: String,
    },
    /// A probe went through, or could not be decided.
    ProbeWentThrough {
        /// What was tried.
        probe: String,
        /// What happened.
        outcome: String,
    },
    /// The program could not be executed.
    NotExecutable {
        /// Which.
        program: String,
        /// The kernel's error number.
        errno: i32,
    },
    /// Something else that must stand before the start does not.
    Setup {
        /// Which step.
        step: String,
        /// Why.
        detail: String,
    },
}

impl Refusal {
    /// A step of the set-up that failed.
    pub(crate) fn setup(step: impl Into<String>, detail: impl std::fmt::Display) -> Self {
        Self::Setup { step: step.into(), detail: detail.to_string() }
    }

    /// A wall that could not be put up.
    pub(crate) fn no_wall(wall: impl Into<String>, detail: impl std::fmt::Display) -> Self {
        Self::NoWall { wall: wall.into(), detail: detail.to_string() }
    }
}

/// How a program ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// Exit code; `None` when a signal ended it.
    pub(crate) exit_code: Option<i32>,
    /// Signal that ended it.
    pub(crate) signal: Option<i32>,
    /// Why it was stopped, if it did not end by itself.
    pub(crate) stopped_by: Option<StopCause>,
    /// Monotonic time at which the leader ended.
    pub(crate) exit_at_ns: u64,
    /// User and system time of the whole tree, putting up the walls included.
    pub(crate) cpu_us: u64,
    /// Largest resident set of a single process.
    pub(crate) peak_rss_bytes: u64,
    /// Processes that outlived the leader and were killed.
    pub(crate) survivors_killed: u32,
    /// Was the tree proven empty?
    pub(crate) quiescent: bool,
}

/// Why a supervisor stopped its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopCause {
    /// The wall limit.
    WallLimit,
    /// The harness asked, because of the output cap.
    OutputCap,
    /// The harness asked, because of the disk cap.
    DiskCap,
    /// The harness asked.
    Asked,
    /// The harness or the launcher is gone.
    Abandoned,
}

impl StopCause {
    /// The one-byte datagram by which the harness asks.
    pub(crate) fn as_datagram(self) -> &'static [u8] {
        match self {
            Self::OutputCap => b"o",
            Self::DiskCap => b"d",
            Self::Asked | Self::WallLimit | Self::Abandoned => b"a",
        }
    }

    /// Reads [`StopCause::as_datagram`]; an empty datagram is the end of the connection.
    pub(crate) fn from_datagram(datagram: &[u8]) -> Self {
        match datagram {
            b"" => Self::Abandoned,
            b"o" => Self::OutputCap,
            b"d" => Self::DiskCap,
            _ => Self::Asked,
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoWall { wall, detail } => write!(f, "{wall}: {detail}"),
            Self::ProbeWentThrough { probe, outcome } => write!(f, "{probe}: {outcome}"),
            Self::NotExecutable { program, errno } => {
                write!(f, "{program} cannot be executed: {}", std::io::Error::from_raw_os_error(*errno))
            }
            Self::Setup { step, detail } => write!(f, "{step}: {detail}"),
        }
    }
}
