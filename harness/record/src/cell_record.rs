//! One attempt, self-contained: a line of `journal.jsonl`. Null = unknown, never zero.

use std::collections::BTreeMap;

use bench_core::experiment::Profile;
use bench_core::ledger::{
    AgentTotals, FirstRequest, Load, OracleEvidence, TokenBasis, ToolEntry, TurnEntry, Usage,
};
use bench_core::lifecycle::Violation;
use bench_core::{
    ArmId, Cell, Ending, EndingKind, IsolationEvidence, Metric, Sha256Hex, SharedText, TaskId, Track,
    UpstreamEvidence,
};
use serde::{Deserialize, Serialize};

/// One attempt at one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// Version of this record's format.
    pub format_version: u32,
    /// Digest of the lock under which it ran.
    pub lock_sha256: Sha256Hex,
    /// The harness that ran it.
    pub harness: HarnessIdentity,
    /// The machine, as a digest that does not reveal its name.
    pub host_id: SharedText,
    /// The task.
    pub task: TaskId,
    /// Digest of the task's files.
    pub task_sha256: Sha256Hex,
    /// Unit of generalisation.
    pub cluster: SharedText,
    /// The task's track.
    pub track: Track,
    /// From 1.
    pub repeat: u32,
    /// The arm.
    pub arm: ArmId,
    /// Digest of the arm as locked.
    pub arm_sha256: Sha256Hex,
    /// How the oracle played this arm.
    pub profile: Profile,
    /// `task/r01`.
    pub block: SharedText,
    /// Place within the block, from 1.
    pub position: u32,
    /// Arms of the block in order of execution.
    pub order: Vec<ArmId>,
    /// Which execution of the block this attempt belongs to, from 1: a block is run again whole when a cell failed for a
    /// reason that was not the agent's. Records of earlier rounds are superseded.
    pub round: u32,
    /// Was the block continued by a later process?
    pub block_split: bool,
    /// From 1.
    pub attempt: u32,
    /// Worker slot.
    pub slot: u32,
    /// RFC 3339 UTC.
    pub started_at: String,
    /// RFC 3339 UTC.
    pub ended_at: String,
    /// Preparing workspace, recorder and walls.
    pub setup_ms: f64,
    /// Exec to exit of the agent; null when it never started.
    pub wall_ms: Option<f64>,
    /// Of these, waiting for the upstream.
    pub upstream_wait_ms: Option<f64>,
    /// The verifier's cell; null when nothing was verified.
    pub verify_ms: Option<f64>,
    /// CPU by party.
    pub cpu_ms: CpuMs,
    /// Largest resident set of a process of the agent's cell.
    pub peak_rss_bytes: Option<u64>,
    /// Why the attempt stopped.
    pub ending: Ending,
    /// What the hidden check said.
    pub verdict: Option<Verdict>,
    /// Its named parts.
    pub checks: Vec<Check>,
    /// The verifier's process.
    pub verifier: Option<VerifierRun>,
    /// Numbers.
    pub metrics: Metrics,
    /// Metrics that were cut off by the ending.
    pub censored: Vec<Metric>,
    /// How tokens were counted.
    pub tokens: TokenBasis,
    /// What the provider said, in the normal form; null without a word from it.
    pub provider_usage: Option<Usage>,
    /// What the run's caps were charged with for it; null when no recorder stood before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub charged: Option<Charged>,
    /// Digest of the price card; null = unpriced.
    pub price_card_sha256: Option<Sha256Hex>,
    /// The first request; null when there was none.
    pub first_request: Option<FirstRequest>,
    /// Every tool ever offered.
    pub tools: Vec<ToolEntry>,
    /// Turn by turn.
    pub turns_series: Vec<TurnEntry>,
    /// Requests by class.
    pub requests_by_class: BTreeMap<String, RequestClassTotals>,
    /// What each second agent asked for.
    #[serde(default)]
    pub agents: Vec<AgentTotals>,
    /// The task's outcome that was written down beforehand as the one that its capability must better; null = it has none.
    #[serde(default)]
    pub primary_outcome: Option<Metric>,
    /// Groups loaded.
    pub loads: Vec<Load>,
    /// Where requests differ from what surface, loads and the lifecycle table ask for; null = nothing is known to hold them
    /// against.
    #[serde(default)]
    pub lifecycle: Option<Vec<Violation>>,
    /// The walls.
    pub isolation: IsolationEvidence,
    /// The upstream.
    pub upstream: UpstreamEvidence,
    /// How the oracle played; null under other upstreams.
    pub oracle: Option<OracleEvidence>,
    /// Digest over the semantic content of all requests and responses: equal transcripts are duplicates.
    pub transcript_sha256: Sha256Hex,
    /// Evidence directory, relative to the run directory.
    pub dir: String,
    /// Digest over the evidence directory's files; null when the harness was stopped before it could be taken.
    pub dir_sha256: Option<Sha256Hex>,
}

