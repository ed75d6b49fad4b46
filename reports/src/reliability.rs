//! How far an arm's repeats agree and what a pass costs. Descriptive only: none of it gates.

use std::collections::{BTreeMap, BTreeSet};

use bench_core::Metric;
use bench_record::CellRecord;
use bench_stats::pass_at_k::pass_hat_k;

use crate::analysis::Reliability;
use crate::protocol::Protocol;

/// The summary over an arm's cells in valid blocks.
pub(crate) fn reliability(protocol: &Protocol, records: &[&CellRecord]) -> Reliability {
    let mut by_task: BTreeMap<&str, Vec<&CellRecord>> = BTreeMap::new();
    for record in records {
        by_task.entry(record.task.as_str()).or_default().push(record);
    }
    let counts: Vec<(u64, u64)> =
        by_task.values().map(|cells| (cells.len() as u64, passes(cells.iter().copied()))).collect();
    let k = u64::from(protocol.repeats);
    let agreeing = counts.iter().filter_map(|(n, passed)| pass_hat_k(*n, *passed, k));
    let flips = counts.iter().filter(|(n, _)| *n > 1).map(|(n, passed)| flip(*n as f64, *passed as f64));
    let distinct = by_task
        .values()
        .map(|cells| cells.iter().map(|cell| &cell.transcript_sha256).collect::<BTreeSet<_>>().len() as f64);
    Reliability {
        pass_hat_k: mean(agreeing),
        flip_rate: mean(flips),
        cost_usd_per_pass: per_pass(records, Metric::CostUsd),
        tokens_per_pass: per_pass(records, Metric::TotalTokens),
        effective_repeats: if protocol.is_deterministic() { None } else { mean(distinct) },
        cache_read_share_by_position: cache_shares(records),
    }
}

/// Chance that two of `n` tries, drawn without putting back, differ.
fn flip(n: f64, passed: f64) -> f64 {
    2.0 * passed * (n - passed) / (n * (n - 1.0))
}

fn passes<'r>(records: impl Iterator<Item = &'r CellRecord>) -> u64 {
    records.filter(|record| record.passed() == Some(true)).count() as u64
}

/// Undefined at no pass, and wherever one cell's value is unknown: a sum with a hole is no sum.
fn per_pass(records: &[&CellRecord], metric: Metric) -> Option<f64> {
    let total: f64 = records.iter().map(|record| record.metric(metric)).sum::<Option<f64>>()?;
    let passed = passes(records.iter().copied());
    (passed > 0).then(|| total / passed as f64)
}

fn cache_shares(records: &[&CellRecord]) -> BTreeMap<u32, Option<f64>> {
    let mut sums: BTreeMap<u32, Option<(f64, f64)>> = BTreeMap::new();
    for record in records {
        let known = record.metric(Metric::CachedInputTokens).zip(record.metric(Metric::InputTokens));
        let sum = sums.entry(record.position).or_insert(Some((0.0, 0.0)));
        *sum = sum.zip(known).map(|((a, b), (cached, input))| (a + cached, b + input));
    }
    let share = |(cached, input): (f64, f64)| (input > 0.0).then(|| cached / input);
    sums.into_iter().map(|(position, sum)| (position, sum.and_then(share))).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}
