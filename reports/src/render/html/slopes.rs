//! Paired slopes: each task's cost under control and candidate.

use std::collections::BTreeMap;

use bench_core::Metric;
use minijinja::Value;
use serde::Serialize;

use super::page::made;
use super::svg::{Anchor, Scale, Svg};
use crate::analysis::{Analysis, ContrastSummary};
use crate::render::estimate::grouped;
use crate::render::words::metric_words;
use crate::rows::{Rows, Standing};

const SHOWN: [Metric; 4] =
    [Metric::FirstRequestTokens, Metric::TotalTokens, Metric::Turns, Metric::ToolCalls];
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 24.0;
const RIGHT: f64 = 76.0;
/// Ratios nearer to 1 than this are shown as equal.
const EQUAL: f64 = 0.005;

/// The slopes of one contrast.
#[derive(Serialize)]
pub(super) struct Contrast {
    name: String,
    control: String,
    candidate: String,
    figures: Vec<Figure>,
    tasks: Vec<TaskLine>,
}

#[derive(Serialize)]
struct Figure {
    metric: String,
    tasks: usize,
    dearer: usize,
    cheaper: usize,
    plot: Value,
}

#[derive(Serialize)]
struct TaskLine {
    task: String,
    pairs: usize,
    values: Vec<Option<(String, String, String)>>,
}

/// Sums of one task: control, candidate, pairs.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::render) struct Sums {
    control: f64,
    candidate: f64,
    pairs: usize,
}

impl Sums {
    /// Mean of a pair under control and under candidate.
    pub(in crate::render) fn means(self) -> (f64, f64) {
        (self.control / self.pairs as f64, self.candidate / self.pairs as f64)
    }

    fn ratio(self) -> Option<f64> {
        (self.control > 0.0).then(|| self.candidate / self.control)
    }

    /// `dearer`, `cheaper` or `equal`: the candidate beside the control.
    pub(in crate::render) fn way(self) -> &'static str {
        match self.ratio() {
            Some(ratio) if ratio > 1.0 + EQUAL => "dearer",
            Some(ratio) if ratio < 1.0 - EQUAL => "cheaper",
            Some(_) | None => "equal",
        }
    }
}

/// Tasks under one metric, by name.
pub(in crate::render) type Tasks<'r> = BTreeMap<&'r str, Sums>;

/// Every shown metric of a contrast over its valid blocks; null where an arm is not in the rows.
pub(in crate::render) fn by_metric<'r>(
    contrast: &ContrastSummary,
    rows: &'r Rows<'_>,
) -> Option<Vec<(Metric, Tasks<'r>)>> {
    let place = |name: &str| rows.arms.iter().position(|arm| arm.as_str() == name);
    let (control, candidate) = place(&contrast.control).zip(place(&contrast.candidate))?;
    Some(SHOWN.into_iter().map(|metric| (metric, sums(rows, control, candidate, metric))).collect())
}

/// Every contrast over its valid blocks.
pub(super) fn slopes(analysis: &Analysis, rows: &Rows<'_>) -> Vec<Contrast> {
    analysis.contrasts.iter().filter_map(|contrast| of_contrast(contrast, rows)).collect()
}

fn of_contrast(contrast: &ContrastSummary, rows: &Rows<'_>) -> Option<Contrast> {
    let by_metric = by_metric(contrast, rows)?;
    let mut names: Vec<&str> = rows.blocks.iter().map(|block| block.task.as_str()).collect();
    names.dedup();
    let tasks = names.into_iter().filter_map(|task| task_line(task, &by_metric));
    let figures = by_metric.iter().filter(|(_, sums)| !sums.is_empty());
    let contrast = Contrast {
        name: contrast.name.clone(),
        control: contrast.control.clone(),
        candidate: contrast.candidate.clone(),
        figures: figures.map(|(metric, sums)| figure(contrast, *metric, sums)).collect(),
        tasks: tasks.collect(),
    };
    (!contrast.figures.is_empty()).then_some(contrast)
}

