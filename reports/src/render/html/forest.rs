//! The forest plot: every cost ratio with both intervals, against its limit.

use bench_core::Metric;
use minijinja::Value;
use serde::Serialize;

use super::page::made;
use super::svg::{Anchor, Scale, Svg};
use crate::analysis::{Analysis, ContrastSummary, GateOutcome, MetricComparison};
use crate::render::estimate;
use crate::render::words::{metric_words, role_words};

/// The limit that ratios are shown against where no gate names one.
pub(in crate::render) const USUAL_LIMIT: f64 = 1.25;
/// Ratios that an axis may name.
pub(in crate::render) const TICKS: [f64; 15] =
    [0.1, 0.2, 0.25, 0.5, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
/// Metrics shown beside those that a gate names.
const SHOWN: [Metric; 5] =
    [Metric::FirstRequestTokens, Metric::TotalTokens, Metric::Turns, Metric::ToolCalls, Metric::WallMs];
const ROW: f64 = 34.0;

/// The plot.
#[derive(Serialize)]
pub(super) struct Forest {
    axis: Value,
    groups: Vec<Group>,
    level: String,
}

#[derive(Serialize)]
struct Group {
    name: String,
    role: &'static str,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    metric: String,
    gated: bool,
    plot: Value,
    point: String,
    interval: String,
    these: String,
    n: String,
    limit: Option<String>,
    word: Option<&'static str>,
    tone: &'static str,
}

/// Every contrast's ratios on one common logarithmic scale; null without any.
pub(super) fn forest(analysis: &Analysis) -> Option<Forest> {
    let (low, high) = span(analysis)?;
    let scale = Scale::logarithmic((low, high), (0.0, 100.0));
    let groups = analysis.contrasts.iter().map(|contrast| Group {
        name: format!("{} against {}", contrast.candidate, contrast.control),
        role: role_words(contrast.role),
        rows: shown(contrast).map(|(metric, found)| row(contrast, metric, found, &scale)).collect(),
    });
    Some(Forest {
        axis: axis(&scale, (low, high)),
        groups: groups.filter(|group| !group.rows.is_empty()).collect(),
        level: estimate::level(1.0 - 2.0 * analysis.preflight.alpha),
    })
}

/// Least and largest ratio of the common scale; null without any ratio.
pub(in crate::render) fn span(analysis: &Analysis) -> Option<(f64, f64)> {
    let all = || analysis.contrasts.iter().flat_map(|contrast| shown(contrast).map(|(_, found)| found));
    all().next()?;
    let ends = all().flat_map(|found| [found.lower, found.upper, found.gmr]).flatten();
    let (low, high) = ends.filter(|v| *v > 0.0).fold((0.8, 1.5), |(l, h), v| (v.min(l), v.max(h)));
    Some((low.max(0.1) / 1.04, high.min(16.0) * 1.04))
}

/// The gate by which a contrast's ratio of this metric is judged.
pub(in crate::render) fn gate_of(contrast: &ContrastSummary, metric: Metric) -> Option<&GateOutcome> {
    contrast.gates.iter().find(|gate| gate.metric == metric && gate.limit.is_some())
}

/// The ratios that are shown of a contrast.
pub(in crate::render) fn shown(
    contrast: &ContrastSummary,
) -> impl Iterator<Item = (Metric, &MetricComparison)> {
    let named = |metric: &Metric| contrast.gates.iter().any(|gate| gate.metric == *metric);
    contrast
        .metrics
        .iter()
        .filter(move |(metric, found)| found.gmr.is_some() && (named(metric) || SHOWN.contains(metric)))
        .map(|(metric, found)| (*metric, found))
}

fn row(contrast: &ContrastSummary, metric: Metric, found: &MetricComparison, scale: &Scale) -> Row {
    let gate = gate_of(contrast, metric);
    let limit = gate.and_then(|gate| gate.limit);
    let interval = |limits: Option<(f64, f64)>| {
        limits.map_or("–".to_owned(), |(lower, upper)| format!("{lower:.3} to {upper:.3}"))
    };
    Row {
        metric: metric_words(metric),
        gated: gate.is_some(),
        plot: made(plot(found, limit.unwrap_or(USUAL_LIMIT), gate.map(|g| super::tone(g.decision)), scale)),
        point: found.gmr.map_or("–".to_owned(), |ratio| format!("{ratio:.3}")),
        interval: interval(found.lower.zip(found.upper)),
        these: interval(found.these_tasks_lower.zip(found.these_tasks_upper)),
        n: format!("{} / {}", found.n_pairs, found.n_clusters),
        limit: limit.map(|limit| format!("≤ {limit}")),
        word: gate.map(|gate| gate.decision.word()),
        tone: gate.map_or("none", |gate| super::tone(gate.decision)),
    }
}

fn plot(found: &MetricComparison, limit: f64, tone: Option<&str>, scale: &Scale) -> String {
    let mut svg = Svg::new(ROW, "plot", None);
    let middle = ROW / 2.0;
    let class = |part: &str| format!("{part} tone-{}", tone.unwrap_or("none"));
    svg.rect("beyond", (scale.at(limit), 100.0 - scale.at(limit)), (0.0, ROW), "");
    svg.line("one", (scale.at(1.0), 0.0), (scale.at(1.0), ROW), "");
    svg.line("limit", (scale.at(limit), 0.0), (scale.at(limit), ROW), "");
    if let (Some(lower), Some(upper)) = (found.these_tasks_lower, found.these_tasks_upper) {
        let y = middle + 7.0;
        svg.line(&class("these"), (scale.at(lower), y), (scale.at(upper), y), "on these tasks");
    }
    if let (Some(lower), Some(upper)) = (found.lower, found.upper) {
        let y = middle - 2.0;
        svg.line(&class("like"), (scale.at(lower), y), (scale.at(upper), y), "for tasks like these");
        for end in [lower, upper] {
            svg.line(&class("end"), (scale.at(end), y - 5.0), (scale.at(end), y + 5.0), "");
        }
    }
    if let Some(ratio) = found.gmr {
        svg.dot(&class("point"), (scale.at(ratio), middle - 2.0), 5.0, "");
    }
    svg.done()
}

fn axis(scale: &Scale, (low, high): (f64, f64)) -> Value {
    let mut svg = Svg::new(22.0, "plot axis", None);
    let mut last = -100.0;
    for tick in TICKS {
        let at = scale.at(tick);
        if tick < low || tick > high || (at - last < 9.0 && tick != 1.25) {
            continue;
        }
        last = at;
        svg.line("tick", (at, 16.0), (at, 22.0), "");
        let anchor = if at < 4.0 {
            Anchor::Start
        } else if at > 96.0 {
            Anchor::End
        } else {
            Anchor::Middle
        };
        svg.text("label", (at, 12.0), anchor, &format!("{tick}"));
    }
    made(svg.done())
}
