//! From journal to blocks: which record counts for each planned cell, and which blocks are valid.
//!
//! **The rule.** Records with ending `interrupted` settle nothing. Of the others, the one with the highest attempt
//! counts for its cell (the later line of the journal where attempts are equal), so a block that was run again after a
//! failure that was not the agent's supersedes its older attempts once it has run. What a cell's ending means comes from
//! [`Ending::disposition`](bench_core::Ending::disposition) alone. A block counts when every arm's cell has an outcome;
//! else the whole block leaves every metric.

use std::collections::{BTreeSet, HashMap};

use bench_core::{Counting, IsolationLevel, SharedText, TaskId, Track};
use bench_record::CellRecord;

use crate::protocol::{AnalysisError, Protocol};

/// The upstream of records that were imported: their walls are the source's affair.
pub(crate) const IMPORTED: &str = "imported";

/// The different providers that answered, by their own fingerprint and per model asked for. A cell without a fingerprint
/// says nothing about it.
fn providers<'r>(records: impl Iterator<Item = &'r CellRecord>) -> BTreeSet<(&'r [SharedText], &'r str)> {
    let mut all: BTreeSet<(&[SharedText], &str)> = BTreeSet::new();
    for record in records {
        let Some(print) = record.upstream.fingerprint.as_deref() else { continue };
        all.insert((record.upstream.models_asked.as_slice(), print));
    }
    let repeated =
        |(asked, _): &(&[SharedText], &str)| all.iter().filter(|(other, _)| other == asked).count() > 1;
    if all.iter().any(repeated) { all } else { all.into_iter().take(1).collect() }
}

/// What a settled cell brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellOutcome {
    /// It counts.
    Counts,
    /// The arm reached beyond its cell; its block is out, and is looked at a second time as graded.
    Outside,
    /// There is no outcome.
    Missing(&'static str),
}

/// What a block brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockState {
    /// Every cell counts.
    Valid,
    /// A cell is not settled yet.
    Pending,
    /// Outside access and nothing worse.
    Outside,
    /// A cell has no outcome.
    Invalid(&'static str),
}

/// A planned block with the records that count.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) task: &'a TaskId,
    pub(crate) repeat: u32,
    /// By the arms' place in the lock.
    pub(crate) cells: Vec<Option<&'a CellRecord>>,
    pub(crate) state: BlockState,
}

/// The journal, sorted into what counts and what does not.
#[derive(Debug)]
pub(crate) struct Selection<'a> {
    /// Planned blocks, tasks in the order of the lock, repeats ascending.
    pub(crate) blocks: Vec<Block<'a>>,
    /// Settled records that a later attempt replaced.
    pub(crate) superseded: Vec<&'a CellRecord>,
    /// Attempts that were stopped with the harness.
    pub(crate) interrupted: Vec<&'a CellRecord>,
    /// Different providers (fingerprint and answering models) among the cells of valid blocks.
    pub(crate) providers: usize,
}

impl CellOutcome {
    /// What a record brings.
    pub(crate) fn of(record: &CellRecord) -> Self {
        if record.isolation.level == IsolationLevel::L0 && record.upstream.kind != IMPORTED {
            return Self::Missing("no_isolation");
        }
        match record.ending.disposition().counting {
            Counting::AsGraded if record.verdict.is_none() => Self::Missing("no_verdict"),
            Counting::AsGraded | Counting::AsFailed => Self::Counts,
            Counting::HarnessInvalid if record.verdict.is_none() => Self::Missing(record.ending.kind.word()),
            Counting::HarnessInvalid => Self::Outside,
            Counting::Missing => Self::Missing(record.ending.kind.word()),
        }
    }
}

