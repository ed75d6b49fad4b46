//! What an analysis says: the fields of `analysis.json`. Null = unknown or undefined, never zero.

use std::collections::BTreeMap;

use bench_core::ledger::TokenizerIdentity;
use bench_core::{ContrastRole, Decision, Factor, GateScope, IsolationLevel, Metric};
use serde::{Deserialize, Serialize};

use crate::preflight::Preflight;
pub use crate::provenance::{CpuTotals, Provenance, Spent, Times};

/// Version of `analysis.json`.
pub const FORMAT_VERSION: u32 = 1;

/// The analysis of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// The verdict.
    pub overall: Overall,
    /// Everything that differs between two runs of the same deterministic experiment.
    pub provenance: Provenance,
}

/// Who answered model calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpstreamSummary {
    /// `oracle`, `openai-chat`, …
    pub kind: String,
    /// Does the same request always get the same answer?
    pub deterministic: bool,
    /// Arms that the oracle plays with a seeded fault.
    pub imperfect_arms: Vec<String>,
}

/// Was something changed after the rules had been written down?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exploratory {
    /// Yes or no.
    pub yes: bool,
    /// What.
    pub why: Option<String>,
}

/// How tokens were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokensSummary {
    /// `provider`, `rendered`, `json`; several joined by `+` when records differ.
    pub basis: String,
    /// `complete`, `lower_bound`, `none`; several joined by `+`.
    pub completeness: String,
    /// Who counted.
    pub tokenizer: TokenizerIdentity,
}

/// Cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// One arm over its cells in valid blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NeverCalled {
    /// Their definitions' tokens, summed over every turn of every cell that carried them.
    pub tokens_total: u64,
    /// Their definitions' tokens in one request that carries them all.
    pub tokens_per_request: f64,
    /// Which, in the order offered.
    pub tools: Vec<ToolSummary>,
}

/// A contrast and its gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContrastSummary {
    /// Its name.
    pub name: String,
    /// The arm compared with.
    pub control: String,
    /// The arm under examination.
    pub candidate: String,
    /// The one thing that differs.
    pub factor: Factor,
    /// What its verdict is for.
    pub role: ContrastRole,
    /// Pass/fail pairs.
    pub pairs: PairCounts,
    /// p of "in no task do the arms differ".
    pub mcnemar: McNemarSummary,
    /// Difference of pass rates; limits null where undefined.
    pub pass_difference: PassDifference,
    /// Cost ratios by metric.
    pub metrics: BTreeMap<Metric, MetricComparison>,
    /// Its gates in the order of the lock.
    pub gates: Vec<GateOutcome>,
    /// Main metrics that no gate here decides on, with the reason.
    pub not_gated: Vec<NotGated>,
    /// Effect of order; null under a deterministic upstream or with fewer than two blocks of an order.
    pub order: Option<OrderSummary>,
    /// Discordant pairs.
    pub flips: Vec<Flip>,
    /// Acceptance of an A/A comparison (`factor = "none"`); null for others.
    pub a_a: Option<AaSummary>,
}

/// Does a comparison of two equal arms look like one?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AaSummary {
    /// Every rule holds.
    pub accepted: bool,
    /// What does not, in sentences.
    pub objections: Vec<String>,
}

/// Pass/fail pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairCounts {
    /// Both passed.
    pub both: u64,
    /// Only the control passed.
    pub control_only: u64,
    /// Only the candidate passed.
    pub candidate_only: u64,
    /// Neither passed.
    pub neither: u64,
    /// Pairs.
    pub n: u64,
    /// Tasks.
    pub tasks: u64,
    /// Clusters: the unit of generalisation.
    pub clusters: u64,
    /// Pairs left out because they repeat an earlier one of their task word for word.
    #[serde(default)]
    pub duplicates: u64,
}

