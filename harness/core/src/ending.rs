//! Why an attempt stopped, and the one table of what follows from it.

use serde::{Deserialize, Serialize};

/// Why an attempt stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    /// The kind.
    pub kind: EndingKind,
    /// Exit code of the agent's leader process; null when it was ended by a signal or never started.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// The limit that was hit.
    pub limit: Option<LimitHit>,
    /// One sentence for people.
    pub detail: Option<String>,
    /// Whose doing it was.
    pub blame: Blame,
}

/// A limit that was hit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitHit {
    /// The experiment file's key.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// Kinds of ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndingKind {
    /// The agent stopped by itself with exit code 0.
    Completed,
    /// Wall clock.
    Timeout,
    /// Turn limit.
    TurnBudget,
    /// Request limit.
    RequestBudget,
    /// Token limit.
    TokenBudget,
    /// Cost limit.
    CostBudget,
    /// Output limit.
    OutputCap,
    /// The agent stopped by itself with another exit code, or by a signal.
    AgentError,
    /// The oracle's plan needs an action that no offered tool can play.
    NoSuchTool,
    /// A call and its one fallback were both refused.
    ToolRefused,
    /// The agent never asked the model, or left before it was answered.
    NoModelCall,
    /// The agent asked for a login.
    LoginRequired,
    /// The agent tried something beyond its cell.
    OutsideAccess,
    /// The upstream could not answer.
    UpstreamFault,
    /// Set-up or verifier failed.
    HarnessFault,
    /// The walls could not be put up or a probe went through them.
    IsolationUnavailable,
    /// The record of what the cell tried has a hole.
    EvidenceIncomplete,
    /// Something of the cell could not be ended.
    NotQuiescent,
    /// The oracle lost its place in the plan.
    OracleLost,
    /// A replayed request differs from the recorded one.
    ReplayDrift,
    /// A hidden file's canary stood in a request.
    CanarySeen,
    /// The harness was stopped.
    Interrupted,
}

/// Whose doing an ending was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blame {
    /// Nobody's: it completed.
    Nobody,
    /// The arm's.
    Arm,
    /// The provider's.
    Provider,
    /// The harness's.
    Harness,
    /// The verifier's.
    Verifier,
    /// Whoever stopped the run.
    Operator,
}

/// What follows from an ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disposition {
    /// Is the hidden check run?
    pub verified: bool,
    /// How the cell counts.
    pub counting: Counting,
    /// Is it run again?
    pub rerun: Rerun,
    /// Were its costs cut off?
    pub censored: bool,
}

/// How a cell counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// As the verifier said.
    AsGraded,
    /// As failed, whatever stands in the workspace.
    AsFailed,
    /// Its block leaves every metric.
    HarnessInvalid,
    /// There is no outcome.
    Missing,
}

/// Is a cell run again?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rerun {
    /// No.
    No,
    /// The whole block once, in the same order.
    BlockOnce,
}

impl EndingKind {
    /// Every kind, in the order of reports.
    pub const ALL: [EndingKind; 22] = [
        Self::Completed,
        Self::Timeout,
        Self::TurnBudget,
        Self::RequestBudget,
        Self::TokenBudget,
        Self::CostBudget,
        Self::OutputCap,
        Self::AgentError,
        Self::NoSuchTool,
        Self::ToolRefused,
        Self::NoModelCall,
        Self::LoginRequired,
        Self::OutsideAccess,
        Self::UpstreamFault,
        Self::HarnessFault,
        Self::IsolationUnavailable,
        Self::EvidenceIncomplete,
        Self::NotQuiescent,
        Self::OracleLost,
        Self::ReplayDrift,
        Self::CanarySeen,
        Self::Interrupted,
    ];

