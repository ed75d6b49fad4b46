//! One gate on one contrast: the three-way rule, then everything that can take a decision back.
//!
//! Principle of the two scopes: a PASS has to hold for tasks like these, a FAIL only has to be true on the tasks that
//! were run. Whatever is null, NaN or missing ends as INCONCLUSIVE, never as PASS.

use bench_core::experiment::Stage;
use bench_core::{Decision, GateRule, GateScope, Margin, Metric, Track};
use bench_stats::bootstrap::Stream;
use bench_stats::non_inferiority::{NonInferiority, clusters_needed, margin_tendency, non_inferiority};
use bench_stats::ratio::ratio_tendency;
use bench_stats::ratio_of_means::linearised;
use bench_stats::sign_flip::sign_flip;
use bench_stats::{LIMIT_TOLERANCE, PairTable, Tendency};

use crate::analysis::GateOutcome;
use crate::benefit::{judge_benefit, outcome_tests};
use crate::comparison::Costs;
use crate::pairing::{BothWays, Pair, Pairs, is_censored};
use crate::protocol::{ContrastEntry, Protocol};
use crate::rate_decision::{judge_never, judge_rate, rate_summary};
use crate::selection::Selection;

/// Share of the candidate's cells above which a PASS on a cut-off metric is no longer one.
const MAX_CENSORED_SHARE: f64 = 0.20;

/// A decision with its reason codes and the number of clusters that would settle it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgement {
    pub(crate) decision: Decision,
    pub(crate) reasons: Vec<&'static str>,
    pub(crate) clusters_needed: Option<usize>,
}

/// Where a gate stands.
pub(crate) struct GateContext<'a> {
    pub(crate) protocol: &'a Protocol,
    pub(crate) selection: &'a Selection<'a>,
    pub(crate) contrast: &'a ContrastEntry,
    /// Did cells run side by side?
    pub(crate) contended: bool,
    /// Gates that the design cannot pass.
    pub(crate) cannot_pass: &'a [crate::preflight::CannotPass],
}

/// Judges a gate on its contrast's pairs.
pub(crate) fn gate_outcome(context: &GateContext<'_>, gate: &GateRule, both: &BothWays<'_>) -> GateOutcome {
    let protocol = context.protocol;
    let both = both.on_track(gate.track);
    let judgement = decide(context, gate, &both);
    let pairs = &both.strict;
    let (mut limit, mut margin, mut at_least, mut at_most) = (None, None, None, None);
    match &gate.margin {
        Margin::RatioAtMost { limit: most } => limit = Some(*most),
        Margin::NonInferior { margin: loss } => margin = Some(*loss),
        Margin::RateAtLeast { least } => at_least = Some(*least),
        Margin::NeverAbove { most } => at_most = Some(*most),
        Margin::AnyBetter { .. } => {}
    }
    let clusters = pairs.tables().len();
    GateOutcome {
        id: gate.id.to_string(),
        track: track(pairs),
        metric: gate.metric,
        limit,
        margin,
        at_least,
        at_most,
        rate: rate_summary(protocol, gate, pairs),
        outcomes: outcome_tests(context, gate, pairs),
        sign_flip_p: limit.and_then(|limit| sign_flip_p(protocol, gate, limit, pairs)),
        scope: gate.scope,
        decision: judgement.decision,
        more_tasks_needed: judgement
            .clusters_needed
            .and_then(|needed| needed.checked_sub(clusters))
            .filter(|_| judgement.decision == Decision::Inconclusive)
            .map(|more| more as u64),
        reasons: judgement.reasons.into_iter().map(str::to_owned).collect(),
        cells: cells_beyond(gate, pairs),
    }
}

/// Clusters at which the exact test can reject and is still enumerated.
const SIGN_FLIP_CLUSTERS: std::ops::RangeInclusive<usize> = 5..=20;

