//! Time and memory of a whole analysis, from the journal on the disk to the verdict: 100 tasks x 10 repeats x 8 arms x 6
//! metrics, and 100,000 cells, with the evidence of a recorded run in every record.
//!
//! `cargo bench -p bench-reports --bench analysis`. Budgets: under 1 s on one core; under 5 s and 500 MB.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints and may fail by panic")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use bench_record::CellRecord;
use support::Plan;

/// Asks this program for the measured part.
const READ: &str = "--read";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // The part that is measured: a process of its own, since making the journal needs memory too.
    if let [_, word, dir, name] = args.as_slice()
        && word == READ
    {
        return read(Path::new(dir), name);
    }
    // `cargo test --benches` asks for a list; there is nothing to list.
    if args.iter().any(|arg| arg == "--list") {
        return;
    }
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
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("lock.json"), plan.lock().to_string()).unwrap();
    let mut cells = plan.cells();
    vary(&mut cells);
    write_journal(&dir.path().join("journal.jsonl"), &cells);
    let own = std::env::current_exe().unwrap();
    let status = Command::new(own).args([READ, dir.path().to_str().unwrap(), name]).status().unwrap();
    assert!(status.success());
}

/// Records as a run writes them: around the numbers of `cells`, what a recorded run left of walls, tools and turns.
fn write_journal(path: &Path, cells: &[CellRecord]) {
    let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/browser/run/journal.jsonl");
    let (recorded, _) = bench_record::read_journal(&run).unwrap();
    let mut journal = BufWriter::new(File::create(path).unwrap());
    for (index, cell) in cells.iter().enumerate() {
        let like = &recorded[index % recorded.len()];
        let record = CellRecord {
            checks: like.checks.clone(),
            first_request: like.first_request.clone(),
            tools: like.tools.clone(),
            turns_series: like.turns_series.clone(),
            isolation: like.isolation.clone(),
            ..cell.clone()
        };
        serde_json::to_writer(&mut journal, &record).unwrap();
        journal.write_all(b"\n").unwrap();
    }
    journal.flush().unwrap();
}

/// Reads the journal and analyses it, as `bench gate` does.
fn read(dir: &Path, name: &str) {
    let lock: serde_json::Value =
        serde_json::from_slice(&std::fs::read(dir.join("lock.json")).unwrap()).unwrap();
    let journal = dir.join("journal.jsonl");
    let start = Instant::now();
    let (cells, _) = bench_record::read_numbers(&journal).unwrap();
    let read_in = start.elapsed();
    let before = status_mb("VmRSS");
    let start = Instant::now();
    let analysis = bench_reports::analyse(&lock, &cells).unwrap();
    println!(
        "{name}: {} cells, journal {} MB; read in {:.2} s, analysed in {:.2} s; {before:.0} MB for the cells, {:.0} MB at the peak ({:?})",
        cells.len(),
        std::fs::metadata(&journal).unwrap().len() >> 20,
        read_in.as_secs_f64(),
        start.elapsed().as_secs_f64(),
        status_mb("VmHWM"),
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
