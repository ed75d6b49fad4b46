//! What the tasks of one recorder share: the spec, the signals, and the state under one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bench_core::{Ending, EndingKind, Sha256Hex, Usage};
use bench_record::{Charged, FORMAT_VERSION, RequestRecord, RequestStore, ResponseBytes};
use bench_wire::ModelRequest;
use memchr::memmem;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::admission::counts_first;
use crate::classify::{Conversation, RequestClass, ToolsSeen, Unnamed};
use crate::exchange::{Arrival, Held, Outcome, Settled};
use crate::headers;
use crate::ledger::{Answer, Exchange, Offer, Said, Sent, Spool, usage_of, wire_of};
use crate::marks::Mark;
use crate::recorder::{RecorderError, RecorderSpec};
use crate::spending::Bill;
use crate::trace::{Trace, TraceEvent, rounded};

/// Answers that may break off in a row before the attempt ends.
const BREAKS: u32 = 3;

pub(crate) struct Shared {
    pub(crate) spec: RecorderSpec,
    pub(crate) stop: watch::Sender<Option<Ending>>,
    canaries: Vec<memmem::Finder<'static>>,
    closing: watch::Sender<bool>,
    started_ms: f64,
    tasks: Mutex<JoinSet<()>>,
    /// May a request go before it was read? Where no cap in tokens or dollars and no upstream asks what it says.
    pub(crate) lets_through: bool,
    /// Requests let through unread that were read since, in their order.
    pub(crate) read: watch::Sender<u64>,
    /// Whoever lets an answer end has it until that answer is settled, so that answers are settled as they ended.
    pub(crate) settling: Arc<tokio::sync::Mutex<()>>,
    /// Requests at the upstream.
    pub(crate) at_upstream: watch::Sender<u32>,
    /// Bytes that the bodies of requests in flight hold.
    pub(crate) held: Held,
    state: Mutex<State>,
}

/// Everything that changes. `store` and `trace` are written under the lock, so their lines have one order.
pub(crate) struct State {
    store: Option<RequestStore>,
    trace: Trace,
    exchanges: Spool,
    statuses: BTreeMap<String, u32>,
    fingerprint: Option<String>,
    fault: Option<String>,
    /// Why the upstream was still being asked again when the last request was given up.
    failing: Option<String>,
    failure: Option<RecorderError>,
    /// Number of the next request.
    pub(crate) next: u32,
    /// Requests let through unread so far.
    pub(crate) unread: u64,
    /// Requests let in so far.
    pub(crate) requests: u32,
    /// Agent turns let in so far.
    pub(crate) turns: u32,
    /// Local count of what was asked and answered so far.
    pub(crate) tokens: u64,
    /// What it has cost so far.
    pub(crate) bill: Bill,
    /// Answers that broke off since the last whole one, and the ending that they mean.
    broken: Option<(u32, Ending)>,
    /// Names of tools offered so far.
    pub(crate) offered: BTreeSet<String>,
    pub(crate) tools_seen: ToolsSeen,
    /// Has an agent turn been let in?
    pub(crate) first_turn_seen: bool,
    /// The last request whose tools were others than before it, and its offer.
    pub(crate) offer: Option<(Arc<ModelRequest>, Arc<Offer>)>,
    /// Who began the attempt's main conversation: its instructions and its first message.
    pub(crate) conversation: Option<Conversation>,
    /// Second agents that have asked and say no names.
    pub(crate) unnamed: Unnamed,
    /// What the last agent turn sent, for the prefix that the next one shares with it.
    pub(crate) sent: Option<Arc<Sent>>,
    /// Calls whose results were seen.
    pub(crate) results: BTreeSet<String>,
    /// Beginnings and ends of what runs beside the main conversation, as the agent marked them.
    pub(crate) marks: Vec<Mark>,
    /// The last chat request that failed.
    pub(crate) failed: Option<(u32, Sha256Hex)>,
}

