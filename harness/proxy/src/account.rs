//! Requests that go to the upstream before anybody here has read them, and the account of every request that went.
//!
//! Reading a request and counting it take longer than everything else that stands between agent and upstream. Where what
//! it says cannot decide whether it may go, it goes at once and is read on its way, one after the other in the order in
//! which they came: what is new in a request is said by those before it.

use std::sync::Arc;

use bench_wire::auxiliary::counting_field;
use bench_wire::{Api, ModelRequest};
use bytes::Bytes;
use tokio::sync::oneshot;

use crate::admission::{Read, passes, within_requests};
use crate::classify::{RequestClass, asker, classify};
use crate::exchange::{Arrival, Settled};
use crate::facts::Known;
use crate::shared::{Shared, State};
use crate::weighing::{HEAD_START, WEIGHERS, Weighed, Weighing};

/// Rule of a request that looked like JSON and could not be read.
const UNREADABLE: &str = "passed on, and is no model request: ";

/// A request that goes to the upstream unread.
pub(crate) struct Unread {
    pub(crate) request: u32,
    pub(crate) api: Api,
    content: Bytes,
    /// How many went unread before it.
    place: u64,
}

/// Lets a request through whose words decide nothing: a whole model call of this attempt's, within every cap even if all
/// that is unread turns out to be a turn.
pub(crate) fn let_through(shared: &Shared, arrival: &Arrival) -> Option<Unread> {
    let api = Api::of_path(&arrival.path).filter(|_| shared.lets_through)?;
    if counting_field(arrival.method.as_str(), &arrival.path).is_some() {
        return None;
    }
    let (_, content) = passes(shared, arrival).ok()?;
    if !looks_like_an_object(content) {
        return None;
    }
    let mut state = shared.state();
    if shared.stop.borrow().is_some() || !within_caps(shared, &state) {
        return None;
    }
    // Whom the run's budget refuses is told so where requests are read first.
    if shared.spec.spending.run.as_ref().is_some_and(|run| run.enter(0, 0.0).is_err()) {
        return None;
    }
    let request = state.next;
    let place = state.unread;
    state.next += 1;
    state.requests += 1;
    state.unread += 1;
    Some(Unread { request, api, content: content.clone(), place })
}

fn within_caps(shared: &Shared, state: &State) -> bool {
    let unread = state.unread - *shared.read.borrow();
    let is_turn_free = |limit: u32| u64::from(state.turns) + unread < u64::from(limit);
    within_requests(shared, state).is_ok() && shared.spec.limits.turns.is_none_or(is_turn_free)
}

/// Does it look like what every API's requests are? Whether it is one is found on its way.
fn looks_like_an_object(content: &[u8]) -> bool {
    let text = content.trim_ascii();
    text.starts_with(b"{") && text.ends_with(b"}") && std::str::from_utf8(text).is_ok()
}

/// What reading a request on its way found.
struct Found {
    class: RequestClass,
    rule: String,
    agent: Option<String>,
    /// None when it could not be read.
    chat: Option<(Known, Weighed)>,
}

/// A request that is being read on its way, or will be.
pub(crate) struct Reading {
    over: Option<oneshot::Sender<()>>,
    told: oneshot::Receiver<Found>,
}

/// Says that one more is read, however its reading went.
struct OneMore(Arc<Shared>);

impl Drop for OneMore {
    fn drop(&mut self) {
        self.0.read.send_modify(|read| *read += 1);
    }
}

