//! The one door to a model: loopback recorder, upstreams, oracle.
//!
//! Per attempt one [`Recorder`] listens on loopback; whatever the agent asks goes through it to an [`Upstream`] and is
//! kept byte for byte. When the attempt is over it hands back a [`Recording`]: what the surface cost, read off the wire.
//! Starting agents, walls, tasks and verdicts are left to others; so is the journal.

mod account;
mod admission;
mod classify;
mod exchange;
mod facts;
mod headers;
mod ledger;
mod marks;
mod pass_back;
mod recorder;
mod recording;
mod reply;
mod server;
mod shared;
mod spending;
mod tape;
mod trace;
pub mod upstream;
mod weighing;

/// Tokenizers, for those who may not depend on `bench-tokens` themselves.
pub use bench_tokens::{Counter, NAMES as TOKENIZERS, UnknownTokenizer};
use bench_wire::coding;
pub use bench_wire::coding::{CodingError, Decoding};
pub use classify::RequestClass;
pub use recorder::{Recorder, RecorderError, RecorderSpec, RequestLimits, tokenizer_identity};
pub use recording::{Recording, Totals};
pub use spending::{RunBudget, Spending, Spent};
pub use upstream::oracle::{OracleBook, OracleScript, OracleUpstream};
pub use upstream::{
    BoxFuture, EndpointSpec, EndpointUpstream, Preflight, ReadRequest, ReplayError, ReplayUpstream,
    RetryPolicy, RoadRule, Timeouts, Upstream, UpstreamBody, UpstreamError, UpstreamFault, UpstreamRequest,
    UpstreamResponse, VOLATILE_PATTERNS,
};
