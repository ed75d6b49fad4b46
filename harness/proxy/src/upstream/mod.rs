//! Who answers model calls: one file each behind one trait. Request bytes in, byte stream out.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bench_core::ledger::OracleEvidence;
use bench_core::{Cell, Ending, EndingKind};
use bench_wire::ModelRequest;
use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::{HeaderMap, Method, StatusCode};

use crate::classify::RequestClass;

mod endpoint;
pub mod oracle;
mod replay;

pub use endpoint::{
    EndpointSpec, EndpointUpstream, Preflight, RetryPolicy, RoadRule, Timeouts, UpstreamError,
};
pub use replay::{ReplayError, ReplayUpstream, VOLATILE_PATTERNS};

/// A future that can be kept behind a trait object.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The body of a response, piece by piece as it arrives.
pub type UpstreamBody = UnsyncBoxBody<Bytes, UpstreamFault>;

/// Who answers model calls.
pub trait Upstream: Send + Sync {
    /// Answers one request.
    fn call(&self, request: UpstreamRequest) -> BoxFuture<'_, Result<UpstreamResponse, UpstreamFault>>;

    /// `oracle`, `openai-chat`, …
    fn kind(&self) -> &'static str;

    /// Host asked; `None` for built-in ones.
    fn host(&self) -> Option<String>;

    /// Must a request be read before this upstream can be asked?
    fn reads(&self) -> bool {
        true
    }

    /// Is the usage that it states the provider's own word, or only a local count?
    fn usage_source(&self) -> UsageSource;

    /// An attempt at a cell begins; its requests will show this credential.
    fn enter(&self, _credential: &str, _cell: &Cell) {}

    /// The attempt with this credential is over: hands back how it was played, where anything was.
    fn leave(&self, _credential: &str) -> Option<OracleEvidence> {
        None
    }
}

/// Whose word a stated usage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageSource {
    /// A provider's bill.
    Provider,
    /// Counted here, over JSON.
    LocalCount,
}

/// A request as it goes to an upstream.
#[derive(Debug, Clone)]
pub struct UpstreamRequest {
    /// Method as sent.
    pub method: Method,
    /// Path and query as sent to the recorder.
    pub path: String,
    /// Headers as sent, without host, connection headers and credentials.
    pub headers: HeaderMap,
    /// Body bytes as sent.
    pub body: Bytes,
    /// The attempt's own token: what the agent showed as its key. Never sent to a provider.
    pub credential: String,
    /// The second agent that asks; none = the main one.
    pub agent: Option<String>,
    /// What it says; none where it went on its way unread.
    pub read: Option<ReadRequest>,
    /// Where an upstream that asks again writes down what failed.
    pub tries: Tries,
}

/// Tries of a request that failed so far: known even when nobody waits for its end any more.
#[derive(Debug, Clone, Default)]
pub struct Tries(Arc<Mutex<Vec<Retry>>>);

impl Tries {
    /// One more failed.
    pub fn note(&self, retry: Retry) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(retry);
    }

    /// All of them, in order.
    pub fn so_far(&self) -> Vec<Retry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A request as the recorder understands it.
#[derive(Debug, Clone)]
pub struct ReadRequest {
    /// What the recorder takes it for.
    pub class: RequestClass,
    /// Its body, read.
    pub chat: Arc<ModelRequest>,
    /// Local count of what the model reads; none where nobody had to know it before the request went.
    pub input_tokens: Option<u64>,
}

/// A response whose head has arrived.
pub struct UpstreamResponse {
    /// Status.
    pub status: StatusCode,
    /// Headers, without connection headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: UpstreamBody,
    /// Tries that failed before this one, in order.
    pub retries: Vec<Retry>,
    /// What the oracle played in this turn.
    pub steps: Vec<OracleStep>,
}

/// A try that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Retry {
    /// Status answered; null when there was none.
    pub status: Option<u16>,
    /// Why it counts as failed.
    pub reason: String,
    /// How long the try itself took, milliseconds.
    pub took_ms: f64,
    /// Bytes of its answer that had arrived and were thrown away.
    pub bytes: u64,
    /// Waited before the next try, milliseconds.
    pub wait_ms: f64,
}

/// One action as the oracle played it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OracleStep {
    /// Step of the plan, from 1.
    pub step: u32,
    /// Kind of action, or what a profile does instead (`look-around`, `wrong-arguments`, `invent-tool`, `discover`).
    pub action: String,
    /// Tool that plays it; empty for what is only said.
    pub tool: String,
    /// Why it is not the tool of its kind: `not_offered` or `refused`; null = it is.
    pub substitution: Option<String>,
}

/// No answer: the attempt ends with this.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}: {}", ending.kind, ending.detail.as_deref().unwrap_or("no detail"))]
pub struct UpstreamFault {
    /// How the attempt ends.
    pub ending: Box<Ending>,
    /// Status of the last answer, where there was one.
    pub status: Option<u16>,
    /// Tries that failed, in order.
    pub retries: Vec<Retry>,
    /// The answer broke off while it passed: the agent may ask again before the attempt ends.
    pub broke_off: bool,
}

impl UpstreamFault {
    /// An answer that had begun broke off.
    pub fn broken(detail: impl Into<String>) -> Self {
        Self { broke_off: true, ..Self::unavailable(detail) }
    }

    /// The provider could not answer.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::ending(Ending::because(EndingKind::UpstreamFault, detail))
    }

    /// The attempt ends for another reason.
    pub fn ending(ending: Ending) -> Self {
        Self { ending: Box::new(ending), status: None, retries: Vec::new(), broke_off: false }
    }
}
