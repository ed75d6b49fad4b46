//! Two arms against each other: pairs, tests, order effects, acceptance of equal arms.

use std::collections::BTreeMap;

use bench_core::{ContrastRole, Factor, Metric};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cost::MetricComparison;
use super::gate::{GateOutcome, NotGated};

/// A contrast and its gates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Task by task, in the order of the lock.
    #[serde(default)]
    pub tasks: Vec<TaskSummary>,
    /// Acceptance of an A/A comparison (`factor = "none"`); null for others.
    pub a_a: Option<AaSummary>,
}

/// Does a comparison of two equal arms look like one?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AaSummary {
    /// Every rule holds.
    pub accepted: bool,
    /// What does not, in sentences.
    pub objections: Vec<String>,
}

/// Pass/fail pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

/// One task of a contrast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskSummary {
    /// The task.
    pub task: String,
    /// Its cluster.
    pub cluster: String,
    /// Pairs in which both passed.
    pub both: u64,
    /// Only the control passed.
    pub control_only: u64,
    /// Only the candidate passed.
    pub candidate_only: u64,
    /// Neither passed.
    pub neither: u64,
    /// Ratios of the gated costs; a metric that no pair knows is left out.
    pub ratios: BTreeMap<Metric, TaskRatio>,
}

/// A cost ratio of one task.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRatio {
    /// Geometric mean of the pairs' ratios; null where a cost is zero.
    pub gmr: Option<f64>,
    /// Ratio of means; null when the control's is zero.
    pub ratio_of_means: Option<f64>,
}

/// McNemar on the pooled pairs: of the sharp null "in no task do the arms differ", not of the average effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// Cross-over estimates on log costs, blocks as units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Two-sided p of the carry-over contrast: a diagnostic, on which nothing is ever switched; null without spread.
    #[serde(default)]
    pub carry_over_p: Option<f64>,
}

/// A discordant pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flip {
    /// `task/r01`.
    pub block: String,
    /// The arm that passed alone.
    pub passed: String,
    /// The arm that did not.
    pub failed: String,
}