    /// **The one table**: retry, verification, counting and exclusion all derive from it.
    pub fn disposition(self) -> Disposition {
        let (verified, counting, rerun, censored) = match self {
            Self::Completed => (true, Counting::AsGraded, Rerun::No, false),
            Self::Timeout
            | Self::TurnBudget
            | Self::RequestBudget
            | Self::TokenBudget
            | Self::CostBudget
            | Self::OutputCap => (true, Counting::AsGraded, Rerun::No, true),
            Self::AgentError | Self::NoSuchTool | Self::ToolRefused => {
                (true, Counting::AsGraded, Rerun::No, true)
            }
            Self::NoModelCall | Self::LoginRequired => (false, Counting::AsFailed, Rerun::No, true),
            Self::OutsideAccess => (true, Counting::HarnessInvalid, Rerun::No, false),
            Self::UpstreamFault
            | Self::HarnessFault
            | Self::IsolationUnavailable
            | Self::EvidenceIncomplete
            | Self::NotQuiescent
            | Self::OracleLost
            | Self::ReplayDrift
            | Self::CanarySeen
            | Self::Interrupted => (false, Counting::Missing, Rerun::BlockOnce, true),
        };
        Disposition { verified, counting, rerun, censored }
    }

    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Timeout => "timeout",
            Self::TurnBudget => "turn_budget",
            Self::RequestBudget => "request_budget",
            Self::TokenBudget => "token_budget",
            Self::CostBudget => "cost_budget",
            Self::OutputCap => "output_cap",
            Self::AgentError => "agent_error",
            Self::NoSuchTool => "no_such_tool",
            Self::ToolRefused => "tool_refused",
            Self::NoModelCall => "no_model_call",
            Self::LoginRequired => "login_required",
            Self::OutsideAccess => "outside_access",
            Self::UpstreamFault => "upstream_fault",
            Self::HarnessFault => "harness_fault",
            Self::IsolationUnavailable => "isolation_unavailable",
            Self::EvidenceIncomplete => "evidence_incomplete",
            Self::NotQuiescent => "not_quiescent",
            Self::OracleLost => "oracle_lost",
            Self::ReplayDrift => "replay_drift",
            Self::CanarySeen => "canary_seen",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whose doing it is when nothing more is known.
    pub fn usual_blame(self) -> Blame {
        match self {
            Self::Completed => Blame::Nobody,
            Self::Timeout
            | Self::TurnBudget
            | Self::RequestBudget
            | Self::TokenBudget
            | Self::CostBudget
            | Self::OutputCap
            | Self::AgentError
            | Self::NoSuchTool
            | Self::ToolRefused
            | Self::NoModelCall
            | Self::LoginRequired
            | Self::OutsideAccess => Blame::Arm,
            Self::UpstreamFault => Blame::Provider,
            Self::HarnessFault
            | Self::IsolationUnavailable
            | Self::EvidenceIncomplete
            | Self::NotQuiescent
            | Self::OracleLost
            | Self::ReplayDrift
            | Self::CanarySeen => Blame::Harness,
            Self::Interrupted => Blame::Operator,
        }
    }
}

impl Ending {
    /// An ending of this kind with nothing more to say.
    pub fn of(kind: EndingKind) -> Self {
        Self { kind, exit_code: None, signal: None, limit: None, detail: None, blame: kind.usual_blame() }
    }

    /// The same with one sentence for people.
    pub fn because(kind: EndingKind, detail: impl Into<String>) -> Self {
        Self { detail: Some(detail.into()), ..Self::of(kind) }
    }

    /// What follows from it.
    pub fn disposition(&self) -> Disposition {
        self.kind.disposition()
    }
}

impl std::fmt::Display for EndingKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_serde_writes() {
        for kind in EndingKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
        }
    }

    #[test]
    fn what_is_run_again_has_no_outcome_and_what_has_an_outcome_is_not_run_again() {
        for kind in EndingKind::ALL {
            let row = kind.disposition();
            assert_eq!(row.rerun == Rerun::BlockOnce, row.counting == Counting::Missing, "{kind}");
            if row.counting == Counting::Missing {
                assert!(!row.verified, "{kind} has no outcome, so nothing is verified");
            }
        }
    }
}
