//! An imported outcome as a cell record: everything that the source does not say is unknown.

use std::collections::BTreeMap;

use bench_core::ledger::{TokenBasis, TokenizerIdentity};
use bench_core::{
    ArmId, Ending, EndingKind, IsolationEvidence, IsolationLevel, Metric, Sha256Hex, TaskId, Track,
    UpstreamEvidence,
};
use bench_record::{CellRecord, CpuMs, HarnessIdentity, Metrics, Verdict};
use serde_json::Value;

use crate::exit::{Exit, Failure, OrExit, fail};

/// One outcome as a source gives it.
#[derive(Debug, Clone)]
pub(super) struct Imported {
    /// Where it stands, for messages.
    pub(super) from: String,
    pub(super) task: String,
    pub(super) cluster: Option<String>,
    pub(super) track: Track,
    pub(super) repeat: u32,
    pub(super) arm: String,
    /// Place within the block; 1 where the source is silent.
    pub(super) position: u32,
    pub(super) ending: EndingKind,
    pub(super) passed: Option<bool>,
    pub(super) metrics: BTreeMap<Metric, f64>,
}

/// The words of an outcome.
pub(super) fn outcome(word: &str) -> Option<(EndingKind, Option<bool>)> {
    match word.trim().to_ascii_lowercase().as_str() {
        "passed" | "pass" | "1" | "true" => Some((EndingKind::Completed, Some(true))),
        "failed" | "fail" | "0" | "false" => Some((EndingKind::Completed, Some(false))),
        "timeout" => Some((EndingKind::Timeout, Some(false))),
        "invalid" => Some((EndingKind::HarnessFault, None)),
        _ => None,
    }
}

/// A name with everything that an id may not hold replaced.
pub(super) fn usable(name: &str) -> String {
    let mapped: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let text: String = mapped.trim_matches('-').chars().take(60).collect();
    if text.is_empty() { "unnamed".to_owned() } else { text }
}

/// Names as they were made usable, so that no two become one.
#[derive(Default)]
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    /// The usable form of a name; an error when another name has it already.
    pub(super) fn usable(&mut self, kind: &str, name: &str) -> Result<String, Failure> {
        let short = usable(name);
        let other = self.0.entry(short.clone()).or_insert_with(|| name.to_owned());
        if other != name {
            let words =
                format!("{kind}s {other:?} and {name:?} would both be called {short}; rename one of them");
            return fail(Exit::Usage, words);
        }
        Ok(short)
    }
}

pub(super) fn unknown_tokenizer() -> TokenizerIdentity {
    TokenizerIdentity {
        name: "unknown".into(),
        package: "unknown".into(),
        version: "unknown".into(),
        vocabulary_sha256: Sha256Hex::of("unknown"),
    }
}

/// The record.
pub(super) fn cell_record(cell: &Imported, lock: &Value) -> Result<CellRecord, Failure> {
    let task =
        TaskId::new(&cell.task).map_err(|e| anyhow::anyhow!("{}: {e}", cell.from)).or_exit(Exit::Usage)?;
    let arm =
        ArmId::new(&cell.arm).map_err(|e| anyhow::anyhow!("{}: {e}", cell.from)).or_exit(Exit::Usage)?;
    let lock_sha256 = lock["rules_sha256"].as_str().and_then(Sha256Hex::parse).expect("our own lock has one");
    let block = format!("{task}/r{:02}", cell.repeat);
    Ok(CellRecord {
        format_version: bench_record::FORMAT_VERSION,
        lock_sha256,
        harness: HarnessIdentity { version: env!("CARGO_PKG_VERSION").into(), revision: None },
        host_id: "imported".into(),
        task_sha256: Sha256Hex::of(task.as_str()),
        cluster: cell.cluster.as_deref().unwrap_or(&cell.task).into(),
        track: cell.track,
        repeat: cell.repeat,
        arm_sha256: Sha256Hex::of(arm.as_str()),
        profile: Default::default(),
        position: cell.position,
        order: vec![arm.clone()],
        round: 1,
        block_split: false,
        attempt: 1,
        slot: 0,
        started_at: String::new(),
        ended_at: String::new(),
        setup_ms: 0.0,
        wall_ms: cell.metrics.get(&Metric::WallMs).copied(),
        upstream_wait_ms: None,
        verify_ms: None,
        cpu_ms: CpuMs { agent: None, verifier: None, harness: None },
        peak_rss_bytes: None,
        ending: Ending::of(cell.ending),
        verdict: cell.passed.map(|passed| if passed { Verdict::Passed } else { Verdict::Failed }),
        checks: Vec::new(),
        verifier: None,
        metrics: metrics(cell)?,
        censored: Vec::new(),
        tokens: TokenBasis {
            basis: "imported".into(),
            completeness: "unknown".into(),
            tokenizer: unknown_tokenizer(),
        },
        provider_usage: None,
        charged: None,
        price_card_sha256: None,
        first_request: None,
        tools: Vec::new(),
        turns_series: Vec::new(),
        requests_by_class: BTreeMap::new(),
        agents: Vec::new(),
        primary_outcome: None,
        loads: Vec::new(),
        lifecycle: None,
        isolation: no_walls(),
        upstream: UpstreamEvidence { kind: "imported".into(), ..UpstreamEvidence::default() },
        oracle: None,
        // Distinct by construction: nothing is known about transcripts, so none may count as a duplicate.
        transcript_sha256: Sha256Hex::of(format!("{block}/{arm}")),
        dir: String::new(),
        dir_sha256: None,
        task,
        arm,
        block: block.into(),
    })
}

/// Up to here every whole number is a number of its own in floating point.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Metrics through their own JSON form, so that a key means here what it means in a journal.
fn metrics(cell: &Imported) -> Result<Metrics, Failure> {
    let mut object = serde_json::Map::new();
    for (metric, value) in &cell.metrics {
        let fraction =
            matches!(metric, Metric::WallMs | Metric::CostUsd | Metric::CriticalPathMs | Metric::BesideMs);
        if *value < 0.0 {
            return fail(Exit::Usage, format!("{}: {metric} = {value} is below zero", cell.from));
        }
        if !fraction && (value.fract() != 0.0 || *value > EXACT) {
            let words =
                format!("{}: {metric} = {value} is no count; write a whole number up to {EXACT}", cell.from);
            return fail(Exit::Usage, words);
        }
        let number = if fraction { serde_json::json!(value) } else { serde_json::json!(*value as u64) };
        object.insert(metric.key().to_owned(), number);
    }
    serde_json::from_value(Value::Object(object)).or_exit(Exit::Ours)
}

fn no_walls() -> IsolationEvidence {
    IsolationEvidence {
        level: IsolationLevel::L0,
        requested: Vec::new(),
        enforced: Vec::new(),
        missing: vec!["imported: nothing is known about walls".into()],
        landlock_abi: None,
        uid: 0,
        detector: "none".into(),
        probes: Vec::new(),
        events: Vec::new(),
        evidence_complete: None,
        quiescent: true,
        survivors_killed: 0,
    }
}