impl<'a> Block<'a> {
    /// Its cluster, as recorded; the task where no record says.
    pub(crate) fn cluster(&self) -> &'a str {
        self.records().next().map_or(self.task.as_str(), |record| record.cluster.as_str())
    }

    /// Its track, as recorded.
    pub(crate) fn track(&self) -> Option<Track> {
        self.records().next().map(|record| record.track)
    }

    /// Its settled records, in the order of the arms in the lock.
    pub(crate) fn records(&self) -> impl Iterator<Item = &'a CellRecord> + '_ {
        self.cells.iter().copied().flatten()
    }

    fn judged(mut self) -> Self {
        let outcomes: Vec<CellOutcome> = self.records().map(CellOutcome::of).collect();
        let missing = outcomes.iter().find_map(|outcome| match outcome {
            CellOutcome::Missing(reason) => Some(*reason),
            CellOutcome::Counts | CellOutcome::Outside => None,
        });
        self.state = if let Some(reason) = missing {
            BlockState::Invalid(reason)
        } else if outcomes.len() < self.cells.len() {
            BlockState::Pending
        } else if providers(self.records()).len() > 1 {
            BlockState::Invalid("provider_changed")
        } else if outcomes.contains(&CellOutcome::Outside) {
            BlockState::Outside
        } else {
            BlockState::Valid
        };
        self
    }
}

impl<'a> Selection<'a> {
    /// Sorts the journal. Errors name a cell that the lock does not plan.
    pub(crate) fn of(protocol: &'a Protocol, records: &'a [CellRecord]) -> Result<Self, AnalysisError> {
        let places: HashMap<&TaskId, usize> =
            protocol.tasks.iter().enumerate().map(|(place, task)| (task, place)).collect();
        let (arms, repeats) = (protocol.arms.len(), protocol.repeats as usize);
        // Task by task, repeat by repeat, arms in the order of the lock.
        let mut counting: Vec<Option<&CellRecord>> = vec![None; protocol.tasks.len() * repeats * arms];
        let (mut superseded, mut interrupted) = (Vec::new(), Vec::new());
        for record in records {
            let foreign = || AnalysisError::ForeignCell { cell: record.cell_id() };
            let arm = protocol.arm_index(&record.arm).ok_or_else(foreign)?;
            let task = *places.get(&record.task).ok_or_else(foreign)?;
            if !(1..=protocol.repeats).contains(&record.repeat) {
                return Err(foreign());
            }
            if !record.settles() {
                interrupted.push(record);
                continue;
            }
            let counts = &mut counting[(task * repeats + record.repeat as usize - 1) * arms + arm];
            match counts {
                Some(older) if older.attempt > record.attempt => superseded.push(record),
                Some(_) | None => superseded.extend(counts.replace(record)),
            }
        }
        let mut cells = counting.chunks(arms.max(1));
        let blocks = protocol
            .tasks
            .iter()
            .flat_map(|task| (1..=protocol.repeats).map(move |repeat| (task, repeat)))
            .map(|(task, repeat)| {
                let cells = cells.next().unwrap_or_default().to_vec();
                Block { task, repeat, cells, state: BlockState::Pending }.judged()
            })
            .collect::<Vec<Block<'_>>>();
        let valid = blocks.iter().filter(|block| block.state == BlockState::Valid);
        let providers = providers(valid.flat_map(Block::records)).len();
        Ok(Self { blocks, superseded, interrupted, providers })
    }

    /// Records that count for their cells, in the order of the blocks.
    pub(crate) fn settled(&self) -> impl Iterator<Item = &'a CellRecord> + '_ {
        self.blocks.iter().flat_map(Block::records)
    }

    /// Records of one arm in valid blocks.
    pub(crate) fn valid_of(&self, arm: usize) -> Vec<&'a CellRecord> {
        let valid = self.blocks.iter().filter(|block| block.state == BlockState::Valid);
        valid.filter_map(|block| block.cells[arm]).collect()
    }

    /// Blocks in a state.
    pub(crate) fn count(&self, wanted: impl Fn(BlockState) -> bool) -> usize {
        self.blocks.iter().filter(|block| wanted(block.state)).count()
    }

    /// Blocks that are invalid because of this arm's cell and no other's.
    pub(crate) fn invalid_only(&self, arm: usize) -> u64 {
        let invalid = |record: Option<&CellRecord>| {
            record.is_some_and(|r| matches!(CellOutcome::of(r), CellOutcome::Missing(_)))
        };
        let only = |block: &&Block<'_>| {
            (0..block.cells.len()).all(|other| invalid(block.cells[other]) == (other == arm))
        };
        self.blocks.iter().filter(only).count() as u64
    }
}
