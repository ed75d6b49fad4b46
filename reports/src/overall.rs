//! From gates to the verdict of the run and its exit code.
//!
//! Checked in this order: NO_DATA, incomplete, INVALID_RUN, FAIL, PASS, INCONCLUSIVE. INCONCLUSIVE is never folded into
//! another.

use bench_core::{ContrastRole, Decision};
use bench_stats::mcnemar::mcnemar;

use crate::analysis::{BlockCounts, CandidateClaim, CellCounts, ContrastSummary, GateOutcome, Overall};
use crate::protocol::Protocol;

/// Level of the test for unequally many invalid cells.
const DIFFERENTIAL_ALPHA: f64 = 0.05;

/// The verdict.
pub(crate) fn overall(
    protocol: &Protocol,
    cells: &CellCounts,
    blocks: &BlockCounts,
    contrasts: &[ContrastSummary],
    candidates: &[CandidateClaim],
) -> Overall {
    if blocks.valid == 0 {
        let words = format!("no valid block: {} of {} cells settled", cells.attempted, cells.planned);
        return verdict(Decision::NoData, vec!["no_valid_block".to_owned()], Vec::new(), words);
    }
    if cells.attempted < cells.planned {
        let words = format!(
            "{} of {} cells are settled; run the same command again to go on",
            cells.attempted, cells.planned
        );
        return verdict(Decision::Inconclusive, vec!["incomplete".to_owned()], Vec::new(), words);
    }
    if let Some((reason, words)) = invalid(protocol, blocks, contrasts) {
        return verdict(Decision::InvalidRun, vec![reason.to_owned()], Vec::new(), words);
    }
    if candidates.is_empty() { by_gates(contrasts) } else { by_claims(contrasts, candidates) }
}

/// One candidate that may be claimed is enough; the run fails when every one of them does.
fn by_claims(contrasts: &[ContrastSummary], candidates: &[CandidateClaim]) -> Overall {
    let gates =
        |wanted: &dyn Fn(&ContrastSummary, &GateOutcome) -> bool| -> Vec<(&ContrastSummary, &GateOutcome)> {
            let deciding = contrasts.iter().filter(|contrast| contrast.role == ContrastRole::Gate);
            deciding
                .flat_map(|contrast| contrast.gates.iter().map(move |gate| (contrast, gate)))
                .filter(|(contrast, gate)| wanted(contrast, gate))
                .collect()
        };
    let claimed: Vec<&str> =
        candidates.iter().filter(|claim| claim.claimed).map(|claim| claim.contrast.as_str()).collect();
    if !claimed.is_empty() {
        let by = gates(&|contrast, _| claimed.contains(&contrast.name.as_str()));
        return verdict(Decision::Pass, Vec::new(), by, format!("{} may be claimed", claimed.join(", ")));
    }
    let failed = gates(&|_, gate| gate.decision == Decision::Fail);
    let fails = |claim: &CandidateClaim| failed.iter().any(|(contrast, _)| contrast.name == claim.contrast);
    if candidates.iter().all(fails) {
        let words = "every candidate failed a gate".to_owned();
        return verdict(Decision::Fail, vec!["gate_failed".to_owned()], failed, words);
    }
    let words = "no candidate may be claimed".to_owned();
    verdict(Decision::Inconclusive, vec!["no_candidate_claimed".to_owned()], Vec::new(), words)
}

fn invalid(
    protocol: &Protocol,
    blocks: &BlockCounts,
    contrasts: &[ContrastSummary],
) -> Option<(&'static str, String)> {
    // Outside access is its own class: its blocks leave the numbers but do not count as a failing harness.
    let failed: u64 = blocks
        .invalid_by_reason
        .iter()
        .filter(|(reason, _)| *reason != "outside_access")
        .map(|(_, count)| count)
        .sum();
    let share = failed as f64 / blocks.total as f64;
    if share > protocol.rules.max_invalid_fraction {
        let words = format!(
            "{failed} of {} blocks have no outcome, more than the {:.0} % allowed",
            blocks.total,
            protocol.rules.max_invalid_fraction * 100.0
        );
        return Some(("too_many_invalid", words));
    }
    for contrast in contrasts.iter().filter(|c| c.role != ContrastRole::Reported) {
        let alone = |arm: &str| blocks.invalid_only.get(arm).copied().unwrap_or(0);
        let (control, candidate) = (alone(&contrast.control), alone(&contrast.candidate));
        if control + candidate > 0 && mcnemar(control, candidate).exact_two_sided < DIFFERENTIAL_ALPHA {
            let words = format!(
                "cells without an outcome differ between arms: {candidate} of {}, {control} of {}",
                contrast.candidate, contrast.control
            );
            return Some(("differential_invalid", words));
        }
    }
    contrasts.iter().find(|contrast| is_broken_control(contrast)).map(|contrast| {
        let words = format!(
            "negative control {} did not fail: the instrument would not have seen a surface that is too dear",
            contrast.name
        );
        ("negative_control_did_not_fail", words)
    })
}

