//! What of a journal counts: runs that went on, orders, blocks that were lost or run again, cells that wandered.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use bench_core::{Decision, Ending, EndingKind, IsolationLevel, Metric};
use bench_record::CellRecord;
use support::{Plan, ablation, analysed, equal_part, gate, scale};

#[test]
fn a_killed_and_resumed_run_reads_the_same() {
    let (plan, cells) = ablation();
    let whole = analysed(&plan, &cells);
    let mut resumed = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        let mut cell = cell.clone();
        if index % 5 == 3 {
            let mut killed = cell.clone();
            killed.ending = Ending::of(EndingKind::Interrupted);
            killed.verdict = None;
            killed.metrics.total_tokens = Some(77);
            resumed.push(killed);
            cell.attempt = 2;
            cell.block_split = true;
        }
        cell.started_at = "2026-12-02T00:00:00.000Z".into();
        cell.host_id = "elsewhere".into();
        cell.wall_ms = Some(33.0 + index as f64);
        cell.metrics.wall_ms = cell.wall_ms;
        cell.cpu_ms.agent = Some(9.0);
        resumed.push(cell);
    }
    let resumed = analysed(&plan, &resumed);
    assert_eq!(equal_part(&whole), equal_part(&resumed));
    assert!(resumed.provenance.interruptions > 0);
    assert_eq!(resumed.provenance.spent_by_interrupted.total_tokens, 77 * resumed.provenance.interruptions);
    assert_ne!(whole.provenance, resumed.provenance);
}

#[test]
fn the_order_of_the_journal_changes_nothing() {
    let (plan, mut cells) = ablation();
    let one = equal_part(&analysed(&plan, &cells));
    cells.reverse();
    assert_eq!(one, equal_part(&analysed(&plan, &cells)));
}

#[test]
fn a_run_in_progress_is_inconclusive_and_says_how_far_it_is() {
    let (plan, mut cells) = ablation();
    cells.truncate(20);
    let analysis = analysed(&plan, &cells);
    assert_eq!((analysis.overall.decision, analysis.overall.exit_code), (Decision::Inconclusive, 3));
    assert_eq!(analysis.overall.reasons, ["incomplete"]);
    assert!(analysis.overall.sentence.contains("20 of 36"), "{}", analysis.overall.sentence);
    assert_eq!(analysed(&plan, &[]).overall.decision, Decision::NoData);
}

#[test]
fn a_missing_outcome_takes_the_whole_block_out_of_every_contrast() {
    let (plan, mut cells) = ablation();
    let victim = cells.iter_mut().find(|c| c.arm.as_str() == "entries").unwrap();
    victim.ending = Ending::of(EndingKind::UpstreamFault);
    victim.verdict = None;
    let analysis = analysed(&plan, &cells);
    assert_eq!(analysis.blocks.valid, 11);
    assert_eq!(analysis.blocks.invalid_by_reason["upstream_fault"], 1);
    assert_eq!(analysis.blocks.invalid_only["entries"], 1);
    assert!(analysis.contrasts.iter().all(|c| c.pairs.n == 11));
    assert_eq!(analysis.cells.attempted, 36);
    assert_eq!(analysis.arms[0].pass.n, 11);
}

#[test]
fn a_block_that_was_run_again_supersedes_its_first_attempt() {
    let (plan, mut cells) = ablation();
    let block = cells[0].block.clone();
    let mut first: Vec<CellRecord> = cells.iter().filter(|c| c.block == block).cloned().collect();
    first[1].ending = Ending::of(EndingKind::HarnessFault);
    first[1].verdict = None;
    first[0].metrics.total_tokens = Some(999_999);
    cells.iter_mut().filter(|c| c.block == block).for_each(|c| c.attempt = 2);
    let again: Vec<CellRecord> = first.into_iter().chain(cells).collect();
    let analysis = analysed(&plan, &again);
    assert_eq!(analysis.blocks.valid, 12);
    assert_eq!(analysis.provenance.superseded.attempts, 3);
    assert!(analysis.arms.iter().all(|arm| arm.metrics[&Metric::TotalTokens].max < 20_000.0));
}

#[test]
fn too_many_or_one_sided_losses_make_the_run_invalid() {
    let (plan, mut cells) = ablation();
    for cell in
        cells.iter_mut().filter(|c| c.repeat == 1 && c.task.as_str() < "t03" && c.arm.as_str() == "bare")
    {
        cell.ending = Ending::of(EndingKind::EvidenceIncomplete);
    }
    assert_eq!(analysed(&plan, &cells).overall.reasons, ["too_many_invalid"]);
    let plan = Plan::new(30, 2, &["bare", "gateway"]).contrast("gateway", "gate").ratio_gate(
        "tokens",
        "total_tokens",
        &["gateway"],
    );
    let mut cells = plan.cells();
    for cell in
        cells.iter_mut().filter(|c| c.repeat == 1 && c.task.as_str() < "t07" && c.arm.as_str() == "gateway")
    {
        cell.ending = Ending::of(EndingKind::NotQuiescent);
    }
    assert_eq!(analysed(&plan, &cells).overall.reasons, ["differential_invalid"]);
}

#[test]
fn outside_access_is_decided_twice() {
    let plan = Plan::new(8, 2, &["bare", "gateway"])
        .upstream("openai-chat")
        .contrast("gateway", "gate")
        .ratio_gate("tokens", "total_tokens", &["gateway"]);
    let mut cells = plan.cells();
    scale(&mut cells, "gateway", 1.1);
    for cell in cells.iter_mut().filter(|c| c.arm.as_str() == "gateway" && c.task.as_str() == "t03") {
        cell.ending = Ending::of(EndingKind::OutsideAccess);
    }
    let same = analysed(&plan, &cells);
    assert_eq!(gate(&same, "gateway", "tokens").decision, Decision::Pass, "as graded it would hold too");
    assert_eq!(same.blocks.invalid_by_reason["outside_access"], 2);
    for cell in cells.iter_mut().filter(|c| c.ending.kind == EndingKind::OutsideAccess) {
        cell.metrics.total_tokens = Some(90_000);
    }
    let differs = analysed(&plan, &cells);
    let outcome = gate(&differs, "gateway", "tokens");
    assert_eq!(
        (outcome.decision, outcome.reasons.as_slice()),
        (Decision::Inconclusive, &["outside_access".to_owned()][..])
    );
}

#[test]
fn unknown_values_never_pass() {
    let (plan, mut cells) = ablation();
    cells.iter_mut().find(|c| c.arm.as_str() == "gateway").unwrap().metrics.total_tokens = None;
    let outcome = analysed(&plan, &cells);
    let outcome = gate(&outcome, "gateway", "tokens");
    assert_eq!(
        (outcome.decision, outcome.reasons.as_slice()),
        (Decision::Inconclusive, &["unknown_values".to_owned()][..])
    );
    for cell in &mut cells {
        cell.metrics.total_tokens = None;
    }
    assert_eq!(gate(&analysed(&plan, &cells), "gateway", "tokens").decision, Decision::Inconclusive);
}

#[test]
fn without_walls_nothing_counts() {
    let (plan, mut cells) = ablation();
    cells.iter_mut().for_each(|c| c.isolation.level = IsolationLevel::L0);
    let analysis = analysed(&plan, &cells);
    assert_eq!((analysis.overall.decision, analysis.overall.exit_code), (Decision::NoData, 4));
}
