//! The rules of the gates beyond cost ratio and pass rate: stages, tracks, loads, benefits, floors, providers.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod support;

use bench_core::ledger::Load;
use bench_core::{Decision, Ending, EndingKind, Track};
use bench_record::{CellRecord, Verdict};
use bench_reports::analysis::{Analysis, GateOutcome};
use bench_reports::{analyse, calibrate};
use serde_json::{Value, json};

use support::{Plan, scale};

fn run(plan: &Plan, rules: Value, cells: &[CellRecord]) -> Analysis {
    let mut lock = plan.lock();
    for (key, value) in rules.as_object().unwrap() {
        lock["rules"][key] = value.clone();
    }
    analyse(&lock, cells).unwrap()
}

fn only(analysis: &Analysis) -> &GateOutcome {
    &analysis.contrasts[0].gates[0]
}

fn gated(tasks: usize, repeats: u32, gate: Value) -> (Plan, Vec<CellRecord>) {
    let mut plan =
        Plan::new(tasks, repeats, &["bare", "cand"]).contrast("cand", "gate").upstream("openai-chat");
    plan.gates.push(gate);
    let cells = plan.cells();
    (plan, cells)
}

fn ratio(metric: &str) -> Value {
    json!({"id": metric, "metric": metric, "margin": {"rule": "ratio-at-most", "limit": 1.25},
        "contrasts": ["cand"], "scope": "tasks-like-these"})
}

fn of_cand(cells: &mut [CellRecord]) -> impl Iterator<Item = &mut CellRecord> {
    cells.iter_mut().filter(|cell| cell.arm.as_str() == "cand")
}

fn load(turn: u32, needed: bool) -> Load {
    Load {
        group: Some("g".into()),
        tools: vec!["x".into()],
        turn,
        first_call_turn: needed.then_some(turn),
        needed,
    }
}

#[test]
fn a_smoke_run_may_fail_and_never_passes() {
    let (plan, mut cells) = gated(6, 2, ratio("first_request_tokens"));
    scale(&mut cells, "cand", 1.02);
    assert_eq!(run(&plan, json!({}), &cells).overall.decision, Decision::Pass);
    let smoke = run(&plan, json!({"stage": "smoke"}), &cells);
    assert_eq!(smoke.overall.decision, Decision::Inconclusive);
    assert_eq!(only(&smoke).reasons, ["smoke_stage"]);
    scale(&mut cells, "cand", 1.5);
    assert_eq!(run(&plan, json!({"stage": "smoke"}), &cells).overall.decision, Decision::Fail);
}

#[test]
fn a_spread_of_zero_needs_a_floor_from_an_a_a_run() {
    let (plan, cells) = gated(8, 2, ratio("turns"));
    let bare = run(&plan, json!({}), &cells);
    assert_eq!(only(&bare).reasons, ["degenerate_variance"]);
    assert_eq!(only(&run(&plan, json!({"sd_floor": 0.1}), &cells)).decision, Decision::Pass);
    // A floor so wide that eight tasks show nothing keeps it open.
    assert_eq!(only(&run(&plan, json!({"sd_floor": 0.6}), &cells)).decision, Decision::Inconclusive);
}

#[test]
fn a_pass_must_survive_doubled_costs_of_cells_that_were_cut_off() {
    let (plan, mut cells) = gated(6, 2, ratio("total_tokens"));
    scale(&mut cells, "cand", 1.1);
    assert_eq!(only(&run(&plan, json!({}), &cells)).decision, Decision::Pass);
    for cell in of_cand(&mut cells).filter(|c| c.task.as_str() < "t02") {
        cell.ending = Ending::of(EndingKind::Timeout);
        cell.verdict = Some(Verdict::Failed);
    }
    let cut = run(&plan, json!({}), &cells);
    assert_eq!(only(&cut).reasons, ["censoring_sensitive"]);
}

