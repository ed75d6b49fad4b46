//! The forest plot: every cost ratio with both intervals, against its limit.

use bench_core::{Decision, Metric};
use plotters::prelude::RGBColor;
use plotters::style::text_anchor::HPos;

use super::sheet::{BAD, BEYOND, GOOD, INK, LINE, OPEN, QUIET, Sheet, drawn, pixel};
use crate::analysis::{Analysis, ContrastSummary, MetricComparison};
use crate::render::estimate;
use crate::render::html::forest::{TICKS, USUAL_LIMIT, gate_of, shown, span};
use crate::render::html::svg::Scale;
use crate::render::words::metric_words;

const WIDTH: i32 = 960;
const HEAD: i32 = 30;
const ROW: i32 = 30;
const FOOT: i32 = 58;
const PLOT: (i32, i32) = (190, 600);

/// Every contrast's ratios on one common logarithmic scale; null without any.
pub(super) fn forest(analysis: &Analysis) -> Option<String> {
    let (low, high) = span(analysis)?;
    let scale = Scale::logarithmic((low, high), (f64::from(PLOT.0), f64::from(PLOT.1)));
    let groups: Vec<(&ContrastSummary, Vec<(Metric, &MetricComparison)>)> = analysis
        .contrasts
        .iter()
        .map(|contrast| (contrast, shown(contrast).collect::<Vec<_>>()))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let height: i32 = groups.iter().map(|(_, rows)| HEAD + ROW * rows.len() as i32).sum();
    let level = estimate::level(1.0 - 2.0 * analysis.preflight.alpha);
    let title = format!("Cost ratios of {}, each with its interval, against its limit", analysis.experiment);
    Some(drawn(&title, (WIDTH as u32, (height + FOOT) as u32), |sheet| {
        let mut y = 0;
        for (contrast, rows) in &groups {
            sheet.head(&format!("{} against {}", contrast.candidate, contrast.control), (12, y + HEAD / 2));
            y += HEAD;
            for (metric, found) in rows {
                row(sheet, y, contrast, (*metric, found), &scale);
                y += ROW;
            }
        }
        axis(sheet, y, &scale, (low, high));
        let note = format!(
            "ratio candidate / control, logarithmic; thick: {level} interval for tasks like these, thin: on these tasks; n: pairs / clusters"
        );
        sheet.text(&note, (12, y + 42), HPos::Left, QUIET);
    }))
}

fn row(
    sheet: &Sheet<'_, '_>,
    top: i32,
    contrast: &ContrastSummary,
    (metric, found): (Metric, &MetricComparison),
    scale: &Scale,
) {
    let gate = gate_of(contrast, metric);
    let limit = gate.and_then(|gate| gate.limit);
    let colour = gate.map_or(QUIET, |gate| of_decision(gate.decision));
    let (x, middle) = (|ratio: f64| pixel(scale.at(ratio)), top + ROW / 2);
    let edge = x(limit.unwrap_or(USUAL_LIMIT));
    sheet.rect((edge, top), (PLOT.1, top + ROW), BEYOND);
    sheet.line((x(1.0), top), (x(1.0), top + ROW), LINE, 2);
    sheet.line((edge, top), (edge, top + ROW), BAD, 1);
    if let Some((lower, upper)) = found.these_tasks_lower.zip(found.these_tasks_upper) {
        sheet.line((x(lower), middle + 6), (x(upper), middle + 6), colour, 1);
    }
    if let Some((lower, upper)) = found.lower.zip(found.upper) {
        sheet.line((x(lower), middle), (x(upper), middle), colour, 3);
    }
    if let Some(ratio) = found.gmr {
        sheet.dot((x(ratio), middle), 5, colour);
    }
    sheet.text(&metric_words(metric), (PLOT.0 - 14, middle), HPos::Right, INK);
    sheet.text(&numbers(found), (PLOT.1 + 12, middle), HPos::Left, INK);
    if let Some(gate) = gate {
        let words = format!("≤ {}  {}", gate.limit.unwrap_or(USUAL_LIMIT), gate.decision.word());
        sheet.text(&words, (WIDTH - 12, middle), HPos::Right, colour);
    }
}

fn numbers(found: &MetricComparison) -> String {
    let n = format!("n {} / {}", found.n_pairs, found.n_clusters);
    match (found.gmr, found.lower.zip(found.upper)) {
        (Some(ratio), Some((lower, upper))) => format!("{ratio:.3} ({lower:.3} to {upper:.3})  {n}"),
        (Some(ratio), None) => format!("{ratio:.3} (no interval)  {n}"),
        (None, _) => n,
    }
}

fn axis(sheet: &Sheet<'_, '_>, top: i32, scale: &Scale, (low, high): (f64, f64)) {
    sheet.line((PLOT.0, top), (PLOT.1, top), QUIET, 1);
    let mut last = f64::NEG_INFINITY;
    for tick in TICKS.into_iter().filter(|tick| (low..=high).contains(tick)) {
        let at = scale.at(tick);
        if at - last < 34.0 && tick != USUAL_LIMIT {
            continue;
        }
        last = at;
        sheet.line((pixel(at), top), (pixel(at), top + 5), QUIET, 1);
        sheet.text(&tick.to_string(), (pixel(at), top + 15), HPos::Center, QUIET);
    }
}

fn of_decision(decision: Decision) -> RGBColor {
    match decision {
        Decision::Pass => GOOD,
        Decision::Fail => BAD,
        Decision::Inconclusive => OPEN,
        Decision::NotApplicable | Decision::NoData | Decision::InvalidRun => QUIET,
    }
}
