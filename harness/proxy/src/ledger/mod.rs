//! The ledger of one attempt: facts per exchange, gathered as they pass, and what they add up to at the end.

mod catalogue;
mod compile;
mod measure;
mod prefix;
mod spool;
mod walk;

use std::sync::Arc;

use bench_core::ledger::{FirstRequest, Usage};
use bench_core::{Sha256Hex, WireKind};
use bench_tokens::Counter;
use bench_wire::{Api, Call, Turn, WireUsage};
use serde::{Deserialize, Serialize};

pub(crate) use catalogue::tool_sizes;
pub(crate) use compile::{LedgerContext, compile, late_classes, models, shown};
pub(crate) use measure::{ToolSize, first_request, saturating_u32, second_count, semantic_sha256};
pub(crate) use prefix::{Prefix, Sent};
pub(crate) use spool::Spool;
pub(crate) use walk::follows_a_resource;

use crate::classify::RequestClass;
use crate::weighing::Weight;

/// One request and what came back, as facts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Exchange {
    pub(crate) request: u32,
    pub(crate) class: RequestClass,
    /// The second agent that asked; none = the main one.
    pub(crate) agent: Option<String>,
    /// The request's side; none when it was no chat request.
    pub(crate) chat: Option<ChatFacts>,
    /// The response's side; none when none came from the upstream.
    pub(crate) answer: Option<Answer>,
    /// Was it given up before an answer came, so that nobody knows what it cost?
    pub(crate) abandoned: bool,
    /// Tries of the recorder that failed.
    pub(crate) retries: u32,
    /// Of these, answered with a success that could not be used: the provider may have charged for it.
    #[serde(default)]
    pub(crate) thrown_away: u32,
    /// When it was passed on, and when the last byte of the response arrived, on the recorder's clock.
    pub(crate) waited: Option<(f64, f64)>,
}

/// What a chat request says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ChatFacts {
    pub(crate) model: String,
    pub(crate) weight: Weight,
    /// Shared by all requests that show the same; written out once.
    #[serde(skip, default = "Offer::none")]
    pub(crate) offer: Arc<Offer>,
    /// Sizes of tools that no earlier request offered.
    pub(crate) new_tools: Vec<ToolSize>,
    /// Measured where this may be the first request.
    pub(crate) first: Option<Box<FirstRequest>>,
    /// Tool results that no earlier request carried.
    pub(crate) results: Vec<ToolResult>,
    pub(crate) semantic: Sha256Hex,
    /// What it shares with the turn before.
    pub(crate) prefix: Prefix,
}

/// The tools of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) names: Vec<String>,
    /// Plain names of those that can be called by this request alone.
    pub(crate) direct: Vec<String>,
    pub(crate) callable: u32,
    pub(crate) sha256: Sha256Hex,
}

impl Offer {
    /// Of nothing.
    fn none() -> Arc<Self> {
        Arc::new(Self { names: Vec::new(), direct: Vec::new(), callable: 0, sha256: Sha256Hex::of("") })
    }
}

/// A tool result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolResult {
    pub(crate) tool: Option<String>,
    pub(crate) refused: bool,
}

/// What an upstream answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// What the turn said, or what arrived of it; none when the response holds none.
    pub(crate) turn: Option<Said>,
    /// Did it arrive to its end, and could it be read?
    pub(crate) whole: bool,
    pub(crate) output_tokens: u64,
}

impl Answer {
    /// Did the upstream accept the request, so that it costs something?
    pub(crate) fn is_billed(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// What is kept of a turn for the sums at the end: not its texts, which lie on disk and would make a long attempt grow.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) model: String,
    /// Names of the tools called, with their namespaces.
    pub(crate) calls: Vec<String>,
    pub(crate) usage: Option<WireUsage>,
    /// Digest of all that it says. Ids of responses and calls are left out: providers draw them anew.
    pub(crate) digest: Option<Sha256Hex>,
}

impl Said {
    pub(crate) fn of(turn: &Turn) -> Self {
        let mut parts = vec![("text", turn.text.as_str()), ("reasoning", turn.reasoning.as_str())];
        for call in &turn.calls {
            parts.extend([("call", call.name.as_str()), ("arguments", call.arguments.as_str())]);
        }
        parts.push(("finish", turn.finish.as_deref().unwrap_or_default()));
        Self {
            model: turn.model.clone(),
            calls: turn.calls.iter().map(full_name).collect(),
            usage: turn.usage,
            digest: Some(Sha256Hex::of_parts(parts.iter().map(|(name, text)| (*name, text.as_bytes())))),
        }
    }
}

/// The name of a call, with its namespace where the wire says it apart.
fn full_name(call: &Call) -> String {
    match &call.namespace {
        Some(namespace) => format!("{namespace}.{}", call.name),
        None => call.name.clone(),
    }
}

/// Local count of what a model said: text, reasoning, names and arguments of calls.
pub(crate) fn turn_tokens(counter: &Counter, turn: &Turn) -> u64 {
    let calls = turn.calls.iter().map(|call| counter.count(&call.name) + counter.count(&call.arguments));
    counter.count(&turn.text) + counter.count(&turn.reasoning) + calls.sum::<u64>()
}

/// The API in the record's word.
pub(crate) fn wire_of(api: Api) -> WireKind {
    match api {
        Api::Chat => WireKind::OpenaiChat,
        Api::Responses => WireKind::OpenaiResponses,
        Api::Messages => WireKind::AnthropicMessages,
        Api::Gemini => WireKind::Gemini,
    }
}

/// Usage in the record's form.
pub(crate) fn usage_of(said: &WireUsage) -> Usage {
    Usage {
        input_tokens: said.input_tokens,
        cached_input_tokens: said.cached_input_tokens,
        cache_write_tokens: said.cache_write_tokens,
        output_tokens: said.output_tokens,
        reasoning_tokens: said.reasoning_tokens,
    }
}
