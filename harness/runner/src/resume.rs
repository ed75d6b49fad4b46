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

/// When a block is run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatRule {
    /// Re-runs of a block whose cell failed for a reason that was not the agent's.
    pub max_reruns: u32,
    /// Does the same request always get the same answer? Then a block that was cut off goes on where it was.
    pub deterministic: bool,
}

impl RepeatRule {
    /// The rule of an experiment.
    pub fn of(plan: &RunPlan) -> Self {
        Self {
            max_reruns: plan.experiment.rules.max_reruns_per_block,
            deterministic: plan.experiment.upstream.is_deterministic(),
        }
    }
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
            by_block.entry(record.block.to_string()).or_default().push(RecordGist {
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
        let rule = RepeatRule::of(plan);
        plan.schedule
            .blocks
            .iter()
            .map(|block| match self.open_block(rule, block) {
                None => block.order.len() as u32,
                Some(state) => state.settled.len() as u32,
            })
            .sum()
    }

    /// What is left of a block; `None` = nothing.
    pub fn open_block(&self, rule: RepeatRule, block: &Block) -> Option<BlockState> {
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
        let may_repeat = failed_rounds <= rule.max_reruns;
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
        if !rule.deterministic {
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

#[cfg(test)]
mod tests {
    use super::*;
    use bench_core::{ArmId, TaskId};

    const ORACLE: RepeatRule = RepeatRule { max_reruns: 1, deterministic: true };
    const MODEL: RepeatRule = RepeatRule { max_reruns: 1, deterministic: false };

    #[derive(Clone, Copy)]
    enum Was {
        Settled,
        Failed,
        Outage,
        Cut,
    }

    fn arm(name: &str) -> ArmId {
        ArmId::new(name).unwrap()
    }

    fn block() -> Block {
        Block { task: TaskId::new("t").unwrap(), repeat: 1, order: vec![arm("a"), arm("b")] }
    }

    /// Records of (arm, round, attempt, how it ended).
    fn progress(records: &[(&str, u32, u32, Was)]) -> Progress {
        let gists = records.iter().map(|&(name, round, attempt, was)| RecordGist {
            arm: arm(name),
            round,
            attempt,
            settles: !matches!(was, Was::Cut),
            repeats_block: matches!(was, Was::Failed | Was::Outage),
            in_outage: matches!(was, Was::Outage),
        });
        Progress { records: BTreeMap::from([("t/r01".to_owned(), gists.collect())]) }
    }

    #[test]
    fn a_block_without_records_starts_with_round_one() {
        let state = Progress::default().open_block(ORACLE, &block()).unwrap();
        assert_eq!((state.round, state.failed_rounds, state.split), (1, 0, false));
    }

    #[test]
    fn a_settled_block_is_closed() {
        let done = progress(&[("a", 1, 1, Was::Settled), ("b", 1, 1, Was::Settled)]);
        assert_eq!(done.open_block(ORACLE, &block()), None);
        assert_eq!(done.open_block(MODEL, &block()), None);
    }

    #[test]
    fn a_cut_block_goes_on_under_the_oracle_and_starts_anew_under_a_model() {
        let cut = progress(&[("a", 1, 1, Was::Settled), ("b", 1, 1, Was::Cut)]);
        let oracle = cut.open_block(ORACLE, &block()).unwrap();
        assert_eq!((oracle.round, oracle.settled, oracle.split), (1, vec![arm("a")], true));
        assert_eq!(oracle.attempts[&arm("b")], 1, "the next attempt is the second");
        let model = cut.open_block(MODEL, &block()).unwrap();
        assert_eq!((model.round, model.settled.len(), model.failed_rounds), (2, 0, 0));
    }

    #[test]
    fn a_failed_block_is_repeated_once_and_then_finished_as_it_is() {
        let once = progress(&[("a", 1, 1, Was::Failed)]);
        let state = once.open_block(ORACLE, &block()).unwrap();
        assert_eq!((state.round, state.failed_rounds, state.settled.len()), (2, 1, 0));
        let twice = progress(&[("a", 1, 1, Was::Failed), ("a", 2, 2, Was::Failed)]);
        let state = twice.open_block(ORACLE, &block()).unwrap();
        assert_eq!((state.round, state.failed_rounds, state.settled), (2, 2, vec![arm("a")]));
        let all = progress(&[("a", 1, 1, Was::Failed), ("a", 2, 2, Was::Failed), ("b", 2, 1, Was::Settled)]);
        assert_eq!(all.open_block(ORACLE, &block()), None);
    }

    #[test]
    fn an_outage_repeats_a_block_and_spends_none_of_its_chances() {
        let before = progress(&[("a", 1, 1, Was::Outage), ("a", 2, 2, Was::Outage)]);
        let state = before.open_block(MODEL, &block()).unwrap();
        assert_eq!((state.round, state.failed_rounds, state.settled.len()), (3, 0, 0));
    }
}
