//! Task by task: pass/fail pairs and the ratios of the gated costs. Descriptive only.

use std::collections::BTreeMap;

use bench_core::{Margin, Metric};
use bench_stats::CostPair;

use crate::analysis::{TaskRatio, TaskSummary};
use crate::pairing::{Pair, Pairs};
use crate::protocol::{ContrastEntry, Protocol};

/// The table of a contrast, tasks in the order of the lock within their clusters.
pub(crate) fn task_table(
    protocol: &Protocol,
    contrast: &ContrastEntry,
    pairs: &Pairs<'_>,
) -> Vec<TaskSummary> {
    let gated: Vec<Metric> = protocol
        .gates_of(contrast)
        .filter(|gate| matches!(gate.margin, Margin::RatioAtMost { .. }))
        .map(|gate| gate.metric)
        .collect();
    let all: Vec<&Pair<'_>> = pairs.iter().collect();
    all.chunk_by(|a, b| a.block.task == b.block.task).map(|of_task| summary(of_task, &gated)).collect()
}

fn summary(pairs: &[&Pair<'_>], gated: &[Metric]) -> TaskSummary {
    let count = |outcome: (bool, bool)| pairs.iter().filter(|pair| pair.passed() == outcome).count() as u64;
    let block = pairs[0].block;
    TaskSummary {
        task: block.task.to_string(),
        cluster: block.cluster().to_owned(),
        both: count((true, true)),
        control_only: count((true, false)),
        candidate_only: count((false, true)),
        neither: count((false, false)),
        ratios: gated
            .iter()
            .filter_map(|metric| Some((*metric, ratio(pairs, *metric)?)))
            .collect::<BTreeMap<_, _>>(),
    }
}

fn ratio(pairs: &[&Pair<'_>], metric: Metric) -> Option<TaskRatio> {
    let costs: Vec<CostPair> = pairs
        .iter()
        .filter_map(|pair| pair.values(metric))
        .map(|(control, candidate)| CostPair { control, candidate })
        .collect();
    if costs.is_empty() {
        return None;
    }
    let positive = costs.iter().all(|pair| pair.control > 0.0 && pair.candidate > 0.0);
    let logs: f64 = costs.iter().map(|pair| (pair.candidate / pair.control).ln()).sum();
    let (control, candidate) =
        costs.iter().fold((0.0, 0.0), |(x, y), pair| (x + pair.control, y + pair.candidate));
    Some(TaskRatio {
        gmr: positive.then(|| (logs / costs.len() as f64).exp()),
        ratio_of_means: (control > 0.0).then(|| candidate / control),
    })
}
