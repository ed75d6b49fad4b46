//! Numbers with their intervals and n.

use bench_core::{GateScope, Metric};

use crate::analysis::{ContrastSummary, GateOutcome, MetricComparison};

/// An estimate as three cells of a table.
pub(crate) struct Estimate {
    /// Point.
    pub(crate) point: String,
    /// Interval.
    pub(crate) interval: String,
    /// Limit or margin.
    pub(crate) limit: String,
    /// Pairs / tasks.
    pub(crate) n: String,
    /// Is the point a ratio of means, since a cost is zero?
    pub(crate) of_means: bool,
}

const NONE: &str = "–";

/// What a gate looked at.
pub(crate) fn of_gate(contrast: &ContrastSummary, gate: &GateOutcome) -> Estimate {
    if let Some(estimate) = of_candidate_alone(contrast, gate) {
        return estimate;
    }
    let (point, interval) = match (gate.margin, contrast.metrics.get(&gate.metric)) {
        (Some(_), _) => pass_difference(contrast, gate.scope),
        (None, Some(comparison)) => ratio(comparison, gate.scope),
        (None, None) => (NONE.to_owned(), NONE.to_owned()),
    };
    let limit = match (gate.limit, gate.margin) {
        (Some(limit), _) => format!("≤ {limit}"),
        (None, Some(margin)) => format!("> {:+.0} pp", -margin * 100.0),
        (None, None) => NONE.to_owned(),
    };
    let of_means = gate.margin.is_none()
        && contrast.metrics.get(&gate.metric).is_some_and(|comparison| comparison.gmr.is_none());
    let (pairs, tasks) = n_of(contrast, gate.metric);
    Estimate { point, interval, limit, n: format!("{pairs} / {tasks}"), of_means }
}

/// Rules on the candidate alone, and the one on several outcomes.
fn of_candidate_alone(contrast: &ContrastSummary, gate: &GateOutcome) -> Option<Estimate> {
    let n = format!("{} / {}", contrast.pairs.n, contrast.pairs.clusters);
    let plain = |point: String, interval: String, limit: String| {
        Some(Estimate { point, interval, limit, n: n.clone(), of_means: false })
    };
    if !gate.outcomes.is_empty() {
        let best = gate.outcomes.iter().map(|test| test.holm_p).fold(1.0, f64::min);
        return plain(format!("Holm p {}", p_value(best)), NONE.to_owned(), "any better".to_owned());
    }
    if let (Some(least), Some(rate)) = (gate.at_least, &gate.rate) {
        let (lower, upper) = match gate.scope {
            GateScope::TasksLikeThese => (rate.lower, rate.upper),
            GateScope::TheseTasks => (rate.these_tasks_lower, rate.these_tasks_upper),
        };
        let point = format!("{}/{}", rate.found, rate.n);
        return plain(point, interval(lower, upper), format!("≥ {least}"));
    }
    let most = gate.at_most?;
    plain(format!("{} cells above", gate.cells.len()), NONE.to_owned(), format!("≤ {most} a cell"))
}

/// Pairs and tasks of a metric.
pub(crate) fn n_of(contrast: &ContrastSummary, metric: Metric) -> (u64, u64) {
    match contrast.metrics.get(&metric) {
        Some(comparison) => (comparison.n_pairs, comparison.n_clusters),
        None => (contrast.pairs.n, contrast.pairs.clusters),
    }
}

/// Ratio and interval in a scope.
pub(crate) fn ratio(comparison: &MetricComparison, scope: GateScope) -> (String, String) {
    if comparison.gmr.is_none() {
        // Zeros among the costs: the ratio of means, with Fieller's limits.
        let point = comparison.ratio_of_means.map_or(NONE.to_owned(), |r| format!("{r:.3}"));
        let limits = comparison.ratio_of_means_lower.zip(comparison.ratio_of_means_upper);
        let shown = limits.map_or("unbounded".to_owned(), |(l, u)| interval(Some(l), Some(u)));
        return (point, shown);
    }
    let limits = match scope {
        GateScope::TasksLikeThese => (comparison.lower, comparison.upper),
        GateScope::TheseTasks => (comparison.these_tasks_lower, comparison.these_tasks_upper),
    };
    (comparison.gmr.map_or(NONE.to_owned(), |r| format!("{r:.3}")), interval(limits.0, limits.1))
}

fn interval(lower: Option<f64>, upper: Option<f64>) -> String {
    match lower.zip(upper) {
        Some((lower, upper)) => format!("{lower:.3} to {upper:.3}"),
        None => NONE.to_owned(),
    }
}

/// Difference of pass rates in points and its interval in a scope.
pub(crate) fn pass_difference(contrast: &ContrastSummary, scope: GateScope) -> (String, String) {
    let d = &contrast.pass_difference;
    let limits = match scope {
        GateScope::TasksLikeThese => (d.lower, d.upper),
        GateScope::TheseTasks => (d.these_tasks_lower, d.these_tasks_upper),
    };
    let point = d.point.map_or(NONE.to_owned(), |p| format!("{:+.1} pp", p * 100.0));
    let interval = match limits.0.zip(limits.1) {
        Some((lower, upper)) => format!("{:+.1} to {:+.1} pp", lower * 100.0, upper * 100.0),
        None => NONE.to_owned(),
    };
    (point, interval)
}

/// A count or mean with thousands separated, at most one decimal.
pub(crate) fn grouped(value: f64) -> String {
    let tenths = (value.abs() * 10.0).round();
    let (whole, tenth) = ((tenths / 10.0).floor(), tenths % 10.0);
    let digits = format!("{whole:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let sign = if value < 0.0 { "-" } else { "" };
    if tenth == 0.0 { format!("{sign}{text}") } else { format!("{sign}{text}.{tenth:.0}") }
}

/// A p-value: never 0, never more digits than it has meaning.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.0001 {
        "< 0.0001".to_owned()
    } else if p >= 1.0 {
        "1".to_owned()
    } else {
        format!("{p:.4}")
    }
}

/// A level such as 0.9 as `90 %`.
pub(crate) fn level(level: f64) -> String {
    format!("{:.0} %", level * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well_and_p_is_never_zero() {
        assert_eq!(grouped(1_234_567.0), "1,234,567");
        assert_eq!(grouped(999.96), "1,000");
        assert_eq!(grouped(4.5), "4.5");
        assert_eq!(p_value(0.0), "< 0.0001");
        assert_eq!(p_value(0.0654296875), "0.0654");
    }
}
