//! Rules on the candidate alone: a rate with a least value, a count that no cell may exceed.
//!
//! The rate is judged by the exact one-sided Clopper-Pearson bound, repeats discounted by their design effect (methodology,
//! "Discovery"). A count is a statement about the cells that were run and nothing else.

use bench_core::{Decision, GateRule, GateScope, Margin};
use bench_stats::Tendency;
use bench_stats::discovery::{RateGate, rate_gate};

use crate::analysis::RateSummary;
use crate::gate_decision::Judgement;
use crate::pairing::Pairs;
use crate::protocol::Protocol;

/// The candidate's rate against its threshold.
pub(crate) fn judge_rate(protocol: &Protocol, gate: &GateRule, least: f64, pairs: &Pairs<'_>) -> Judgement {
    let (trials, unknown) = pairs.trials(gate.metric);
    if trials.is_empty() {
        let reason = if unknown > 0 { "unknown_values" } else { "never_asked" };
        return Judgement::of(Decision::Inconclusive, reason);
    }
    let alpha = protocol.rules.alpha;
    let result = rate_gate(&trials, least, alpha);
    let mut judgement = Judgement::from_tendency(scoped(&result, gate.scope, least));
    match judgement.decision {
        Decision::Fail => {
            let random = result.limits.is_some_and(|limits| limits.upper < least);
            judgement.reasons =
                vec![if random { "below_rate_for_tasks_like_these" } else { "below_rate_on_these_tasks" }];
        }
        Decision::Pass => {
            if result.clusters < 2 && gate.scope == GateScope::TasksLikeThese {
                judgement.withdraw("one_task");
            } else if unknown > 0 {
                judgement.withdraw("unknown_values");
            } else if !survives_missing(pairs, gate, least, alpha) {
                judgement.withdraw("missing_sensitive");
            }
        }
        Decision::NoData | Decision::InvalidRun | Decision::Inconclusive | Decision::NotApplicable => {}
    }
    judgement
}

/// Would the rate hold if nothing had been found in any block without an outcome?
fn survives_missing(pairs: &Pairs<'_>, gate: &GateRule, least: f64, alpha: f64) -> bool {
    let worst = pairs.adverse_trials(gate.metric);
    scoped(&rate_gate(&worst, least, alpha), gate.scope, least) == Tendency::Holds
}

fn scoped(result: &RateGate, scope: GateScope, least: f64) -> Tendency {
    match (scope, result.these) {
        (GateScope::TasksLikeThese, _) => result.tendency,
        (GateScope::TheseTasks, Some(these)) if these.lower >= least => Tendency::Holds,
        (GateScope::TheseTasks, Some(these)) if these.upper < least => Tendency::Broken,
        (GateScope::TheseTasks, _) => Tendency::Open,
    }
}

/// The rate with its bounds; `None` for rules on something else.
pub(crate) fn rate_summary(protocol: &Protocol, gate: &GateRule, pairs: &Pairs<'_>) -> Option<RateSummary> {
    let Margin::RateAtLeast { least } = gate.margin else { return None };
    let (trials, _) = pairs.trials(gate.metric);
    let result = rate_gate(&trials, least, protocol.rules.alpha);
    Some(RateSummary {
        found: trials.iter().map(|trial| trial.found).sum(),
        n: result.n,
        n_effective: result.n_effective,
        lower: result.limits.map(|limits| limits.lower),
        upper: result.limits.map(|limits| limits.upper),
        these_tasks_lower: result.these.map(|limits| limits.lower),
        these_tasks_upper: result.these.map(|limits| limits.upper),
    })
}

/// No candidate cell above the count: one that is breaks the rule, one that is unknown leaves it open.
pub(crate) fn judge_never(gate: &GateRule, most: f64, pairs: &Pairs<'_>) -> Judgement {
    let mut unknown = false;
    for pair in pairs.iter() {
        match pair.candidate.metric(gate.metric).filter(|count| count.is_finite()) {
            Some(count) if count > most => return Judgement::of(Decision::Fail, "seen_above"),
            Some(_) => {}
            None => unknown = true,
        }
    }
    if unknown {
        return Judgement::of(Decision::Inconclusive, "unknown_values");
    }
    if pairs.missing_blocks() > 0 {
        return Judgement::of(Decision::Inconclusive, "missing_sensitive");
    }
    Judgement::from_tendency(Tendency::Holds)
}
