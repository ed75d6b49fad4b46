//! One request and its response: collected, admitted, passed on, streamed back piece by piece, settled.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bench_core::{Ending, EndingKind, Sha256Hex};
use bench_wire::{Api, Turn};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use tokio::sync::oneshot;

use crate::account::{Account, BeingWeighed, Unread};
use crate::admission::{Admission, Admitted, OwnAnswer, admit};
use crate::classify::RequestClass;
use crate::coding::{CodingError, Decoding};
use crate::headers;
use crate::ledger::ChatFacts;
use crate::marks::marked;
use crate::reply::{ReplyBody, error_body, whole};
use crate::shared::Shared;
use crate::trace::rounded;
use crate::upstream::{OracleStep, ReadRequest, Retry, Tries, UpstreamFault, UpstreamRequest};
use crate::weighing::Weight;

/// The largest body kept in either direction, in bytes.
pub(crate) const BODY_CAP: usize = 64 << 20;
/// Bytes that the bodies of an attempt's requests in flight may hold together.
const BODIES_CAP: usize = 4 * BODY_CAP;
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
    /// What its body takes of [`BODIES_CAP`].
    _room: Room,
}

/// Bytes of bodies that arrive or are being answered.
pub(crate) type Held = Arc<AtomicUsize>;

/// A part of them, given back when it is dropped.
struct Room {
    held: Held,
    bytes: usize,
}

impl Room {
    /// More of it; false when there is none.
    fn grow(&mut self, bytes: usize) -> bool {
        let before = self.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        before + bytes <= BODIES_CAP
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
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
    /// The error that stood in a stream which had begun as a success.
    pub(crate) refused: Option<String>,
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

    /// Tries that were answered with a success and could not be used.
    pub(crate) fn thrown_away(&self) -> u32 {
        let success = |retry: &&Retry| retry.status.is_some_and(|status| (200..300).contains(&status));
        u32::try_from(self.retries.iter().filter(success).count()).unwrap_or(u32::MAX)
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
        let mut room = Room { held: Arc::clone(&shared.held), bytes: 0 };
        let started_at = shared.spec.clock.now_utc();
        let (head, mut incoming) = request.into_parts();
        let mut body = BytesMut::new();
        let state = tokio::select! {
            state = read_body(&mut incoming, &mut body, &mut room) => state,
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
            _room: room,
        }
    }
}

/// The body as the agent meant it.
fn content(headers: &HeaderMap, body: &Bytes, state: BodyState) -> Result<Bytes, CodingError> {
    if state != BodyState::Whole {
        return Ok(body.clone());
    }
    let codings = headers::codings(headers);
    Ok(Decoding::whole(codings.as_deref(), body, BODY_CAP)?.map_or_else(|| body.clone(), Bytes::from))
}

async fn read_body(incoming: &mut Incoming, body: &mut BytesMut, room: &mut Room) -> BodyState {
    while let Some(frame) = incoming.frame().await {
        let Ok(frame) = frame else { return BodyState::HungUp };
        let Ok(data) = frame.into_data() else { continue };
        if body.len() + data.len() > BODY_CAP || !room.grow(data.len()) {
            return BodyState::TooLarge;
        }
        body.extend_from_slice(&data);
    }
    BodyState::Whole
}

/// A request on its way to the upstream and back.
pub(crate) struct Forwarding {
    pub(crate) shared: Arc<Shared>,
    pub(crate) arrival: Arc<Arrival>,
    request: u32,
    pub(crate) api: Api,
    /// What was read of it before it went.
    pub(crate) read: Option<ReadRequest>,
    pub(crate) account: Account,
}

/// One request more at the upstream, until it is dropped.
struct AtUpstream(Arc<Shared>);

impl AtUpstream {
    fn one(shared: &Arc<Shared>) -> Self {
        shared.at_upstream.send_modify(|requests| *requests += 1);
        Self(Arc::clone(shared))
    }
}

impl Drop for AtUpstream {
    fn drop(&mut self) {
        self.0.at_upstream.send_modify(|requests| *requests -= 1);
    }
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
        let _at_upstream = AtUpstream::one(&self.shared);
        let sent_ms = self.shared.now_ms();
        let tries = Tries::default();
        let called = tokio::select! {
            biased;
            called = self.shared.spec.upstream.call(self.upstream_request(tries.clone())) => Some(called),
            () = self.shared.closed() => None,
            () = reply.closed() => None,
        };
        match called {
            Some(Ok(response)) => self.pass_back(response, reply, sent_ms).await,
            Some(Err(fault)) => self.fault(fault, reply, sent_ms).await,
            None => {
                let waited = Some((sent_ms, self.shared.now_ms()));
                let retries = tries.so_far();
                self.settle(Outcome { waited, abandoned: true, retries, ..Outcome::default() }).await;
            }
        }
    }

    fn upstream_request(&self, tries: Tries) -> UpstreamRequest {
        UpstreamRequest {
            method: self.arrival.method.clone(),
            path: self.arrival.path.clone(),
            headers: headers::for_upstream(&self.arrival.headers),
            body: self.arrival.body.clone(),
            credential: self.shared.spec.credential.clone(),
            agent: headers::agent(&self.arrival.headers).map(str::to_owned),
            read: self.read.clone(),
            tries,
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

    pub(crate) async fn settle(self, mut outcome: Outcome) {
        let (settled, unrendered) = self.account.settled(self.request, self.api).await;
        outcome.unrendered = unrendered;
        self.shared.settle(&self.arrival, settled, outcome);
    }
}
