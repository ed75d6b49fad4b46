//! "At least one primary outcome is better": one-sided tests of the pre-registered outcomes, Holm over them.
//!
//! An outcome that cannot be tested counts with p = 1: it can neither carry the claim nor lighten the correction.

use bench_core::{Decision, GateRule, Margin, Metric};
use bench_stats::bootstrap::Stream;
use bench_stats::holm::holm;
use bench_stats::non_inferiority::non_inferiority;
use bench_stats::ratio_of_means::linearised;
use bench_stats::sign_flip::sign_flip;
use bench_stats::{PairTable, Tendency};

use crate::analysis::OutcomeTest;
use crate::comparison::Costs;
use crate::gate_decision::{GateContext, Judgement};
use crate::pairing::Pairs;
use crate::protocol::Protocol;

/// Is one outcome better after Holm? FAIL only where every one is shown to be worse.
pub(crate) fn judge_benefit(context: &GateContext<'_>, gate: &GateRule, pairs: &Pairs<'_>) -> Judgement {
    let tests = outcome_tests(context, gate, pairs);
    if tests.iter().any(|test| test.holm_p <= context.protocol.rules.alpha) {
        return Judgement::from_tendency(Tendency::Holds);
    }
    if !tests.is_empty() && tests.iter().all(|test| is_worse(context.protocol, test.metric, pairs)) {
        return Judgement::of(Decision::Fail, "every_outcome_worse");
    }
    Judgement::of(Decision::Inconclusive, "no_benefit_shown")
}

/// The outcomes with their p; empty for other rules.
pub(crate) fn outcome_tests(
    context: &GateContext<'_>,
    gate: &GateRule,
    pairs: &Pairs<'_>,
) -> Vec<OutcomeTest> {
    let Margin::AnyBetter { outcomes } = &gate.margin else { return Vec::new() };
    let found: Vec<(Metric, Option<f64>)> = outcomes
        .iter()
        .map(|metric| {
            let p = p_not_better(context, *metric, pairs).filter(|p| p.is_finite());
            (*metric, p)
        })
        .collect();
    let raw: Vec<f64> = found.iter().map(|(_, p)| p.unwrap_or(1.0)).collect();
    let adjusted = holm(&raw).unwrap_or_else(|| vec![1.0; raw.len()]);
    found.into_iter().zip(adjusted).map(|((metric, p), holm_p)| OutcomeTest { metric, p, holm_p }).collect()
}

fn p_not_better(context: &GateContext<'_>, metric: Metric, pairs: &Pairs<'_>) -> Option<f64> {
    let protocol = context.protocol;
    if protocol.not_applicable(metric) || (metric == Metric::WallMs && context.contended) {
        return None;
    }
    if metric == Metric::PassRate {
        // Blocks without an outcome are completed against the claim.
        let tables = pairs.completed_tables(|table| table.control_only += 1);
        let effects: Vec<f64> = tables.iter().filter_map(PairTable::difference).collect();
        return sign_flip(&effects, 0.0, Stream { seed: protocol.seed, stream: 0 })
            .map(|test| test.p_greater);
    }
    let nature = protocol.nature(metric);
    let factor = nature.censorable.then_some(protocol.rules.par);
    let costs = Costs::of(pairs, metric, factor, protocol.rules.alpha);
    if costs.unknown > 0 || pairs.missing_blocks() > 0 || costs.clusters.len() < 2 {
        return None;
    }
    match &costs.ratio {
        Some(ratio) if ratio.degenerate => None,
        Some(ratio) => ratio.p_at_least(1.0),
        None => linearised(&costs.means(), 1.0, protocol.rules.alpha)
            .filter(|test| test.standard_error.is_some_and(|se| se > 0.0))
            .and_then(|test| test.p_at_least),
    }
}

fn is_worse(protocol: &Protocol, metric: Metric, pairs: &Pairs<'_>) -> bool {
    let alpha = protocol.rules.alpha;
    if metric == Metric::PassRate {
        let result = non_inferiority(&pairs.tables(), 0.0, alpha);
        return [result.limits, result.these].into_iter().flatten().any(|limits| limits.upper < 0.0);
    }
    let costs = Costs::of(pairs, metric, None, alpha);
    match &costs.ratio {
        Some(ratio) => {
            let these = costs.these(protocol.nature(metric));
            [ratio.limits, these].into_iter().flatten().any(|limits| limits.lower > 1.0)
        }
        None => linearised(&costs.means(), 1.0, alpha).is_some_and(|test| test.tendency == Tendency::Broken),
    }
}
