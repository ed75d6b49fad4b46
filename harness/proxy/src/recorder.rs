//! The recorder of one attempt: started on a listener that the caller made, asked whether the attempt must end, and
//! finished into a [`Recording`].

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bench_core::ledger::TokenizerIdentity;
use bench_core::{AskAnswer, Clock, Ending, Limits, Sha256Hex, UpstreamEvidence, WireKind};
use bench_record::RequestStoreError;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::ledger::{LedgerContext, compile, late_classes, models, shown};
use crate::marks::beside_ms;
use crate::recording::Recording;
use crate::server::serve;
use crate::shared::{Kept, Shared};
use crate::spending::Spending;
use crate::upstream::Upstream;

/// What a recorder needs to know.
#[derive(Clone)]
pub struct RecorderSpec {
    /// Directory of the attempt: `requests/` and `trace.jsonl` are made in it.
    pub dir: PathBuf,
    /// The API that the agent speaks.
    pub wire: WireKind,
    /// The attempt's own token: what the agent shows as its key. No other is let in.
    pub credential: String,
    /// Caps.
    pub limits: RequestLimits,
    /// Prices, and what the whole run may spend.
    pub spending: Spending,
    /// Who answers.
    pub upstream: Arc<dyn Upstream>,
    /// Who counts.
    pub counter: Arc<bench_tokens::Counter>,
    /// Texts of hidden files: one of them in a request proves a leak.
    pub canaries: Vec<String>,
    /// Beginnings of a tool result that mean "refused or failed"; empty = nothing is known about errors.
    pub error_prefixes: Vec<String>,
    /// Capability group of each tool that can be loaded.
    pub groups: BTreeMap<String, String>,
    /// What the user answers when the agent asks him, first fitting entry first.
    pub asks: Vec<AskAnswer>,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
}

/// Caps on what an attempt may ask. `None` = no cap.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestLimits {
    /// Turns of the agent's own loop.
    pub turns: Option<u32>,
    /// Requests of any class.
    pub requests: Option<u32>,
    /// Input plus output tokens, local count.
    pub total_tokens: Option<u64>,
    /// US dollars by the price card.
    pub cost_usd: Option<f64>,
}

impl From<&Limits> for RequestLimits {
    fn from(limits: &Limits) -> Self {
        Self {
            turns: limits.turns,
            requests: limits.requests,
            total_tokens: limits.total_tokens,
            cost_usd: limits.cost_usd,
        }
    }
}

