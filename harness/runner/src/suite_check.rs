//! `bench verify`: each task's reference plan passes, its untouched workspace fails, its declared cheats fail.
//!
//! Plans are played by the oracle through the reference agent on its leanest surface, and plans through a capability on one
//! that shows it, in a cell: one path for all.

use bench_core::{ArmId, Cell, Task};
use bench_record::Verdict;
use bench_tasks::{VerifySite, load_cheats, verify};

use crate::StopWish;
use crate::attempt::{Harness, Ticket};
use crate::cell::Stage;
use crate::prepare::{Plans, RunPlan};

/// The arm of the leanest surface, and the one that shows every capability, in the order of the experiment of a check.
const LEAN: usize = 0;
const CAPABLE: usize = 1;

/// One thing that was checked of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskCheck {
    /// `reference plan passes`, `untouched workspace fails`, `cheat NAME fails`.
    pub what: String,
    /// Does it hold?
    pub holds: bool,
    /// What was found.
    pub found: String,
}

/// Checks one task.
pub async fn check_task(plan: &RunPlan, harness: &Harness, task: &Task, reference: &Plans) -> Vec<TaskCheck> {
    let mut checks = vec![untouched(plan, harness, task).await];
    let core = Plans { core: reference.core.clone(), capability: None };
    checks.push(played(plan, harness, (task, &core), "reference plan passes", Verdict::Passed).await);
    if reference.capability.is_some() {
        let what = "capability plan passes";
        checks.push(played_on(plan, harness, (task, reference), (what, Verdict::Passed), CAPABLE).await);
    }
    match load_cheats(task) {
        Ok(cheats) => {
            for (name, cheat) in cheats {
                let what = format!("cheat {name} fails");
                checks.push(played(plan, harness, (task, &Plans::only(cheat)), &what, Verdict::Failed).await);
            }
        }
        Err(error) => {
            checks.push(TaskCheck { what: "cheats load".to_owned(), holds: false, found: error.to_string() });
        }
    }
    checks
}

async fn untouched(plan: &RunPlan, harness: &Harness, task: &Task) -> TaskCheck {
    let what = "untouched workspace fails".to_owned();
    let failed = |found: String| TaskCheck { what: what.clone(), holds: false, found };
    let mut slot = match harness.slots.take() {
        Ok(slot) => slot,
        Err(error) => return failed(error.to_string()),
    };
    let workspace = match slot.fresh(Some(&task.workspace_dir())) {
        Ok(workspace) => workspace,
        Err(error) => return failed(error.to_string()),
    };
    let site = VerifySite {
        workspace: &workspace,
        wall_ms: plan.experiment.limits.verify_wall_ms,
        path_env: &plan.site.path_env,
        hidden: &[],
    };
    match verify(&harness.launcher, task, &site).await {
        Ok(verification) => TaskCheck {
            what,
            holds: !verification.passed,
            found: if verification.passed { "passed".to_owned() } else { "failed".to_owned() },
        },
        Err(error) => failed(error.to_string()),
    }
}

async fn played(
    plan: &RunPlan,
    harness: &Harness,
    (task, reference): (&Task, &Plans),
    what: &str,
    expected: Verdict,
) -> TaskCheck {
    played_on(plan, harness, (task, reference), (what, expected), LEAN).await
}

async fn played_on(
    plan: &RunPlan,
    harness: &Harness,
    (task, reference): (&Task, &Plans),
    (what, expected): (&str, Verdict),
    arm: usize,
) -> TaskCheck {
    let arm: &ArmId = &plan.experiment.arms[arm].id;
    let cell = Cell { task: task.id.clone(), repeat: 1, arm: arm.clone(), position: 1 };
    let ticket = Ticket {
        attempt: next_attempt(harness, &cell),
        cell,
        round: 1,
        order: vec![arm.clone()],
        block_split: false,
    };
    let dir = harness.run_dir.attempt(&ticket.cell, ticket.attempt);
    let stage =
        Stage { plan, harness, ticket: &ticket, task, reference, arm: &plan.arms[arm], dir, only: None };
    match stage.play(&StopWish::default()).await {
        Err(error) => TaskCheck { what: what.to_owned(), holds: false, found: error.to_string() },
        Ok(record) => {
            let detail = record.ending.detail.as_deref().map(|d| format!(" ({d})")).unwrap_or_default();
            let verdict = match record.verdict {
                Some(Verdict::Passed) => "passed",
                Some(Verdict::Failed) => "failed",
                None => "not verified",
            };
            TaskCheck {
                what: what.to_owned(),
                holds: record.verdict == Some(expected),
                found: format!("{verdict}, ending {}{detail}", record.ending.kind),
            }
        }
    }
}

fn next_attempt(harness: &Harness, cell: &Cell) -> u32 {
    (1..).find(|attempt| !harness.run_dir.attempt(cell, *attempt).exists()).unwrap_or(1)
}
