//! From what was found to the record: every number of a [`CellRecord`] is put together here and nowhere else.

use std::collections::BTreeMap;
use std::time::Instant;

use bench_core::ledger::{FirstRequest, TokenBasis, Usage};
use bench_core::lifecycle::violations;
use bench_core::{Ending, EndingKind, Metric, Sha256Hex, UpstreamEvidence};
use bench_isolation::{CellExit, LeftOut, RunningCell, evidence_of_no_cell};
use bench_proxy::Recording;
use bench_record::{
    CellRecord, Check, CpuMs, FORMAT_VERSION, Metrics, RequestIndex, Verdict, VerifierRun, attempt_dir,
};
use bench_tasks::Verification;

use crate::agent_says;
use crate::attempt::{Harness, Ticket};
use crate::cell::Stage;
use crate::kept::{brief, dir_digest};
use crate::nested_calls;
use crate::prepare::RunPlan;

/// What an attempt brought to light, step by step.
pub(crate) struct Findings {
    started_at: String,
    began: Instant,
    cpu_at_start: f64,
    setup_ms: Option<f64>,
    pub(crate) ending: Option<Ending>,
    pub(crate) exit: Option<CellExit>,
    /// What has still to say what it tried.
    pub(crate) cell: Option<RunningCell>,
    pub(crate) recording: Option<Recording>,
    pub(crate) verification: Option<Verification>,
    pub(crate) left_out: Vec<LeftOut>,
}

impl Findings {
    pub(crate) fn begin(harness: &Harness) -> Self {
        Self {
            started_at: harness.clock.now_utc(),
            began: Instant::now(),
            cpu_at_start: bench_isolation::own_cpu_ms(),
            setup_ms: None,
            ending: None,
            exit: None,
            cell: None,
            recording: None,
            verification: None,
            left_out: Vec::new(),
        }
    }

    pub(crate) fn set_up_done(&mut self, _harness: &Harness) {
        self.setup_ms = Some(self.began.elapsed().as_secs_f64() * 1000.0);
    }

    /// Does the ending's row of the one table ask for the hidden check?
    pub(crate) fn calls_for_verdict(&self) -> bool {
        self.ending.as_ref().is_some_and(|ending| ending.disposition().verified)
    }
}

/// The record of an attempt.
pub(crate) fn record_of(stage: &Stage<'_>, findings: Findings) -> CellRecord {
    let (plan, harness, ticket) = (stage.plan, stage.harness, stage.ticket);
    let mut record = blank_record(plan, harness, ticket);
    let elapsed = findings.began.elapsed().as_secs_f64() * 1000.0;
    record.started_at = findings.started_at;
    record.setup_ms = findings.setup_ms.unwrap_or(elapsed);
    if let Some(exit) = findings.exit {
        record.wall_ms = Some(exit.wall_ms);
        record.metrics.wall_ms = Some(exit.wall_ms);
        record.cpu_ms.agent = Some(exit.cpu_ms);
        record.peak_rss_bytes = Some(exit.peak_rss_bytes);
        record.metrics.outside_accesses = exit.isolation.outside_accesses();
        record.isolation = exit.isolation;
    }
    let mut shown = None;
    if let Some(mut recording) = findings.recording {
        shown = Some(std::mem::take(&mut recording.shown));
        take_recording(&mut record, recording);
    }
    if let Some(line) = stage.arm.resolved.nested_call() {
        record.metrics.nested_tool_calls = nested_calls::count(&stage.dir.join("stdout"), line);
    }
    if let Some(surface) = &stage.arm.resolved.surface {
        let said = agent_says::Said::read(&stage.dir.join("stdout"));
        said.add(&mut record);
        record.lifecycle = shown.and_then(|shown| violations(surface, &shown, &said.resources));
        let lexicon = &stage.arm.resolved.lexicon;
        record.metrics.never_discovered =
            record.oracle.as_ref().map(|o| agent_says::missed(o, surface, lexicon));
    }
    if let Some(verification) = findings.verification {
        record.verdict = Some(if verification.passed { Verdict::Passed } else { Verdict::Failed });
        record.checks =
            verification.checks.into_iter().map(|(name, passed)| Check { name, passed }).collect();
        record.verify_ms = Some(verification.wall_ms);
        record.cpu_ms.verifier = Some(verification.cpu_ms);
        record.verifier =
            Some(VerifierRun { exit_code: verification.exit_code, wall_ms: verification.wall_ms });
    }
    record.ending = findings
        .ending
        .unwrap_or_else(|| Ending::because(EndingKind::HarnessFault, "the attempt ended without a reason"));
    if let Some(first) = findings.left_out.first()
        && record.ending.detail.is_none()
    {
        let others = findings.left_out.len() - 1;
        record.ending.detail = Some(format!(
            "left out of the verifier's copy: {} ({}), and {others} others",
            brief(&first.name.to_string_lossy()),
            first.why
        ));
    }
    record.censored = censored(&record.ending);
    record.cpu_ms.harness = Some(bench_isolation::own_cpu_ms() - findings.cpu_at_start);
    record.dir_sha256 = dir_digest(&stage.dir);
    record.ended_at = harness.clock.now_utc();
    record
}

