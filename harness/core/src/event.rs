//! One event stream from the runner: it feeds the progress display, `--events` and the tests.

use serde::{Deserialize, Serialize};

use crate::ending::EndingKind;

/// Something that happened in a run. Cells are named `task/r01/arm`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunEvent {
    /// The plan is fixed and the lock is written.
    RunStarted {
        /// Run directory.
        run: String,
        /// Cells planned.
        cells: u32,
        /// Of these, settled by an earlier process.
        settled: u32,
    },
    /// An attempt begins.
    AttemptStarted {
        /// Cell.
        cell: String,
        /// From 1.
        attempt: u32,
    },
    /// The workspace stands and the recorder listens.
    AgentStarting {
        /// Cell.
        cell: String,
    },
    /// The agent has ended and the cell is empty.
    AgentEnded {
        /// Cell.
        cell: String,
        /// How.
        ending: EndingKind,
    },
    /// The hidden check has spoken.
    Verified {
        /// Cell.
        cell: String,
        /// Passed?
        passed: bool,
    },
    /// The record is about to be appended to the journal.
    Appending {
        /// Cell.
        cell: String,
    },
    /// The record is on disk.
    Settled {
        /// Cell.
        cell: String,
        /// Ending.
        ending: EndingKind,
        /// Verdict; null where nothing was verified.
        passed: Option<bool>,
        /// Input plus output tokens, null when unknown.
        total_tokens: Option<u64>,
        /// Tokens of the first request, null when unknown.
        first_request_tokens: Option<u64>,
        /// US dollars, null when unknown or unpriced.
        cost_usd: Option<f64>,
    },
    /// A block is run again because a cell failed for a reason that was not the agent's.
    BlockRepeated {
        /// `task/r01`.
        block: String,
        /// The ending that caused it.
        ending: EndingKind,
    },
    /// Every cell is settled.
    RunEnded {
        /// Run directory.
        run: String,
    },
}
