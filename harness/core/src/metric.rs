//! Metrics: numbers read off a cell record, each with unit, direction and nature.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A number read off a cell record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Share of cells that the verifier passed. Not a cost: compared by difference.
    PassRate,
    /// Local count over the whole body of the first request.
    FirstRequestTokens,
    /// Input tokens over the cell, cached ones included.
    InputTokens,
    /// Of these, served from the provider's cache.
    CachedInputTokens,
    /// Output tokens over the cell, reasoning included.
    OutputTokens,
    /// Of these, reasoning.
    ReasoningTokens,
    /// Input plus output.
    TotalTokens,
    /// Requests of every class.
    Requests,
    /// Model responses in the agent's own loop.
    Turns,
    /// Calls of tools by the model.
    ToolCalls,
    /// Calls of tools by other tools (code mode).
    NestedToolCalls,
    /// Tool calls that were refused or failed.
    ToolErrors,
    /// Child agents started.
    Subagents,
    /// Context compactions.
    Compactions,
    /// Capability groups or tools loaded.
    Loads,
    /// Attempts on anything beyond the cell's root.
    OutsideAccesses,
    /// Requests repeated by the recorder after an upstream fault.
    Retries,
    /// Changes of the tool surface after the first request.
    SurfaceChanges,
    /// Calls that list, load or search tools.
    DiscoveryCalls,
    /// Actions that a deferred tool would have played and another one did, because it was never made callable.
    NeverDiscovered,
    /// Tool calls equal in name and arguments to an earlier one.
    RepeatedCalls,
    /// Tool calls over turns.
    CallsPerTurn,
    /// Of the tool calls, the share carried out beside another.
    ConcurrentShare,
    /// Reads of the archive over results that it holds.
    ArchiveReadsPerResult,
    /// Bytes of results that were kept out of the context.
    BytesKeptOut,
    /// Scripts that the model handed over.
    Scripts,
    /// Of these, failed for whatever reason.
    ScriptErrors,
    /// Of these, handed over right after one that had failed.
    ScriptRetries,
    /// Of these, ended at their time limit.
    ScriptTimeouts,
    /// Nested calls over scripts.
    NestedCallsPerScript,
    /// Of the nested calls, the share made while another one of the script was open.
    NestedConcurrentShare,
    /// Bytes of guidance that was said again at the end of requests.
    RepeatedGuidanceBytes,
    /// Times a person had to answer, hand over or approve.
    HumanSteps,
    /// The outcome that the cell's task wrote down beforehand as its primary one; unknown where it has none.
    PrimaryOutcome,
    /// From the main agent's first request to the end of its last answer. What runs beside it counts only where it is
    /// waited for.
    CriticalPathMs,
    /// Milliseconds for which second agents and background commands ran, added up.
    BesideMs,
    /// Tokens of the main agent's own requests, in and out.
    MainTokens,
    /// Tokens of the requests of second agents, in and out.
    ChildTokens,
    /// Exec to exit of the agent.
    WallMs,
    /// Cost by the experiment's price card.
    CostUsd,
    /// Share of cells of the orchestration track that loaded something before their last turn; a cut-off cell did not.
    DiscoveryRate,
    /// Loads of which no tool was called.
    UnneededLoads,
    /// Loads whose tools were not offered in the turn right after a call.
    LateLoads,
    /// Tools called before they were offered, and changes of the surface that no load explains.
    LifecycleViolations,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

/// What a metric is, as the lock pre-registers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricNature {
    /// Unit of the number.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// Must repeats of one arm on one task agree exactly under a stochastic upstream too?
    pub deterministic: bool,
    /// Is it cut off when a limit ends the cell?
    pub censorable: bool,
}

impl Metric {
    /// Every metric, in the order of reports.
    pub const ALL: [Metric; 44] = [
        Metric::PassRate,
        Metric::FirstRequestTokens,
        Metric::InputTokens,
        Metric::CachedInputTokens,
        Metric::OutputTokens,
        Metric::ReasoningTokens,
        Metric::TotalTokens,
        Metric::Requests,
        Metric::Turns,
        Metric::ToolCalls,
        Metric::NestedToolCalls,
        Metric::ToolErrors,
        Metric::Subagents,
        Metric::Compactions,
        Metric::Loads,
        Metric::OutsideAccesses,
        Metric::Retries,
        Metric::SurfaceChanges,
        Metric::DiscoveryCalls,
        Metric::NeverDiscovered,
        Metric::RepeatedCalls,
        Metric::CallsPerTurn,
        Metric::ConcurrentShare,
        Metric::ArchiveReadsPerResult,
        Metric::BytesKeptOut,
        Metric::Scripts,
        Metric::ScriptErrors,
        Metric::ScriptRetries,
        Metric::ScriptTimeouts,
        Metric::NestedCallsPerScript,
        Metric::NestedConcurrentShare,
        Metric::RepeatedGuidanceBytes,
        Metric::HumanSteps,
        Metric::PrimaryOutcome,
        Metric::CriticalPathMs,
        Metric::BesideMs,
        Metric::MainTokens,
        Metric::ChildTokens,
        Metric::WallMs,
        Metric::CostUsd,
        Metric::DiscoveryRate,
        Metric::UnneededLoads,
        Metric::LateLoads,
        Metric::LifecycleViolations,
    ];

