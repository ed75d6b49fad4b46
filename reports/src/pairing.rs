//! Pairs of a contrast: the same task and repeat under control and candidate, grouped by cluster.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use bench_core::{Metric, Track};
use bench_record::CellRecord;
use bench_stats::{ClusterTrials, CostPair, PairTable};

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
    /// Where each cluster stands, while pairs are put in.
    places: HashMap<&'a str, usize>,
    /// Cluster and track of blocks without an outcome, one entry a block.
    missing: Vec<(&'a str, Option<Track>)>,
    /// Pairs that repeat an earlier one of their task word for word: one observation, counted once.
    duplicates: usize,
    /// Factor on every cost of the candidate; none = as recorded. Only a calibration sets it.
    inflation: Option<f64>,
}

/// A contrast's pairs as its gates look at them: without the blocks of outside access, and with them as graded.
#[derive(Debug, Clone)]
pub(crate) struct BothWays<'a> {
    /// Without them: what every estimate is made of.
    pub(crate) strict: Pairs<'a>,
    /// With them; `None` where there are none.
    pub(crate) with_outside: Option<Pairs<'a>>,
}

impl<'a> BothWays<'a> {
    /// Both ways of a contrast.
    pub(crate) fn of(protocol: &Protocol, selection: &'a Selection<'a>, contrast: &ContrastEntry) -> Self {
        let outside = selection.blocks.iter().any(|block| block.state == BlockState::Outside);
        let of = |which| Pairs::of(protocol, selection, contrast, which);
        Self { strict: of(Blocks::Valid), with_outside: outside.then(|| of(Blocks::WithOutside)) }
    }

