//! The oracle: a model that knows the task's reference plan and plays it through whatever surface the request offers.
//!
//! It knows the task by the attempt's credential ([`OracleBook`]) and its place in the plan by the call ids that it minted
//! itself and finds echoed in the request ([`History`](history)); what it plays next is a pure function of script, fault
//! and request ([`play`]). State kept per attempt is only a cross-check: where it disagrees the attempt ends as
//! `oracle_lost`, never as a pass.

mod book;
mod call_id;
mod choice;
mod fault;
mod history;
mod play;
mod speak;
mod template;

use std::sync::Arc;

use bench_core::ledger::OracleEvidence;
use bench_tokens::Counter;

pub use book::{OracleBook, OracleScript};

use super::{BoxFuture, Upstream, UpstreamFault, UpstreamRequest, UpstreamResponse, UsageSource};
use crate::classify::RequestClass;

/// Answers model calls by playing reference plans.
pub struct OracleUpstream {
    book: Arc<OracleBook>,
    counter: Arc<Counter>,
}

impl OracleUpstream {
    /// An oracle that finds its scripts in this book.
    pub fn new(book: Arc<OracleBook>, counter: Arc<Counter>) -> Self {
        Self { book, counter }
    }

    fn answer(&self, request: &UpstreamRequest) -> Result<UpstreamResponse, UpstreamFault> {
        let read = request.read.as_ref().expect("nothing goes unread to an upstream that reads");
        let spoken = match read.class {
            RequestClass::AgentTurn => self.book.turn(&request.credential, None, &read.chat),
            // A second agent's loop, by its name. Without one nobody knows which plan it is to play.
            RequestClass::Subagent if request.agent.is_some() && read.chat.tools.is_empty() => {
                self.book.summary(&request.credential, request.agent.as_deref(), &read.chat)
            }
            RequestClass::Subagent if request.agent.is_some() => {
                self.book.turn(&request.credential, request.agent.as_deref(), &read.chat)
            }
            RequestClass::Compaction => self.book.summary(&request.credential, None, &read.chat),
            RequestClass::Title
            | RequestClass::Naming
            | RequestClass::TokenCounting
            | RequestClass::Subagent
            | RequestClass::Human
            | RequestClass::Probe
            | RequestClass::Refused => Ok(speak::title()),
        };
        let spoken = spoken.map_err(UpstreamFault::ending)?;
        Ok(speak::response(&self.counter, read, spoken))
    }
}

impl Upstream for OracleUpstream {
    fn call(&self, request: UpstreamRequest) -> BoxFuture<'_, Result<UpstreamResponse, UpstreamFault>> {
        let answer = self.answer(&request);
        Box::pin(std::future::ready(answer))
    }

    fn kind(&self) -> &'static str {
        "oracle"
    }

    fn host(&self) -> Option<String> {
        None
    }

    fn usage_source(&self) -> UsageSource {
        UsageSource::LocalCount
    }

    fn leave(&self, credential: &str) -> Option<OracleEvidence> {
        self.book.leave(credential)
    }
}
