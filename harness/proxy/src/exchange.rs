//! One request and its response: collected, admitted, passed on, streamed back piece by piece, settled.

use std::sync::Arc;

use bench_core::{Ending, EndingKind, Sha256Hex};
use bench_wire::{Api, Turn};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::header::CONTENT_ENCODING;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::sync::{mpsc, oneshot};

use crate::account::{Account, BeingWeighed, Unread};
use crate::admission::{Admission, Admitted, OwnAnswer, admit};
use crate::classify::RequestClass;
use crate::coding::{CodingError, Decoding};
use crate::headers;
use crate::ledger::ChatFacts;
use crate::marks::marked;
use crate::reply::{BrokenOff, ReplyBody, error_body, whole};
use crate::shared::Shared;
use crate::tape::Tape;
use crate::trace::rounded;
use crate::upstream::{OracleStep, ReadRequest, Retry, UpstreamFault, UpstreamRequest, UpstreamResponse};
use crate::weighing::Weight;

/// The largest body kept in either direction, in bytes.
pub(crate) const BODY_CAP: usize = 64 << 20;
/// Pieces of a response that may wait for a slow agent.
const PIECES_WAITING: usize = 8;

/// A request as it arrived.
pub(crate) struct Arrival {
    pub(crate) method: Method,
    /// Path and query as sent, but for a key in it.
    pub(crate) path: String,
    /// The key that stood in the query: one of the APIs takes it there.
    pub(crate) key: Option<String>,
    pub(crate) headers: HeaderMap,
    /// As it came: what is forwarded and kept.
    pub(crate) body: Bytes,
    /// With its content codings undone: what is read and counted.
    pub(crate) content: Result<Bytes, CodingError>,
    pub(crate) state: BodyState,
    pub(crate) started_at: String,
    /// When its last byte had arrived, on the recorder's clock.
    pub(crate) arrived_ms: f64,
}

/// How much of the body arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyState {
    Whole,
    TooLarge,
    HungUp,
}

/// What a settled request was.
pub(crate) struct Settled {
    pub(crate) request: u32,
    pub(crate) class: RequestClass,
    pub(crate) rule: String,
    /// The second agent that asked; none = the main one.
    pub(crate) agent: Option<String>,
    pub(crate) body_tokens: Option<u64>,
    /// Digest of its body, where it is known already.
    pub(crate) body_sha256: Option<Sha256Hex>,
    /// Was what it surely costs put aside when it was let in?
    pub(crate) put_aside: bool,
    /// The API of its path; none when it is no model call.
    pub(crate) api: Option<Api>,
    /// None when it did not go to the upstream.
    pub(crate) chat: Option<ChatFacts>,
    /// Did it go to the upstream although nobody here could read it, so that nobody knows what it cost?
    pub(crate) unread: bool,
}

/// What came of a request.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) status: Option<u16>,
    /// The status that the upstream itself answered.
    pub(crate) upstream_status: Option<u16>,
    /// Did the upstream's answer pass, or is this the recorder's own?
    pub(crate) answered: bool,
    /// Was it given up while the upstream was still silent?
    pub(crate) abandoned: bool,
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) response_type: Option<String>,
    pub(crate) response_encoding: Option<String>,
    /// Milliseconds since the request's last byte, and the length reached.
    pub(crate) frames: Vec<(f64, u64)>,
    pub(crate) turn: Option<Turn>,
    /// Did it arrive to its end, and could it be read?
    pub(crate) whole: bool,
    /// Did a readable response end before the turn in it did?
    pub(crate) cut_short: bool,
    pub(crate) output_tokens: Option<u64>,
    /// Why the model's prompt is not known although its format is.
    pub(crate) unrendered: Option<String>,
    /// What in the stated usage contradicts itself.
    pub(crate) usage_refused: Option<String>,
    pub(crate) retries: Vec<Retry>,
    pub(crate) steps: Vec<OracleStep>,
    pub(crate) waited: Option<(f64, f64)>,
    pub(crate) fault: Option<String>,
    /// The answer had begun to pass and broke off: what that means if the agent is never answered whole.
    pub(crate) broke_off: Option<Ending>,
}

impl Outcome {
    pub(crate) fn first_byte_ms(&self) -> Option<f64> {
        self.frames.first().map(|(ms, _)| *ms)
    }

    pub(crate) fn last_byte_ms(&self) -> Option<f64> {
        self.frames.last().map(|(ms, _)| *ms)
    }
}

/// Carries one request through. `reply` takes the head of the response as soon as there is one.
pub(crate) async fn exchange(
    shared: Arc<Shared>,
    request: Request<Incoming>,
    reply: oneshot::Sender<Response<ReplyBody>>,
) {
    let arrival = Arc::new(Arrival::collect(&shared, request).await);
    if let Some(status) = marked(&shared, &arrival) {
        // A mark that nobody waits for any more is a mark all the same.
        let _ = reply.send(whole(status, "application/json", Bytes::new()));
        return;
    }
    match admit(&shared, &arrival).await {
        Admission::Answer(own) => answer_own(&shared, &arrival, own, reply),
        Admission::Forward(admitted) => Forwarding::read(shared, arrival, *admitted).run(reply).await,
        Admission::Ahead(unread) => Forwarding::unread(shared, arrival, unread).run(reply).await,
    }
}

