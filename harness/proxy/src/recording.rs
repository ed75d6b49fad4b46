//! What a recorder hands back when its attempt is over.

use std::collections::BTreeMap;

use bench_core::ledger::{
    AgentTotals, FirstRequest, Load, OracleEvidence, TokenBasis, ToolEntry, TurnEntry, Usage,
};
use bench_core::lifecycle::ShownTurn;
use bench_core::{Ending, Sha256Hex, UpstreamEvidence};
use bench_record::{Charged, RequestClassTotals};

/// One attempt as its requests tell it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// Why the recorder ended the attempt; null when it did not.
    pub stop: Option<Ending>,
    /// The first request; null when the agent never asked the model.
    pub first_request: Option<FirstRequest>,
    /// Every tool ever offered, in order of first offering.
    pub tools: Vec<ToolEntry>,
    /// Turn by turn.
    pub turns: Vec<TurnEntry>,
    /// What each request of the agent's own loop showed, those that were never answered too.
    pub shown: Vec<ShownTurn>,
    /// Requests by class (`agent_turn`, `title`, …).
    pub requests_by_class: BTreeMap<String, RequestClassTotals>,
    /// What each second agent asked for.
    pub agents: Vec<AgentTotals>,
    /// From the main agent's first request to the end of its last answer; null without a turn.
    pub critical_path_ms: Option<f64>,
    /// Milliseconds for which second agents and background commands ran, added up.
    pub beside_ms: f64,
    /// Tools that appeared after the first request.
    pub loads: Vec<Load>,
    /// How tokens were counted.
    pub tokens: TokenBasis,
    /// What the provider said, summed; null without a word from it.
    pub provider_usage: Option<Usage>,
    /// Sums.
    pub totals: Totals,
    /// US dollars by the price card; null when a model is unpriced or an answer did not state its usage.
    pub cost_usd: Option<f64>,
    /// What the run's caps were charged with.
    pub charged: Charged,
    /// Milliseconds in which at least one request waited for the upstream.
    pub upstream_wait_ms: f64,
    /// The upstream.
    pub upstream: UpstreamEvidence,
    /// Why the upstream was still being asked again when the attempt ended; null when it was not.
    pub failing: Option<String>,
    /// How the oracle played; null under other upstreams.
    pub oracle: Option<OracleEvidence>,
    /// Digest over the semantic content of all chat requests and responses.
    pub transcript_sha256: Sha256Hex,
}

/// Sums over an attempt. Null = unknown, never zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Input tokens of all answered requests, cached ones included; null when no request was answered.
    pub input_tokens: Option<u64>,
    /// Of these, cached; null unless the provider said it for every one.
    pub cached_input_tokens: Option<u64>,
    /// Output tokens, reasoning included.
    pub output_tokens: Option<u64>,
    /// Of these, reasoning; null unless the provider said it for every one.
    pub reasoning_tokens: Option<u64>,
    /// Input plus output.
    pub total_tokens: Option<u64>,
    /// Requests of every class.
    pub requests: u64,
    /// Turns of the agent's own loop.
    pub turns: u64,
    /// Tool calls by the model in these turns.
    pub tool_calls: u64,
    /// Of these, refused or failed; null when nothing is known about this agent's errors.
    pub tool_errors: Option<u64>,
    /// Questions to the user that were answered in his place.
    pub human_steps: u64,
    /// Tries that the recorder made again.
    pub retries: u64,
    /// Turns whose tool definitions differ from those of the turn before.
    pub surface_changes: u64,
    /// Context compactions.
    pub compactions: u64,
    /// Groups or sets of tools loaded.
    pub loads: u64,
}
