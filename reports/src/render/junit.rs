//! `junit.xml`: one case per gate and per block, as CI servers read it. A gate that failed is a failure, one that is
//! inconclusive an error; a negative control is turned round; what decides nothing is never red.

use bench_core::{ContrastRole, Decision};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::estimate;
use super::words::{metric_words, plain, reason_in_words, reasons_and_remedy};
use crate::analysis::{Analysis, ContrastSummary, GateOutcome};
use crate::rows::{BlockRow, Rows, Standing};

/// The report as JUnit XML.
pub fn junit(analysis: &Analysis, rows: &Rows<'_>) -> String {
    let mut report = Report::new(plain(&analysis.experiment));
    let mut gates = TestSuite::new("gates");
    for contrast in &analysis.contrasts {
        gates.add_test_cases(contrast.gates.iter().map(|gate| gate_case(contrast, gate)));
    }
    let mut blocks = TestSuite::new("blocks");
    blocks.add_test_cases(rows.blocks.iter().map(|block| block_case(block, rows)));
    report.add_test_suites([gates, blocks]);
    report.to_string().expect("memory takes every line") + "\n"
}

fn gate_case(contrast: &ContrastSummary, gate: &GateOutcome) -> TestCase {
    let shown = estimate::of_gate(contrast, gate);
    let said = format!(
        "{} {}: {} ({} interval {}), limit {}, pairs / tasks {}",
        gate.decision.word(),
        metric_words(gate.metric),
        shown.point,
        estimate::level(contrast.pass_difference.level),
        shown.interval,
        shown.limit,
        shown.n
    );
    let reasons = reasons_and_remedy(gate);
    let message = if reasons.is_empty() { said.clone() } else { format!("{said}: {reasons}") };
    let mut status = gate_status(contrast.role, gate.decision);
    if !matches!(status, TestCaseStatus::Success { .. }) {
        status.set_message(plain(&message));
        status.set_type(gate.decision.word());
        status.set_description(cells_behind(gate));
    }
    let mut case = TestCase::new(format!("{} on {}", plain(&gate.id), plain(&gate.track)), status);
    case.set_classname(format!("gates.{}", plain(&contrast.name)));
    case.set_system_out(plain(&said));
    case
}

fn gate_status(role: ContrastRole, decision: Decision) -> TestCaseStatus {
    let failure = || TestCaseStatus::non_success(NonSuccessKind::Failure);
    match (role, decision) {
        (ContrastRole::Gate, Decision::Pass) | (ContrastRole::NegativeControl, Decision::Fail) => {
            TestCaseStatus::success()
        }
        (ContrastRole::Gate, Decision::Fail) => failure(),
        (ContrastRole::Gate, Decision::Inconclusive | Decision::NoData | Decision::InvalidRun) => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
        // One of a control's gates must fail, not each: the run's own verdict says whether one did.
        (ContrastRole::NegativeControl | ContrastRole::Reported, _)
        | (ContrastRole::Gate, Decision::NotApplicable) => TestCaseStatus::skipped(),
    }
}

fn cells_behind(gate: &GateOutcome) -> String {
    gate.cells.iter().map(|cell| format!("cell {cell}")).collect::<Vec<_>>().join("\n")
}

fn block_case(block: &BlockRow<'_>, rows: &Rows<'_>) -> TestCase {
    let mut status = match &block.standing {
        Standing::Counts => TestCaseStatus::success(),
        Standing::Pending => TestCaseStatus::skipped(),
        Standing::Outside | Standing::Invalid(_) | Standing::Superseded | Standing::Interrupted => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
    };
    match &block.standing {
        Standing::Counts => {}
        Standing::Invalid(reason) => {
            status.set_message(format!("out of every metric: {}", plain(reason_in_words(reason))));
            status.set_type(plain(reason));
        }
        Standing::Pending | Standing::Outside | Standing::Superseded | Standing::Interrupted => {
            status.set_message(block.standing.word());
            status.set_type(block.standing.word());
        }
    }
    let cells = block.in_order().into_iter().map(|(arm, record)| {
        let word = match record.passed() {
            Some(true) => "passed",
            Some(false) => "failed",
            None => "no outcome",
        };
        format!("{}: {word}, {}", rows.arms[arm], record.ending.kind.word())
    });
    let mut case = TestCase::new(format!("r{:02}", block.repeat), status);
    case.set_classname(format!("blocks.{}", plain(&block.task)));
    case.set_system_out(cells.collect::<Vec<_>>().join("\n"));
    case
}