/// What is left when everything is settled.
pub(crate) struct Kept {
    pub(crate) store: RequestStore,
    pub(crate) marks: Vec<Mark>,
    pub(crate) exchanges: Vec<Exchange>,
    pub(crate) statuses: BTreeMap<String, u32>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) fault: Option<String>,
    /// Why the upstream was still being asked again when the attempt ended.
    pub(crate) failing: Option<String>,
    /// The ending of an attempt whose last answer broke off.
    pub(crate) unanswered: Option<Ending>,
    /// Null = unknown.
    pub(crate) cost_usd: Option<f64>,
    pub(crate) charged: Charged,
}

impl Shared {
    pub(crate) fn new(spec: RecorderSpec) -> Result<Self, RecorderError> {
        let files = (RequestStore::create(&spec.dir)?, Trace::create(&spec.dir)?);
        let state = State::new(files, Spool::of(&spec.dir));
        let canaries = spec.canaries.iter().filter(|canary| !canary.is_empty());
        Ok(Self {
            stop: watch::Sender::new(None),
            canaries: canaries.map(|canary| memmem::Finder::new(canary).into_owned()).collect(),
            closing: watch::Sender::new(false),
            started_ms: spec.clock.monotonic_ms(),
            tasks: Mutex::new(JoinSet::new()),
            lets_through: !spec.upstream.reads() && !counts_first(&spec),
            read: watch::Sender::new(0),
            settling: Arc::default(),
            at_upstream: watch::Sender::new(0),
            held: Held::default(),
            state: Mutex::new(state),
            spec,
        })
    }

    /// Milliseconds since the recorder started.
    pub(crate) fn now_ms(&self) -> f64 {
        self.spec.clock.monotonic_ms() - self.started_ms
    }

    /// Waits until so many of the requests that went unread are read.
    pub(crate) async fn read_up_to(&self, count: u64) {
        let mut read = self.read.subscribe();
        // An error would mean that the sender, a field of self, is gone.
        let _ = read.wait_for(|read| *read >= count).await;
    }

    /// Waits until no request is at the upstream.
    pub(crate) async fn nobody_waits(&self) {
        let mut at_upstream = self.at_upstream.subscribe();
        // An error would mean that the sender, a field of self, is gone.
        let _ = at_upstream.wait_for(|requests| *requests == 0).await;
    }

    /// Waits until every request that went unread is read and every answer that has ended is settled.
    pub(crate) async fn caught_up(&self) {
        let unread = self.state().unread;
        self.read_up_to(unread).await;
        drop(self.settling.lock().await);
    }

    /// Lets an answer end: whoever holds what this returns is the next whose answer is settled.
    pub(crate) async fn lets_end(&self) -> tokio::sync::OwnedMutexGuard<()> {
        Arc::clone(&self.settling).lock_owned().await
    }