fn sign_flip_p(protocol: &Protocol, gate: &GateRule, limit: f64, pairs: &Pairs<'_>) -> Option<f64> {
    let ratio = Costs::of(pairs, gate.metric, None, protocol.rules.alpha).ratio?;
    let nothing_drawn = Stream { seed: protocol.seed, stream: 0 };
    SIGN_FLIP_CLUSTERS
        .contains(&ratio.clusters)
        .then(|| sign_flip(&ratio.cluster_logs, limit.ln(), nothing_drawn))
        .flatten()
        .map(|test| test.p_less)
}

/// The decision of a gate on these pairs, which are those of its track.
pub(crate) fn decide(context: &GateContext<'_>, gate: &GateRule, both: &BothWays<'_>) -> Judgement {
    if is_not_applicable(context.protocol, gate) {
        return Judgement::of(Decision::NotApplicable, "oracle");
    }
    let mut judgement = judge_twice(context, gate, both);
    if judgement.is_pass() && context.protocol.rules.stage == Stage::Smoke {
        judgement.withdraw("smoke_stage");
    }
    if judgement.is_pass() && context.selection.providers > 1 {
        judgement.withdraw("provider_changed");
    }
    judgement
}

fn is_not_applicable(protocol: &Protocol, gate: &GateRule) -> bool {
    match &gate.margin {
        Margin::AnyBetter { outcomes } => outcomes.iter().all(|metric| protocol.not_applicable(*metric)),
        Margin::RatioAtMost { .. }
        | Margin::NonInferior { .. }
        | Margin::RateAtLeast { .. }
        | Margin::NeverAbove { .. } => protocol.not_applicable(gate.metric),
    }
}

/// With the blocks of outside access out, and with them as graded: where the two differ, neither stands.
fn judge_twice(context: &GateContext<'_>, gate: &GateRule, both: &BothWays<'_>) -> Judgement {
    let strict = judge(context, gate, &both.strict);
    match &both.with_outside {
        Some(with)
            if with.iter().count() != both.strict.iter().count()
                && judge(context, gate, with).decision != strict.decision =>
        {
            Judgement { decision: Decision::Inconclusive, reasons: vec!["outside_access"], ..strict }
        }
        Some(_) | None => strict,
    }
}

fn judge(context: &GateContext<'_>, gate: &GateRule, pairs: &Pairs<'_>) -> Judgement {
    let mut judgement = if pairs.iter().next().is_none() {
        Judgement::of(Decision::Inconclusive, "no_valid_pair")
    } else {
        match &gate.margin {
            Margin::RatioAtMost { limit } => judge_ratio(context.protocol, gate, *limit, pairs),
            Margin::NonInferior { margin } => judge_pass_rate(context.protocol, gate, *margin, pairs),
            Margin::RateAtLeast { least } => judge_rate(context.protocol, gate, *least, pairs),
            Margin::NeverAbove { most } => judge_never(gate, *most, pairs),
            Margin::AnyBetter { .. } => judge_benefit(context, gate, pairs),
        }
    };
    if gate.metric == Metric::WallMs && context.contended && judgement.decision != Decision::Inconclusive {
        judgement.withdraw("contended");
    }
    let by_design = context.cannot_pass.iter().any(|entry| entry.gate == gate.id.as_str());
    if by_design && judgement.decision == Decision::Inconclusive {
        judgement.reasons.push("cannot_pass_by_design");
    }
    judgement
}

impl Judgement {
    pub(crate) fn of(decision: Decision, reason: &'static str) -> Self {
        Self { decision, reasons: vec![reason], clusters_needed: None }
    }

    pub(crate) fn from_tendency(tendency: Tendency) -> Self {
        match tendency {
            Tendency::Holds => Self { decision: Decision::Pass, reasons: Vec::new(), clusters_needed: None },
            Tendency::Broken => Self { decision: Decision::Fail, reasons: Vec::new(), clusters_needed: None },
            Tendency::Open => Self::of(Decision::Inconclusive, "interval_contains_limit"),
        }
    }