/// McNemar on the pooled pairs: of the sharp null "in no task do the arms differ", not of the average effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McNemarSummary {
    /// Exact two-sided; null without pairs.
    pub exact_p: Option<f64>,
    /// Mid-p beside it.
    pub midp_p: Option<f64>,
    /// Discordant pairs.
    pub discordant: u64,
    /// With so few discordant pairs the exact p cannot reach .05, whatever their direction.
    pub cannot_reach_05: bool,
}

/// candidate - control of the pass rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PassDifference {
    /// Point; null without pairs.
    pub point: Option<f64>,
    /// Lower limit for tasks like these.
    pub lower: Option<f64>,
    /// Upper limit for tasks like these.
    pub upper: Option<f64>,
    /// Lower limit on these tasks.
    pub these_tasks_lower: Option<f64>,
    /// Upper limit on these tasks.
    pub these_tasks_upper: Option<f64>,
    /// Two-sided level of the limits.
    pub level: f64,
    /// Design effect.
    pub deff: Option<f64>,
    /// Critical value of the limits for tasks like these.
    pub critical_value: Option<f64>,
}

/// candidate / control of a cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricComparison {
    /// Pairs in which both values are known.
    pub n_pairs: u64,
    /// Pairs in which one is not.
    pub n_unknown: u64,
    /// Tasks.
    pub n_tasks: u64,
    /// Clusters: the unit of generalisation.
    pub n_clusters: u64,
    /// Two-sided level of the limits.
    pub level: f64,
    /// `gmr`, or `linearised_rom` where a cost is zero.
    pub estimator: String,
    /// Geometric mean ratio; null where a cost is zero.
    pub gmr: Option<f64>,
    /// Lower limit for tasks like these.
    pub lower: Option<f64>,
    /// Upper limit for tasks like these.
    pub upper: Option<f64>,
    /// Lower limit on these tasks.
    pub these_tasks_lower: Option<f64>,
    /// Upper limit on these tasks.
    pub these_tasks_upper: Option<f64>,
    /// Ratio of means; null when the control's mean is zero.
    pub ratio_of_means: Option<f64>,
    /// Fieller limits of the ratio of means; null when unbounded.
    pub ratio_of_means_lower: Option<f64>,
    /// Upper Fieller limit.
    pub ratio_of_means_upper: Option<f64>,
    /// Largest ratio of a pair; null where a cost is zero.
    pub max_pair_ratio: Option<f64>,
    /// Mean difference candidate - control per cluster.
    pub mean_difference: f64,
    /// Nothing varies between clusters.
    pub degenerate: bool,
    /// Do all repeats of an arm on a task agree? null for metrics that need not.
    pub reproducible: Option<bool>,
    /// Cells whose cost was cut off.
    pub censored: Censored,
    /// Bootstrap by cluster beside the t interval; never gating.
    pub bootstrap: Option<BootstrapSummary>,
    /// Least and largest ratio when one cluster is left out; null below three clusters.
    pub leave_one_cluster_out: Option<(f64, f64)>,
    /// Where the spread comes from; null below two clusters or without repeats.
    pub variance: Option<VarianceComponents>,
}

/// Components of the spread of a log cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VarianceComponents {
    /// Standard deviation of one cell within its task.
    pub sigma: f64,
    /// Standard deviation of the effect between clusters; 0 where the repeats explain all of it.
    pub tau: f64,
    /// Standard deviation of a cluster's mean log ratio: what an interval is made of, and an A/A run's `sd-floor`.
    pub sd: f64,
    /// Clusters for a PASS with 80 % at equal cost and the limit 1.25.
    pub clusters_for_80: Option<u64>,
}

/// Cells whose cost was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Censored {
    /// Of the control.
    pub control: u64,
    /// Of the candidate.
    pub candidate: u64,
}

/// Bootstrap by cluster of the ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BootstrapSummary {
    /// Percentile lower limit.
    pub lower: f64,
    /// Percentile upper limit.
    pub upper: f64,
    /// BCa lower limit; null where undefined.
    pub bca_lower: Option<f64>,
    /// BCa upper limit.
    pub bca_upper: Option<f64>,
    /// `enumerated` or `drawn`.
    pub method: String,
    /// At least twelve clusters?
    pub reliable: bool,
}

