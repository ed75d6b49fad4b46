//! `bench surface`: the first request of an arm, recorded without a task: the agent is started behind the same walls and
//! the same recorder, and told at once that it is done.

use std::path::Path;

use bench_core::ledger::{FirstRequest, ToolEntry};
use bench_core::{Action, ArmId, Cell, Plan, Step, Task};
use bench_proxy::RequestLimits;

use crate::StopWish;
use crate::attempt::{AttemptError, Harness, Ticket};
use crate::cell::Stage;
use crate::prepare::{Plans, RunPlan};

/// What the first request of an arm shows.
#[derive(Debug, Clone, PartialEq)]
pub struct SurfaceProbe {
    /// The first request; `None` = the agent made none, see `ending`.
    pub first_request: Option<FirstRequest>,
    /// Its tools.
    pub tools: Vec<ToolEntry>,
    /// Requests of other classes seen, with their sizes.
    pub others: Vec<(String, u64, u64)>,
    /// How the probe ended, in words.
    pub ending: String,
}

/// Records the first request of one arm on the given task's instruction and workspace.
pub async fn probe_surface(
    plan: &RunPlan,
    harness: &Harness,
    arm: &ArmId,
    task: &Task,
) -> Result<SurfaceProbe, AttemptError> {
    let done = Step { actions: vec![Action::Answer { text: "Done.".to_owned() }] };
    let reference = Plans::only(Plan { steps: vec![done], ..Plan::default() });
    let cell = Cell { task: task.id.clone(), repeat: 1, arm: arm.clone(), position: 1 };
    let ticket = Ticket { cell, attempt: 1, round: 1, order: vec![arm.clone()], block_split: false };
    let dir = harness.run_dir.attempt(&ticket.cell, 1);
    let stage = Stage {
        plan,
        harness,
        ticket: &ticket,
        task,
        reference: &reference,
        arm: &plan.arms[arm],
        dir,
        // What an agent leaves that only said "Done." is nothing to verify.
        only: Some(RequestLimits::from(&plan.experiment.limits)),
    };
    let record = stage.play(&StopWish::default()).await?;
    let others = others(&harness.run_dir.root().join(&record.dir));
    let detail = record.ending.detail.map(|d| format!(": {d}")).unwrap_or_default();
    Ok(SurfaceProbe {
        first_request: record.first_request,
        tools: record.tools,
        others,
        ending: format!("{}{detail}", record.ending.kind),
    })
}

fn others(dir: &Path) -> Vec<(String, u64, u64)> {
    let Ok(index) = bench_record::RequestIndex::read(dir) else { return Vec::new() };
    index
        .records()
        .iter()
        .filter(|request| request.class != "agent_turn")
        .map(|request| (request.class.clone(), request.body_bytes, request.body_tokens.unwrap_or(0)))
        .collect()
}
