//! Gates: rules that were written down before the first cell ran, and the three ways in which they can end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{ContrastId, GateId};
use crate::metric::Metric;
use crate::task::Track;

/// A pre-registered rule on one metric of one or more contrasts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateRule {
    /// Its name.
    pub id: GateId,
    /// The number it looks at.
    pub metric: Metric,
    /// What it tolerates.
    pub margin: Margin,
    /// The contrasts it hangs on.
    pub contrasts: Vec<ContrastId>,
    /// To which tasks its verdict generalises.
    pub scope: GateScope,
    /// Only tasks of this track; none = all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub track: Option<Track>,
}

/// The loss that a gate tolerates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "kebab-case")]
pub enum Margin {
    /// candidate / control at most this.
    RatioAtMost {
        /// The limit, e.g. 1.25.
        limit: f64,
    },
    /// pass rate of the candidate at most this much below the control's (0.10 = ten points).
    NonInferior {
        /// The tolerated loss as a fraction.
        margin: f64,
    },
    /// The candidate's rate at least this, by an exact one-sided bound.
    RateAtLeast {
        /// The threshold, e.g. 0.95.
        least: f64,
    },
    /// No valid candidate cell above this; a statement about the cells that were run.
    NeverAbove {
        /// The largest count that a cell may show, usually 0.
        most: f64,
    },
    /// At least one of these outcomes is better than the control's, Holm over them.
    AnyBetter {
        /// The pre-registered primary outcomes.
        outcomes: Vec<Metric>,
    },
}

/// To which tasks a verdict generalises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateScope {
    /// PASS must hold for tasks like these; FAIL needs to be true only on the tasks that were run.
    TasksLikeThese,
    /// Both by the fixed-task interval; the verdict says "on these tasks".
    TheseTasks,
}

/// How a gate, or a run, ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Decision {
    /// No valid block.
    NoData,
    /// Too many, or unequally many, invalid cells; or a negative control that did not fail.
    InvalidRun,
    /// The rule is broken.
    Fail,
    /// The rule holds.
    Pass,
    /// The data cannot tell.
    Inconclusive,
    /// The rule has no meaning in this run (for instance wall time under the oracle).
    NotApplicable,
}

impl Decision {
    /// The word used in every output.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoData => "NO_DATA",
            Self::InvalidRun => "INVALID_RUN",
            Self::Fail => "FAIL",
            Self::Pass => "PASS",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::NotApplicable => "NOT_APPLICABLE",
        }
    }
}
