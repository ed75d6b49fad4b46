//! Schedule to attempts to journal: skip what is settled, attempt, append.
//!
//! An `Err` from here means only that a record could not be kept; whatever ends an attempt is data in its record. The
//! protocol of one cell stands in [`cell`]; nothing here prints.

mod access;
pub mod agent_says;
pub mod attempt;
mod breaker;
mod canary;
pub mod cell;
mod ending;
pub mod evidence;
mod kept;
mod nested_calls;
mod patch;
mod prepare;
mod progress;
mod resume;
mod suite_check;
mod surface_probe;
mod tampering;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use bench_core::{Block, Cell, Ending, EndingKind, LimitHit, Rerun, RunEvent};
use bench_record::{CellRecord, Journal, JournalError};
use tokio::sync::Mutex;

use crate::breaker::Breaker;

pub use crate::attempt::{AttemptError, Harness, Ticket};
pub use crate::canary::{CanaryFinding, canary};
pub use crate::prepare::{PrepareError, ReadyArm, RunPlan, Site, prepare};
pub use crate::progress::Events;
pub use crate::resume::{Progress, RepeatRule, salvage};
pub use crate::suite_check::{TaskCheck, check_task};
pub use crate::surface_probe::{SurfaceProbe, probe_surface};

/// A run that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The journal cannot be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Evidence cannot be kept.
    #[error(transparent)]
    Attempt(#[from] AttemptError),
    /// A worker ended without a word.
    #[error("a worker of the run ended unexpectedly: {0}; this is a fault of bench, please report it")]
    Worker(String),
}

/// How a run's loop ended.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEnd {
    /// Every cell is settled.
    Complete,
    /// Somebody asked it to stop.
    Stopped,
    /// The upstream failed attempt after attempt: nothing further was started.
    UpstreamDown {
        /// Why the last of them failed.
        detail: String,
    },
    /// A cap on the whole run was reached: nothing further was started.
    LimitReached(LimitHit),
}

/// The wish to stop, set from outside: first no further cell starts, then the cells in flight are killed.
#[derive(Debug, Default)]
pub struct StopWish {
    level: AtomicU8,
    notify: tokio::sync::Notify,
}

impl StopWish {
    /// Raises the wish by one: 1 = finish the cells in flight, 2 = kill them.
    pub fn raise(&self) -> u8 {
        let level = self.level.fetch_add(1, Ordering::SeqCst) + 1;
        self.notify.notify_waiters();
        level
    }

    /// Should no further cell start?
    pub fn is_raised(&self) -> bool {
        self.level.load(Ordering::SeqCst) >= 1
    }

    /// Resolves when cells in flight are to be killed.
    pub async fn killed(&self) {
        loop {
            let wake = self.notify.notified();
            if self.level.load(Ordering::SeqCst) >= 2 {
                return;
            }
            wake.await;
        }
    }
}

/// Everything a run needs while it runs.
pub struct Run {
    /// What is to be done.
    pub plan: Arc<RunPlan>,
    /// By what means.
    pub harness: Arc<Harness>,
    /// What was done before.
    pub progress: Progress,
    /// Where records go.
    pub journal: Journal,
    /// Who wants to stop.
    pub stop: Arc<StopWish>,
    /// Blocks in flight at once.
    pub jobs: usize,
}

/// Runs every cell that the journal does not hold yet. Blocks are the unit of concurrency: arms within a block come
/// strictly one after the other.
pub async fn run(run: Run) -> Result<RunEnd, RunError> {
    let Run { plan, harness, progress, journal, stop, jobs } = run;
    let journal = Arc::new(Mutex::new(journal));
    let breaker = Arc::new(Breaker::default());
    let limits = harness.spending.run.clone();
    let left = Arc::new(AtomicBool::new(false));
    let reached = || limits.as_ref().and_then(|run| run.reached());
    let mut workers = tokio::task::JoinSet::new();
    let mut outcome = Ok(());
    for block in plan.schedule.blocks.clone() {
        let Some(state) = progress.open_block(RepeatRule::of(&plan), &block) else { continue };
        while workers.len() >= jobs.max(1) && outcome.is_ok() {
            outcome = joined(workers.join_next().await);
        }
        if outcome.is_err() || stop.is_raised() || breaker.is_open() || reached().is_some() {
            left.store(true, Ordering::SeqCst);
            break;
        }
        let worker = BlockWorker {
            plan: plan.clone(),
            harness: harness.clone(),
            journal: journal.clone(),
            stop: stop.clone(),
            breaker: breaker.clone(),
            left: left.clone(),
            block,
        };
        workers.spawn(async move { worker.run(state).await });
    }
    while let Some(result) = workers.join_next().await {
        let result = joined(Some(result));
        outcome = outcome.and(result);
    }
    outcome?;
    Ok(match (breaker.why(), left.load(Ordering::SeqCst).then(reached).flatten()) {
        (Some(detail), _) => RunEnd::UpstreamDown { detail },
        (None, Some(hit)) => RunEnd::LimitReached(hit),
        (None, None) if stop.is_raised() => RunEnd::Stopped,
        (None, None) => RunEnd::Complete,
    })
}

