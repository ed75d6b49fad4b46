//! What a surface costs, read off the wire of one attempt.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Sha256Hex;
use crate::invocation::WireKind;
use crate::shared_text::SharedText;

/// Provider usage in one normal form: input includes cached, output includes reasoning. Null = not said, never zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub input_tokens: Option<u64>,
    /// Of these, read from the provider's cache.
    pub cached_input_tokens: Option<u64>,
    /// Of the input, written to the provider's cache.
    #[serde(default)]
    pub cache_write_tokens: Option<u64>,
    /// Output tokens, reasoning included.
    pub output_tokens: Option<u64>,
    /// Of these, reasoning.
    pub reasoning_tokens: Option<u64>,
}

/// Bytes and tokens of one part of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Bytes as sent.
    pub bytes: u64,
    /// Tokens by the experiment's tokenizer.
    pub tokens: u64,
}

/// The tools of a request as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolsSize {
    /// Entries of the tools array.
    pub entries: u32,
    /// Tools that the model can call, nested and hosted ones included.
    pub callable: u32,
    /// Bytes of the minified JSON of all tool definitions.
    pub bytes: u64,
    /// Tokens of the same.
    pub tokens: u64,
}

/// The first request of an attempt that carries tools (or, without tools, the first agent turn).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FirstRequest {
    /// Its number in the attempt, from 1.
    pub request: u32,
    /// The API.
    pub wire: WireKind,
    /// The model id asked for.
    pub model: SharedText,
    /// Whole body.
    pub body_bytes: u64,
    /// Tokens of the whole body's JSON.
    pub body_tokens: u64,
    /// Tokens of the prompt that the model is given for it, where a renderer of the provider's own knows it; null = unknown.
    #[serde(default)]
    pub prompt_tokens: Option<u64>,
    /// Tokens of the whole body by [`TokenizerIdentity::second`]; null = not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_body_tokens: Option<u64>,
    /// Plain text of system, developer and instruction parts, wherever they stand.
    pub system: Size,
    /// The same by role.
    pub system_by_role: Vec<(String, Size)>,
    /// JSON of all other messages.
    pub messages: Size,
    /// All tool definitions.
    pub tools: ToolsSize,
    /// Types of tools, items and parts that no reader knows, with how often they stand there: their bytes are counted,
    /// their meaning is not known.
    #[serde(default)]
    pub unknown_types: BTreeMap<String, u32>,
    /// Digest of the body's bytes.
    pub raw_sha256: Sha256Hex,
    /// Digest with volatile fields dropped.
    pub semantic_sha256: Sha256Hex,
}

impl FirstRequest {
    /// The best that is known without asking the provider: the rendered prompt's tokens, else those of the body's JSON.
    pub fn input_tokens(&self) -> u64 {
        self.prompt_tokens.unwrap_or(self.body_tokens)
    }

    /// What [`FirstRequest::input_tokens`] counts: `rendered` or `json`.
    pub fn basis(&self) -> &'static str {
        if self.prompt_tokens.is_some() { "rendered" } else { "json" }
    }
}

/// One tool over an attempt: what it cost and whether it was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolEntry {
    /// Name as offered.
    pub name: SharedText,
    /// Namespace, where the wire has them; of a tool that is told of in another's description, that other one.
    pub namespace: Option<SharedText>,
    /// `function`, `custom`, a hosted type as sent, or `listed` (told of, not defined).
    pub kind: SharedText,
    /// `direct`, `deferred`, `found` (shown by a search), `code` (called by code), as far as the request shows it.
    pub exposure: SharedText,
    /// Where its definition stood: `tools`, `input_item`, `system`, `message`, `description`.
    pub r#where: SharedText,
    /// Bytes of its description text.
    pub description_bytes: u64,
    /// Tokens of its description text.
    pub description_tokens: u64,
    /// Bytes of its schema's JSON.
    pub schema_bytes: u64,
    /// Tokens of its schema's JSON.
    pub schema_tokens: u64,
    /// Bytes of its whole definition's JSON.
    pub bytes: u64,
    /// Tokens of its whole definition's JSON.
    pub tokens: u64,
    /// Times called by the model.
    pub calls: u32,
    /// Of these, refused or failed; null = unknown for this agent.
    pub errors: Option<u32>,
    /// Turn at which it was first offered, from 1.
    pub first_offered_turn: u32,
    /// Turn at which it was first called.
    pub first_called_turn: Option<u32>,
    /// Turns whose requests carried it: times its tokens, what it cost over the attempt. Null = not counted.
    #[serde(default)]
    pub offered_turns: Option<u32>,
}

