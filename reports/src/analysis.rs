//! What an analysis says: the fields of `analysis.json`. Null = unknown or undefined, never zero.

use std::collections::BTreeMap;

use bench_core::IsolationLevel;
use bench_core::ledger::TokenizerIdentity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod arm;
mod contrast;
mod cost;
mod gate;

pub use arm::{
    ArmSummary, FirstRequestSummary, MetricSummary, NeverCalled, PassSummary, Reliability, ToolSummary,
};
pub use contrast::{
    AaSummary, ContrastSummary, Flip, McNemarSummary, OrderSummary, PairCounts, PassDifference, TaskRatio,
    TaskSummary,
};
pub use cost::{BootstrapSummary, Censored, MetricComparison, VarianceComponents};
pub use gate::{CandidateClaim, GateOutcome, NotGated, OutcomeTest, Overall, RateSummary};

use crate::preflight::Preflight;
pub use crate::provenance::{CpuTotals, Provenance, Spent, Times};

/// Version of `analysis.json`.
pub const FORMAT_VERSION: u32 = 1;

/// The analysis of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Analysis {
    /// Version of this file's format.
    pub format_version: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// The pre-registration hash.
    pub lock_sha256: String,
    /// Who answered model calls.
    pub upstream: UpstreamSummary,
    /// Was something changed after the rules had been written down?
    pub exploratory: Exploratory,
    /// Finished runs with this hash; null = not counted (a journal alone cannot know).
    pub attempts_with_this_hash: Option<u32>,
    /// How tokens were counted; null without a record.
    pub tokens: Option<TokensSummary>,
    /// The weakest level among the cells that count; the lock's before there is one.
    pub isolation_level: IsolationLevel,
    /// What that level leaves open.
    pub isolation_missing: Vec<String>,
    /// What the run shows and what it does not, in sentences.
    pub scope: Vec<String>,
    /// What a reader should look at before believing the numbers.
    pub warnings: Vec<String>,
    /// Cells.
    pub cells: CellCounts,
    /// Blocks.
    pub blocks: BlockCounts,
    /// Tasks that were skipped on this machine, with the reason.
    pub skipped_tasks: BTreeMap<String, String>,
    /// What the design could show at best.
    pub preflight: Preflight,
    /// Arms in the order of the lock.
    pub arms: Vec<ArmSummary>,
    /// Contrasts in the order of the lock.
    pub contrasts: Vec<ContrastSummary>,
    /// Candidates against each other's luck; empty unless the experiment claims by Holm or in sequence.
    pub candidates: Vec<CandidateClaim>,
    /// Different providers among the cells that count.
    pub providers: u64,
    /// Where several providers answered: each one's blocks judged by themselves. Their decisions hold for that provider; the
    /// run as a whole has no PASS. Empty where one answered everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
    /// The planned look that this is; null where none was planned, and before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<LookSummary>,
    /// The verdict.
    pub overall: Overall,
    /// Everything that differs between two runs of the same deterministic experiment.
    pub provenance: Provenance,
}

/// The blocks of a run that one provider answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// Its fingerprints, one for each model asked for.
    pub fingerprints: Vec<String>,
    /// RFC 3339 UTC; when the first of its cells started.
    pub first_started_at: Option<String>,
    /// Valid blocks.
    pub blocks: u64,
    /// Contrasts in the order of the lock, from these blocks alone.
    pub contrasts: Vec<ContrastSummary>,
}

/// One of several planned looks: its numbers are those of its repeats alone, at its own level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LookSummary {
    /// From 1.
    pub number: u32,
    /// Planned looks.
    pub of: u32,
    /// Repeats that it looks at.
    pub repeats: u32,
    /// Repeats of the plan.
    pub planned_repeats: u32,
    /// One-sided level of every gate at this look.
    pub alpha: f64,
}

/// Who answered model calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpstreamSummary {
    /// `oracle`, `openai-chat`, …
    pub kind: String,
    /// Does the same request always get the same answer?
    pub deterministic: bool,
    /// Arms that the oracle plays with a seeded fault.
    pub imperfect_arms: Vec<String>,
}

/// Was something changed after the rules had been written down?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exploratory {
    /// Yes or no.
    pub yes: bool,
    /// What.
    pub why: Option<String>,
}

/// How tokens were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokensSummary {
    /// `provider`, `rendered`, `json`; several joined by `+` when records differ.
    pub basis: String,
    /// `complete`, `lower_bound`, `none`; several joined by `+`.
    pub completeness: String,
    /// Who counted.
    pub tokenizer: TokenizerIdentity,
}

/// Cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellCounts {
    /// In the plan.
    pub planned: u64,
    /// With a settled attempt.
    pub attempted: u64,
    /// In valid blocks.
    pub valid: u64,
    /// Settled cells by kind of ending.
    pub by_ending: BTreeMap<String, u64>,
}

/// Blocks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockCounts {
    /// In the plan.
    pub total: u64,
    /// Every cell counts.
    pub valid: u64,
    /// With a cell that is not settled yet.
    pub pending: u64,
    /// Out of every metric, by the reason of the first cell in the order of arms.
    pub invalid_by_reason: BTreeMap<String, u64>,
    /// Blocks without an outcome because of this arm's cell alone.
    pub invalid_only: BTreeMap<String, u64>,
}