/// Which harness ran it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HarnessIdentity {
    /// Version of the binary.
    pub version: SharedText,
    /// Revision of its source; null outside a checkout.
    pub revision: Option<SharedText>,
}

/// CPU (user + system), milliseconds. Null = unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuMs {
    /// The agent's cell.
    pub agent: Option<f64>,
    /// The verifier's cell.
    pub verifier: Option<f64>,
    /// The harness for this cell.
    pub harness: Option<f64>,
}

/// What the hidden check said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every check holds.
    Passed,
    /// One does not.
    Failed,
}

/// A named part of the hidden check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// Does it hold?
    pub passed: bool,
}

/// The verifier's process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifierRun {
    /// Its exit code; null when ended by a signal.
    pub exit_code: Option<i32>,
    /// Exec to exit.
    pub wall_ms: f64,
}

/// Requests of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestClassTotals {
    /// How many.
    pub requests: u32,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

/// What an attempt surely took of the run's caps, answered or not: a lower bound where an answer stated nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Charged {
    /// Input plus output tokens, local count.
    pub tokens: u64,
    /// US dollars by the price card.
    pub cost_usd: f64,
}

/// The numbers of one attempt. Null = unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each field is documented at bench_core::Metric")]
pub struct Metrics {
    pub first_request_tokens: Option<u64>,
    pub input_tokens: Option<u64>,
    pub cached_input_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
    pub total_tokens: Option<u64>,
    pub requests: Option<u64>,
    pub turns: Option<u64>,
    pub tool_calls: Option<u64>,
    pub nested_tool_calls: Option<u64>,
    pub tool_errors: Option<u64>,
    pub subagents: Option<u64>,
    pub compactions: Option<u64>,
    pub loads: Option<u64>,
    pub outside_accesses: Option<u64>,
    pub retries: Option<u64>,
    pub surface_changes: Option<u64>,
    #[serde(default)]
    pub discovery_calls: Option<u64>,
    #[serde(default)]
    pub never_discovered: Option<u64>,
    #[serde(default)]
    pub repeated_calls: Option<u64>,
    #[serde(default)]
    pub concurrent_calls: Option<u64>,
    #[serde(default)]
    pub results_cut: Option<u64>,
    #[serde(default)]
    pub archive_reads: Option<u64>,
    #[serde(default)]
    pub bytes_kept_out: Option<u64>,
    #[serde(default)]
    pub scripts: Option<u64>,
    #[serde(default)]
    pub script_errors: Option<u64>,
    #[serde(default)]
    pub script_retries: Option<u64>,
    #[serde(default)]
    pub script_timeouts: Option<u64>,
    #[serde(default)]
    pub concurrent_nested_calls: Option<u64>,
    #[serde(default)]
    pub repeated_guidance_bytes: Option<u64>,
    #[serde(default)]
    pub human_steps: Option<u64>,
    #[serde(default)]
    pub critical_path_ms: Option<f64>,
    #[serde(default)]
    pub beside_ms: Option<f64>,
    #[serde(default)]
    pub main_tokens: Option<u64>,
    #[serde(default)]
    pub child_tokens: Option<u64>,
    pub wall_ms: Option<f64>,
    pub cost_usd: Option<f64>,
}

impl CellRecord {
    /// The cell's id: `task/r01/arm`.
    pub fn cell_id(&self) -> String {
        self.cell().id()
    }

    /// The cell.
    pub fn cell(&self) -> Cell {
        Cell { task: self.task.clone(), repeat: self.repeat, arm: self.arm.clone(), position: self.position }
    }

    /// Does this record settle its cell, or is it the trace of an attempt that was stopped with the harness?
    pub fn settles(&self) -> bool {
        self.ending.kind != EndingKind::Interrupted
    }