/// One turn of the agent's own loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEntry {
    /// From 1.
    pub turn: u32,
    /// Number of its request in the attempt.
    pub request: u32,
    /// Input tokens: the provider's where said, else the local count.
    pub input_tokens: u64,
    /// Cached ones, where said.
    pub cached_input_tokens: Option<u64>,
    /// Output tokens: the provider's where said, else the local count.
    pub output_tokens: u64,
    /// Callable tools offered.
    pub tools_callable: u32,
    /// Digest of the tool definitions.
    pub surface_sha256: Sha256Hex,
    /// Names of the tools called.
    pub calls: Vec<SharedText>,
    /// Milliseconds from the request's last byte to the response's last byte.
    pub wait_ms: f64,
    /// What fills its context, and what of it a provider's cache can hold from the turn before; null = not measured.
    #[serde(default)]
    pub context: Option<ContextShare>,
}

/// What fills the context of a turn, in bytes of JSON, and what it shares with the turn before from its beginning in the
/// order of a provider's cache: tools, instructions, conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextShare {
    /// Tool definitions.
    pub tools_bytes: u64,
    /// Instructions, wherever they stand.
    pub system_bytes: u64,
    /// Everything else that is said.
    pub messages_bytes: u64,
    /// Bytes up to the first difference from the turn before; null for the first turn.
    pub shared_prefix_bytes: Option<u64>,
    /// `tools`, `system` or `messages`: where something that the turn before had sent was changed or taken away; null =
    /// the conversation only grew.
    pub prefix_broken_in: Option<String>,
}

/// A group or set of tools made callable during the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Capability group; null when the wire does not show it.
    pub group: Option<SharedText>,
    /// Tools that appeared.
    pub tools: Vec<SharedText>,
    /// Turn whose request first offered them.
    pub turn: u32,
    /// Turn at which one of them was first called.
    pub first_call_turn: Option<u32>,
    /// Was one of them called at all?
    pub needed: bool,
}

/// How tokens were counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenBasis {
    /// `provider`, `rendered` or `json`.
    pub basis: SharedText,
    /// `complete`, `lower_bound` or `none`.
    pub completeness: SharedText,
    /// Who counted.
    pub tokenizer: TokenizerIdentity,
}

/// A tokenizer, exactly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenizerIdentity {
    /// Vocabulary name.
    pub name: SharedText,
    /// Crate that encodes.
    #[serde(rename = "crate")]
    pub package: SharedText,
    /// Its version.
    pub version: SharedText,
    /// Digest that identifies the vocabulary.
    pub vocabulary_sha256: Sha256Hex,
}

impl TokenizerIdentity {
    /// The tokenizer that counts the first request a second time, to tell how far a ratio is this one's own doing.
    pub fn second(name: &str) -> &'static str {
        if name == "o200k_base" { "cl100k_base" } else { "o200k_base" }
    }
}

/// What one second agent asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentTotals {
    /// Its name, as the agent that started it gave it.
    pub name: String,
    /// Requests of every kind.
    pub requests: u32,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// When its first request was passed on, in milliseconds since the recorder started; null = none was.
    pub first_ms: Option<f64>,
    /// When its last answer had arrived.
    pub last_ms: Option<f64>,
}

/// How the oracle played.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OracleEvidence {
    /// Steps of the plan that were played to their end.
    pub steps_played: u32,
    /// Steps of the plan.
    pub steps: u32,
    /// Actions played through a tool that is not of their kind.
    pub substitutions: Vec<Substitution>,
    /// What the profile did to this cell; null = it played perfectly.
    pub fault: Option<String>,
}

/// One action played through a tool that is not of its kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Substitution {
    /// Step of the plan, from 1.
    pub step: u32,
    /// Kind of action.
    pub action: String,
    /// Tool that played it.
    pub tool: String,
    /// Why: `not_offered` or `refused`.
    pub why: String,
}