/// A negative control with gates of which none failed.
fn is_broken_control(contrast: &ContrastSummary) -> bool {
    contrast.role == ContrastRole::NegativeControl
        && !contrast.gates.is_empty()
        && contrast.gates.iter().all(|gate| gate.decision != Decision::Fail)
}

fn by_gates(contrasts: &[ContrastSummary]) -> Overall {
    let asked: Vec<(&ContrastSummary, &GateOutcome)> = contrasts
        .iter()
        .filter(|contrast| contrast.role == ContrastRole::Gate)
        .flat_map(|contrast| contrast.gates.iter().map(move |gate| (contrast, gate)))
        .collect();
    let applicable: Vec<_> =
        asked.iter().copied().filter(|(_, gate)| gate.decision != Decision::NotApplicable).collect();
    let those = |wanted: fn(Decision) -> bool| -> Vec<(&ContrastSummary, &GateOutcome)> {
        applicable.iter().copied().filter(|(_, gate)| wanted(gate.decision)).collect()
    };
    let failed = those(|d| d == Decision::Fail);
    let open = those(|d| d != Decision::Fail && d != Decision::Pass);
    if asked.is_empty() {
        let words = "no gate was asked for".to_owned();
        return verdict(Decision::NotApplicable, vec!["no_gate_asked".to_owned()], Vec::new(), words);
    }
    if applicable.is_empty() {
        let words = "none of the gates has a meaning in this run".to_owned();
        return verdict(Decision::Inconclusive, vec!["no_applicable_gate".to_owned()], Vec::new(), words);
    }
    if !failed.is_empty() {
        let words = format!("{} of {} gates failed", failed.len(), applicable.len());
        return verdict(Decision::Fail, vec!["gate_failed".to_owned()], failed, words);
    }
    if !open.is_empty() {
        let words = format!("{} of {} gates cannot be decided", open.len(), applicable.len());
        let mut reasons: Vec<String> = open.iter().flat_map(|(_, gate)| gate.reasons.clone()).collect();
        reasons.sort();
        reasons.dedup();
        return verdict(Decision::Inconclusive, reasons, open, words);
    }
    let words = match applicable.len() {
        1 => "the one gate holds".to_owned(),
        n => format!("all {n} gates hold"),
    };
    verdict(Decision::Pass, Vec::new(), applicable, words)
}

fn verdict(
    decision: Decision,
    reasons: Vec<String>,
    by: Vec<(&ContrastSummary, &GateOutcome)>,
    sentence: String,
) -> Overall {
    let mut decided_by: Vec<String> = Vec::new();
    for (_, gate) in &by {
        if !decided_by.contains(&gate.id) {
            decided_by.push(gate.id.clone());
        }
    }
    Overall {
        decision,
        exit_code: exit_code(decision),
        decided_by,
        decided_by_outcomes: by
            .iter()
            .map(|(contrast, gate)| format!("{}/{}", contrast.name, gate.id))
            .collect(),
        reasons,
        sentence,
    }
}

/// The exit code of a verdict (house rules: 0 passed or nothing asked, 1 failed, 3 inconclusive, 4 invalid or no data).
fn exit_code(decision: Decision) -> i32 {
    match decision {
        Decision::Pass | Decision::NotApplicable => 0,
        Decision::Fail => 1,
        Decision::Inconclusive => 3,
        Decision::InvalidRun | Decision::NoData => 4,
    }
}
