//! The time line of an attempt as text: a line for each lane, `#` where it waits for a model, `=` where it exists.

use std::fmt::Write as _;

use bench_trajectory::{Lane, SpanKind, Trajectory};

/// Columns of the line itself.
const WIDTH: usize = 64;
/// Columns of a name; a longer one is cut.
const NAME: usize = 24;

/// The lanes; empty where only one conversation went on.
pub(super) fn timeline(trajectory: &Trajectory) -> String {
    let lanes = trajectory.timeline();
    let spans = || lanes.iter().flat_map(|lane| &lane.spans);
    let start = spans().map(|span| span.from_ms).fold(f64::INFINITY, f64::min);
    let end = spans().map(|span| span.to_ms).fold(0.0, f64::max);
    if lanes.len() < 2 || end <= start {
        return String::new();
    }
    let mut text = String::new();
    let _ = writeln!(text, "\ntime line: {:.2} s, # waits for a model, = runs", (end - start) / 1_000.0);
    for lane in &lanes {
        let name: String = lane.name.chars().take(NAME).collect();
        let _ = writeln!(text, "{name:<NAME$}  |{}|", drawn(lane, (start, end)));
    }
    text
}

fn drawn(lane: &Lane, (start, end): (f64, f64)) -> String {
    let column = |ms: f64| (((ms - start) / (end - start) * WIDTH as f64) as usize).min(WIDTH - 1);
    let mut line = vec![' '; WIDTH];
    for kind in [SpanKind::Life, SpanKind::Request] {
        let sign = match kind {
            SpanKind::Life => '=',
            SpanKind::Request => '#',
        };
        for span in lane.spans.iter().filter(|span| span.kind == kind) {
            line[column(span.from_ms)..=column(span.to_ms)].fill(sign);
        }
    }
    line.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_trajectory::Mark;

    #[test]
    fn lanes_stand_below_one_another_on_one_scale() {
        let mark = |subject: &str, at_ms: f64, begins: bool| Mark {
            at_ms,
            subject: subject.to_owned(),
            id: "x".to_owned(),
            begins,
            detail: String::new(),
            agent: None,
        };
        let marks = vec![
            mark("background", 0.0, true),
            mark("subagent", 500.0, true),
            mark("background", 500.0, false),
            mark("subagent", 1_000.0, false),
        ];
        let trajectory = Trajectory { marks, ..Trajectory::default() };
        let text = timeline(&trajectory);
        let lines: Vec<&str> = text.trim_start().lines().collect();
        assert_eq!(lines[0], "time line: 1.00 s, # waits for a model, = runs");
        assert_eq!(lines[1], format!("{:<24}  |{}{}|", "background x", "=".repeat(33), " ".repeat(31)));
        assert_eq!(lines[2], format!("{:<24}  |{}{}|", "agent x", " ".repeat(32), "=".repeat(32)));
        assert_eq!(timeline(&Trajectory::default()), "");
    }
}
