//! Paired slopes of one contrast: each task's cost under control and candidate, a panel per metric.

use bench_core::Metric;
use plotters::prelude::RGBColor;
use plotters::style::text_anchor::HPos;

use super::sheet::{BAD, GOOD, INK, LINE, QUIET, Sheet, drawn, pixel};
use crate::analysis::ContrastSummary;
use crate::render::estimate::grouped;
use crate::render::html::slopes::{Sums, Tasks, by_metric};
use crate::render::html::svg::Scale;
use crate::render::words::metric_words;
use crate::rows::Rows;

const PANEL: i32 = 250;
const HEIGHT: i32 = 320;
const RAIL: (i32, i32) = (75, 200);
const UP: (i32, i32) = (HEIGHT - 78, 42);

/// The panels of one contrast over its valid blocks; null without a pair.
pub(super) fn slopes(contrast: &ContrastSummary, rows: &Rows<'_>) -> Option<String> {
    let mut metrics = by_metric(contrast, rows)?;
    metrics.retain(|(_, tasks)| !tasks.is_empty());
    if metrics.is_empty() {
        return None;
    }
    let title = format!("Cost of each task under {} and {}", contrast.control, contrast.candidate);
    let width = PANEL * metrics.len() as i32;
    Some(drawn(&title, (width as u32, HEIGHT as u32), |sheet| {
        for (index, (metric, tasks)) in metrics.iter().enumerate() {
            panel(sheet, PANEL * index as i32, contrast, (*metric, tasks));
        }
        let note =
            "mean over the pairs of a task, logarithmic; red: dearer, green: cheaper, grey: within 0.5 %";
        sheet.text(note, (12, HEIGHT - 14), HPos::Left, QUIET);
    }))
}

fn panel(
    sheet: &Sheet<'_, '_>,
    left: i32,
    contrast: &ContrastSummary,
    (metric, tasks): (Metric, &Tasks<'_>),
) {
    let (from, to) = (left + RAIL.0, left + RAIL.1);
    let ends = || tasks.values().flat_map(|task| <[f64; 2]>::from(task.means())).filter(|v| *v > 0.0);
    let (low, high) = ends().fold((f64::INFINITY, 0.0), |(l, h), v| (v.min(l), v.max(h)));
    let scale = Scale::logarithmic((low, high), (f64::from(UP.0), f64::from(UP.1)));
    sheet.head(&format!("{}, {} tasks", metric_words(metric), tasks.len()), (left + 12, 18));
    for rail in [from, to] {
        sheet.line((rail, UP.1 - 8), (rail, UP.0 + 8), LINE, 1);
    }
    for task in tasks.values() {
        slope(sheet, (from, to), *task, &scale);
    }
    for value in if high > low { vec![low, high] } else { vec![high] } {
        sheet.text(&grouped(value), (from - 8, pixel(scale.at(value))), HPos::Right, QUIET);
    }
    sheet.text(&contrast.control, (from, UP.0 + 24), HPos::Center, INK);
    sheet.text(&contrast.candidate, (to, UP.0 + 24), HPos::Center, INK);
}

fn slope(sheet: &Sheet<'_, '_>, (from, to): (i32, i32), task: Sums, scale: &Scale) {
    let (control, candidate) = task.means();
    let (start, end) = ((from, pixel(scale.at(control))), (to, pixel(scale.at(candidate))));
    let colour: RGBColor = match task.way() {
        "dearer" => BAD,
        "cheaper" => GOOD,
        _ => QUIET,
    };
    sheet.line(start, end, colour, 1);
    sheet.dot(start, 3, colour);
    sheet.dot(end, 3, colour);
}
