//! `report.html`: what others wrote is shown and never obeyed, nothing is fetched, every section is there, and five
//! thousand cells stay a small file.

#![allow(clippy::unwrap_used, reason = "a test may panic wherever it stands")]

mod support;

use bench_core::evidence::IsolationEvent;
use bench_core::{EndingKind, TaskId};
use bench_record::CellRecord;
use bench_reports::{Protocol, Rows, analyse, html};
use serde_json::Value;
use support::Plan;

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \" ' & \u{1b}]0;owned\u{7}\u{1b}[31m\u{202e}\u{0}";

fn page(lock: &Value, cells: &[CellRecord]) -> String {
    let analysis = analyse(lock, cells).unwrap();
    let protocol = Protocol::read(lock).unwrap();
    let rows = Rows::of(&protocol, cells).unwrap();
    html(&analysis, &rows, &|record| Some(format!("traces/{}.html", record.cell_id())))
}

fn two_arms() -> Plan {
    Plan::new(6, 2, &["bare", "gateway"])
        .contrast("gateway", "gate")
        .ratio_gate("first", "first_request_tokens", &["gateway"])
        .ratio_gate("total", "total_tokens", &["gateway"])
}

#[test]
fn what_others_wrote_is_shown_and_never_obeyed() {
    let plan = two_arms();
    let mut lock = plan.lock();
    lock["experiment"] = HOSTILE.into();
    lock["exploratory"] = HOSTILE.into();
    let mut cells = plan.cells();
    for cell in &mut cells {
        cell.isolation.events.push(IsolationEvent {
            operation: HOSTILE.to_owned(),
            path: HOSTILE.to_owned(),
            process: HOSTILE.to_owned(),
            class: HOSTILE.to_owned(),
            denied: true,
            count: 1,
        });
        cell.isolation.missing.push(HOSTILE.into());
        cell.isolation.detector = HOSTILE.into();
        cell.upstream.models_answered.push(HOSTILE.into());
        for tool in &mut cell.tools {
            tool.name = HOSTILE.into();
        }
    }
    let page = page(&lock, &cells);
    assert!(page.matches("&lt;img src=x onerror=alert(2)&gt;").count() > 12, "the hostile words are shown");
    assert_eq!(page.matches("<script>").count(), 1, "only the page's own script");
    assert!(!page.contains("<img"));
    let obeyed: Vec<char> = page.chars().filter(|c| c.is_control() && !"\n\t".contains(*c)).collect();
    assert_eq!(obeyed, [], "control characters");
    assert!(!page.contains('\u{202e}'));
}

#[test]
fn nothing_is_fetched_and_only_this_builds_script_may_run() {
    let plan = two_arms();
    let page = page(&plan.lock(), &plan.cells());
    let policy =
        page.split_once("Content-Security-Policy\" content=\"").unwrap().1.split_once('"').unwrap().0;
    assert!(policy.starts_with("default-src &#39;none&#39;"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    for target in page.split("href=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0) {
        let inside = target.starts_with('#') || target.starts_with("traces/") || target == "data:,";
        assert!(inside, "{target} leads out of the report");
    }
    assert!(!page.contains(" src=") && !page.contains("url(http") && !page.contains("@import"));
    assert!(!page.contains(" style="), "the policy would refuse it");
}

#[test]
fn every_section_is_there_and_every_cell_leads_to_its_trace() {
    let plan = two_arms();
    let mut cells = plan.cells();
    cells[0].ending.kind = EndingKind::UpstreamFault;
    cells.remove(3);
    let page = page(&plan.lock(), &cells);
    for id in [
        "gates",
        "forest",
        "first-request",
        "slopes",
        "context",
        "grid",
        "arms",
        "walls",
        "order",
        "cost",
        "scope",
        "definitions",
    ] {
        assert!(page.contains(&format!("id=\"{id}\"")), "section {id}");
        assert!(page.contains(&format!("href=\"#{id}\"")), "the way to section {id}");
    }
    for cell in &cells {
        assert!(page.contains(&format!("href=\"traces/{}.html\"", cell.cell_id())), "{}", cell.cell_id());
    }
    assert!(page.contains("upstream_fault"), "why a block is out");
    assert!(page.contains("not settled"), "the cell that is missing");
}

#[test]
fn a_run_without_any_record_has_a_page_that_says_so() {
    let page = page(&two_arms().lock(), &[]);
    assert!(page.contains("NO_DATA") || page.contains("INCONCLUSIVE") || page.contains("INVALID_RUN"));
    assert!(page.contains("0 of 24 cells settled"));
    assert!(!page.contains("NaN") && !page.contains("inf%"), "no figure without numbers");
}

#[test]
fn five_thousand_cells_stay_below_ten_megabytes() {
    let arms = ["bare", "loaded", "gateway", "entries"];
    let mut plan = Plan::new(125, 10, &arms);
    plan = plan.contrast("gateway", "gate").ratio_gate("total", "total_tokens", &["gateway"]);
    let mut cells = plan.cells();
    let long = |at: usize| TaskId::new(format!("a-rather-long-name-of-a-task-{at:03}")).unwrap();
    let mut lock = plan.lock();
    lock["tasks"] = (0..125).map(|at| long(at).to_string()).collect();
    for cell in &mut cells {
        cell.task = long(cell.task.as_str()[1..].parse().unwrap());
    }
    assert_eq!(cells.len(), 5_000);
    let page = page(&lock, &cells);
    assert!(page.len() < 10_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("href=\"traces/").count(), 5_000);
}
