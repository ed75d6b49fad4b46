//! One request of an attempt: a line of `requests/index.jsonl`, flushed per request.

use bench_core::ledger::Usage;
use bench_core::{Sha256Hex, WireKind};
use serde::{Deserialize, Serialize};

/// One request as the recorder saw it. Bodies lie beside the index; read them through
/// `bench show RUN CELL --request N --raw`, which prints the exact bytes, not by file name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    /// Version of this record's format.
    pub format_version: u32,
    /// From 1.
    pub request: u32,
    /// `agent_turn`, `title`, `compaction`, `probe`, `refused`.
    pub class: String,
    /// Why so classed.
    pub rule: String,
    /// The API.
    pub wire: WireKind,
    /// HTTP method.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// Request headers as sent, in order, without credentials.
    pub headers: Vec<(String, String)>,
    /// Model id asked for.
    pub model: Option<String>,
    /// RFC 3339 UTC.
    pub started_at: String,
    /// From the request's last byte to the response's first.
    pub first_byte_ms: Option<f64>,
    /// From the request's last byte to the response's last.
    pub last_byte_ms: Option<f64>,
    /// HTTP status answered; null when the connection ended first.
    pub status: Option<u16>,
    /// Digest of the request body.
    pub body_sha256: Sha256Hex,
    /// Its length.
    pub body_bytes: u64,
    /// Tokens of the body by the experiment's tokenizer; null when it is not text.
    pub body_tokens: Option<u64>,
    /// Tokens of the prompt that the model is given for it, where a renderer of the provider's own knows it.
    #[serde(default)]
    pub prompt_tokens: Option<u64>,
    /// Content-Encoding; null = identity.
    pub encoding: Option<String>,
    /// Digest of the response body; null when none arrived.
    pub response_sha256: Option<Sha256Hex>,
    /// Content-Type of the response; null when there was none.
    #[serde(default)]
    pub response_type: Option<String>,
    /// Content-Encoding of the response; null = identity.
    #[serde(default)]
    pub response_encoding: Option<String>,
    /// What the provider said.
    pub usage: Option<Usage>,
    /// Local count of the response's content; null when it could not be read.
    pub response_tokens: Option<u64>,
    /// The request that this one repeats.
    pub retry_of: Option<u32>,
    /// The second agent that asked, `subagent-N` where it says no name; null = the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}
