//! Time and size of the reports of 5,000 cells (125 tasks x 10 repeats x 4 arms).
//!
//! `cargo bench -p bench-reports --bench pages`. Budgets: report.html below 10 MB; everything below 3 s.
//! With `BENCH_PAGES_RUN=DIR` lock and journal are written there, for `bench report DIR` and a browser.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may fail by panic")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use bench_record::CellRecord;
use bench_reports::{Attempt, Protocol, Rows, analyse, cells_csv, html, junit, trace_page, trace_place};
use bench_trajectory::Trajectory;
use support::Plan;

fn main() {
    let arms = ["bare", "loaded", "gateway", "entries"];
    let mut plan = Plan::new(125, 10, &arms);
    for arm in &arms[1..] {
        plan = plan.contrast(arm, "gate");
    }
    for metric in ["first_request_tokens", "total_tokens", "turns", "tool_calls"] {
        plan = plan.ratio_gate(metric, metric, &arms[1..]);
    }
    let (lock, cells) = (plan.lock(), vary(plan.cells()));
    if let Some(dir) = std::env::var_os("BENCH_PAGES_RUN") {
        keep(std::path::Path::new(&dir), &lock, &cells);
    }
    let analysis = timed("analysis", || (analyse(&lock, &cells).unwrap(), 0));
    let protocol = Protocol::read(&lock).unwrap();
    let rows = timed("rows", || (Rows::of(&protocol, &cells).unwrap(), 0));
    let link = |record: &CellRecord| Some(format!("traces/{}", trace_place(record).0));
    let page = timed("report.html", || sized(html(&analysis, &rows, &link)));
    assert!(page.len() < 10_000_000, "{} bytes", page.len());
    timed("cells.csv", || sized(cells_csv(&rows)));
    timed("junit.xml", || sized(junit(&analysis, &rows)));
    timed("1,250 pages of traces without evidence", || {
        let gone = Trajectory::default();
        let pages = rows.blocks.iter().map(|block| {
            let attempts: Vec<Attempt<'_>> = block
                .in_order()
                .into_iter()
                .map(|(_, record)| Attempt { record, trajectory: &gone })
                .collect();
            trace_page(&block.id(), &attempts).len()
        });
        ((), pages.sum())
    });
}

fn sized(text: String) -> (String, usize) {
    let length = text.len();
    (text, length)
}

fn timed<T>(what: &str, work: impl FnOnce() -> (T, usize)) -> T {
    let start = Instant::now();
    let (made, bytes) = work();
    println!("{what}: {:.2} s, {:.2} MB", start.elapsed().as_secs_f64(), bytes as f64 / 1e6);
    made
}

/// Every cell another number, by a fixed rule.
fn vary(mut cells: Vec<CellRecord>) -> Vec<CellRecord> {
    for (index, cell) in cells.iter_mut().enumerate() {
        let by = 1.0 + ((index * 2_654_435_761) % 1_000) as f64 / 2_000.0;
        cell.metrics.total_tokens = Some((4_400.0 * by) as u64);
        cell.metrics.turns = Some(4 + index as u64 % 3);
    }
    cells
}

fn keep(dir: &std::path::Path, lock: &serde_json::Value, cells: &[CellRecord]) {
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("lock.json"), serde_json::to_string_pretty(lock).unwrap()).unwrap();
    let lines: Vec<String> = cells.iter().map(|cell| serde_json::to_string(cell).unwrap() + "\n").collect();
    std::fs::write(dir.join("journal.jsonl"), lines.concat()).unwrap();
}