impl Unread {
    /// Reads it on a thread of its own, once it is on its way and those before it are read.
    pub(crate) fn read_later(self, shared: Arc<Shared>, arrival: Arc<Arrival>) -> Reading {
        let (over, is_over) = oneshot::channel::<()>();
        let (tell, told) = oneshot::channel();
        tokio::spawn(async move {
            // Until then it would take the processor from the request itself.
            let _ = tokio::time::timeout(HEAD_START, is_over).await;
            shared.read_up_to(self.place).await;
            let one_more = OneMore(Arc::clone(&shared));
            let turn = WEIGHERS.acquire().await.expect("nobody closes it");
            tokio::task::spawn_blocking(move || {
                let found = self.read(&shared, &arrival);
                drop(one_more);
                // Whoever gave it up does not want to know.
                let _ = tell.send(found);
                drop(turn);
            });
        });
        Reading { over: Some(over), told }
    }

    fn read(&self, shared: &Shared, arrival: &Arrival) -> Found {
        let chat = match ModelRequest::read(self.api, &arrival.path, &self.content) {
            Ok(chat) => Arc::new(chat),
            Err(error) => {
                let (class, rule) = (RequestClass::Probe, format!("{UNREADABLE}{error}"));
                let labels = (self.request, class.word(), rule.as_str());
                shared.state().trace_request(shared, arrival, labels, (None, None));
                return Found { class, rule, agent: None, chat: None };
            }
        };
        let headers = arrival.headers.clone();
        let read = Read { chat, content: self.content.clone(), weight: None, headers };
        let mut state = shared.state();
        let (class, rule) = classify(&read.chat, &read.headers, &mut state);
        state.counts_as_turn(class);
        let agent = asker(&read.chat, &read.headers, class, &mut state.unnamed);
        let labels = (self.request, class.word(), rule.as_str());
        state.trace_request(shared, arrival, labels, (agent.as_deref(), Some(&read.chat.model)));
        let (known, load) = state.know(shared, arrival, &read, (self.request, class, agent.as_deref()));
        drop(state);
        let weighed = load.weigh(&shared.spec.counter);
        Found { class, rule, agent, chat: Some((known, weighed)) }
    }
}

/// What there is to say of a request that went, when its answer is over.
pub(crate) enum Account {
    /// Of one that was read before it went.
    Admitted(Box<BeingWeighed>),
    /// Of one that was not.
    Unread(Reading),
}

/// What is known of a request that was read before it went.
pub(crate) struct BeingWeighed {
    pub(crate) class: RequestClass,
    pub(crate) rule: String,
    pub(crate) agent: Option<String>,
    pub(crate) known: Known,
    pub(crate) weighing: Weighing,
    /// Was what it surely costs put aside?
    pub(crate) put_aside: bool,
}

impl Account {
    /// Nothing is held up any more by what is still to be counted.
    pub(crate) fn may_begin(&mut self) {
        match self {
            Self::Admitted(admitted) => admitted.weighing.may_begin(),
            Self::Unread(reading) => drop(reading.over.take().map(|over| over.send(()))),
        }
    }

    /// The account, once it is complete, and why the model's prompt is not known although its format is.
    pub(crate) async fn settled(mut self, request: u32, api: Api) -> (Settled, Option<String>) {
        self.may_begin();
        let (found, put_aside) = match self {
            Self::Admitted(admitted) => {
                let BeingWeighed { class, rule, agent, known, weighing, put_aside } = *admitted;
                let chat = Some((known, weighing.found().await));
                (Found { class, rule, agent, chat }, put_aside)
            }
            Self::Unread(reading) => {
                (reading.told.await.expect("reading a request ends, whatever it holds"), false)
            }
        };
        let Found { class, rule, agent, chat } = found;
        let weighed = chat.as_ref().map(|(_, weighed)| weighed);
        let unrendered = weighed.and_then(|weighed| weighed.unrendered.clone());
        let settled = Settled {
            request,
            class,
            rule,
            agent,
            body_tokens: weighed.map(|weighed| weighed.weight.body_tokens),
            body_sha256: weighed.map(|weighed| weighed.body_sha256.clone()),
            put_aside,
            api: Some(api),
            unread: chat.is_none(),
            chat: chat.map(|(known, weighed)| known.weighed(&weighed)),
        };
        (settled, unrendered)
    }
}
