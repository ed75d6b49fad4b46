//! Planned looks: the first that decides holds, each at its own level, and nothing is decided between them.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod support;

use bench_core::Decision;
use bench_core::experiment::{LookShape, Rules};
use bench_record::CellRecord;
use bench_reports::{Analysis, analyse, levels_of_looks};

use support::{Plan, scale};

fn plan() -> Plan {
    Plan::new(12, 4, &["bare", "cand"]).contrast("cand", "gate").upstream("openai-chat").ratio_gate(
        "tokens",
        "total_tokens",
        &["cand"],
    )
}

/// Costs of the candidate between `ratio` and a tenth more, other ones in each repeat.
fn cells(ratio: f64) -> Vec<CellRecord> {
    let mut cells = plan().cells();
    for (index, cell) in cells.iter_mut().enumerate() {
        let noise = 1.0 + ((index * 7_919) % 100) as f64 / 1_000.0;
        cell.metrics.total_tokens = Some((100_000.0 * noise) as u64);
    }
    scale(&mut cells, "cand", ratio);
    cells
}

fn looked(cells: &[CellRecord], looks: u32) -> Analysis {
    let mut lock = plan().lock();
    lock["rules"]["looks"] = looks.into();
    analyse(&lock, cells).unwrap()
}

fn first_repeats(cells: &[CellRecord], repeats: u32) -> Vec<CellRecord> {
    cells.iter().filter(|cell| cell.repeat <= repeats).cloned().collect()
}

#[test]
fn a_planned_look_may_decide_before_the_end_and_nothing_else_may() {
    let half = first_repeats(&cells(1.0), 2);
    let planned = looked(&half, 2);
    assert_eq!(planned.overall.decision, Decision::Pass, "{}", planned.overall.sentence);
    let look = planned.look.unwrap();
    assert_eq!((look.number, look.of, look.repeats), (1, 2, 2));
    let unplanned = looked(&half, 1);
    assert_eq!(unplanned.overall.reasons, ["incomplete"]);
    let before = looked(&first_repeats(&cells(1.0), 1), 2);
    assert_eq!((before.overall.reasons, before.look), (vec!["incomplete".to_owned()], None));
}

#[test]
fn the_first_look_that_decides_holds_whatever_comes_after() {
    let mut all = cells(1.0);
    all.iter_mut().filter(|cell| cell.repeat > 2 && cell.arm.as_str() == "cand").for_each(|cell| {
        cell.metrics.total_tokens = cell.metrics.total_tokens.map(|tokens| tokens * 9);
    });
    assert_eq!(looked(&all, 2).overall.decision, Decision::Pass);
    assert_eq!(looked(&all, 1).overall.decision, Decision::Fail);
}

#[test]
fn an_early_look_asks_for_more_than_the_last() {
    let rules = Rules { looks: 4, ..Rules::default() };
    let levels = levels_of_looks(&rules);
    assert!(levels.windows(2).all(|pair| pair[0] < pair[1]), "{levels:?}");
    assert!(levels[0] < 0.001 && levels[3] < rules.alpha);
    let pocock = levels_of_looks(&Rules { look_shape: LookShape::Pocock, ..rules });
    assert!(pocock.iter().all(|level| (level - pocock[0]).abs() < 1e-12) && pocock[0] < 0.05);
    // A ratio that lies too near the limit for the first look: open, and the run goes on.
    let open = looked(&first_repeats(&cells(1.24), 2), 2);
    assert_eq!(open.overall.decision, Decision::Inconclusive);
    assert!(open.overall.sentence.contains("the run goes on"), "{}", open.overall.sentence);
}