/// A record that could not be kept, or a listener that could not be used.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The listener.
    #[error("recorder: the loopback listener cannot be used: {0}; start the run again")]
    Listener(std::io::Error),
    /// The thread that recorders share.
    #[error("recorder: its thread cannot be started: {0}; allow this user more processes")]
    Thread(std::io::Error),
    /// The requests.
    #[error(transparent)]
    Store(#[from] RequestStoreError),
    /// What is kept of exchanges until they are added up.
    #[error(
        "facts of exchanges {path}: {source}; free the disk or mend the permissions, then run the same command again"
    )]
    Facts {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The trace.
    #[error("trace {path}: {source}; free the disk or mend the permissions, then run the same command again")]
    Trace {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl RecorderError {
    /// What is kept of exchanges until they are added up.
    pub(crate) fn facts((path, source): (PathBuf, std::io::Error)) -> Self {
        Self::Facts { path, source }
    }
}

impl From<(PathBuf, std::io::Error)> for RecorderError {
    fn from((path, source): (PathBuf, std::io::Error)) -> Self {
        Self::Trace { path, source }
    }
}

/// Where recorders live: one thread of their own. What passes through one goes from task to task, and waking a task on another
/// thread takes longer than all that it does: a stream of 20 frames was held up by more than a millisecond.
fn place() -> std::io::Result<Handle> {
    static PLACE: Mutex<Option<Handle>> = Mutex::new(None);
    let mut place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*place {
        return Ok(handle.clone());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let live = move || runtime.block_on(std::future::pending::<()>());
    std::thread::Builder::new().name("recorder".to_owned()).spawn(live)?;
    Ok(place.insert(handle).clone())
}

/// The recorder of one attempt. Dropped without [`Recorder::finish`], it stops listening.
pub struct Recorder {
    address: SocketAddr,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

impl Recorder {
    /// Starts listening, on the thread that all recorders of the process share.
    pub async fn start(listener: std::net::TcpListener, spec: RecorderSpec) -> Result<Self, RecorderError> {
        listener.set_nonblocking(true).map_err(RecorderError::Listener)?;
        let place = place().map_err(RecorderError::Thread)?;
        let _here = place.enter();
        let listener = tokio::net::TcpListener::from_std(listener).map_err(RecorderError::Listener)?;
        let address = listener.local_addr().map_err(RecorderError::Listener)?;
        let shared = Arc::new(Shared::new(spec)?);
        let server = place.spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, server })
    }

    /// Where the agent's base URL points: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Where an agent's base URL points when its recorder listens on this port of its loopback: known before the
    /// recorder is.
    pub fn base_url_at(port: u16) -> String {
        format!("http://127.0.0.1:{port}/v1")
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Resolves when the recorder decides that the attempt must end (a budget, an upstream fault, a plan that cannot be
    /// played, a canary; `harness_fault` when a record could not be kept); pending otherwise.
    pub async fn stopped(&self) -> Ending {
        let mut stop = self.shared.stop.subscribe();
        loop {
            if let Some(ending) = stop.borrow_and_update().clone() {
                return ending;
            }
            if stop.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Resolves when no request is at the upstream: what was let in before a cap was reached is paid for, and its answer
    /// says how much.
    pub async fn nobody_waits(&self) {
        self.shared.nobody_waits().await;
    }

    /// Ends the recorder: connections are cut, requests in flight are settled with what has arrived, and everything is
    /// added up. An error means that a record could not be kept.
    pub async fn finish(mut self) -> Result<Recording, RecorderError> {
        self.shared.close();
        // An error here would be a panic of the accept loop; what was exchanged is settled all the same.
        let _ = (&mut self.server).await;
        self.shared.settle_all().await;
        self.shared.take_kept().and_then(|kept| recording(&self.shared, kept))
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.close();
        self.server.abort();
    }
}

fn recording(shared: &Shared, mut kept: Kept) -> Result<Recording, RecorderError> {
    let spec = &shared.spec;
    kept.exchanges.sort_by_key(|exchange| exchange.request);
    let changes = late_classes(&mut kept.exchanges);
    kept.store.reclass(&changes)?;
    let context = LedgerContext {
        usage_source: spec.upstream.usage_source(),
        tokenizer: tokenizer_identity(&spec.counter),
        groups: &spec.groups,
        knows_errors: !spec.error_prefixes.is_empty(),
    };
    let ledger = compile(&kept.exchanges, &context);
    let (models_asked, models_answered) = models(&kept.exchanges);
    let over_ms = shared.now_ms();
    // An attempt whose last answer broke off was never answered, whatever the agent made of it.
    let stop = shared.stop.borrow().clone().or(kept.unanswered);
    Ok(Recording {
        stop,
        first_request: ledger.first_request,
        tools: ledger.tools,
        turns: ledger.turns,
        shown: shown(&kept.exchanges),
        requests_by_class: ledger.requests_by_class,
        agents: ledger.agents,
        critical_path_ms: ledger.critical_path_ms,
        beside_ms: beside_ms(&kept.marks, over_ms),
        loads: ledger.loads,
        tokens: ledger.tokens,
        provider_usage: ledger.provider_usage,
        totals: ledger.totals,
        cost_usd: kept.cost_usd,
        charged: kept.charged,
        upstream_wait_ms: ledger.upstream_wait_ms,
        upstream: UpstreamEvidence {
            kind: spec.upstream.kind().into(),
            host: spec.upstream.host().map(Into::into),
            models_asked: models_asked.into_iter().map(Into::into).collect(),
            models_answered: models_answered.into_iter().map(Into::into).collect(),
            fingerprint: kept.fingerprint.map(Into::into),
            statuses: kept.statuses,
            fault: kept.fault.or_else(|| kept.failing.clone()),
        },
        failing: kept.failing,
        oracle: spec.upstream.leave(&spec.credential),
        transcript_sha256: ledger.transcript_sha256,
    })
}

/// Who counts, in the record's form.
pub fn tokenizer_identity(counter: &bench_tokens::Counter) -> TokenizerIdentity {
    let identity = counter.identity();
    TokenizerIdentity {
        name: identity.name.as_str().into(),
        package: identity.package.as_str().into(),
        version: identity.version.as_str().into(),
        vocabulary_sha256: Sha256Hex::parse(&identity.vocabulary_sha256)
            .expect("the counter writes 64 lower-case hex digits"),
    }
}
