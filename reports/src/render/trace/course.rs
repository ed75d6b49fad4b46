//! The course of an attempt in time: waiting for the model, and what lies between.

use bench_trajectory::Trajectory;

use crate::render::html::svg::{Anchor, Scale, Svg, ticks};

const ROW: f64 = 16.0;
const FOOT: f64 = 22.0;

/// One bar per request, a row per conversation; null without times.
pub(super) fn course(trajectory: &Trajectory) -> Option<String> {
    let bars: Vec<(usize, f64, f64, String)> = trajectory
        .exchanges
        .iter()
        .filter_map(|exchange| {
            let start = exchange.at_ms?;
            let end = start + exchange.record.last_byte_ms.unwrap_or(0.0);
            let title = format!(
                "request {} ({}): {:.0} ms",
                exchange.record.request,
                exchange.record.class,
                end - start
            );
            Some((exchange.conversation, start, end, title))
        })
        .collect();
    let start = bars.iter().map(|bar| bar.1).fold(f64::INFINITY, f64::min);
    let end = bars.iter().map(|bar| bar.2).fold(0.0, f64::max);
    // Without any bar the start lies at infinity.
    if end <= start {
        return None;
    }
    let rows = bars.iter().map(|bar| bar.0).max().unwrap_or(0) + 1;
    let scale = Scale::linear((start, end), (0.5, 99.5));
    let height = rows as f64 * ROW + FOOT;
    let label = format!("{} requests in {:.1} s", bars.len(), (end - start) / 1_000.0);
    let mut svg = Svg::new(height, "plot course-of", Some(&label));
    for (row, from, to, title) in &bars {
        let width = (scale.at(*to) - scale.at(*from)).max(0.35);
        svg.rect("wait", (scale.at(*from), width), (*row as f64 * ROW + 2.0, ROW - 4.0), title);
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