    /// Takes a decision back; the reason replaces the ones that went with it.
    pub(crate) fn withdraw(&mut self, reason: &'static str) {
        self.decision = Decision::Inconclusive;
        self.reasons = vec![reason];
    }

    pub(crate) fn is_pass(&self) -> bool {
        self.decision == Decision::Pass
    }
}

fn judge_ratio(protocol: &Protocol, gate: &GateRule, limit: f64, pairs: &Pairs<'_>) -> Judgement {
    let alpha = protocol.rules.alpha;
    let nature = protocol.nature(gate.metric);
    let mut costs = Costs::of(pairs, gate.metric, None, alpha);
    if costs.pairs() == 0 {
        return Judgement::of(Decision::Inconclusive, "unknown_values");
    }
    let floored = !nature.deterministic && costs.stand_on_floor(protocol.rules.sd_floor, alpha);
    let mut judgement = Judgement::from_tendency(cost_tendency(&costs, gate, limit, protocol));
    if judgement.decision == Decision::Fail {
        let random = costs.ratio.as_ref().map_or(Tendency::Broken, |r| ratio_tendency(r.limits, None, limit));
        judgement.reasons = vec![fail_reason(random == Tendency::Broken)];
    }
    let one_task = costs.clusters.len() < 2 && gate.scope == GateScope::TasksLikeThese;
    if one_task && judgement.decision != Decision::Fail {
        judgement.withdraw("one_task");
    }
    if has_no_spread(&costs, limit, alpha) && !nature.deterministic && !floored {
        judgement.withdraw("degenerate_variance");
    }
    if judgement.is_pass() && nature.censorable {
        hold_under_censoring(&mut judgement, protocol, gate, limit, pairs);
    }
    let tail = costs.ratio_of_means().is_some_and(|ratio| ratio > limit * (1.0 + LIMIT_TOLERANCE));
    if judgement.is_pass() && tail {
        judgement.withdraw("tail_ratio_of_means_above_limit");
    }
    if judgement.is_pass() && costs.unknown > 0 {
        judgement.withdraw("unknown_values");
    }
    judgement.clusters_needed = costs.ratio.as_ref().and_then(|ratio| ratio.clusters_needed(limit, alpha));
    judgement
}

fn cost_tendency(costs: &Costs, gate: &GateRule, limit: f64, protocol: &Protocol) -> Tendency {
    let Some(ratio) = &costs.ratio else {
        return linearised(&costs.means(), limit, protocol.rules.alpha)
            .map_or(Tendency::Open, |test| test.tendency);
    };
    let these = costs.these(protocol.nature(gate.metric));
    match gate.scope {
        GateScope::TasksLikeThese => ratio_tendency(ratio.limits, these, limit),
        GateScope::TheseTasks => ratio_tendency(these, these, limit),
    }
}

/// Which of the two scopes a FAIL is true in.
pub(crate) fn fail_reason(for_tasks_like_these: bool) -> &'static str {
    if for_tasks_like_these { "beyond_limit_for_tasks_like_these" } else { "beyond_limit_on_these_tasks" }
}

fn has_no_spread(costs: &Costs, limit: f64, alpha: f64) -> bool {
    match &costs.ratio {
        Some(ratio) => ratio.degenerate,
        None => linearised(&costs.means(), limit, alpha).is_some_and(|test| test.standard_error == Some(0.0)),
    }
}

/// A PASS must survive the candidate's cut-off costs times `par`, and too many of them leave none.
fn hold_under_censoring(
    judgement: &mut Judgement,
    protocol: &Protocol,
    gate: &GateRule,
    limit: f64,
    pairs: &Pairs<'_>,
) {
    let all = pairs.iter().count();
    let cut = pairs.iter().filter(|pair| is_censored(pair.candidate, gate.metric)).count();
    if cut == 0 {
        return;
    }
    let harsh = Costs::of(pairs, gate.metric, Some(protocol.rules.par), protocol.rules.alpha);
    if cost_tendency(&harsh, gate, limit, protocol) != Tendency::Holds {
        judgement.withdraw("censoring_sensitive");
    } else if cut as f64 > MAX_CENSORED_SHARE * all as f64 {
        judgement.withdraw("too_much_censoring");
    }
}