    /// The value of a metric; null = unknown. Pass rate is 1, 0 or unknown.
    pub fn metric(&self, metric: Metric) -> Option<f64> {
        let m = &self.metrics;
        let count = |value: Option<u64>| value.map(|v| v as f64);
        // Nothing over nothing is unknown, not zero.
        let ratio = |part: Option<u64>, whole: Option<u64>| match (part, whole) {
            (Some(part), Some(whole)) if whole > 0 => Some(part as f64 / whole as f64),
            _ => None,
        };
        match metric {
            Metric::PassRate => self.passed().map(|passed| if passed { 1.0 } else { 0.0 }),
            Metric::FirstRequestTokens => count(m.first_request_tokens),
            Metric::InputTokens => count(m.input_tokens),
            Metric::CachedInputTokens => count(m.cached_input_tokens),
            Metric::OutputTokens => count(m.output_tokens),
            Metric::ReasoningTokens => count(m.reasoning_tokens),
            Metric::TotalTokens => count(m.total_tokens),
            Metric::Requests => count(m.requests),
            Metric::Turns => count(m.turns),
            Metric::ToolCalls => count(m.tool_calls),
            Metric::NestedToolCalls => count(m.nested_tool_calls),
            Metric::ToolErrors => count(m.tool_errors),
            Metric::Subagents => count(m.subagents),
            Metric::Compactions => count(m.compactions),
            Metric::Loads => count(m.loads),
            Metric::OutsideAccesses => count(m.outside_accesses),
            Metric::Retries => count(m.retries),
            Metric::SurfaceChanges => count(m.surface_changes),
            Metric::DiscoveryCalls => count(m.discovery_calls),
            Metric::NeverDiscovered => count(m.never_discovered),
            Metric::RepeatedCalls => count(m.repeated_calls),
            Metric::CallsPerTurn => ratio(m.tool_calls, m.turns),
            Metric::ConcurrentShare => ratio(m.concurrent_calls, m.tool_calls),
            Metric::ArchiveReadsPerResult => ratio(m.archive_reads, m.results_cut),
            Metric::BytesKeptOut => count(m.bytes_kept_out),
            Metric::Scripts => count(m.scripts),
            Metric::ScriptErrors => count(m.script_errors),
            Metric::ScriptRetries => count(m.script_retries),
            Metric::ScriptTimeouts => count(m.script_timeouts),
            Metric::NestedCallsPerScript => ratio(m.nested_tool_calls, m.scripts),
            Metric::NestedConcurrentShare => ratio(m.concurrent_nested_calls, m.nested_tool_calls),
            Metric::RepeatedGuidanceBytes => count(m.repeated_guidance_bytes),
            Metric::HumanSteps => count(m.human_steps),
            Metric::PrimaryOutcome => self.primary_outcome.and_then(|metric| self.metric(metric)),
            Metric::CriticalPathMs => m.critical_path_ms,
            Metric::BesideMs => m.beside_ms,
            Metric::MainTokens => count(m.main_tokens),
            Metric::ChildTokens => count(m.child_tokens),
            Metric::WallMs => m.wall_ms,
            Metric::CostUsd => m.cost_usd,
            Metric::DiscoveryRate => self.discovered().map(|found| if found { 1.0 } else { 0.0 }),
            Metric::UnneededLoads => {
                m.loads.map(|_| self.loads.iter().filter(|load| !load.needed).count() as f64)
            }
            Metric::LateLoads => m.loads.map(|_| self.late_loads() as f64),
            Metric::LifecycleViolations => count(self.lifecycle_violations()),
        }
    }

    /// Did a cell of the orchestration track load something before its last turn? A cell that was cut off did not; `None`
    /// on other tracks and where loads are unknown.
    fn discovered(&self) -> Option<bool> {
        if self.track != Track::Orchestration {
            return None;
        }
        self.metrics.loads?;
        Some(!self.ending.disposition().censored && self.loads.iter().any(|load| load.needed))
    }

    /// Loads that no call of the turn before explains: the tools came late, or on their own.
    fn late_loads(&self) -> usize {
        let called = |turn: u32| self.turns_series.iter().any(|t| t.turn == turn && !t.calls.is_empty());
        self.loads.iter().filter(|load| load.turn < 2 || !called(load.turn - 1)).count()
    }

    /// Tools called before they were offered, and tools that stand in a request or are missing in one against surface,
    /// loads and the lifecycle table; where nothing is known to hold requests against, changes that no load explains.
    fn lifecycle_violations(&self) -> Option<u64> {
        let early =
            self.tools.iter().filter(|t| t.first_called_turn.is_some_and(|c| c < t.first_offered_turn));
        let unexplained = match &self.lifecycle {
            Some(violations) => violations.len() as u64,
            None => self.unexplained_changes()?,
        };
        Some(unexplained + early.count() as u64)
    }

    fn unexplained_changes(&self) -> Option<u64> {
        let changes = self.metrics.surface_changes?;
        let turns: std::collections::BTreeSet<u32> = self.loads.iter().map(|load| load.turn).collect();
        Some(changes.saturating_sub(turns.len() as u64))
    }

    /// Did the cell pass, by verdict and disposition together? `None` = there is no outcome.
    pub fn passed(&self) -> Option<bool> {
        use bench_core::Counting;
        match self.ending.disposition().counting {
            Counting::AsGraded | Counting::HarnessInvalid => self.verdict.map(|v| v == Verdict::Passed),
            Counting::AsFailed => Some(false),
            Counting::Missing => None,
        }
    }
}