#[test]
fn a_change_of_the_provider_in_mid_run_leaves_no_pass() {
    let (plan, mut cells) = gated(6, 2, ratio("first_request_tokens"));
    scale(&mut cells, "cand", 1.02);
    for cell in &mut cells {
        cell.upstream.fingerprint = Some(if cell.repeat == 1 { "fp1" } else { "fp2" }.into());
    }
    let both = run(&plan, json!({}), &cells);
    assert_eq!(only(&both).reasons, ["provider_changed"]);
    // Each provider's blocks are judged by themselves.
    let of = |analysis: &Analysis| -> Vec<(Vec<String>, u64, Decision)> {
        let one = |segment: &bench_reports::analysis::Segment| {
            (segment.fingerprints.clone(), segment.blocks, segment.contrasts[0].gates[0].decision)
        };
        analysis.segments.iter().map(one).collect()
    };
    let part = |print: &str, decision| (vec![print.to_owned()], 6, decision);
    assert_eq!(of(&both), [part("fp1", Decision::Pass), part("fp2", Decision::Pass)]);
    let page = bench_reports::markdown(&both);
    for words in ["no PASS stands for the whole", "- fp1, 6 blocks", "- fp2, 6 blocks"] {
        assert!(page.contains(words), "{words} is missing from {page}");
    }
    // Under the second the candidate costs more: what one part hides from the other is seen.
    let mut dear = cells.clone();
    for cell in of_cand(&mut dear).filter(|cell| cell.repeat == 2) {
        cell.metrics.first_request_tokens = cell.metrics.first_request_tokens.map(|tokens| tokens * 2);
    }
    let mixed = run(&plan, json!({}), &dear);
    assert_eq!(of(&mixed), [part("fp1", Decision::Pass), part("fp2", Decision::Fail)]);
    // A cell that says nothing agrees with whoever answered.
    let mut silent = cells.clone();
    for cell in of_cand(&mut silent) {
        cell.upstream.fingerprint = None;
    }
    assert_eq!(of(&run(&plan, json!({}), &silent)), of(&both));
    // Within a block the two arms are not even comparable: the block leaves the numbers.
    for cell in &mut cells {
        cell.upstream.fingerprint = Some("fp1".into());
    }
    of_cand(&mut cells).next().unwrap().upstream.fingerprint = Some("fp2".into());
    let split = run(&plan, json!({}), &cells);
    assert_eq!(split.blocks.invalid_by_reason["provider_changed"], 1);
}

#[test]
fn discovery_needs_the_exact_bound_and_names_its_scope() {
    let gate = |scope: &str| {
        json!({"id": "discovery", "metric": "discovery_rate", "margin": {"rule": "rate-at-least", "least": 0.95},
            "contrasts": ["cand"], "scope": scope, "track": "orchestration"})
    };
    let orchestration = |tasks, repeats, scope: &str| {
        let (plan, mut cells) = gated(tasks, repeats, gate(scope));
        for cell in &mut cells {
            cell.track = Track::Orchestration;
            cell.metrics.loads = Some(1);
            cell.loads = vec![load(2, true)];
        }
        (plan, cells)
    };
    let (plan, mut cells) = orchestration(59, 1, "tasks-like-these");
    let all = run(&plan, json!({}), &cells);
    assert_eq!((only(&all).decision, only(&all).track.as_str()), (Decision::Pass, "orchestration"));
    let rate = only(&all).rate.as_ref().unwrap();
    assert_eq!((rate.found, rate.n), (59, 59));
    of_cand(&mut cells).next().unwrap().loads.clear();
    assert_eq!(only(&run(&plan, json!({}), &cells)).decision, Decision::Inconclusive);
    for cell in of_cand(&mut cells).take(12) {
        cell.loads.clear();
    }
    let poor = run(&plan, json!({}), &cells);
    assert_eq!(only(&poor).decision, Decision::Fail);
    assert_eq!(only(&poor).cells.len(), 12);
    // Sixty tasks three times: enough for these tasks, not for tasks like these.
    let (plan, cells) = orchestration(60, 3, "tasks-like-these");
    assert_eq!(only(&run(&plan, json!({}), &cells)).decision, Decision::Inconclusive);
    let (plan, cells) = orchestration(60, 3, "these-tasks");
    assert_eq!(only(&run(&plan, json!({}), &cells)).decision, Decision::Pass);
}

