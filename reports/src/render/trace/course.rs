//! The course of an attempt in time: waiting for the model, and what lies between; with several lanes each has its name.

use bench_trajectory::{Lane, SpanKind, Trajectory};

use crate::render::html::svg::{Anchor, Scale, Svg, ticks};

const ROW: f64 = 16.0;
/// Above the bars of a lane that has a name.
const NAME: f64 = 13.0;
const FOOT: f64 = 22.0;

/// One bar per request and one below it for what ran beside, a row per lane; null without times.
pub(super) fn course(trajectory: &Trajectory) -> Option<String> {
    let lanes = trajectory.timeline();
    let spans = || lanes.iter().flat_map(|lane| &lane.spans);
    let start = spans().map(|span| span.from_ms).fold(f64::INFINITY, f64::min);
    let end = spans().map(|span| span.to_ms).fold(0.0, f64::max);
    // Without any bar the start lies at infinity.
    if end <= start {
        return None;
    }
    let name = if lanes.len() > 1 { NAME } else { 0.0 };
    let scale = Scale::linear((start, end), (0.5, 99.5));
    let height = lanes.len() as f64 * (ROW + name) + FOOT;
    let requests = spans().filter(|span| span.kind == SpanKind::Request).count();
    let mut label = format!("{requests} requests in {:.1} s", (end - start) / 1_000.0);
    if lanes.len() > 1 {
        let names: Vec<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
        label.push_str(&format!("; on one line: {}", names.join(", ")));
    }
    let mut svg = Svg::new(height, "plot course-of", Some(&label));
    for (row, lane) in lanes.iter().enumerate() {
        let top = row as f64 * (ROW + name);
        if name > 0.0 {
            svg.text("label", (0.5, top + NAME - 2.0), Anchor::Start, &lane.name);
        }
        bars(&mut svg, lane, top + name, &scale);
    }
    for tick in ticks((0.0, (end - start) / 1_000.0), 5.0) {
        let at = scale.at(start + tick * 1_000.0);
        svg.text(
            "label",
            (at, height - 5.0),
            if at < 4.0 { Anchor::Start } else { Anchor::Middle },
            &format!("{tick:.3} s"),
        );
    }
    Some(svg.done())
}

/// What exists lies below what waits.
fn bars(svg: &mut Svg, lane: &Lane, top: f64, scale: &Scale) {
    for kind in [SpanKind::Life, SpanKind::Request] {
        let (class, y) = match kind {
            SpanKind::Life => ("life", (top + 6.0, ROW - 12.0)),
            SpanKind::Request => ("wait", (top + 2.0, ROW - 4.0)),
        };
        for span in lane.spans.iter().filter(|span| span.kind == kind) {
            let width = (scale.at(span.to_ms) - scale.at(span.from_ms)).max(0.35);
            let title = match kind {
                SpanKind::Life => {
                    format!("{}: {:.0} ms; {}", lane.name, span.to_ms - span.from_ms, span.what)
                }
                SpanKind::Request => span.what.clone(),
            };
            svg.rect(class, (scale.at(span.from_ms), width), y, title.trim_end_matches("; "));
        }
    }
}