    /// The state. A task that panicked must not take the record of the others with it.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn holds_canary(&self, body: &[u8]) -> bool {
        self.canaries.iter().any(|canary| canary.find(body).is_some())
    }

    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Resolves when the recorder is closing.
    pub(crate) async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // An error would mean that the sender, a field of self, is gone.
        let _ = closing.wait_for(|closing| *closing).await;
    }

    /// Waits until every exchange is settled.
    pub(crate) async fn settle_all(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        while tasks.join_next().await.is_some() {}
    }

    /// The attempt must end. The first reason stands.
    pub(crate) fn stop_with(&self, ending: Ending) {
        let mut state = self.state();
        let first = self.stop.send_if_modified(|stop| {
            let first = stop.is_none();
            if first {
                *stop = Some(ending.clone());
            }
            first
        });
        if first {
            let stop = TraceEvent::Stop { ending: ending.kind.word(), detail: ending.detail.as_deref() };
            state.trace(self.now_ms(), &stop);
        }
    }

    /// Writes down a request that is over, however it went.
    pub(crate) fn settle(&self, arrival: &Arrival, settled: Settled, outcome: Outcome) {
        let record = self.record(arrival, &settled, &outcome);
        let mut state = self.state();
        let retry_of = state.repeats(&settled, &record, &outcome);
        let record = RequestRecord { retry_of, ..record };
        self.bill(&mut state, &settled, &outcome, record.usage.as_ref());
        let over_ms = outcome.waited.map_or_else(|| self.now_ms(), |(_, over)| over);
        state.settle(over_ms, &record, arrival.body.clone(), outcome, settled);
        if let Some(ending) = state.given_up() {
            drop(state);
            return self.stop_with(ending);
        }
        if let Some(failure) = &state.failure {
            let ending = Ending::because(EndingKind::HarnessFault, failure.to_string());
            drop(state);
            self.stop_with(ending);
        }
    }

    /// Replaces what was put aside for a request by what it cost.
    fn bill(&self, state: &mut State, settled: &Settled, outcome: &Outcome, usage: Option<&Usage>) {
        let Some(chat) = &settled.chat else { return };
        let spending = &self.spec.spending;
        let output = outcome.output_tokens.unwrap_or(0);
        let input = chat.weight.input_tokens();
        // What was not known when the request was let in was not put aside either.
        let aside = if settled.put_aside { spending.aside(&chat.model, input) } else { 0.0 };
        if !settled.put_aside {
            state.tokens += input;
        }
        let stated = usage.and_then(|usage| spending.cost(&chat.model, usage));
        let cost = stated.unwrap_or_else(|| spending.estimate(&chat.model, input, output));
        let is_answered = outcome.status.is_some_and(|status| status < 400) && outcome.answered;
        state.bill.complete &=
            (stated.is_some() || !is_answered && !outcome.abandoned) && outcome.thrown_away() == 0;
        // A refused request costs nothing.
        let more = if is_answered || outcome.abandoned { cost - aside } else { -aside };
        state.bill.usd += more;
        if let Some(run) = &spending.run {
            let unasked = if settled.put_aside { 0 } else { input };
            run.settle(unasked + output, more);
        }
    }

    fn record(&self, arrival: &Arrival, settled: &Settled, outcome: &Outcome) -> RequestRecord {
        let usage = outcome.turn.as_ref().and_then(|turn| turn.usage);
        RequestRecord {
            format_version: FORMAT_VERSION,
            request: settled.request,
            class: settled.class.word().to_owned(),
            rule: settled.rule.clone(),
            wire: settled.api.map_or(self.spec.wire, wire_of),
            method: arrival.method.to_string(),
            path: arrival.path.clone(),
            headers: headers::for_record(&arrival.headers),
            model: settled.chat.as_ref().map(|chat| chat.model.clone()),
            started_at: arrival.started_at.clone(),
            first_byte_ms: outcome.first_byte_ms().map(rounded),
            last_byte_ms: outcome.last_byte_ms().map(rounded),
            status: outcome.status,
            body_sha256: settled.body_sha256.clone().unwrap_or_else(|| Sha256Hex::of(&arrival.body)),
            body_bytes: arrival.body.len() as u64,
            body_tokens: settled.body_tokens,
            prompt_tokens: settled.chat.as_ref().and_then(|chat| chat.weight.prompt_tokens),
            encoding: headers::codings(&arrival.headers),
            response_sha256: outcome.bytes.as_ref().map(Sha256Hex::of),
            response_type: outcome.response_type.clone(),
            response_encoding: outcome.response_encoding.clone(),
            usage: usage.as_ref().map(usage_of),
            response_tokens: outcome.output_tokens,
            retry_of: None,
            agent: settled.agent.clone(),
        }
    }

    /// Hands out the state when the attempt is over; an error is a record that could not be kept.
    pub(crate) fn take_kept(&self) -> Result<Kept, RecorderError> {
        let mut state = self.state();
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        let exchanges = std::mem::replace(&mut state.exchanges, Spool::of(&self.spec.dir));
        Ok(Kept {
            store: state.store.take().expect("the state is handed out once"),
            exchanges: exchanges.into_all().map_err(RecorderError::facts)?,
            marks: std::mem::take(&mut state.marks),
            statuses: std::mem::take(&mut state.statuses),
            fingerprint: state.fingerprint.take(),
            fault: state.fault.take(),
            failing: state.failing.take(),
            unanswered: state.broken.take().map(|(_, ending)| ending),
            cost_usd: state.cost_usd(&self.spec),
            charged: Charged { tokens: state.tokens, cost_usd: to_hundred_millionths(state.bill.usd) },
        })
    }
}