#[test]
fn a_gate_of_one_track_does_not_look_at_the_other() {
    let gate = json!({"id": "idle", "metric": "unneeded_loads", "margin": {"rule": "never-above", "most": 0.0},
        "contrasts": ["cand"], "scope": "these-tasks", "track": "default"});
    let (plan, mut cells) = gated(4, 2, gate);
    for cell in &mut cells {
        cell.metrics.loads = Some(1);
        cell.track = if cell.task.as_str() == "t00" { Track::Orchestration } else { Track::Default };
        cell.loads = if cell.track == Track::Orchestration { vec![load(2, false)] } else { Vec::new() };
    }
    assert_eq!(only(&run(&plan, json!({}), &cells)).decision, Decision::Pass);
    of_cand(&mut cells).find(|c| c.track == Track::Default).unwrap().loads = vec![load(2, false)];
    let idle = run(&plan, json!({}), &cells);
    assert_eq!((only(&idle).decision, only(&idle).reasons[0].as_str()), (Decision::Fail, "seen_above"));
    of_cand(&mut cells).for_each(|c| {
        c.loads.clear();
        c.metrics.loads = None;
    });
    assert_eq!(only(&run(&plan, json!({}), &cells)).reasons, ["unknown_values"]);
}

#[test]
fn tools_must_be_callable_on_the_turn_after_a_load() {
    let gate = json!({"id": "late", "metric": "late_loads", "margin": {"rule": "never-above", "most": 0.0},
        "contrasts": ["cand"], "scope": "these-tasks"});
    let (plan, mut cells) = gated(4, 2, gate);
    for cell in &mut cells {
        cell.metrics.loads = Some(1);
        cell.loads = vec![load(2, true)];
        cell.turns_series[0].calls = vec!["load_tools".into()];
    }
    assert_eq!(only(&run(&plan, json!({}), &cells)).decision, Decision::Pass);
    of_cand(&mut cells).next().unwrap().loads[0].turn = 3;
    assert_eq!(only(&run(&plan, json!({}), &cells)).decision, Decision::Fail);
}

#[test]
fn one_better_outcome_is_claimed_only_after_holm() {
    let gate = json!({"id": "pays", "metric": "pass_rate", "margin": {"rule": "any-better",
        "outcomes": ["pass_rate", "wall_ms", "human_steps"]}, "contrasts": ["cand"], "scope": "tasks-like-these"});
    let (plan, mut cells) = gated(8, 2, gate);
    for cell in &mut cells {
        let task = f64::from(u8::from(cell.task.as_str() < "t04"));
        let by = if cell.arm.as_str() == "cand" { 0.8 - 0.05 * task } else { 1.0 };
        cell.metrics.wall_ms = Some(1000.0 * by);
        cell.metrics.human_steps = Some(3);
    }
    let faster = run(&plan, json!({}), &cells);
    assert_eq!(only(&faster).decision, Decision::Pass);
    let outcomes = &only(&faster).outcomes;
    assert_eq!(outcomes.len(), 3);
    assert!((outcomes[1].holm_p - 3.0 * outcomes[1].p.unwrap()).abs() < 1e-12, "{outcomes:?}");
    of_cand(&mut cells).for_each(|cell| cell.metrics.wall_ms = cell.metrics.wall_ms.map(|ms| ms * 1.29));
    let even = run(&plan, json!({}), &cells);
    assert_eq!(only(&even).reasons, ["no_benefit_shown"]);
}

fn two_candidates(order: [&str; 2]) -> (Plan, Vec<CellRecord>) {
    let mut plan = Plan::new(8, 2, &["bare", order[0], order[1]])
        .contrast(order[0], "gate")
        .contrast(order[1], "gate")
        .upstream("openai-chat");
    plan = plan.ratio_gate("tokens", "first_request_tokens", &order);
    let mut cells = plan.cells();
    scale(&mut cells, "lean", 1.02);
    scale(&mut cells, "dear", 1.6);
    (plan, cells)
}