fn take_recording(record: &mut CellRecord, recording: Recording) {
    let totals = &recording.totals;
    let wall_ms = record.metrics.wall_ms;
    let outside_accesses = record.metrics.outside_accesses;
    let child_tokens: u64 =
        recording.agents.iter().map(|agent| agent.input_tokens + agent.output_tokens).sum();
    record.metrics = Metrics {
        first_request_tokens: recording.first_request.as_ref().map(FirstRequest::input_tokens),
        input_tokens: totals.input_tokens,
        cached_input_tokens: totals.cached_input_tokens,
        output_tokens: totals.output_tokens,
        reasoning_tokens: totals.reasoning_tokens,
        total_tokens: totals.total_tokens,
        requests: Some(totals.requests),
        turns: Some(totals.turns),
        tool_calls: Some(totals.tool_calls),
        nested_tool_calls: None,
        tool_errors: totals.tool_errors,
        subagents: Some(recording.agents.len() as u64),
        critical_path_ms: recording.critical_path_ms,
        beside_ms: Some(recording.beside_ms),
        main_tokens: totals.total_tokens.map(|all| all.saturating_sub(child_tokens)),
        child_tokens: totals.total_tokens.map(|_| child_tokens),
        compactions: Some(totals.compactions),
        loads: Some(totals.loads),
        outside_accesses,
        retries: Some(totals.retries),
        surface_changes: Some(totals.surface_changes),
        human_steps: Some(totals.human_steps),
        wall_ms,
        cost_usd: recording.cost_usd,
        ..Metrics::default()
    };
    record.upstream_wait_ms = Some(recording.upstream_wait_ms);
    record.tokens = recording.tokens;
    record.provider_usage = recording.provider_usage;
    record.charged = Some(recording.charged);
    record.first_request = recording.first_request;
    record.tools = recording.tools;
    record.turns_series = recording.turns;
    record.requests_by_class = recording.requests_by_class;
    record.agents = recording.agents;
    record.loads = recording.loads;
    record.upstream = recording.upstream;
    record.oracle = recording.oracle;
    record.transcript_sha256 = recording.transcript_sha256;
}

/// Metrics that an ending cuts off: what would have grown had the cell gone on.
fn censored(ending: &Ending) -> Vec<Metric> {
    if !ending.disposition().censored {
        return Vec::new();
    }
    Metric::ALL.into_iter().filter(|metric| metric.nature().censorable).collect()
}

/// The record of an attempt that was cut off with the harness: what its request index holds was spent, and stays spent.
pub fn interrupted_record(plan: &RunPlan, harness: &Harness, ticket: &Ticket) -> CellRecord {
    let mut record = blank_record(plan, harness, ticket);
    record.ending =
        Ending::because(EndingKind::Interrupted, "the harness was stopped while this attempt was running");
    record.censored = censored(&record.ending);
    let dir = harness.run_dir.attempt(&ticket.cell, ticket.attempt);
    if let Ok(index) = RequestIndex::read(&dir) {
        add_index(&mut record, &index);
    }
    record
}

