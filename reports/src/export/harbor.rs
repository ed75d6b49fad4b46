//! A Harbor job folder: one trial per counting attempt. The arm is the agent; a cell without an outcome is a trial with an
//! exception and no reward, since a reward of 0 would be a verdict that nobody gave.

use bench_record::CellRecord;
use serde_json::{Value, json};

use super::{Exported, atif, known, uuid};

/// A file of the folder.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// Path below the folder.
    pub path: String,
    /// What stands in it.
    pub value: Value,
}

/// Name of an attempt's trial, and of its folder.
pub fn trial_name(record: &CellRecord) -> String {
    format!("{}__{}__r{:02}", record.task, record.arm, record.repeat)
}

/// The files of one trial.
pub fn trial(experiment: &str, attempt: Exported<'_>) -> Vec<File> {
    let name = trial_name(attempt.record);
    let config = trial_config(attempt);
    let file = |path: &str, value: Value| File { path: format!("{name}/{path}"), value };
    vec![
        file("result.json", trial_result(experiment, attempt, &config)),
        file("config.json", config),
        file("agent/trajectory.json", atif::trajectory(attempt)),
    ]
}

fn trial_config(attempt: Exported<'_>) -> Value {
    let record = attempt.record;
    json!({
        "task": { "path": format!("tasks/{}", record.task) },
        "trial_name": trial_name(record),
        "trials_dir": ".",
        "agent": { "name": record.arm, "model_name": attempt.model() },
    })
}

fn trial_result(experiment: &str, attempt: Exported<'_>, config: &Value) -> Value {
    let record = attempt.record;
    let metrics = &record.metrics;
    let rewards =
        record.passed().map(|passed| json!({ "rewards": { "reward": if passed { 1.0 } else { 0.0 } } }));
    let no_outcome = record.passed().is_none().then(|| {
        json!({
            "exception_type": record.ending.kind,
            "exception_message": record.ending.detail.clone().unwrap_or_default(),
            "exception_traceback": "",
            "occurred_at": record.ended_at,
        })
    });
    known(json!({
        "id": uuid(&format!("{} {} {}", record.lock_sha256, record.cell_id(), record.attempt)),
        "task_name": record.task,
        "trial_name": trial_name(record),
        "trial_uri": trial_name(record),
        "task_id": { "path": format!("tasks/{}", record.task) },
        "source": experiment,
        "task_checksum": record.task_sha256,
        "config": config,
        "agent_info": {
            "name": record.arm,
            "version": record.harness.version,
            "model_info": { "name": attempt.model() },
        },
        "agent_result": known(json!({
            "n_input_tokens": metrics.input_tokens,
            "n_cache_tokens": metrics.cached_input_tokens,
            "n_output_tokens": metrics.output_tokens,
            "cost_usd": metrics.cost_usd,
            "metadata": { "bench": attempt.own_words() },
        })),
        "verifier_result": rewards,
        "exception_info": no_outcome,
        "started_at": record.started_at,
        "finished_at": record.ended_at,
    }))
}

/// The files of the job itself.
pub fn job(experiment: &str, records: &[&CellRecord]) -> Vec<File> {
    let mut arms: Vec<&str> = records.iter().map(|record| record.arm.as_str()).collect();
    arms.sort_unstable();
    arms.dedup();
    let without = records.iter().filter(|record| record.passed().is_none()).count();
    let started = records.iter().map(|record| record.started_at.as_str()).min();
    let ended = records.iter().map(|record| record.ended_at.as_str()).max();
    let lock = records.first().map_or("", |record| record.lock_sha256.as_str());
    let file = |path: &str, value: Value| File { path: path.to_owned(), value };
    vec![
        file(
            "config.json",
            json!({
                "job_name": experiment,
                "jobs_dir": ".",
                "agents": arms.iter().map(|arm| json!({ "name": arm })).collect::<Vec<_>>(),
            }),
        ),
        file(
            "result.json",
            json!({
                "id": uuid(&format!("job {lock} {}", started.unwrap_or_default())),
                "started_at": started,
                "finished_at": ended,
                "n_total_trials": records.len(),
                "stats": { "n_completed_trials": records.len(), "n_errored_trials": without },
            }),
        ),
    ]
}
