//! A small lock and small journals, built in code.

#![allow(dead_code, reason = "each test target uses its part")]

mod ablation;

use std::collections::BTreeMap;

use bench_core::evidence::IsolationEvidence;
use bench_core::experiment::{Profile, ProfileKind};
use bench_core::ledger::{
    FirstRequest, Size, TokenBasis, TokenizerIdentity, ToolEntry, ToolsSize, TurnEntry,
};
use bench_core::{
    ArmId, Ending, EndingKind, IsolationLevel, Metric, Sha256Hex, TaskId, Track, UpstreamEvidence, WireKind,
};
use bench_record::{CellRecord, CpuMs, HarnessIdentity, Metrics, Verdict};
use serde_json::{Value, json};

#[allow(unused_imports, reason = "each test target uses its part")]
pub(crate) use ablation::{ablation, analysed, equal_part, gate};

pub(crate) fn tokenizer() -> TokenizerIdentity {
    TokenizerIdentity {
        name: "o200k_base".into(),
        package: "tiktoken".into(),
        version: "4.1.2".into(),
        vocabulary_sha256: Sha256Hex::of("vocabulary"),
    }
}

/// Digest to which a small lock's `rules_sha256` is set.
pub(crate) fn lock_sha256() -> Sha256Hex {
    Sha256Hex::of("lock")
}

/// An experiment as its lock would hold it.
pub(crate) struct Plan {
    pub(crate) tasks: Vec<String>,
    pub(crate) repeats: u32,
    pub(crate) arms: Vec<(String, ProfileKind)>,
    pub(crate) contrasts: Vec<Value>,
    pub(crate) gates: Vec<Value>,
    pub(crate) upstream: String,
}

impl Plan {
    pub(crate) fn new(tasks: usize, repeats: u32, arms: &[&str]) -> Self {
        Self {
            tasks: (0..tasks).map(|i| format!("t{i:02}")).collect(),
            repeats,
            arms: arms.iter().map(|a| ((*a).to_owned(), ProfileKind::Perfect)).collect(),
            contrasts: Vec::new(),
            gates: Vec::new(),
            upstream: "oracle".into(),
        }
    }

    pub(crate) fn contrast(mut self, candidate: &str, role: &str) -> Self {
        let control = &self.arms[0].0;
        self.contrasts.push(json!({
            "id": candidate, "control": control, "candidate": candidate, "factor": "surface", "role": role,
        }));
        self
    }

    pub(crate) fn ratio_gate(self, id: &str, metric: &str, contrasts: &[&str]) -> Self {
        self.gate(id, metric, json!({"rule": "ratio-at-most", "limit": 1.25}), contrasts)
    }

    pub(crate) fn pass_gate(self, id: &str, contrasts: &[&str]) -> Self {
        self.gate(id, "pass_rate", json!({"rule": "non-inferior", "margin": 0.10}), contrasts)
    }

    fn gate(mut self, id: &str, metric: &str, margin: Value, contrasts: &[&str]) -> Self {
        self.gates.push(json!({
            "id": id, "metric": metric, "margin": margin, "contrasts": contrasts, "scope": "tasks-like-these",
        }));
        self
    }

    pub(crate) fn upstream(mut self, kind: &str) -> Self {
        self.upstream = kind.into();
        self
    }

    pub(crate) fn profile(mut self, arm: &str, kind: ProfileKind) -> Self {
        self.arms.iter_mut().filter(|(name, _)| name == arm).for_each(|(_, profile)| *profile = kind);
        self
    }

    pub(crate) fn lock(&self) -> Value {
        let metrics: BTreeMap<&str, Value> =
            Metric::ALL.into_iter().map(|m| (m.key(), serde_json::to_value(m.nature()).unwrap())).collect();
        json!({
            "format_version": 1, "experiment": "small", "tasks": self.tasks, "skipped": {},
            "arms": self.arms.iter()
                .map(|(name, kind)| json!({"name": name, "profile": {"kind": kind, "rate": 1.0}}))
                .collect::<Vec<_>>(),
            "contrasts": self.contrasts, "gates": self.gates, "metrics": metrics,
            "rules": bench_core::experiment::Rules::default(), "seed": 42, "repeats": self.repeats,
            "upstream": {"kind": self.upstream}, "tokenizer": tokenizer(),
            "isolation": {"minimum": "L1", "level": "L1"}, "kernel": "6.18.0", "rules_sha256": lock_sha256(),
        })
    }

    /// One record per planned cell, in the order of the plan.
    pub(crate) fn cells(&self) -> Vec<CellRecord> {
        let order: Vec<&str> = self.arms.iter().map(|(name, _)| name.as_str()).collect();
        let mut cells = Vec::new();
        for repeat in 1..=self.repeats {
            for task in &self.tasks {
                let mut order = order.clone();
                if repeat % 2 == 0 {
                    order.reverse();
                }
                for (position, arm) in (1u32..).zip(&order) {
                    cells.push(cell(task, repeat, arm, position));
                }
            }
        }
        cells
    }
}