fn answer_own(
    shared: &Shared,
    arrival: &Arrival,
    own: OwnAnswer,
    reply: oneshot::Sender<Response<ReplyBody>>,
) {
    let outcome = Outcome {
        status: (arrival.state != BodyState::HungUp).then_some(own.status.as_u16()),
        frames: vec![(rounded(shared.now_ms() - arrival.arrived_ms), own.body.len() as u64)],
        bytes: Some(own.body.to_vec()),
        whole: true,
        ..Outcome::default()
    };
    let settled = Settled {
        request: own.request,
        class: own.class,
        rule: own.rule,
        agent: headers::agent(&arrival.headers).map(str::to_owned),
        body_tokens: own.body_tokens,
        body_sha256: None,
        put_aside: false,
        api: None,
        chat: None,
        unread: false,
    };
    shared.settle(arrival, settled, outcome);
    // The agent may be gone; its request is settled all the same.
    let _ = reply.send(whole(own.status, own.content_type, own.body));
}

impl Arrival {
    async fn collect(shared: &Shared, request: Request<Incoming>) -> Self {
        let started_at = shared.spec.clock.now_utc();
        let (head, mut incoming) = request.into_parts();
        let mut body = BytesMut::new();
        let state = tokio::select! {
            state = read_body(&mut incoming, &mut body) => state,
            () = shared.closed() => BodyState::HungUp,
        };
        if state == BodyState::TooLarge {
            body.clear();
        }
        let body = body.freeze();
        let content = content(&head.headers, &body, state);
        let whole = head.uri.path_and_query().map_or_else(|| head.uri.path().to_owned(), ToString::to_string);
        let (path, key) = headers::without_key(&whole);
        Self {
            method: head.method,
            path,
            key,
            headers: head.headers,
            body,
            content,
            state,
            started_at,
            arrived_ms: shared.now_ms(),
        }
    }
}

/// The body as the agent meant it.
fn content(headers: &HeaderMap, body: &Bytes, state: BodyState) -> Result<Bytes, CodingError> {
    if state != BodyState::Whole {
        return Ok(body.clone());
    }
    let coding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    Ok(Decoding::whole(coding, body, BODY_CAP)?.map_or_else(|| body.clone(), Bytes::from))
}

async fn read_body(incoming: &mut Incoming, body: &mut BytesMut) -> BodyState {
    while let Some(frame) = incoming.frame().await {
        let Ok(frame) = frame else { return BodyState::HungUp };
        let Ok(data) = frame.into_data() else { continue };
        if body.len() + data.len() > BODY_CAP {
            return BodyState::TooLarge;
        }
        body.extend_from_slice(&data);
    }
    BodyState::Whole
}

/// A request on its way to the upstream and back.
struct Forwarding {
    shared: Arc<Shared>,
    arrival: Arc<Arrival>,
    request: u32,
    api: Api,
    /// What was read of it before it went.
    read: Option<ReadRequest>,
    account: Account,
}

impl Forwarding {
    fn read(shared: Arc<Shared>, arrival: Arc<Arrival>, admitted: Admitted) -> Self {
        let Admitted { request, class, rule, agent, chat, weight, known, load } = admitted;
        let weighing = load.weighed_later(Arc::clone(&shared.spec.counter));
        let api = chat.api;
        let read = Some(ReadRequest { class, chat, input_tokens: weight.map(Weight::input_tokens) });
        let put_aside = weight.is_some();
        let account =
            Account::Admitted(Box::new(BeingWeighed { class, rule, agent, known, weighing, put_aside }));
        Self { shared, arrival, request, api, read, account }
    }

    fn unread(shared: Arc<Shared>, arrival: Arc<Arrival>, unread: Unread) -> Self {
        let (request, api) = (unread.request, unread.api);
        let reading = unread.read_later(Arc::clone(&shared), Arc::clone(&arrival));
        Self { shared, arrival, request, api, read: None, account: Account::Unread(reading) }
    }

    async fn run(self, mut reply: oneshot::Sender<Response<ReplyBody>>) {
        let sent_ms = self.shared.now_ms();
        let called = tokio::select! {
            biased;
            called = self.shared.spec.upstream.call(self.upstream_request()) => Some(called),
            () = self.shared.closed() => None,
            () = reply.closed() => None,
        };
        match called {
            Some(Ok(response)) => self.stream(response, reply, sent_ms).await,
            Some(Err(fault)) => self.fault(fault, reply, sent_ms).await,
            None => {
                let waited = Some((sent_ms, self.shared.now_ms()));
                self.settle(Outcome { waited, abandoned: true, ..Outcome::default() }).await;
            }
        }
    }

    fn upstream_request(&self) -> UpstreamRequest {
        UpstreamRequest {
            method: self.arrival.method.clone(),
            path: self.arrival.path.clone(),
            headers: headers::for_upstream(&self.arrival.headers),
            body: self.arrival.body.clone(),
            credential: self.shared.spec.credential.clone(),
            agent: headers::agent(&self.arrival.headers).map(str::to_owned),
            read: self.read.clone(),
        }
    }