impl State {
    fn new((store, trace): (RequestStore, Trace), exchanges: Spool) -> Self {
        Self {
            store: Some(store),
            trace,
            exchanges,
            statuses: BTreeMap::new(),
            fingerprint: None,
            fault: None,
            failing: None,
            failure: None,
            next: 1,
            unread: 0,
            requests: 0,
            turns: 0,
            tokens: 0,
            bill: Bill::default(),
            broken: None,
            offered: BTreeSet::new(),
            tools_seen: ToolsSeen::NotYet,
            first_turn_seen: false,
            offer: None,
            conversation: None,
            unnamed: Unnamed::default(),
            sent: None,
            results: BTreeSet::new(),
            marks: Vec::new(),
            failed: None,
        }
    }

    /// Writes an event; a failure is kept for the end, since no caller here could mend it.
    pub(crate) fn trace(&mut self, ms: f64, event: &TraceEvent<'_>) {
        if let Err(error) = self.trace.write(ms, event) {
            self.failure.get_or_insert(error.into());
        }
    }

    /// The earlier request that this one repeats: the same body again, right after it failed.
    fn repeats(&mut self, settled: &Settled, record: &RequestRecord, outcome: &Outcome) -> Option<u32> {
        settled.chat.as_ref()?;
        let repeated = self.failed.take().filter(|(_, body)| *body == record.body_sha256);
        if record.status.is_none_or(|status| status >= 400) || outcome.broke_off.is_some() {
            self.failed = Some((record.request, record.body_sha256.clone()));
        }
        repeated.map(|(request, _)| request)
    }

    /// Too many answers broke off in a row.
    fn given_up(&self) -> Option<Ending> {
        self.broken.as_ref().filter(|(times, _)| *times >= BREAKS).map(|(_, ending)| ending.clone())
    }

    fn cost_usd(&self, spec: &RecorderSpec) -> Option<f64> {
        let is_priced = !spec.spending.prices.prices.is_empty();
        (is_priced && self.bill.complete).then(|| to_hundred_millionths(self.bill.usd))
    }

    /// Keeps account of answers that broke off; a whole one starts the count anew.
    fn count_breaks(&mut self, outcome: &Outcome) {
        self.broken = match (&outcome.broke_off, self.broken.take()) {
            (Some(ending), before) => Some((before.map_or(0, |(times, _)| times) + 1, ending.clone())),
            (None, before) if !outcome.whole => before,
            (None, _) => None,
        };
    }

    /// Whoever is answered, with whatever, is no longer kept waiting by tries that fail.
    fn note_failing(&mut self, outcome: &Outcome) {
        self.failing = match outcome.retries.last() {
            Some(last) if outcome.abandoned => {
                let tries = outcome.retries.len();
                Some(format!("{tries} tries of a request failed, the last with: {}", last.reason))
            }
            Some(_) | None => self.failing.take().filter(|_| outcome.abandoned),
        };
    }