fn sums<'r>(rows: &'r Rows<'_>, control: usize, candidate: usize, metric: Metric) -> Tasks<'r> {
    let mut sums: Tasks<'_> = BTreeMap::new();
    for block in rows.blocks.iter().filter(|block| block.standing == Standing::Counts) {
        let value = |arm: usize| block.cells[arm].and_then(|record| record.metric(metric));
        if let (Some(x), Some(y)) = (value(control), value(candidate)) {
            let sum = sums.entry(block.task.as_str()).or_default();
            sum.control += x;
            sum.candidate += y;
            sum.pairs += 1;
        }
    }
    sums
}

fn task_line(task: &str, by_metric: &[(Metric, Tasks<'_>)]) -> Option<TaskLine> {
    let of = |sums: &Tasks<'_>| sums.get(task).copied();
    let pairs = by_metric.iter().filter_map(|(_, sums)| Some(of(sums)?.pairs)).max()?;
    let values = by_metric.iter().filter(|(_, sums)| !sums.is_empty()).map(|(_, sums)| {
        let sum = of(sums)?;
        let (control, candidate) = sum.means();
        let ratio = sum.ratio().map_or("–".to_owned(), |ratio| format!("{ratio:.3}"));
        Some((grouped(control), grouped(candidate), ratio))
    });
    Some(TaskLine { task: task.to_owned(), pairs, values: values.collect() })
}

fn figure(contrast: &ContrastSummary, metric: Metric, sums: &Tasks<'_>) -> Figure {
    let count = |way: &str| sums.values().filter(|sum| sum.way() == way).count();
    let (dearer, cheaper) = (count("dearer"), count("cheaper"));
    Figure {
        metric: metric_words(metric),
        tasks: sums.len(),
        dearer,
        cheaper,
        plot: made(drawn(contrast, metric, sums, (dearer, cheaper))),
    }
}

fn drawn(
    contrast: &ContrastSummary,
    metric: Metric,
    sums: &Tasks<'_>,
    (dearer, cheaper): (usize, usize),
) -> String {
    let values = || sums.values().flat_map(|s| <[f64; 2]>::from(s.means())).filter(|v| *v > 0.0);
    let (low, high) = values().fold((f64::INFINITY, 0.0), |(l, h), v| (v.min(l), v.max(h)));
    let scale = Scale::logarithmic((low, high), (HEIGHT - 34.0, 14.0));
    let label = format!(
        "{}: {} tasks, {} dearer in {dearer} and cheaper in {cheaper}",
        metric_words(metric),
        sums.len(),
        contrast.candidate
    );
    let mut svg = Svg::new(HEIGHT, "plot slopes", Some(&label));
    svg.line("rail", (LEFT, 8.0), (LEFT, HEIGHT - 28.0), "");
    svg.line("rail", (RIGHT, 8.0), (RIGHT, HEIGHT - 28.0), "");
    for (task, sum) in sums {
        let (control, candidate) = sum.means();
        let way = sum.way();
        let (from, to) = ((LEFT, scale.at(control)), (RIGHT, scale.at(candidate)));
        let title = format!("{task}: {} to {}", grouped(control), grouped(candidate));
        svg.line(&format!("slope {way}"), from, to, &title);
        svg.dot(&format!("knot {way}"), from, 3.0, "");
        svg.dot(&format!("knot {way}"), to, 3.0, "");
    }
    for value in if high > low { vec![low, high] } else { vec![high] } {
        svg.text("label", (LEFT - 3.0, scale.at(value) + 4.0), Anchor::End, &grouped(value));
    }
    svg.text("name", (LEFT, HEIGHT - 8.0), Anchor::Middle, &contrast.control);
    svg.text("name", (RIGHT, HEIGHT - 8.0), Anchor::Middle, &contrast.candidate);
    svg.done()
}
