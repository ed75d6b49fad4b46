//! The same arm at two times: `then` and `now`, paired by task and repeat, judged by the gates of now.
//!
//! The two runs become one small experiment of two arms, so that every rule of the ordinary engine holds here too. What
//! cannot be compared is refused by name: wall time of different machines, tokens counted differently. The pairs are not
//! adjacent in time, so a change of the provider or of the machine between the runs stands in the difference.

use std::collections::BTreeSet;

use bench_core::{ArmId, ContrastId, Metric};
use bench_record::CellRecord;
use serde_json::{Value, json};

use crate::analyse::analyse;
use crate::analysis::Analysis;
use crate::protocol::{AnalysisError, Protocol};

/// One run as read from disk.
#[derive(Debug, Clone, Copy)]
pub struct RunData<'a> {
    /// Its lock.
    pub lock: &'a Value,
    /// Its journal.
    pub records: &'a [CellRecord],
}

/// An arm now against then.
#[derive(Debug, Clone)]
pub struct OverTime {
    /// The arm.
    pub arm: String,
    /// The comparison; its one contrast is named after the arm.
    pub analysis: Analysis,
    /// What was refused or should be known, in sentences.
    pub remarks: Vec<String>,
}

/// Names of arms that both runs have, in the order of the newer one.
pub fn common_arms(now: RunData<'_>, then: RunData<'_>) -> Result<Vec<String>, AnalysisError> {
    let before = Protocol::read(then.lock)?;
    let names = Protocol::read(now.lock)?.arms.into_iter().map(|arm| arm.name);
    Ok(names.filter(|name| before.arm_index(name).is_some()).map(|name| name.to_string()).collect())
}

/// Compares one arm over time. Errors as [`analyse`](crate::analyse()).
pub fn over_time(now: RunData<'_>, then: RunData<'_>, arm: &str) -> Result<OverTime, AnalysisError> {
    let (protocol, before) = (Protocol::read(now.lock)?, Protocol::read(then.lock)?);
    let tasks: Vec<_> = protocol.tasks.iter().filter(|task| before.tasks.contains(task)).collect();
    let mut remarks = remarks_on_scope(&protocol, &before, tasks.len());
    let refused = refused(now, then, arm, &mut remarks);
    let mut lock = now.lock.clone();
    lock["tasks"] = json!(tasks);
    lock["repeats"] = json!(protocol.repeats.min(before.repeats));
    lock["arms"] = Value::Array(
        [("then", &before), ("now", &protocol)]
            .into_iter()
            .map(|(name, of)| {
                let profile = of.arms.iter().find(|entry| entry.name.as_str() == arm).map(|e| &e.profile);
                json!({"name": name, "profile": profile})
            })
            .collect(),
    );
    let contrast = ContrastId::new(arm).unwrap_or_else(|_| ContrastId::new("arm").expect("a usable name"));
    lock["contrasts"] = json!([{
        "id": contrast, "control": "then", "candidate": "now", "factor": "none", "role": "gate",
    }]);
    let gates: Vec<Value> = protocol
        .gates
        .iter()
        .filter(|gate| !refused.contains(&gate.metric))
        .map(|gate| {
            let mut gate = serde_json::to_value(gate).expect("a gate is a JSON value");
            gate["contrasts"] = json!([contrast]);
            gate
        })
        .collect();
    lock["gates"] = Value::Array(gates);
    let repeats = protocol.repeats.min(before.repeats);
    let records: Vec<CellRecord> = [("then", then), ("now", now)]
        .into_iter()
        .flat_map(|(name, run)| renamed(run.records, arm, name))
        .filter(|record| tasks.contains(&&record.task) && record.repeat <= repeats)
        .map(|record| CellRecord { lock_sha256: hash_of(&lock), ..record })
        .collect();
    let analysis = analyse(&lock, &records)?;
    Ok(OverTime { arm: arm.to_owned(), analysis, remarks })
}

fn hash_of(lock: &Value) -> bench_core::Sha256Hex {
    let text = lock.get("rules_sha256").and_then(Value::as_str).unwrap_or_default();
    bench_core::Sha256Hex::parse(text).unwrap_or_else(|| bench_core::Sha256Hex::of(text))
}

/// An arm's records under another name, in its own place of a block of two. Fingerprints go: between two runs the
/// provider may have changed, which is said once instead of emptying every block.
fn renamed<'r>(
    records: &'r [CellRecord],
    arm: &'r str,
    name: &'static str,
) -> impl Iterator<Item = CellRecord> + 'r {
    let position = if name == "then" { 1 } else { 2 };
    records.iter().filter(move |record| record.arm.as_str() == arm).map(move |record| {
        let mut record = record.clone();
        record.arm = ArmId::new(name).expect("a usable name");
        record.position = position;
        record.upstream.fingerprint = None;
        record
    })
}

fn remarks_on_scope(now: &Protocol, then: &Protocol, common: usize) -> Vec<String> {
    let mut remarks = Vec::new();
    if common < now.tasks.len() || common < then.tasks.len() {
        remarks.push(format!(
            "{common} tasks are in both runs ({} now, {} then); only these are compared",
            now.tasks.len(),
            then.tasks.len()
        ));
    }
    if now.upstream != then.upstream {
        remarks.push(format!("the upstream changed: {} then, {} now", then.upstream, now.upstream));
    }
    remarks
}

/// Metrics that cannot be compared, each said why.
fn refused(now: RunData<'_>, then: RunData<'_>, arm: &str, remarks: &mut Vec<String>) -> BTreeSet<Metric> {
    let of = |run: RunData<'_>, what: &dyn Fn(&CellRecord) -> String| -> BTreeSet<String> {
        run.records.iter().filter(|record| record.arm.as_str() == arm).map(what).collect()
    };
    let differ = |what: &dyn Fn(&CellRecord) -> String| of(now, what) != of(then, what);
    let mut refused = BTreeSet::new();
    if differ(&|record| record.host_id.to_string()) {
        refused.insert(Metric::WallMs);
        remarks.push("wall_ms is refused: the runs were made on different machines".to_owned());
    }
    let counted = |record: &CellRecord| {
        format!(
            "{} by {} {}",
            record.tokens.basis, record.tokens.tokenizer.name, record.tokens.tokenizer.vocabulary_sha256
        )
    };
    if differ(&counted) {
        refused.extend(Metric::ALL.into_iter().filter(|metric| metric.nature().unit == "tokens"));
        remarks.push("tokens are refused: the runs counted them on another basis or tokenizer".to_owned());
    }
    let prices = |record: &CellRecord| format!("{:?}", record.price_card_sha256);
    if differ(&prices) {
        refused.insert(Metric::CostUsd);
        remarks.push("cost_usd is refused: the runs were priced by different cards".to_owned());
    }
    if differ(&|record| record.upstream.fingerprint.as_deref().unwrap_or_default().to_owned()) {
        remarks.push("the provider's fingerprint changed between the runs".to_owned());
    }
    if differ(&|record| record.arm_sha256.to_string()) {
        remarks
            .push("the arm itself changed between the runs (surface, agent, model or settings)".to_owned());
    }
    refused
}
