//! The canary: before the first block of a real upstream, one trivial request per arm goes the whole way, walls and agent
//! included. What would make every cell worthless (another model, no usage, other tools than declared) is found before
//! anything else is paid for.

use std::collections::BTreeSet;

use bench_arms::ResolvedArm;
use bench_core::{
    Action, Arm, Blame, Cell, Discovery, EndingKind, Lexicon, ModelExposure, Plan, Step, Surface, Task,
};
use bench_proxy::RequestLimits;
use bench_record::CellRecord;

use crate::StopWish;
use crate::attempt::{AttemptError, Harness, Ticket};
use crate::cell::Stage;
use crate::prepare::{Plans, RunPlan};

/// What the trivial request asks for.
const INSTRUCTION: &str = "Answer with the single word ready. Call no tool and change nothing.\n";
/// An agent may send a title request or two before its first turn.
const REQUESTS: u32 = 6;

/// An arm that must not be paid for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("canary: arm `{arm}`: {what}; {remedy}")]
pub struct CanaryFinding {
    /// The arm.
    pub arm: String,
    /// What was found.
    pub what: String,
    /// What to do.
    pub remedy: &'static str,
    /// Is it the upstream that failed, so that the same command may go on later?
    pub upstream_failed: bool,
}

/// Sends one trivial request per arm; the first finding ends it. Evidence lies in `canary/ARM` of the run directory.
pub async fn canary(
    plan: &RunPlan,
    harness: &Harness,
    stop: &StopWish,
) -> Result<Option<CanaryFinding>, AttemptError> {
    let Some((task, _)) = plan.schedule.blocks.first().and_then(|block| plan.tasks.get(&block.task)) else {
        return Ok(None);
    };
    let task = Task { instruction: INSTRUCTION.to_owned(), ..task.clone() };
    let ready = Step { actions: vec![Action::Answer { text: "ready".to_owned() }] };
    let reference = Plans::only(Plan { steps: vec![ready], ..Plan::default() });
    for arm in &plan.experiment.arms {
        let cell = Cell { task: task.id.clone(), repeat: 1, arm: arm.id.clone(), position: 1 };
        // Attempt 0: no attempt at a cell shares its credential.
        let ticket = Ticket { cell, attempt: 0, round: 1, order: vec![arm.id.clone()], block_split: false };
        let dir = harness.run_dir.root().join("canary").join(arm.id.as_str());
        if dir.exists() {
            std::fs::remove_dir_all(&dir).map_err(AttemptError::at(&dir))?;
        }
        let stage = Stage {
            plan,
            harness,
            ticket: &ticket,
            task: &task,
            reference: &reference,
            arm: &plan.arms[&arm.id],
            dir,
            only: Some(RequestLimits {
                turns: Some(1),
                requests: Some(REQUESTS),
                ..RequestLimits::default()
            }),
        };
        let record = stage.play(stop).await?;
        if let Some(finding) = finding(arm, &plan.arms[&arm.id].resolved, &record) {
            return Ok(Some(finding));
        }
    }
    Ok(None)
}

fn finding(arm: &Arm, resolved: &ResolvedArm, record: &CellRecord) -> Option<CanaryFinding> {
    let found = |what: String, remedy| {
        Some(CanaryFinding { arm: arm.id.to_string(), what, remedy, upstream_failed: false })
    };
    let detail = record.ending.detail.clone().unwrap_or_else(|| record.ending.kind.to_string());
    if record.ending.kind == EndingKind::UpstreamFault && record.ending.blame != Blame::Operator {
        let remedy = "mend it, then run the same command again";
        let finding = found(format!("the upstream failed ({detail})"), remedy);
        return finding.map(|finding| CanaryFinding { upstream_failed: true, ..finding });
    }
    let Some(first) = &record.first_request else {
        let what = format!("the agent asked no model ({}: {detail})", record.ending.kind);
        return found(what, "see canary/ in the run directory for what it said");
    };
    if record.turns_series.is_empty() {
        let statuses: Vec<&str> = record.upstream.statuses.keys().map(String::as_str).collect();
        let what = format!("the upstream refused its request (status {})", statuses.join(", "));
        return found(
            what,
            "see canary/ in the run directory for its words: model id, base URL or API may be wrong",
        );
    }
    if first.model != arm.model {
        let what = format!("the agent asked for model `{}`, not for `{}`", first.model, arm.model);
        return found(what, "set the agent's own configuration, or the arm's `model`");
    }
    if let Some(other) = record.upstream.models_answered.iter().find(|said| !is_model(said, &arm.model)) {
        let what = format!("`{}` was asked for and `{other}` answered", arm.model);
        return found(what, "name the model that you mean to measure, or pass --no-canary");
    }
    if record.tokens.basis != "provider" {
        let remedy = "token and cost gates could not be decided by the provider's word; pass --no-canary to go by local counts";
        return found("the upstream did not say what was used".to_owned(), remedy);
    }
    let (missing, surplus) = tool_difference(resolved.surface.as_ref()?, &resolved.lexicon, record);
    if missing.is_empty() && surplus.is_empty() {
        return None;
    }
    let what =
        format!("its surface declares and does not offer [{missing}], and offers undeclared [{surplus}]");
    found(what, "this is a fault of the surface file or of bench, please report it")
}

/// Providers answer with a dated name of the model that was asked for (`m` and `m-2026-01-01`).
fn is_model(answered: &str, asked: &str) -> bool {
    answered.starts_with(asked) || asked.starts_with(answered) || asked.ends_with(&format!("/{answered}"))
}

fn tool_difference(surface: &Surface, lexicon: &Lexicon, record: &CellRecord) -> (String, String) {
    let direct = surface.tools.iter().filter(|tool| match tool.model {
        ModelExposure::Direct => true,
        ModelExposure::Deferred | ModelExposure::Hidden => false,
    });
    let finders: BTreeSet<&str> = lexicon.discovery.iter().map(|rule| rule.tool.as_str()).collect();
    let declared: BTreeSet<&str> = direct.map(|tool| tool.name.as_str()).collect();
    let offered: BTreeSet<&str> = record
        .tools
        .iter()
        .filter(|tool| tool.first_offered_turn <= 1)
        .map(|tool| tool.name.as_str())
        .collect();
    let missing: Vec<&str> = declared.difference(&offered).copied().collect();
    let surplus: Vec<&str> = match surface.discovery {
        Discovery::None | Discovery::Gateway | Discovery::Intent => {
            offered.difference(&declared).filter(|tool| !finders.contains(*tool)).copied().collect()
        }
        // What these ways add to a first request (a tool that calls by name, entries that the wire defers) is not
        // named in the surface's list.
        Discovery::SearchAppend | Discovery::SearchResult | Discovery::Devices | Discovery::Native => {
            Vec::new()
        }
    };
    (missing.join(", "), surplus.join(", "))
}

#[cfg(test)]
mod tests {
    use super::is_model;

    #[test]
    fn a_dated_name_is_the_model_and_another_name_is_not() {
        assert!(is_model("deepseek-v4-2026-01-01", "deepseek-v4") && is_model("m", "vendor/m"));
        assert!(!is_model("deepseek-v4-flash", "deepseek-v5") && !is_model("gpt", "claude"));
    }
}