fn judge_pass_rate(protocol: &Protocol, gate: &GateRule, margin: f64, pairs: &Pairs<'_>) -> Judgement {
    let alpha = protocol.rules.alpha;
    let tendency = |tables: &[PairTable]| {
        let result = non_inferiority(tables, margin, alpha);
        (scoped(&result, gate.scope, margin), result)
    };
    let tables = pairs.tables();
    let (seen, result) = tendency(&tables);
    let mut judgement = Judgement::from_tendency(seen);
    if result.clusters < 2 && gate.scope == GateScope::TasksLikeThese && judgement.decision != Decision::Fail
    {
        judgement.withdraw("one_task");
    }
    if judgement.decision == Decision::Fail {
        let random = margin_tendency(result.limits, None, margin);
        judgement.reasons = vec![fail_reason(random == Tendency::Broken)];
    }
    let inferior = result.these.is_some_and(|limits| limits.upper < 0.0);
    if judgement.decision == Decision::Inconclusive && inferior {
        judgement.reasons.push("inferior");
    }
    if pairs.missing_blocks() > 0 && judgement.decision != Decision::Inconclusive {
        let (completed, _) = match seen {
            Tendency::Holds => tendency(&pairs.completed_tables(|table| table.control_only += 1)),
            Tendency::Broken | Tendency::Open => {
                tendency(&pairs.completed_tables(|table| table.candidate_only += 1))
            }
        };
        if completed != seen {
            judgement.withdraw("missing_sensitive");
        }
    }
    judgement.clusters_needed = clusters_needed(&result, PairTable::pooled(&tables), margin, alpha);
    judgement
}

fn scoped(result: &NonInferiority, scope: GateScope, margin: f64) -> Tendency {
    match scope {
        GateScope::TasksLikeThese => result.tendency,
        GateScope::TheseTasks => margin_tendency(result.these, result.these, margin),
    }
}

fn track(pairs: &Pairs<'_>) -> String {
    let mut tracks = pairs.iter().filter_map(|pair| pair.block.track());
    let word = |track| match track {
        Track::Default => "default",
        Track::Orchestration => "orchestration",
    };
    match tracks.next() {
        Some(first) if tracks.all(|other| other == first) => word(first).to_owned(),
        Some(_) => "mixed".to_owned(),
        None => "default".to_owned(),
    }
}

/// Candidate cells beyond the limit, worst first; for a margin those that failed where the control passed.
fn cells_beyond(gate: &GateRule, pairs: &Pairs<'_>) -> Vec<String> {
    let mut found: Vec<(f64, String)> = pairs
        .iter()
        .filter_map(|pair| excess(gate, pair).map(|excess| (excess, pair.candidate.cell_id())))
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    found.into_iter().map(|(_, cell)| cell).collect()
}

fn excess(gate: &GateRule, pair: &Pair<'_>) -> Option<f64> {
    match &gate.margin {
        Margin::RatioAtMost { limit } => {
            let (control, candidate) = pair.values(gate.metric)?;
            (candidate > control * limit * (1.0 + LIMIT_TOLERANCE)).then(|| candidate / control)
        }
        Margin::NonInferior { .. } => (pair.passed() == (true, false)).then_some(1.0),
        Margin::RateAtLeast { .. } => {
            (pair.is_asked(gate.metric) && pair.candidate.metric(gate.metric) == Some(0.0)).then_some(1.0)
        }
        Margin::NeverAbove { most } => pair.candidate.metric(gate.metric).filter(|count| count > most),
        Margin::AnyBetter { .. } => None,
    }
}