#[test]
fn one_of_several_candidates_is_claimed_by_holm_or_in_sequence() {
    let (plan, cells) = two_candidates(["dear", "lean"]);
    assert_eq!(run(&plan, json!({}), &cells).overall.decision, Decision::Fail);
    let holm = run(&plan, json!({"candidates": "holm"}), &cells);
    assert_eq!(holm.overall.decision, Decision::Pass, "{:?}", holm.candidates);
    let claimed = |analysis: &Analysis| analysis.candidates.iter().map(|c| c.claimed).collect::<Vec<_>>();
    assert_eq!(claimed(&holm), [false, true]);
    assert!((holm.candidates[1].holm_p.unwrap() - 2.0 * holm.candidates[1].p).abs() < 1e-12);
    // In a fixed sequence the dear one comes first and ends it.
    let sequence = run(&plan, json!({"candidates": "fixed-sequence"}), &cells);
    assert_eq!((claimed(&sequence), sequence.overall.decision), (vec![false, false], Decision::Inconclusive));
    let (plan, cells) = two_candidates(["lean", "dear"]);
    assert_eq!(claimed(&run(&plan, json!({"candidates": "fixed-sequence"}), &cells)), [true, false]);
}

#[test]
fn equal_arms_are_accepted_and_unequal_ones_are_not() {
    let (mut plan, mut cells) = gated(8, 2, ratio("total_tokens"));
    plan.contrasts[0]["factor"] = json!("none");
    for (index, cell) in cells.iter_mut().enumerate() {
        cell.metrics.total_tokens = Some(4000 + (index as u64 * 37) % 300);
    }
    let equal = run(&plan, json!({}), &cells);
    let a_a = equal.contrasts[0].a_a.as_ref().unwrap();
    assert!(a_a.accepted, "{:?}", a_a.objections);
    let variance = equal.contrasts[0].metrics[&bench_core::Metric::TotalTokens].variance.unwrap();
    assert!(variance.sd > 0.0 && variance.sigma > 0.0, "{variance:?}");
    scale(&mut cells, "cand", 1.5);
    let unequal = run(&plan, json!({}), &cells);
    assert!(!unequal.contrasts[0].a_a.as_ref().unwrap().accepted);
    assert!(run(&gated(8, 2, ratio("turns")).0, json!({}), &cells).contrasts[0].a_a.is_none());
}

#[test]
fn label_swaps_fail_nothing_much_and_pass_at_the_limit_rarely() {
    let (plan, mut cells) = gated(12, 2, ratio("total_tokens"));
    for (index, cell) in cells.iter_mut().enumerate() {
        cell.metrics.total_tokens = Some(2000 + (index as u64 * 7919) % 3000);
    }
    // The candidate is far too dear; with its labels swapped it is as dear as the control.
    scale(&mut cells, "cand", 1.1);
    let found = calibrate(&plan.lock(), &cells, 100).unwrap();
    let gate = &found[0].gates[0];
    assert!(found[0].false_fail <= 0.08, "{found:?}");
    assert!(gate.false_pass.unwrap() <= 0.10, "{found:?}");
    assert_eq!(
        found,
        calibrate(&plan.lock(), &cells, 100).unwrap(),
        "the draws come from the experiment's seed"
    );
}

#[test]
fn arms_that_never_pass_are_said_to_show_nothing() {
    let gate = json!({"id": "pass", "metric": "pass_rate", "margin": {"rule": "non-inferior", "margin": 0.1},
        "contrasts": ["cand"], "scope": "tasks-like-these"});
    let (plan, mut cells) = gated(60, 2, gate);
    let floor = |cells: &[CellRecord]| {
        run(&plan, json!({}), cells)
            .warnings
            .iter()
            .any(|words| words.contains("neither arm passed any of 120 pairs"))
    };
    assert!(!floor(&cells));
    cells.iter_mut().for_each(|cell| cell.verdict = Some(Verdict::Failed));
    assert!(floor(&cells));
}