    /// Only the blocks of a track; none = all.
    pub(crate) fn on_track(&self, track: Option<Track>) -> Cow<'_, Self> {
        let Some(track) = track else { return Cow::Borrowed(self) };
        Cow::Owned(Self {
            strict: self.strict.on_track(track),
            with_outside: self.with_outside.as_ref().map(|pairs| pairs.on_track(track)),
        })
    }

    /// The same with every cost of the candidate times `factor`.
    pub(crate) fn inflated(&self, factor: f64) -> Self {
        let inflated = |pairs: &Pairs<'a>| Pairs { inflation: Some(factor), ..pairs.clone() };
        Self { strict: inflated(&self.strict), with_outside: self.with_outside.as_ref().map(inflated) }
    }
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
        // Blocks come task by task: what was seen is what this task showed.
        let (mut seen, mut of_task) = (BTreeSet::new(), None);
        for block in &selection.blocks {
            if of_task != Some(block.task) {
                seen.clear();
                of_task = Some(block.task);
            }
            let takes_part = match block.state {
                BlockState::Valid => true,
                BlockState::Outside => which == Blocks::WithOutside,
                BlockState::Pending => false,
                BlockState::Invalid(_) => {
                    pairs.missing.push((block.cluster(), block.track()));
                    false
                }
            };
            if let (true, Some(control), Some(candidate)) =
                (takes_part, block.cells[control], block.cells[candidate])
            {
                // Under an upstream that answers alike every time equal transcripts are the rule; elsewhere they mean
                // that something was replayed, and a replay is no second observation.
                let transcripts = (&control.transcript_sha256, &candidate.transcript_sha256);
                if !protocol.is_deterministic() && !seen.insert(transcripts) {
                    pairs.duplicates += 1;
                    continue;
                }
                pairs.push(Pair { block, control, candidate });
            }
        }
        pairs
    }

    fn push(&mut self, pair: Pair<'a>) {
        let name = pair.block.cluster();
        let place = *self.places.entry(name).or_insert(self.clusters.len());
        match self.clusters.get_mut(place) {
            Some((_, list)) => list.push(pair),
            None => self.clusters.push((name, vec![pair])),
        }
    }

    fn on_track(&self, track: Track) -> Self {
        let mut kept = self.clone();
        for (_, pairs) in &mut kept.clusters {
            pairs.retain(|pair| pair.block.track() == Some(track));
        }
        kept.clusters.retain(|(_, pairs)| !pairs.is_empty());
        kept.missing.retain(|(_, of)| of.is_none_or(|of| of == track));
        kept
    }

    /// Only the pairs that both arms passed.
    pub(crate) fn both_passed(&self) -> Self {
        let mut kept = self.clone();
        for (_, pairs) in &mut kept.clusters {
            pairs.retain(|pair| pair.passed() == (true, true));
        }
        kept.clusters.retain(|(_, pairs)| !pairs.is_empty());
        kept
    }

    /// Trials of the candidate by cluster (cells in which the rate is known, and those of them in which it is 1), and the
    /// number of cells in which it is not known though it should be.
    pub(crate) fn trials(&self, metric: Metric) -> (Vec<ClusterTrials>, usize) {
        let (named, unknown) = self.named_trials(metric);
        (named.into_iter().map(|(_, trials)| trials).collect(), unknown)
    }

    /// The same with every block without an outcome counted as one in which nothing was found, in its own cluster.
    pub(crate) fn adverse_trials(&self, metric: Metric) -> Vec<ClusterTrials> {
        let (mut named, _) = self.named_trials(metric);
        for (cluster, track) in &self.missing {
            if metric == Metric::DiscoveryRate && *track != Some(Track::Orchestration) {
                continue;
            }
            match named.iter_mut().find(|(name, _)| name == cluster) {
                Some((_, trials)) => trials.needed += 1,
                None => named.push((cluster, ClusterTrials { found: 0, needed: 1 })),
            }
        }
        named.into_iter().map(|(_, trials)| trials).collect()
    }

    fn named_trials(&self, metric: Metric) -> (Vec<(&'a str, ClusterTrials)>, usize) {
        let mut unknown = 0;
        let mut trials = Vec::with_capacity(self.clusters.len());
        for (name, pairs) in &self.clusters {
            let mut cluster = ClusterTrials { found: 0, needed: 0 };
            for pair in pairs.iter().filter(|pair| pair.is_asked(metric)) {
                match pair.candidate.metric(metric) {
                    Some(value) => {
                        cluster.needed += 1;
                        cluster.found += u64::from(value > 0.5);
                    }
                    None => unknown += 1,
                }
            }
            if cluster.needed > 0 {
                trials.push((*name, cluster));
            }
        }
        (trials, unknown)
    }

    /// All pairs.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Pair<'a>> {
        self.clusters.iter().flat_map(|(_, pairs)| pairs)
    }

    /// Distinct tasks.
    pub(crate) fn tasks(&self) -> usize {
        // A task has one cluster, and blocks come task by task.
        let in_cluster = |pairs: &Vec<Pair<'_>>| pairs.chunk_by(|a, b| a.block.task == b.block.task).count();
        self.clusters.iter().map(|(_, pairs)| in_cluster(pairs)).sum()
    }

    /// Pass/fail tables by cluster.
    pub(crate) fn tables(&self) -> Vec<PairTable> {
        self.clusters.iter().map(|(_, pairs)| table(pairs)).collect()
    }

    /// The same with every block without an outcome completed by `complete`, in its own cluster.
    pub(crate) fn completed_tables(&self, complete: impl Fn(&mut PairTable)) -> Vec<PairTable> {
        let mut tables: Vec<(&str, PairTable)> =
            self.clusters.iter().map(|(name, pairs)| (*name, table(pairs))).collect();
        for (cluster, _) in &self.missing {
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

    /// Pairs left out since they repeat an earlier one.
    pub(crate) fn duplicates(&self) -> usize {
        self.duplicates
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
                if let Some(inflation) = self.inflation {
                    candidate *= inflation;
                }
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
    /// Is the metric asked of this pair's task? Discovery is asked of the orchestration track alone.
    pub(crate) fn is_asked(&self, metric: Metric) -> bool {
        metric != Metric::DiscoveryRate || self.block.track() == Some(Track::Orchestration)
    }

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
