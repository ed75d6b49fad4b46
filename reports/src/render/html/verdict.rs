//! The verdict gate by gate, and what no gate decides on.

use bench_core::{Decision, GateScope, Metric};
use serde::Serialize;

use super::tone;
use crate::analyse::MAIN_METRICS;
use crate::analysis::{Analysis, ContrastSummary, GateOutcome};
use crate::render::estimate;
use crate::render::markdown::{mcnemar_sentence, not_gated_estimate};
use crate::render::words::{metric_words, reasons_and_remedy, role_words, why_not_gated};

/// Gates of one track.
#[derive(Serialize)]
pub(super) struct Track {
    name: String,
    gates: Vec<Gate>,
}

#[derive(Serialize)]
struct Gate {
    /// Null where it says no more than the metric.
    id: Option<String>,
    contrast: String,
    expected: bool,
    decides: bool,
    metric: String,
    point: String,
    means: bool,
    like_these: String,
    these: String,
    generalises: bool,
    limit: String,
    n: String,
    word: &'static str,
    tone: &'static str,
    reason: String,
    cells: Vec<String>,
    more_cells: usize,
}

/// Cells named behind a gate.
const CELLS_SHOWN: usize = 3;

/// Gates by track, those that decide before those that are only shown.
pub(super) fn tracks(analysis: &Analysis) -> Vec<Track> {
    let mut tracks: Vec<Track> = Vec::new();
    let deciding = |contrast: &&ContrastSummary| contrast.role == bench_core::ContrastRole::Gate;
    let ordered = (analysis.contrasts.iter().filter(deciding))
        .chain(analysis.contrasts.iter().filter(|contrast| !deciding(contrast)));
    for contrast in ordered {
        for gate in &contrast.gates {
            let shown = gate_of(contrast, gate);
            match tracks.iter_mut().find(|track| track.name == gate.track) {
                Some(track) => track.gates.push(shown),
                None => tracks.push(Track { name: gate.track.clone(), gates: vec![shown] }),
            }
        }
    }
    tracks
}

fn gate_of(contrast: &ContrastSummary, gate: &GateOutcome) -> Gate {
    let in_scope = |scope| {
        let gate = GateOutcome { scope, ..gate.clone() };
        estimate::of_gate(contrast, &gate).interval
    };
    let shown = estimate::of_gate(contrast, gate);
    Gate {
        id: (gate.id != gate.metric.key()).then(|| gate.id.clone()),
        contrast: format!("{} against {}", contrast.candidate, contrast.control),
        expected: contrast.role == bench_core::ContrastRole::NegativeControl,
        decides: contrast.role == bench_core::ContrastRole::Gate,
        metric: metric_words(gate.metric),
        point: shown.point,
        means: shown.of_means,
        like_these: in_scope(GateScope::TasksLikeThese),
        these: in_scope(GateScope::TheseTasks),
        generalises: gate.scope == GateScope::TasksLikeThese,
        limit: shown.limit,
        n: shown.n,
        word: gate.decision.word(),
        tone: tone(gate.decision),
        reason: reasons_and_remedy(gate),
        cells: match gate.decision {
            Decision::Fail => gate.cells.iter().take(CELLS_SHOWN).cloned().collect(),
            Decision::Pass
            | Decision::Inconclusive
            | Decision::NotApplicable
            | Decision::NoData
            | Decision::InvalidRun => Vec::new(),
        },
        more_cells: gate.cells.len().saturating_sub(CELLS_SHOWN),
    }
}

/// Main metrics that no gate decides on, with the reason.
pub(super) fn not_gated(analysis: &Analysis) -> Vec<(String, String)> {
    let why = |metric: Metric| Some((metric_words(metric), why_not_gated(analysis, metric)?));
    MAIN_METRICS.into_iter().filter_map(why).collect()
}

/// What a contrast says beside its gates.
#[derive(Serialize)]
pub(super) struct Contrast {
    name: String,
    control: String,
    candidate: String,
    role: &'static str,
    factor: String,
    lines: Vec<String>,
    flips: Vec<(String, String)>,
    a_a: Option<(bool, Vec<String>)>,
}

/// Contrast by contrast: pass rates, what is not gated, who flipped.
pub(super) fn contrasts(analysis: &Analysis) -> Vec<Contrast> {
    analysis.contrasts.iter().map(contrast_of).collect()
}

fn contrast_of(contrast: &ContrastSummary) -> Contrast {
    let mut lines = vec![
        format!("pass rate: {}", not_gated_estimate(contrast, Metric::PassRate)),
        mcnemar_sentence(contrast).trim_end_matches('.').to_owned(),
    ];
    let ungated = contrast.not_gated.iter().filter(|entry| entry.metric != Metric::PassRate);
    lines.extend(ungated.map(|entry| {
        format!("{} (not gated): {}", metric_words(entry.metric), not_gated_estimate(contrast, entry.metric))
    }));
    for gate in &contrast.gates {
        let range = contrast.metrics.get(&gate.metric).and_then(|found| found.leave_one_cluster_out);
        if let Some((least, most)) = range {
            let metric = metric_words(gate.metric);
            lines.push(format!("{metric}: {least:.3} to {most:.3} when any one task is left out"));
        }
    }
    Contrast {
        name: contrast.name.clone(),
        control: contrast.control.clone(),
        candidate: contrast.candidate.clone(),
        role: role_words(contrast.role),
        factor: serde_json::to_value(contrast.factor)
            .ok()
            .and_then(|word| word.as_str().map(str::to_owned))
            .unwrap_or_default(),
        lines,
        flips: contrast.flips.iter().map(|flip| (flip.block.clone(), flip.passed.clone())).collect(),
        a_a: contrast.a_a.as_ref().map(|a_a| (a_a.accepted, a_a.objections.clone())),
    }
}