/// A completed and passed cell of an ordinary size.
pub(crate) fn cell(task: &str, repeat: u32, arm: &str, position: u32) -> CellRecord {
    let arm_id = ArmId::new(arm).unwrap();
    CellRecord {
        format_version: 1,
        lock_sha256: lock_sha256(),
        harness: HarnessIdentity { version: "0.1.0".into(), revision: None },
        host_id: "host".into(),
        task: TaskId::new(task).unwrap(),
        task_sha256: Sha256Hex::of(task),
        cluster: task.into(),
        track: Track::Default,
        repeat,
        arm_sha256: Sha256Hex::of(arm),
        profile: Profile::default(),
        block: format!("{task}/r{repeat:02}").into(),
        position,
        order: vec![arm_id.clone()],
        arm: arm_id,
        round: 1,
        block_split: false,
        attempt: 1,
        slot: 0,
        started_at: "2026-12-01T10:00:00.000Z".into(),
        ended_at: "2026-12-01T10:00:01.000Z".into(),
        setup_ms: 1.0,
        wall_ms: Some(10.0),
        upstream_wait_ms: Some(1.0),
        verify_ms: Some(1.0),
        cpu_ms: CpuMs { agent: Some(2.0), verifier: Some(1.0), harness: None },
        peak_rss_bytes: None,
        ending: Ending::of(EndingKind::Completed),
        verdict: Some(Verdict::Passed),
        checks: Vec::new(),
        verifier: None,
        metrics: Metrics {
            first_request_tokens: Some(1000),
            input_tokens: Some(4000),
            output_tokens: Some(400),
            total_tokens: Some(4400),
            requests: Some(4),
            turns: Some(4),
            tool_calls: Some(3),
            wall_ms: Some(10.0),
            ..Metrics::default()
        },
        censored: Vec::new(),
        tokens: TokenBasis { basis: "json".into(), completeness: "complete".into(), tokenizer: tokenizer() },
        provider_usage: None,
        charged: None,
        price_card_sha256: None,
        first_request: Some(first_request(1000, 600)),
        tools: vec![tool("bash", 600, 3)],
        turns_series: (1..=4).map(turn).collect(),
        requests_by_class: BTreeMap::new(),
        agents: Vec::new(),
        primary_outcome: None,
        loads: Vec::new(),
        lifecycle: None,
        isolation: IsolationEvidence {
            level: IsolationLevel::L1,
            requested: Vec::new(),
            enforced: Vec::new(),
            missing: vec!["attempts are not seen (no supervisor)".into()],
            landlock_abi: Some(7),
            uid: 65534,
            detector: "none".into(),
            probes: Vec::new(),
            events: Vec::new(),
            evidence_complete: None,
            quiescent: true,
            survivors_killed: 0,
        },
        upstream: UpstreamEvidence { kind: "oracle".into(), ..UpstreamEvidence::default() },
        oracle: None,
        transcript_sha256: Sha256Hex::of(format!("{task}/{arm}/{repeat}")),
        dir: format!("cells/{task}/r{repeat:02}/{arm}/attempt-1"),
        dir_sha256: None,
    }
}

pub(crate) fn first_request(body_tokens: u64, tools_tokens: u64) -> FirstRequest {
    FirstRequest {
        request: 1,
        wire: WireKind::OpenaiChat,
        model: "model".into(),
        body_bytes: body_tokens * 4,
        body_tokens,
        prompt_tokens: None,
        second_body_tokens: None,
        system: Size { bytes: 800, tokens: 200 },
        system_by_role: Vec::new(),
        messages: Size { bytes: 400, tokens: 100 },
        tools: ToolsSize { entries: 1, callable: 1, bytes: tools_tokens * 4, tokens: tools_tokens },
        unknown_types: BTreeMap::new(),
        raw_sha256: Sha256Hex::of("raw"),
        semantic_sha256: Sha256Hex::of("semantic"),
    }
}

pub(crate) fn tool(name: &str, tokens: u64, calls: u32) -> ToolEntry {
    ToolEntry {
        name: name.into(),
        namespace: None,
        kind: "function".into(),
        exposure: "direct".into(),
        r#where: "tools".into(),
        description_bytes: 0,
        description_tokens: 0,
        schema_bytes: 0,
        schema_tokens: 0,
        bytes: tokens * 4,
        tokens,
        calls,
        errors: None,
        first_offered_turn: 1,
        first_called_turn: (calls > 0).then_some(1),
        offered_turns: None,
    }
}

fn turn(turn: u32) -> TurnEntry {
    TurnEntry {
        turn,
        request: turn,
        input_tokens: 1000,
        cached_input_tokens: None,
        output_tokens: 100,
        tools_callable: 1,
        surface_sha256: Sha256Hex::of("surface"),
        calls: Vec::new(),
        wait_ms: 1.0,
        context: None,
    }
}

/// Multiplies an arm's cost metrics, with a small difference between tasks.
pub(crate) fn scale(cells: &mut [CellRecord], arm: &str, factor: f64) {
    for cell in cells.iter_mut().filter(|c| c.arm.as_str() == arm) {
        let task: f64 = cell.task.as_str()[1..].parse().unwrap();
        let by = |v: Option<u64>| v.map(|v| (v as f64 * factor * (1.0 + task * 0.002)).round() as u64);
        cell.metrics.first_request_tokens = by(cell.metrics.first_request_tokens);
        cell.metrics.total_tokens = by(cell.metrics.total_tokens);
        cell.metrics.input_tokens = by(cell.metrics.input_tokens);
    }
}
