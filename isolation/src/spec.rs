//! What is asked of the launcher: one program, its surroundings, and the rules of its walls.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bench_core::Program;
use bench_core::evidence::Housekeeping;
use serde::{Deserialize, Serialize};

use crate::seccomp::Debugger;

/// One program to be run behind walls.
#[derive(Debug, Clone)]
pub struct CellSpec {
    /// What is executed.
    pub program: Program,
    /// Arguments after argv\[0\].
    pub args: Vec<String>,
    /// The whole environment: nothing else is passed on.
    pub env: BTreeMap<String, String>,
    /// Directory in which it starts.
    pub cwd: PathBuf,
    /// The rules of its walls.
    pub policy: Policy,
    /// Milliseconds from exec after which it is stopped.
    pub wall_ms: u64,
    /// Bytes of stdout and stderr together after which it is stopped.
    pub output_cap_bytes: u64,
}

/// What a cell may touch. What is not named here, and not on the system's list, is refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Files and trees that it may read and execute beyond the system's.
    pub readable: Vec<PathBuf>,
    /// Trees that it may change; the first is the workspace, in which a probe opens a file for writing or writes one and removes it again.
    pub writable: Vec<PathBuf>,
    /// The one TCP port that it may connect to; none = no TCP at all.
    pub connect_port: Option<u16>,
    /// Paths that a probe tries to open before the program starts; if one opens, the program never runs.
    pub must_not_read: Vec<PathBuf>,
    /// What the agent's own program is known to do and is refused: counted, never its wandering.
    pub housekeeping: Vec<Housekeeping>,
    /// Is what it tries written down?
    #[serde(default)]
    pub attempts: Attempts,
    /// May its processes trace one another? Asked for by the task, and confined to the cell by Landlock. Where the network
    /// is the cell's own they may also connect to one another there: some debuggers speak with their program in no other way.
    #[serde(default)]
    pub debugger: Debugger,
}

/// Is what a cell tries on something outside written down? It is refused either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attempts {
    /// By the strongest detector that the cell's level has.
    #[default]
    Recorded,
    /// Nobody listens: for a cell that is believed for its exit code alone, such as a verifier's.
    Unheard,
}