fn joined(result: Option<Result<Result<(), RunError>, tokio::task::JoinError>>) -> Result<(), RunError> {
    match result {
        None => Ok(()),
        Some(Ok(outcome)) => outcome,
        Some(Err(panic)) => Err(RunError::Worker(panic.to_string())),
    }
}

/// What is left of a block: the round that is open and the cells of it that are settled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BlockState {
    /// Execution of the block, from 1.
    pub round: u32,
    /// Earlier executions that ended for a reason that was not the agent's.
    pub failed_rounds: u32,
    /// Arms settled in this round.
    pub settled: Vec<bench_core::ArmId>,
    /// Attempts made so far per arm, in any round.
    pub attempts: std::collections::BTreeMap<bench_core::ArmId, u32>,
    /// Was a part of it done by an earlier process?
    pub split: bool,
}

struct BlockWorker {
    plan: Arc<RunPlan>,
    harness: Arc<Harness>,
    journal: Arc<Mutex<Journal>>,
    stop: Arc<StopWish>,
    breaker: Arc<Breaker>,
    /// Set when something of the schedule is left undone.
    left: Arc<AtomicBool>,
    block: Block,
}

impl BlockWorker {
    /// Runs what is left of the block; runs the whole block again while the rules allow it.
    async fn run(self, mut state: BlockState) -> Result<(), RunError> {
        loop {
            match self.round(&mut state).await? {
                RoundEnd::Settled | RoundEnd::Stopped => return Ok(()),
                RoundEnd::Again(ending) => {
                    self.harness.events.emit(&RunEvent::BlockRepeated { block: self.block.id(), ending });
                    state.round += 1;
                    state.failed_rounds += 1;
                    state.settled.clear();
                    state.split = false;
                }
            }
        }
    }

    async fn round(&self, state: &mut BlockState) -> Result<RoundEnd, RunError> {
        let may_repeat = state.failed_rounds < self.plan.experiment.rules.max_reruns_per_block;
        for cell in self.block.cells().filter(|cell| !state.settled.contains(&cell.arm)).collect::<Vec<_>>() {
            let spent = self.harness.spending.run.as_ref().is_some_and(|run| run.reached().is_some());
            if self.stop.is_raised() || self.breaker.is_open() || spent {
                self.left.store(true, Ordering::SeqCst);
                return Ok(RoundEnd::Stopped);
            }
            let attempts = state.attempts.entry(cell.arm.clone()).or_default();
            *attempts += 1;
            let ticket = Ticket {
                cell: cell.clone(),
                attempt: *attempts,
                round: state.round,
                order: self.block.order.clone(),
                block_split: state.split,
            };
            let record = self.settle(&ticket).await?;
            let ending = record.ending;
            self.breaker.note(&ending);
            if ending.kind == EndingKind::Interrupted || self.breaker.is_open() {
                self.left.store(true, Ordering::SeqCst);
                return Ok(RoundEnd::Stopped);
            }
            if may_repeat && repeats_block(&ending) {
                return Ok(RoundEnd::Again(ending.kind));
            }
        }
        Ok(RoundEnd::Settled)
    }

    /// One attempt and its record on disk.
    async fn settle(&self, ticket: &Ticket) -> Result<CellRecord, RunError> {
        let id = ticket.cell.id();
        let events = &self.harness.events;
        events.emit(&RunEvent::AttemptStarted { cell: id.clone(), attempt: ticket.attempt });
        let record = cell::attempt(&self.plan, &self.harness, &self.stop, ticket).await?;
        events.emit(&RunEvent::Appending { cell: id.clone() });
        // The lock serialises appends: a record is one line, whole, or it is not there.
        self.journal.lock().await.append(&record)?;
        events.emit(&RunEvent::Settled {
            cell: id,
            ending: record.ending.kind,
            passed: record.passed(),
            total_tokens: record.metrics.total_tokens,
            first_request_tokens: record.metrics.first_request_tokens,
            cost_usd: record.metrics.cost_usd,
        });
        Ok(record)
    }
}

enum RoundEnd {
    Settled,
    Stopped,
    Again(EndingKind),
}

fn repeats_block(ending: &Ending) -> bool {
    match ending.disposition().rerun {
        Rerun::No => false,
        Rerun::BlockOnce => true,
    }
}

/// Cells in the order of execution: what `bench plan` prints.
pub fn planned_cells(plan: &RunPlan) -> Vec<Cell> {
    plan.schedule.cells().collect()
}