/// One gate on one contrast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateOutcome {
    /// The gate's name.
    pub id: String,
    /// `default`, `orchestration`, or `mixed` when its tasks are of both.
    pub track: String,
    /// The number it looks at.
    pub metric: Metric,
    /// Ratio limit; null for a margin.
    pub limit: Option<f64>,
    /// Tolerated loss; null for a limit.
    pub margin: Option<f64>,
    /// Least rate of the candidate; absent for other rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
    /// Largest count that a cell may show; absent for other rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The candidate's rate where the rule is on it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSummary>,
    /// The outcomes of which one must be better, with Holm's adjustment; empty for other rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<OutcomeTest>,
    /// To which tasks it generalises.
    pub scope: GateScope,
    /// How it ended.
    pub decision: Decision,
    /// Reason codes; see [`crate::render::reason_in_words`].
    pub reasons: Vec<String>,
    /// About how many more tasks (clusters) it would take; null when decided or unknowable.
    pub more_tasks_needed: Option<u64>,
    /// Candidate cells that lie beyond the limit, worst first.
    pub cells: Vec<String>,
}

/// A rate of the candidate alone, with exact one-sided bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RateSummary {
    /// Cells in which it held.
    pub found: u64,
    /// Cells in which it was asked for.
    pub n: u64,
    /// Cells that this is worth for tasks like these.
    pub n_effective: Option<f64>,
    /// Exact lower bound for tasks like these.
    pub lower: Option<f64>,
    /// Exact upper bound for tasks like these.
    pub upper: Option<f64>,
    /// Exact lower bound on these tasks.
    pub these_tasks_lower: Option<f64>,
    /// Exact upper bound on these tasks.
    pub these_tasks_upper: Option<f64>,
}

/// One primary outcome: is the candidate better?
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutcomeTest {
    /// The outcome.
    pub metric: Metric,
    /// One-sided p of "not better"; null where it cannot be tested, which counts as 1.
    pub p: Option<f64>,
    /// After Holm, over all outcomes of the gate.
    pub holm_p: f64,
}

/// A main metric that no gate decides on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotGated {
    /// The metric.
    pub metric: Metric,
    /// Code: `not_applicable(oracle)`, `cannot_pass_by_design`, `not_asked`.
    pub code: String,
    /// The best bound that the design could have given, where that is the reason.
    pub bound: Option<f64>,
    /// In words.
    pub why: String,
}

/// Cross-over estimates on log costs, blocks as units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderSummary {
    /// The metric.
    pub metric: Metric,
    /// Blocks with the candidate first.
    pub n_ab: u64,
    /// Blocks with the control first.
    pub n_ba: u64,
    /// Ratio adjusted for period.
    pub period_adjusted_gmr: f64,
    /// First / second period.
    pub period_effect_ratio: f64,
    /// Its two-sided p; null without spread.
    pub period_p: Option<f64>,
}

/// Whether a candidate may be claimed, several being looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateClaim {
    /// The contrast.
    pub contrast: String,
    /// The largest p of its gates, each the least level at which the gate would pass.
    pub p: f64,
    /// After Holm over the candidates; null in a fixed sequence.
    pub holm_p: Option<f64>,
    /// May it be claimed?
    pub claimed: bool,
}

/// A discordant pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flip {
    /// `task/r01`.
    pub block: String,
    /// The arm that passed alone.
    pub passed: String,
    /// The arm that did not.
    pub failed: String,
}

/// The verdict of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overall {
    /// How it ended; `NOT_APPLICABLE` when no gate was asked for.
    pub decision: Decision,
    /// The process's exit code.
    pub exit_code: i32,
    /// Gates that decided it (names; each hangs on one or more contrasts).
    pub decided_by: Vec<String>,
    /// The same as `contrast/gate`.
    pub decided_by_outcomes: Vec<String>,
    /// Reason codes.
    pub reasons: Vec<String>,
    /// One sentence for people.
    pub sentence: String,
}
