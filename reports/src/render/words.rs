//! Codes, roles and reasons in words.

use bench_core::{ContrastRole, Decision, Metric};

use crate::analysis::{Analysis, ContrastSummary, GateOutcome};
use crate::preflight::Preflight;

/// A reason code in words; the code itself where this build does not know it.
pub fn reason_in_words(code: &str) -> &str {
    match code {
        "beyond_limit_for_tasks_like_these" => "beyond the limit for tasks like these",
        "beyond_limit_on_these_tasks" => "beyond the limit on the tasks that were run",
        "interval_contains_limit" => "the interval contains the limit",
        "one_task" => "one task shows nothing about other tasks",
        "degenerate_variance" => "every task gave the same ratio though the metric is not deterministic",
        "censoring_sensitive" => "cells were cut off, and with their cost doubled it would not hold",
        "too_much_censoring" => "more than a fifth of the candidate's cells were cut off",
        "tail_ratio_of_means_above_limit" => "a few dear cells push the ratio of means above the limit",
        "missing_sensitive" => "blocks without an outcome could turn the decision",
        "unknown_values" => "the value is unknown in some cells",
        "outside_access" => "cells that reached outside their workspace would turn the decision",
        "no_candidate_claimed" => "no candidate may be claimed after the correction for several",
        "smoke_stage" => "a smoke run may fail and never passes",
        "provider_changed" => {
            "the provider's fingerprint changed in mid-run, so the run is of no one provider"
        }
        "below_rate_for_tasks_like_these" => "the rate is below the threshold for tasks like these",
        "below_rate_on_these_tasks" => "the rate is below the threshold on the tasks that were run",
        "never_asked" => "no task of the run asks for it",
        "seen_above" => "a cell shows more than is allowed",
        "no_benefit_shown" => "no primary outcome is shown to be better",
        "every_outcome_worse" => "every primary outcome is worse",
        "contended" => "cells ran side by side, so wall time is not the arm's alone",
        "cannot_pass_by_design" => "this design cannot pass it",
        "inferior" => "worse on these tasks, though by less than the margin",
        "no_valid_pair" => "no valid pair",
        "no_valid_block" => "no valid block",
        "oracle" => "not applicable (oracle): it says nothing about a model",
        "incomplete" => "cells of the plan are not settled yet",
        "too_many_invalid" => "too many blocks have no outcome",
        "differential_invalid" => "one arm loses more cells without an outcome than the other",
        "negative_control_did_not_fail" => "the negative control did not fail",
        "no_applicable_gate" => "no gate has a meaning in this run",
        "no_gate_asked" => "no gate was asked for",
        "gate_failed" => "a gate failed",
        other => other,
    }
}

/// Why no gate decides on a metric, in words; `None` when one does.
pub fn why_not_gated(analysis: &Analysis, metric: Metric) -> Option<String> {
    let deciding = || analysis.contrasts.iter().filter(|c| c.role == ContrastRole::Gate);
    let gated = deciding()
        .flat_map(|c| &c.gates)
        .any(|gate| gate.metric == metric && gate.decision != Decision::NotApplicable);
    if gated {
        return None;
    }
    let all = || deciding().chain(analysis.contrasts.iter().filter(|c| c.role != ContrastRole::Gate));
    let by_contrast = all().flat_map(|c| &c.not_gated).find(|entry| entry.metric == metric);
    let by_gate = all().flat_map(|c| &c.gates).find(|gate| gate.metric == metric);
    Some(match (by_contrast, by_gate) {
        (Some(entry), _) => entry.why.clone(),
        (None, Some(gate)) => reasons(gate),
        (None, None) => "no contrast compares it".to_owned(),
    })
}

/// What a design can and cannot show, one sentence a line (for `bench plan`).
pub fn preflight_lines(preflight: &Preflight) -> Vec<String> {
    let points = |bound: Option<f64>| match bound {
        Some(bound) => format!("{:+.1} points", bound * 100.0),
        None => "undefined".to_owned(),
    };
    let mut lines = vec![
        format!(
            "{} tasks × {} repeats: cost intervals use t = {}",
            preflight.tasks,
            preflight.repeats,
            preflight.t_multiplier.map_or("undefined with one task".to_owned(), |t| format!("{t:.2}"))
        ),
        format!(
            "pass rate, best lower limit if no pair differs: {} for tasks like these, {} on these tasks",
            points(preflight.ni_lower_zero_discordance_random_tasks),
            points(preflight.ni_lower_zero_discordance_these_tasks)
        ),
        format!(
            "sign-flip over tasks: least one-sided p {:.2e}{}",
            preflight.task_signflip_min_one_sided_p,
            if preflight.task_signflip_can_reject { "" } else { ", so it can never reject" }
        ),
    ];
    if !preflight.order_balanced_within_tasks {
        lines.push(format!(
            "{} repeats: order AB/BA cannot be balanced within a task, only over tasks",
            preflight.repeats
        ));
    }
    for entry in &preflight.cannot_pass {
        lines.push(format!("gate {} cannot pass: {}; it may only FAIL", entry.gate, entry.why));
    }
    lines
}

/// A gate's reasons in words.
pub(crate) fn reasons(gate: &GateOutcome) -> String {
    gate.reasons.iter().map(|code| reason_in_words(code)).collect::<Vec<_>>().join("; ")
}

/// Reasons with what would help, e.g. `the interval contains the limit; about 12 more tasks`.
pub(crate) fn reasons_and_remedy(gate: &GateOutcome) -> String {
    let mut text = reasons(gate);
    if let Some(more) = gate.more_tasks_needed.filter(|more| *more > 0) {
        text.push_str(&format!(
            "{}about {more} more tasks like these",
            if text.is_empty() { "" } else { "; " }
        ));
    }
    text
}

/// A metric's name for people.
pub(crate) fn metric_words(metric: Metric) -> String {
    if metric == Metric::FirstRequestTokens {
        return "first request".to_owned();
    }
    metric.key().replace('_', " ")
}

/// What a contrast's verdict is for.
pub(crate) fn role_words(role: ContrastRole) -> &'static str {
    match role {
        ContrastRole::Gate => "decides",
        ContrastRole::Reported => "shown, decides nothing",
        ContrastRole::NegativeControl => "negative control, expected to FAIL",
    }
}

/// What came of a negative control; `None` for other contrasts and where it has no gate.
pub(crate) fn negative_control_words(contrast: &ContrastSummary) -> Option<String> {
    if contrast.role != ContrastRole::NegativeControl || contrast.gates.is_empty() {
        return None;
    }
    let failed = contrast.gates.iter().filter(|gate| gate.decision == Decision::Fail).count();
    let all = contrast.gates.len();
    Some(if failed > 0 {
        format!("negative control {}: {failed} of {all} gates FAIL, as expected", contrast.name)
    } else {
        format!("negative control {}: none of {all} gates failed, so the run is invalid", contrast.name)
    })
}

/// The verdict's word; a run without gates is shown as such.
pub(crate) fn verdict_word(decision: Decision) -> &'static str {
    match decision {
        Decision::NotApplicable => "NO GATE",
        Decision::NoData
        | Decision::InvalidRun
        | Decision::Fail
        | Decision::Pass
        | Decision::Inconclusive => decision.word(),
    }
}

/// Control characters made visible: names of tools come from the wire, reasons from files.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        // Bidirectional overrides can turn a line around in a terminal.
        let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
        if c.is_control() || turns {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    safe
}