    /// The upstream has no answer: the attempt ends, and the agent is told so.
    async fn fault(self, fault: UpstreamFault, reply: oneshot::Sender<Response<ReplyBody>>, sent_ms: f64) {
        let is_provider = fault.ending.kind == EndingKind::UpstreamFault;
        let status = if is_provider { StatusCode::BAD_GATEWAY } else { StatusCode::BAD_REQUEST };
        let body = error_body(fault.ending.kind.word(), fault.ending.detail.as_deref().unwrap_or_default());
        let now = self.shared.now_ms();
        let outcome = Outcome {
            status: Some(status.as_u16()),
            upstream_status: fault.status,
            frames: vec![(rounded(now - self.arrival.arrived_ms), body.len() as u64)],
            bytes: Some(body.to_vec()),
            whole: true,
            retries: fault.retries,
            waited: Some((sent_ms, now)),
            fault: is_provider.then(|| fault.ending.detail.clone()).flatten(),
            ..Outcome::default()
        };
        let shared = Arc::clone(&self.shared);
        self.settle(outcome).await;
        shared.stop_with(*fault.ending);
        let _ = reply.send(whole(status, "application/json", body));
    }

    async fn stream(
        mut self,
        response: UpstreamResponse,
        reply: oneshot::Sender<Response<ReplyBody>>,
        sent_ms: f64,
    ) {
        let UpstreamResponse { status, headers, mut body, retries, steps } = response;
        let (pieces, passing) = mpsc::channel(PIECES_WAITING);
        let mut head = Response::new(ReplyBody::Passing(passing));
        *head.status_mut() = status;
        *head.headers_mut() = headers::for_agent(&headers);
        // When the agent is gone, `pieces` is closed and the loop below ends.
        let _ = reply.send(head);
        let mut tape = Tape::new(self.api, status, &headers, self.arrival.arrived_ms);
        let (mut fault, mut ended, mut settling) = (None, body.is_end_stream(), None);
        while !ended {
            let frame = tokio::select! {
                biased;
                frame = body.frame() => frame,
                () = pieces.closed() => break,
                () = self.shared.closed() => break,
            };
            match frame {
                None => ended = true,
                Some(Err(broken)) => fault = Some(broken),
                Some(Ok(frame)) if !tape.take(&frame, self.shared.now_ms()) => {
                    fault = Some(UpstreamFault::unavailable(
                        "the response is larger than the recorder keeps (64 MiB)",
                    ));
                }
                Some(Ok(frame)) => {
                    ended = body.is_end_stream();
                    // Room first: an agent that does not read must not hold up whose answer is to be settled.
                    let Ok(room) = pieces.reserve().await else { break };
                    if ended {
                        settling = Some(self.shared.lets_end().await);
                    }
                    room.send(Ok(frame));
                    // What must be read first takes the processor from nobody once the model has spoken.
                    if self.read.is_some() {
                        self.account.may_begin();
                    }
                }
            }
            if fault.is_some() {
                break;
            }
        }
        let shared = Arc::clone(&self.shared);
        let over_ms = shared.now_ms();
        if settling.is_none() {
            settling = Some(shared.lets_end().await);
        }
        // The agent learns at once that the answer is over; what it asks next waits for this account where it hangs on it.
        let pieces = if fault.is_none() {
            drop(pieces);
            None
        } else {
            Some(pieces)
        };
        self.account.may_begin();
        let mut outcome = tape.outcome(&shared, ended);
        outcome.retries = retries;
        outcome.steps = steps;
        outcome.waited = Some((sent_ms, over_ms));
        let cut = || ended && status.is_success() && outcome.cut_short;
        // It ended as any other does, and ends so for the agent; only the turn in it is not whole.
        let unfinished =
            cut().then(|| UpstreamFault::broken("the response ended before the model's turn did"));
        let known = fault.as_ref().or(unfinished.as_ref());
        outcome.fault = known.and_then(|fault| fault.ending.detail.clone());
        let broke_off = known.filter(|fault| fault.broke_off);
        outcome.broke_off = broke_off.map(|fault| *fault.ending.clone());
        self.settle(outcome).await;
        drop(settling);
        if let (Some(pieces), Some(fault)) = (pieces, fault) {
            break_off(&shared, &pieces, fault).await;
        }
    }

    async fn settle(self, mut outcome: Outcome) {
        let (settled, unrendered) = self.account.settled(self.request, self.api).await;
        outcome.unrendered = unrendered;
        self.shared.settle(&self.arrival, settled, outcome);
    }
}

/// Breaks the agent's connection off as the upstream's was.
async fn break_off(
    shared: &Shared,
    pieces: &mpsc::Sender<Result<Frame<Bytes>, BrokenOff>>,
    fault: UpstreamFault,
) {
    // After a break the agent may ask again; how often is the recorder's to count.
    if !fault.broke_off {
        shared.stop_with(*fault.ending);
    }
    let _ = pieces.send(Err(BrokenOff)).await;
}
