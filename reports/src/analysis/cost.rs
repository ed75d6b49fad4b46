//! One cost of a contrast: the ratio with its intervals and everything printed beside them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// candidate / control of a cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// The same of the ratio of means; null where a cost may add up to zero.
    #[serde(default)]
    pub ratio_of_means_bootstrap: Option<BootstrapSummary>,
    /// Geometric mean ratio over the pairs that both arms passed: selected by outcome, shown and never judged.
    #[serde(default)]
    pub both_passed_ratio: Option<f64>,
    /// Least and largest ratio when one cluster is left out; null below three clusters.
    pub leave_one_cluster_out: Option<(f64, f64)>,
    /// Where the spread comes from; null below two clusters or without repeats.
    pub variance: Option<VarianceComponents>,
}

/// Components of the spread of a log cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Censored {
    /// Of the control.
    pub control: u64,
    /// Of the candidate.
    pub candidate: u64,
    /// Pairs in which both were: their ratio is about 1 by construction.
    #[serde(default)]
    pub both: u64,
}

/// Bootstrap by cluster of the ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootstrapSummary {
    /// Percentile lower limit.
    pub lower: f64,
    /// Percentile upper limit.
    pub upper: f64,
    /// BCa lower limit; null where undefined.
    pub bca_lower: Option<f64>,
    /// BCa upper limit.
    pub bca_upper: Option<f64>,
    /// Studentized lower limit; null up to ten clusters, for ratios of means, and where a resample has no spread.
    #[serde(default)]
    pub studentized_lower: Option<f64>,
    /// Studentized upper limit.
    #[serde(default)]
    pub studentized_upper: Option<f64>,
    /// `enumerated` or `drawn`.
    pub method: String,
    /// At least twelve clusters?
    pub reliable: bool,
}
