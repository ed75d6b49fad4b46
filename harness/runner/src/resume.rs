//! What earlier processes did: which cells are settled, which attempts were cut off, where a block goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bench_core::{Block, Cell, Rerun};
use bench_record::CellRecord;

use crate::BlockState;
use crate::breaker::outages;
use crate::prepare::RunPlan;

/// What the journal says was done before.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    records: BTreeMap<String, Vec<RecordGist>>,
}

/// The part of a record that decides what is left to do.
#[derive(Debug, Clone)]
struct RecordGist {
    arm: bench_core::ArmId,
    round: u32,
    attempt: u32,
    settles: bool,
    repeats_block: bool,
    /// Did it fail in an outage of the upstream, which is no failure of its block?
    in_outage: bool,
}

impl Progress {
    /// Reads it off the records of a journal.
    pub fn of(records: &[CellRecord]) -> Self {
        let mut by_block: BTreeMap<String, Vec<RecordGist>> = BTreeMap::new();
        let endings: Vec<_> = records.iter().map(|record| record.ending.kind).collect();
        for (record, in_outage) in records.iter().zip(outages(&endings)) {
            by_block.entry(record.block.clone()).or_default().push(RecordGist {
                arm: record.arm.clone(),
                round: record.round,
                attempt: record.attempt,
                settles: record.settles(),
                repeats_block: record.ending.disposition().rerun == Rerun::BlockOnce && record.settles(),
                in_outage,
            });
        }
        Self { records: by_block }
    }

    /// Cells settled in the last round of their block.
    pub fn settled_cells(&self, plan: &RunPlan) -> u32 {
        plan.schedule
            .blocks
            .iter()
            .map(|block| match self.open_block(plan, block) {
                None => block.order.len() as u32,
                Some(state) => state.settled.len() as u32,
            })
            .sum()
    }

    /// What is left of a block; `None` = nothing.
    pub fn open_block(&self, plan: &RunPlan, block: &Block) -> Option<BlockState> {
        let Some(records) = self.records.get(&block.id()) else {
            return Some(BlockState { round: 1, ..BlockState::default() });
        };
        let last_round = records.iter().map(|r| r.round).max().unwrap_or(1);
        let failed = |round: u32| records.iter().any(|r| r.round == round && r.repeats_block);
        let spends = |round: u32| records.iter().any(|r| r.round == round && r.repeats_block && !r.in_outage);
        let failed_rounds = (1..=last_round).filter(|&round| spends(round)).count() as u32;
        let mut attempts = BTreeMap::new();
        for record in records {
            let highest = attempts.entry(record.arm.clone()).or_insert(0);
            *highest = record.attempt.max(*highest);
        }
        let may_repeat = failed_rounds <= plan.experiment.rules.max_reruns_per_block;
        if failed(last_round) && may_repeat {
            return Some(BlockState {
                round: last_round + 1,
                failed_rounds,
                settled: Vec::new(),
                attempts,
                split: false,
            });
        }
        let settled: Vec<_> = block
            .order
            .iter()
            .filter(|arm| records.iter().any(|r| r.round == last_round && &r.arm == *arm && r.settles))
            .cloned()
            .collect();
        if settled.len() == block.order.len() {
            return None;
        }
        // A stochastic upstream answers otherwise an hour later: the block is run again whole, as a new round.
        if !plan.experiment.upstream.is_deterministic() {
            return Some(BlockState {
                round: last_round + 1,
                failed_rounds,
                attempts,
                ..BlockState::default()
            });
        }
        Some(BlockState { round: last_round, failed_rounds, settled, attempts, split: true })
    }
}

/// Attempts whose evidence directory exists and whose record does not: they were cut off with the harness. Returned as
/// cells with the attempt's number, in the order of the schedule.
pub fn salvage(plan: &RunPlan, run_dir: &Path, records: &[CellRecord]) -> Vec<(Cell, u32)> {
    let known: BTreeSet<(String, u32)> = records.iter().map(|r| (r.cell_id(), r.attempt)).collect();
    let mut found = Vec::new();
    for cell in plan.schedule.cells() {
        let parent = run_dir.join(bench_record::attempt_dir(&cell, 0));
        let Some(parent) = parent.parent() else { continue };
        let Ok(entries) = std::fs::read_dir(parent) else { continue };
        let mut attempts: Vec<u32> = entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_prefix("attempt-")?.parse().ok())
            .filter(|attempt| !known.contains(&(cell.id(), *attempt)))
            .collect();
        attempts.sort_unstable();
        found.extend(attempts.into_iter().map(|attempt| (cell.clone(), attempt)));
    }
    found
}
