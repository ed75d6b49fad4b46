//! One arm by itself: passes, costs, what its first request carried, how far its repeats agree.

use std::collections::BTreeMap;

use bench_core::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One arm over its cells in valid blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArmSummary {
    /// Its name.
    pub name: String,
    /// `control`, `candidate`, `negative-control` or `other`.
    pub role: String,
    /// Passed cells.
    pub pass: PassSummary,
    /// Numbers by metric.
    pub metrics: BTreeMap<Metric, MetricSummary>,
    /// Settled cells by kind of ending, those of invalid blocks too.
    pub endings: BTreeMap<String, u64>,
    /// What the first request carried; null without one.
    pub first_request: Option<FirstRequestSummary>,
    /// Tools that were paid for and never called.
    pub tools_never_called: NeverCalled,
    /// Cells whose transcript equals an earlier one of the same task; null under a deterministic upstream, where that is
    /// expected.
    pub duplicate_transcripts: Option<u64>,
    /// How far its repeats agree and what a pass costs.
    pub reliability: Reliability,
}

/// How far an arm's repeats agree and what a pass costs; none of it gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reliability {
    /// pass^k for k = the planned repeats: would all of k tries pass? Mean over tasks that have as many.
    pub pass_hat_k: Option<f64>,
    /// Chance that two repeats of a task differ in outcome; mean over tasks with two or more.
    pub flip_rate: Option<f64>,
    /// Cost of all cells / passed cells; null when unpriced or nothing passed.
    pub cost_usd_per_pass: Option<f64>,
    /// Tokens of all cells / passed cells; null when unknown or nothing passed.
    pub tokens_per_pass: Option<f64>,
    /// Distinct transcripts a task, mean over tasks: equal ones are one observation. Null under a deterministic upstream.
    pub effective_repeats: Option<f64>,
    /// Share of input tokens read from the provider's cache, by the place within the block; null where no usage says.
    pub cache_read_share_by_position: BTreeMap<u32, Option<f64>>,
}

/// A share of passed cells with its Wilson interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassSummary {
    /// Passed.
    pub passed: u64,
    /// Of so many.
    pub n: u64,
    /// Lower limit; null without cells.
    pub lower: Option<f64>,
    /// Upper limit.
    pub upper: Option<f64>,
    /// Two-sided level of the limits.
    pub level: f64,
}

/// A metric over cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MetricSummary {
    /// Cells in which it is known.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 90th percentile (linear between order statistics).
    pub p90: f64,
    /// Least.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

/// What the first request carried: medians over cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstRequestSummary {
    /// Cells with a first request.
    pub n: u64,
    /// Tokens of the whole body.
    pub body_tokens: f64,
    /// Tokens of system text.
    pub system_tokens: f64,
    /// Tokens of other messages.
    pub messages_tokens: f64,
    /// Tokens of all tool definitions.
    pub tools_tokens: f64,
    /// Entries of the tools array.
    pub tools_entries: f64,
    /// Functions that the model can call.
    pub tools_callable: f64,
    /// Tool by tool, in the order offered.
    pub tools: Vec<ToolSummary>,
}

/// One tool over an arm's cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolSummary {
    /// Its name as offered.
    pub name: String,
    /// Median tokens of its definition.
    pub tokens: f64,
    /// Calls over all cells.
    pub calls: u64,
    /// Cells that offered it.
    pub cells: u64,
    /// Was it in the first turn's request of any cell?
    pub in_first_request: bool,
}

/// Tools that were offered and never called in any cell of the arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NeverCalled {
    /// Their definitions' tokens, summed over every turn of every cell that carried them.
    pub tokens_total: u64,
    /// Their definitions' tokens in one request that carries them all.
    pub tokens_per_request: f64,
    /// Which, in the order offered.
    pub tools: Vec<ToolSummary>,
}
