//! Time and memory of a whole analysis: 100 tasks x 10 repeats x 8 arms x 6 metrics, and 100,000 cells.
//!
//! `cargo bench -p bench-reports --bench analysis`. Budgets: under 1 s on one core; under 5 s and 500 MB.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may fail by panic")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use bench_record::CellRecord;
use support::Plan;

fn main() {
    measure("100 tasks x 10 repeats x 8 arms", 100, 10, 8);
    measure("1,250 tasks x 10 repeats x 8 arms", 1_250, 10, 8);
}

fn measure(name: &str, tasks: usize, repeats: u32, arms: usize) {
    let names: Vec<String> = (0..arms).map(|arm| format!("arm{arm}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let candidates = &names[1..];
    let mut plan = Plan::new(tasks, repeats, &names).upstream("openai-chat");
    for candidate in candidates {
        plan = plan.contrast(candidate, "gate");
    }
    for metric in ["first_request_tokens", "total_tokens", "turns", "tool_calls", "wall_ms"] {
        plan = plan.ratio_gate(metric, metric, candidates);
    }
    plan = plan.pass_gate("pass", candidates);
    let mut cells = plan.cells();
    vary(&mut cells);
    let before = resident_mb();
    let start = Instant::now();
    let analysis = bench_reports::analyse(&plan.lock(), &cells).unwrap();
    let spent = start.elapsed();
    println!(
        "{name}: {} cells, {:.2} s, {:.0} MB for the cells, {:.0} MB at the peak ({:?})",
        cells.len(),
        spent.as_secs_f64(),
        before,
        peak_mb(),
        analysis.overall.decision
    );
}

/// Every cell another number, by a fixed rule; only the six main metrics are known.
fn vary(cells: &mut [CellRecord]) {
    for (index, cell) in cells.iter_mut().enumerate() {
        let by = 1.0 + ((index * 2_654_435_761) % 1_000) as f64 / 2_000.0;
        cell.metrics.total_tokens = Some((4_400.0 * by) as u64);
        cell.metrics.turns = Some(4 + index as u64 % 3);
        cell.metrics.tool_calls = Some(3 + index as u64 % 4);
        cell.metrics.wall_ms = Some(1_000.0 * by);
        cell.metrics.input_tokens = None;
        cell.metrics.output_tokens = None;
        cell.metrics.requests = None;
    }
}

fn status_mb(key: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(f64::NAN) / 1024.0
}

fn resident_mb() -> f64 {
    status_mb("VmRSS")
}

fn peak_mb() -> f64 {
    status_mb("VmHWM")
}