    /// The key in files and output.
    pub fn key(self) -> &'static str {
        match self {
            Self::PassRate => "pass_rate",
            Self::FirstRequestTokens => "first_request_tokens",
            Self::InputTokens => "input_tokens",
            Self::CachedInputTokens => "cached_input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::ReasoningTokens => "reasoning_tokens",
            Self::TotalTokens => "total_tokens",
            Self::Requests => "requests",
            Self::Turns => "turns",
            Self::ToolCalls => "tool_calls",
            Self::NestedToolCalls => "nested_tool_calls",
            Self::ToolErrors => "tool_errors",
            Self::Subagents => "subagents",
            Self::Compactions => "compactions",
            Self::Loads => "loads",
            Self::OutsideAccesses => "outside_accesses",
            Self::Retries => "retries",
            Self::SurfaceChanges => "surface_changes",
            Self::DiscoveryCalls => "discovery_calls",
            Self::NeverDiscovered => "never_discovered",
            Self::RepeatedCalls => "repeated_calls",
            Self::CallsPerTurn => "calls_per_turn",
            Self::ConcurrentShare => "concurrent_share",
            Self::ArchiveReadsPerResult => "archive_reads_per_result",
            Self::BytesKeptOut => "bytes_kept_out",
            Self::Scripts => "scripts",
            Self::ScriptErrors => "script_errors",
            Self::ScriptRetries => "script_retries",
            Self::ScriptTimeouts => "script_timeouts",
            Self::NestedCallsPerScript => "nested_calls_per_script",
            Self::NestedConcurrentShare => "nested_concurrent_share",
            Self::RepeatedGuidanceBytes => "repeated_guidance_bytes",
            Self::HumanSteps => "human_steps",
            Self::PrimaryOutcome => "primary_outcome",
            Self::CriticalPathMs => "critical_path_ms",
            Self::BesideMs => "beside_ms",
            Self::MainTokens => "main_tokens",
            Self::ChildTokens => "child_tokens",
            Self::WallMs => "wall_ms",
            Self::CostUsd => "cost_usd",
            Self::DiscoveryRate => "discovery_rate",
            Self::UnneededLoads => "unneeded_loads",
            Self::LateLoads => "late_loads",
            Self::LifecycleViolations => "lifecycle_violations",
        }
    }

    /// The metric of this key.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.key() == key)
    }

    /// A share of cells, compared by difference or with a threshold, never by ratio.
    pub fn is_rate(self) -> bool {
        self.nature().direction == Direction::Higher
    }

    /// Unit, direction and nature.
    pub fn nature(self) -> MetricNature {
        let (unit, direction, deterministic, censorable) = match self {
            Self::PassRate | Self::DiscoveryRate => ("fraction", Direction::Higher, false, false),
            Self::FirstRequestTokens => ("tokens", Direction::Lower, true, false),
            Self::InputTokens
            | Self::CachedInputTokens
            | Self::OutputTokens
            | Self::ReasoningTokens
            | Self::MainTokens
            | Self::ChildTokens
            | Self::TotalTokens => ("tokens", Direction::Lower, false, true),
            Self::Requests
            | Self::Turns
            | Self::ToolCalls
            | Self::NestedToolCalls
            | Self::ToolErrors
            | Self::Subagents
            | Self::Compactions
            | Self::Loads
            | Self::OutsideAccesses
            | Self::Retries
            | Self::SurfaceChanges
            | Self::DiscoveryCalls
            | Self::NeverDiscovered
            | Self::RepeatedCalls
            | Self::Scripts
            | Self::ScriptErrors
            | Self::ScriptRetries
            | Self::ScriptTimeouts
            | Self::UnneededLoads
            | Self::LateLoads
            | Self::LifecycleViolations
            | Self::HumanSteps => ("count", Direction::Lower, false, true),
            // Ratios of what was reached until the end: a cut takes from both sides.
            Self::CallsPerTurn
            | Self::ConcurrentShare
            | Self::NestedCallsPerScript
            | Self::NestedConcurrentShare => ("ratio", Direction::Higher, false, false),
            Self::RepeatedGuidanceBytes => ("bytes", Direction::Lower, false, true),
            Self::ArchiveReadsPerResult => ("ratio", Direction::Lower, false, false),
            Self::BytesKeptOut => ("bytes", Direction::Higher, false, false),
            Self::WallMs | Self::CriticalPathMs => ("ms", Direction::Lower, false, true),
            Self::PrimaryOutcome => ("as its metric", Direction::Lower, false, true),
            // More of it is neither better nor worse by itself; as a cost it is work that somebody pays for.
            Self::BesideMs => ("ms", Direction::Lower, false, true),
            Self::CostUsd => ("usd", Direction::Lower, false, true),
        };
        MetricNature { unit, direction, deterministic, censorable }
    }
}

impl std::fmt::Display for Metric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_serde_writes_and_are_read_back() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.key());
            assert_eq!(Metric::from_key(metric.key()), Some(metric));
        }
    }
}