fn add_index(record: &mut CellRecord, index: &RequestIndex) {
    let records = index.records();
    record.metrics.requests = Some(records.len() as u64);
    let (mut input, mut output) = (0, 0);
    let mut said = Usage::default();
    for request in records {
        let usage = request.usage.clone().unwrap_or_default();
        let counted = request.prompt_tokens.or(request.body_tokens);
        input += usage.input_tokens.or(counted).unwrap_or(0);
        output += usage.output_tokens.or(request.response_tokens).unwrap_or(0);
        said.input_tokens = add(said.input_tokens, usage.input_tokens);
        said.output_tokens = add(said.output_tokens, usage.output_tokens);
        said.cached_input_tokens = add(said.cached_input_tokens, usage.cached_input_tokens);
        said.reasoning_tokens = add(said.reasoning_tokens, usage.reasoning_tokens);
    }
    record.metrics.input_tokens = Some(input);
    record.metrics.output_tokens = Some(output);
    record.metrics.total_tokens = Some(input + output);
    record.tokens.completeness = "lower_bound".into();
    record.provider_usage = (said != Usage::default()).then_some(said);
}

fn add(sum: Option<u64>, value: Option<u64>) -> Option<u64> {
    match (sum, value) {
        (None, None) => None,
        (sum, value) => Some(sum.unwrap_or(0) + value.unwrap_or(0)),
    }
}

/// A record in which nothing is known but what was planned.
fn blank_record(plan: &RunPlan, harness: &Harness, ticket: &Ticket) -> CellRecord {
    let cell = &ticket.cell;
    let (task, _) = &plan.tasks[&cell.task];
    let arm = &plan.arms[&cell.arm];
    let now = harness.clock.now_utc();
    CellRecord {
        format_version: FORMAT_VERSION,
        lock_sha256: plan.lock_sha256.clone(),
        harness: plan.site.harness.clone(),
        host_id: plan.site.host_id.as_str().into(),
        task: cell.task.clone(),
        task_sha256: task.sha256.clone(),
        cluster: task.cluster.as_str().into(),
        track: task.track,
        repeat: cell.repeat,
        arm: cell.arm.clone(),
        arm_sha256: arm.lock.sha256.clone(),
        profile: arm.arm.profile.clone(),
        block: format!("{}/r{:02}", cell.task, cell.repeat).into(),
        position: cell.position,
        order: ticket.order.clone(),
        round: ticket.round,
        block_split: ticket.block_split,
        attempt: ticket.attempt,
        slot: 0,
        started_at: now.clone(),
        ended_at: now,
        setup_ms: 0.0,
        wall_ms: None,
        upstream_wait_ms: None,
        verify_ms: None,
        cpu_ms: CpuMs::default(),
        peak_rss_bytes: None,
        ending: Ending::of(EndingKind::HarnessFault),
        verdict: None,
        checks: Vec::new(),
        verifier: None,
        metrics: Metrics::default(),
        censored: Vec::new(),
        tokens: TokenBasis {
            basis: "json".into(),
            completeness: "none".into(),
            tokenizer: plan.site.tokenizer.clone(),
        },
        provider_usage: None,
        charged: None,
        price_card_sha256: plan.lock.price_card_sha256.clone(),
        first_request: None,
        tools: Vec::new(),
        turns_series: Vec::new(),
        requests_by_class: BTreeMap::new(),
        agents: Vec::new(),
        primary_outcome: task.primary_outcome,
        loads: Vec::new(),
        lifecycle: None,
        isolation: evidence_of_no_cell("the cell never started"),
        upstream: UpstreamEvidence {
            kind: plan.experiment.upstream.word().into(),
            ..UpstreamEvidence::default()
        },
        oracle: None,
        transcript_sha256: Sha256Hex::of(""),
        dir: attempt_dir(cell, ticket.attempt),
        dir_sha256: None,
    }
}
