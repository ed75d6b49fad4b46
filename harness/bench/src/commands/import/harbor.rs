//! A Harbor job folder: one sub-folder a trial, its `result.json` the outcome. The verifier's reward 1 is a pass; a trial
//! without a reward that ended in an exception is a timeout where the exception says so, else it has no outcome.

use std::collections::BTreeMap;
use std::path::Path;

use bench_core::{EndingKind, Metric, Track};
use serde_json::Value;

use super::record::{Imported, Names};
use crate::exit::{Exit, Failure, OrExit};

/// The trials of one job. With several jobs the job's folder names the arm, else the agent does.
pub(super) fn read(job: &Path, several: bool) -> Result<Vec<Imported>, Failure> {
    let mut trials: Vec<_> = std::fs::read_dir(job)
        .map_err(|e| anyhow::anyhow!("{}: {e}", job.display()))
        .or_exit(Exit::Usage)?
        .filter_map(|entry| Some(entry.ok()?.path().join("result.json")))
        .filter(|path| path.is_file())
        .collect();
    trials.sort();
    let mut cells: Vec<Imported> = Vec::new();
    let (mut tasks, mut arms) = (Names::default(), Names::default());
    let mut seen: BTreeMap<(String, String), u32> = BTreeMap::new();
    for path in trials {
        let text = std::fs::read(&path)
            .map_err(|e| anyhow::anyhow!("{}: {e}", path.display()))
            .or_exit(Exit::Usage)?;
        let trial: Value = serde_json::from_slice(&text)
            .map_err(|e| anyhow::anyhow!("{}: not JSON ({e})", path.display()))
            .or_exit(Exit::Usage)?;
        let arm = arms.usable("arm", arm_of(job, &trial, several))?;
        let Some(task) = trial["task_name"].as_str() else { continue };
        let task = tasks.usable("task", task)?;
        let repeat = seen.entry((task.clone(), arm.clone())).and_modify(|n| *n += 1).or_insert(1);
        let (ending, passed) = outcome(&trial);
        cells.push(Imported {
            from: path.display().to_string(),
            cluster: None,
            track: Track::Default,
            repeat: *repeat,
            position: 1,
            ending,
            passed,
            metrics: metrics(&trial),
            task,
            arm,
        });
    }
    Ok(cells)
}

fn arm_of<'t>(job: &'t Path, trial: &'t Value, several: bool) -> &'t str {
    let folder = job.file_name().and_then(|name| name.to_str()).unwrap_or("job");
    match trial["agent_info"]["name"].as_str() {
        Some(agent) if !several => agent,
        Some(_) | None => folder,
    }
}

fn outcome(trial: &Value) -> (EndingKind, Option<bool>) {
    let rewards = &trial["verifier_result"]["rewards"];
    let reward = rewards["reward"].as_f64().or_else(|| {
        let only = rewards.as_object().filter(|all| all.len() == 1)?;
        only.values().next()?.as_f64()
    });
    let exception = trial["exception_info"]["exception_type"].as_str();
    match (exception, reward) {
        (Some(kind), _) if kind.contains("Timeout") => (EndingKind::Timeout, Some(reward == Some(1.0))),
        (_, Some(reward)) => (EndingKind::Completed, Some(reward >= 1.0)),
        (_, None) => (EndingKind::HarnessFault, None),
    }
}

fn metrics(trial: &Value) -> BTreeMap<Metric, f64> {
    let agent = &trial["agent_result"];
    let mut found = BTreeMap::new();
    let mut take = |metric, value: &Value| {
        if let Some(value) = value.as_f64() {
            found.insert(metric, value);
        }
    };
    take(Metric::InputTokens, &agent["n_input_tokens"]);
    take(Metric::CachedInputTokens, &agent["n_cache_tokens"]);
    take(Metric::OutputTokens, &agent["n_output_tokens"]);
    take(Metric::CostUsd, &agent["cost_usd"]);
    if let (Some(input), Some(output)) = (found.get(&Metric::InputTokens), found.get(&Metric::OutputTokens)) {
        let total = input + output;
        found.insert(Metric::TotalTokens, total);
    }
    found
}
