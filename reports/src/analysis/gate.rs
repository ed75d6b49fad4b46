//! Rules and how they ended: gates, candidates that may be claimed, the verdict of the run.

use bench_core::{Decision, GateScope, Metric};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One gate on one contrast.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Exact sign-flip over clusters against the limit, one-sided p of "not below it": shown beside the t interval from 5 to
    /// 20 clusters, never deciding; null elsewhere and where a cost is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sign_flip_p: Option<f64>,
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeTest {
    /// The outcome.
    pub metric: Metric,
    /// One-sided p of "not better"; null where it cannot be tested, which counts as 1.
    pub p: Option<f64>,
    /// After Holm, over all outcomes of the gate.
    pub holm_p: f64,
}

/// A main metric that no gate decides on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// Whether a candidate may be claimed, several being looked at.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// The verdict of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
