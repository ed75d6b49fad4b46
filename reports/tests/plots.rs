//! Figures as SVG files: the golden ones, what others wrote, and runs without numbers.
//! `BENCH_UPDATE_DOCS=1 cargo test -p bench-reports --test plots` writes the golden files anew; look at them.

#![allow(clippy::unwrap_used, reason = "a test may panic wherever it stands")]

mod support;

use std::path::Path;

use bench_record::CellRecord;
use bench_reports::{Plot, Protocol, Rows, analyse, plots};
use serde_json::Value;
use support::{Plan, scale, tool};

const HOSTILE: &str = "</text><script>alert(1)</script> \" ' & \u{1b}[31m\u{202e}\u{0}";

fn three_arms() -> (Value, Vec<CellRecord>) {
    let plan = Plan::new(6, 2, &["bare", "gateway", "entries"])
        .contrast("gateway", "gate")
        .contrast("entries", "negative-control")
        .ratio_gate("first", "first_request_tokens", &["gateway", "entries"])
        .ratio_gate("total", "total_tokens", &["gateway", "entries"]);
    let mut cells = plan.cells();
    scale(&mut cells, "gateway", 1.1);
    scale(&mut cells, "entries", 2.2);
    for cell in cells.iter_mut().filter(|cell| cell.arm.as_str() == "entries") {
        cell.tools.push(tool("never_called", 400, 0));
        cell.turns_series.truncate(3);
    }
    (plan.lock(), cells)
}

fn drawn(lock: &Value, cells: &[CellRecord]) -> Vec<Plot> {
    let protocol = Protocol::read(lock).unwrap();
    plots(&analyse(lock, cells).unwrap(), &Rows::of(&protocol, cells).unwrap())
}

#[test]
fn figures_are_the_golden_ones() {
    let (lock, cells) = three_arms();
    let plots = drawn(&lock, &cells);
    let names: Vec<&str> = plots.iter().map(|plot| plot.name.as_str()).collect();
    let wanted =
        ["forest.svg", "first-request.svg", "context.svg", "slopes-gateway.svg", "slopes-entries.svg"];
    assert_eq!(names, wanted);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/plots");
    for plot in &plots {
        let path = folder.join(&plot.name);
        if std::env::var_os("BENCH_UPDATE_DOCS").is_some() {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &plot.svg).unwrap();
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(golden == plot.svg, "{} is drawn otherwise", path.display());
    }
}

#[test]
fn what_others_wrote_is_shown_and_never_obeyed() {
    let (mut lock, mut cells) = three_arms();
    lock["experiment"] = HOSTILE.into();
    for cell in &mut cells {
        cell.tools.iter_mut().for_each(|tool| tool.name = HOSTILE.into());
    }
    for plot in drawn(&lock, &cells) {
        assert!(!plot.svg.contains("<script"), "{}", plot.name);
        let obeyed = plot.svg.chars().any(|c| c == '\u{202e}' || (c.is_control() && c != '\n'));
        assert!(!obeyed, "{}: a character that a terminal or a page obeys", plot.name);
    }
}

#[test]
fn a_run_without_numbers_has_no_figures() {
    let (lock, _) = three_arms();
    assert_eq!(drawn(&lock, &[]), []);
}
