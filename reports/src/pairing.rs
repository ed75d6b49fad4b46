//! Pairs of a contrast: the same task and repeat under control and candidate, grouped by cluster.

use bench_core::Metric;
use bench_record::CellRecord;
use bench_stats::{CostPair, PairTable};

use crate::protocol::{ContrastEntry, Protocol};
use crate::selection::{Block, BlockState, Selection};

/// Control and candidate of one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) block: &'a Block<'a>,
    pub(crate) control: &'a CellRecord,
    pub(crate) candidate: &'a CellRecord,
}

/// Pairs by cluster, clusters in the order of the lock's tasks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pairs<'a> {
    clusters: Vec<(&'a str, Vec<Pair<'a>>)>,
    /// Clusters of blocks without an outcome, one entry a block.
    missing: Vec<&'a str>,
}

/// Which blocks take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// Valid ones.
    Valid,
    /// Those with outside access too, as graded.
    WithOutside,
}

impl<'a> Pairs<'a> {
    /// Pairs of a contrast.
    pub(crate) fn of(
        protocol: &Protocol,
        selection: &'a Selection<'a>,
        contrast: &ContrastEntry,
        which: Blocks,
    ) -> Self {
        let mut pairs = Self::default();
        let arms = protocol.arm_index(&contrast.control).zip(protocol.arm_index(&contrast.candidate));
        let Some((control, candidate)) = arms else { return pairs };
        for block in &selection.blocks {
            let takes_part = match block.state {
                BlockState::Valid => true,
                BlockState::Outside => which == Blocks::WithOutside,
                BlockState::Pending => false,
                BlockState::Invalid(_) => {
                    pairs.missing.push(block.cluster());
                    false
                }
            };
            if let (true, Some(control), Some(candidate)) =
                (takes_part, block.cells[control], block.cells[candidate])
            {
                pairs.push(Pair { block, control, candidate });
            }
        }
        pairs
    }

    fn push(&mut self, pair: Pair<'a>) {
        let name = pair.block.cluster();
        match self.clusters.iter_mut().find(|(cluster, _)| *cluster == name) {
            Some((_, list)) => list.push(pair),
            None => self.clusters.push((name, vec![pair])),
        }
    }

    /// All pairs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pair<'a>> {
        self.clusters.iter().flat_map(|(_, pairs)| pairs)
    }

    /// Distinct tasks.
    pub(crate) fn tasks(&self) -> usize {
        let mut names: Vec<&str> = self.iter().map(|pair| pair.block.task.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }

    /// Pass/fail tables by cluster.
    pub(crate) fn tables(&self) -> Vec<PairTable> {
        self.clusters.iter().map(|(_, pairs)| table(pairs)).collect()
    }

    /// The same with every block without an outcome completed by `complete`, in its own cluster.
    pub(crate) fn completed_tables(&self, complete: impl Fn(&mut PairTable)) -> Vec<PairTable> {
        let mut tables: Vec<(&str, PairTable)> =
            self.clusters.iter().map(|(name, pairs)| (*name, table(pairs))).collect();
        for cluster in &self.missing {
            match tables.iter_mut().find(|(name, _)| name == cluster) {
                Some((_, table)) => complete(table),
                None => {
                    let mut table = PairTable::default();
                    complete(&mut table);
                    tables.push((cluster, table));
                }
            }
        }
        tables.into_iter().map(|(_, table)| table).collect()
    }

    /// Blocks without an outcome.
    pub(crate) fn missing_blocks(&self) -> usize {
        self.missing.len()
    }

    /// Costs by cluster of the pairs in which both values are known, and the number of pairs in which one is not. With
    /// `factor`, costs that were cut off are multiplied by it on the candidate's side.
    pub(crate) fn costs(&self, metric: Metric, factor: Option<f64>) -> (Vec<Vec<CostPair>>, usize) {
        let mut unknown = 0;
        let mut clusters = Vec::with_capacity(self.clusters.len());
        for (_, pairs) in &self.clusters {
            let mut costs = Vec::with_capacity(pairs.len());
            for pair in pairs {
                let Some((control, mut candidate)) = pair.values(metric) else {
                    unknown += 1;
                    continue;
                };
                if let Some(factor) = factor.filter(|_| is_censored(pair.candidate, metric)) {
                    candidate *= factor;
                }
                costs.push(CostPair { control, candidate });
            }
            if !costs.is_empty() {
                clusters.push(costs);
            }
        }
        (clusters, unknown)
    }
}

impl Pair<'_> {
    /// Both values of a metric, when both are known numbers.
    pub(crate) fn values(&self, metric: Metric) -> Option<(f64, f64)> {
        let known = |record: &CellRecord| record.metric(metric).filter(|v| v.is_finite() && *v >= 0.0);
        known(self.control).zip(known(self.candidate))
    }

    /// Did control and candidate pass?
    pub(crate) fn passed(&self) -> (bool, bool) {
        (self.control.passed() == Some(true), self.candidate.passed() == Some(true))
    }
}

/// Was the metric cut off in this record? By the record's own word, or because its ending cuts off what can be.
pub(crate) fn is_censored(record: &CellRecord, metric: Metric) -> bool {
    metric.nature().censorable && (record.censored.contains(&metric) || record.ending.disposition().censored)
}

fn table(pairs: &[Pair<'_>]) -> PairTable {
    let mut table = PairTable::default();
    for pair in pairs {
        match pair.passed() {
            (true, true) => table.both += 1,
            (true, false) => table.control_only += 1,
            (false, true) => table.candidate_only += 1,
            (false, false) => table.neither += 1,
        }
    }
    table
}