    fn settle(
        &mut self,
        ms: f64,
        record: &RequestRecord,
        body: bytes::Bytes,
        outcome: Outcome,
        settled: Settled,
    ) {
        self.trace_outcome(ms, record, &outcome);
        let response = ResponseBytes { bytes: outcome.bytes.as_deref(), frames: &outcome.frames };
        if let Some(Err(error)) = self.store.as_mut().map(|store| store.append(record, body.into(), response))
        {
            self.failure.get_or_insert(error.into());
        }
        let from_upstream = settled.chat.is_some();
        if from_upstream {
            self.count_breaks(&outcome);
            self.note_failing(&outcome);
        }
        for status in outcome.retries.iter().filter_map(|retry| retry.status).chain(outcome.upstream_status) {
            *self.statuses.entry(status.to_string()).or_insert(0) += 1;
        }
        let thrown_away = outcome.thrown_away();
        self.fault = self.fault.take().or(outcome.fault);
        if let Some(fingerprint) = outcome.turn.as_ref().and_then(|turn| turn.fingerprint.clone()) {
            self.fingerprint = Some(fingerprint);
        }
        self.tokens += outcome.output_tokens.unwrap_or(0);
        let answer = outcome.status.filter(|_| from_upstream && outcome.answered).map(|status| Answer {
            status,
            turn: outcome.turn.as_ref().map(Said::of),
            whole: outcome.whole,
            output_tokens: outcome.output_tokens.unwrap_or(0),
        });
        let settled = Exchange {
            request: settled.request,
            class: settled.class,
            agent: settled.agent,
            abandoned: settled.unread
                && (outcome.abandoned || outcome.status.is_some_and(|status| status < 400))
                || from_upstream && answer.is_none() && outcome.abandoned,
            chat: settled.chat,
            answer,
            retries: u32::try_from(outcome.retries.len()).unwrap_or(u32::MAX),
            thrown_away,
            waited: outcome.waited,
        };
        if let Err(error) = self.exchanges.push(settled) {
            self.failure.get_or_insert(RecorderError::facts(error));
        }
    }

    fn trace_outcome(&mut self, ms: f64, record: &RequestRecord, outcome: &Outcome) {
        let request = record.request;
        for retry in &outcome.retries {
            let (status, reason, bytes) = (retry.status, retry.reason.as_str(), retry.bytes);
            let (took_ms, wait_ms) = (rounded(retry.took_ms), rounded(retry.wait_ms));
            self.trace(ms, &TraceEvent::Retry { request, status, reason, took_ms, bytes, wait_ms });
        }
        for step in &outcome.steps {
            let (action, tool, substitution) = (&step.action, &step.tool, step.substitution.as_deref());
            self.trace(ms, &TraceEvent::OracleStep { request, step: step.step, action, tool, substitution });
        }
        for call in outcome.turn.iter().flat_map(|turn| &turn.calls) {
            let event = TraceEvent::ToolCall {
                request,
                id: &call.id,
                tool: &call.name,
                arguments_bytes: call.arguments.len() as u64,
                arguments_sha256: Sha256Hex::of(&call.arguments),
            };
            self.trace(ms, &event);
        }
        if let Some(why) = &outcome.unrendered {
            self.trace(ms, &TraceEvent::Unrendered { request, why });
        }
        if let Some(why) = &outcome.usage_refused {
            self.trace(ms, &TraceEvent::UsageRefused { request, why });
        }
        let turn = outcome.turn.as_ref();
        let event = TraceEvent::Response {
            request,
            body_tokens: record.body_tokens,
            prompt_tokens: record.prompt_tokens,
            status: record.status,
            bytes: outcome.bytes.as_ref().map(|bytes| bytes.len() as u64),
            frames: outcome.frames.len() as u64,
            whole: outcome.whole,
            finish: turn.and_then(|turn| turn.finish.as_deref()),
            text_bytes: turn.map_or(0, |turn| turn.text.len() as u64),
            output_tokens: record.response_tokens,
            first_byte_ms: record.first_byte_ms,
            last_byte_ms: record.last_byte_ms,
        };
        self.trace(ms, &event);
    }

    pub(crate) fn counts_as_turn(&mut self, class: RequestClass) {
        self.turns += u32::from(class == RequestClass::AgentTurn);
    }
}

/// Drops what putting aside and taking back leaves in the last digits.
fn to_hundred_millionths(usd: f64) -> f64 {
    (usd * 1e8).round() / 1e8
}
