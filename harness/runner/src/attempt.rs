//! The means by which attempts are made, and the ticket that names one.

use std::path::PathBuf;
use std::sync::Arc;

use bench_core::{ArmId, Cell, Clock, Sha256Hex};
use bench_isolation::{Launcher, Slots};
use bench_proxy::{Counter, OracleBook, Spending, Upstream};
use bench_record::RunDir;

use crate::progress::Events;

/// One execution of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The cell.
    pub cell: Cell,
    /// From 1.
    pub attempt: u32,
    /// Execution of its block, from 1.
    pub round: u32,
    /// Arms of the block in order.
    pub order: Vec<ArmId>,
    /// Was the block begun by an earlier process?
    pub block_split: bool,
}

/// By what means attempts are made.
pub struct Harness {
    /// Starts cells.
    pub launcher: Launcher,
    /// Where cells live while they run.
    pub slots: Slots,
    /// Who answers model calls.
    pub upstream: Arc<dyn Upstream>,
    /// Plans that the oracle plays, by credential; empty under other upstreams.
    pub oracle: Arc<OracleBook>,
    /// Prices, and what the whole run may spend.
    pub spending: Spending,
    /// Who counts tokens.
    pub counter: Arc<Counter>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Who listens.
    pub events: Events,
    /// Where evidence goes.
    pub run_dir: RunDir,
}

/// Evidence that cannot be kept.
#[derive(Debug, thiserror::Error)]
#[error("evidence {path}: {source}; free the disk or mend the permissions, then run the same command again")]
pub struct AttemptError {
    /// The file or directory.
    pub path: PathBuf,
    /// Why.
    pub source: std::io::Error,
}

impl AttemptError {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self { path, source }
    }
}

impl Ticket {
    /// The dummy key of this attempt: valid for its own recorder, worthless anywhere else, of constant length.
    pub fn credential(&self, run: &RunDir, lock: &Sha256Hex) -> String {
        let seed = format!("{}\n{}\n{}\n{}", run.root().display(), lock, self.cell.id(), self.attempt);
        format!("bench-cell-{}", &Sha256Hex::of(seed).as_str()[..32])
    }
}
