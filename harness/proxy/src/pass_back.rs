//! An answer on its way back to the agent: what arrives passes at once, is kept, and is read when it is over.
//!
//! Pieces that have arrived together go together: one write for each would take the processor from the agent that waits
//! for them. For the same reason an answer is read only after the agent had a chance to take the last of it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::Response;
use hyper::body::{Body as _, Frame};
use tokio::sync::{OwnedMutexGuard, mpsc, oneshot};

use crate::exchange::Forwarding;
use crate::headers;
use crate::reply::{BrokenOff, ReplyBody};
use crate::shared::Shared;
use crate::tape::Tape;
use crate::upstream::{UpstreamBody, UpstreamFault, UpstreamResponse};

/// Pieces of a response that may wait for a slow agent, and that go together at most.
const PIECES_WAITING: usize = 32;

/// The response is larger than what is kept of one.
const TOO_LARGE: &str = "the response is larger than the recorder keeps (64 MiB)";

type Pieces = mpsc::Sender<Result<Frame<Bytes>, BrokenOff>>;

/// An answer, as far as it has passed.
struct Passage {
    shared: Arc<Shared>,
    body: UpstreamBody,
    pieces: Pieces,
    tape: Tape,
    fault: Option<UpstreamFault>,
    ended: bool,
    /// Held from just before the last piece passes until the answer is settled.
    settling: Option<OwnedMutexGuard<()>>,
}

impl Forwarding {
    /// Passes an answer back until it, the agent or the recorder ends, then settles the request.
    pub(crate) async fn pass_back(
        mut self,
        response: UpstreamResponse,
        reply: oneshot::Sender<Response<ReplyBody>>,
        sent_ms: f64,
    ) {
        let UpstreamResponse { status, headers, body, retries, steps } = response;
        let (pieces, passing) = mpsc::channel(PIECES_WAITING);
        let mut head = Response::new(ReplyBody::Passing(passing));
        *head.status_mut() = status;
        *head.headers_mut() = headers::for_agent(&headers);
        // When the agent is gone, `pieces` is closed and nothing more passes.
        let _ = reply.send(head);
        let shared = Arc::clone(&self.shared);
        let tape = Tape::new(self.api, status, &headers, self.arrival.arrived_ms);
        let ended = body.is_end_stream();
        let mut passage =
            Passage { shared: Arc::clone(&shared), body, pieces, tape, fault: None, ended, settling: None };
        while passage.goes_on() && passage.next().await {
            // What must be read first takes the processor from nobody once the model has spoken.
            if self.read.is_some() {
                self.account.may_begin();
            }
        }
        let Passage { pieces, tape, fault, ended, settling, .. } = passage;
        let over_ms = shared.now_ms();
        let settling = match settling {
            Some(settling) => settling,
            None => shared.lets_end().await,
        };
        // The agent learns at once that the answer is over; what it asks next waits for this account where it hangs on it.
        let broken = fault.as_ref().map(|_| pieces);
        self.account.may_begin();
        // The last pieces are still to be written, and the agent may wait for this very processor.
        tokio::task::yield_now().await;
        std::thread::yield_now();
        let mut outcome = tape.outcome(&shared, ended);
        outcome.retries = retries;
        outcome.steps = steps;
        outcome.waited = Some((sent_ms, over_ms));
        // It ended as any other does, and ends so for the agent; only the turn in it is not whole.
        let unfinished = match &outcome.refused {
            Some(error) => Some(format!("the response carried an error: {error}")),
            None if ended && status.is_success() && outcome.cut_short => {
                Some("the response ended before the model's turn did".to_owned())
            }
            None => None,
        };
        let unfinished = unfinished.map(UpstreamFault::broken);
        let known = fault.as_ref().or(unfinished.as_ref());
        outcome.fault = known.and_then(|fault| fault.ending.detail.clone());
        let broke_off = known.filter(|fault| fault.broke_off);
        outcome.broke_off = broke_off.map(|fault| *fault.ending.clone());
        self.settle(outcome).await;
        drop(settling);
        if let (Some(pieces), Some(fault)) = (broken, fault) {
            break_off(&shared, &pieces, fault).await;
        }
    }
}

impl Passage {
    fn goes_on(&self) -> bool {
        !self.ended && self.fault.is_none()
    }

    /// Passes what is there, once something is; false when nobody wants it any more.
    async fn next(&mut self) -> bool {
        let Some(arrived) = self.wait().await else { return false };
        let mut frames: Vec<Frame<Bytes>> = self.keep(arrived).into_iter().collect();
        while self.goes_on() && frames.len() < PIECES_WAITING {
            let Some(arrived) = self.arrived_by_now().await else { break };
            frames.extend(self.keep(arrived));
        }
        self.pass(frames).await
    }

    /// What arrives next; none when agent or recorder end before.
    async fn wait(&mut self) -> Option<Arrived> {
        let Self { body, pieces, shared, .. } = self;
        tokio::select! {
            biased;
            frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)) => Some(frame),
            () = pieces.closed() => None,
            () = shared.closed() => None,
        }
    }

    /// What has arrived already. The task that reads the connection hands out one piece at a time: it gets one turn.
    async fn arrived_by_now(&mut self) -> Option<Arrived> {
        for last in [false, true] {
            let polled = poll_fn(|cx| Poll::Ready(Pin::new(&mut self.body).poll_frame(cx))).await;
            match polled {
                Poll::Ready(arrived) => return Some(arrived),
                Poll::Pending if last => {}
                Poll::Pending => step_back().await,
            }
        }
        None
    }

    /// Keeps a piece, and returns it if it may pass.
    fn keep(&mut self, arrived: Arrived) -> Option<Frame<Bytes>> {
        match arrived {
            None => self.ended = true,
            Some(Err(broken)) => self.fault = Some(broken),
            Some(Ok(frame)) if !self.tape.take(&frame, self.shared.now_ms()) => {
                self.fault = Some(UpstreamFault::unavailable(TOO_LARGE));
            }
            Some(Ok(frame)) => {
                self.ended = self.body.is_end_stream();
                return Some(frame);
            }
        }
        None
    }

    /// Passes pieces; false when the agent is gone.
    async fn pass(&mut self, frames: Vec<Frame<Bytes>>) -> bool {
        if frames.is_empty() {
            return true;
        }
        // Room first: an agent that does not read must not hold up whose answer is to be settled.
        let Ok(places) = self.pieces.reserve_many(frames.len()).await else { return false };
        if self.ended {
            self.settling = Some(self.shared.lets_end().await);
        }
        for (place, frame) in places.zip(frames) {
            place.send(Ok(frame));
        }
        true
    }
}

/// Lets every task have its turn that can go on, without a look at what the kernel has.
async fn step_back() {
    let mut been_back = false;
    let turn = |cx: &mut Context<'_>| {
        if std::mem::replace(&mut been_back, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    };
    poll_fn(turn).await;
}

/// A piece of the body, its break, or its end.
type Arrived = Option<Result<Frame<Bytes>, UpstreamFault>>;

/// Breaks the agent's connection off as the upstream's was.
async fn break_off(shared: &Shared, pieces: &Pieces, fault: UpstreamFault) {
    // After a break the agent may ask again; how often is the recorder's to count.
    if !fault.broke_off {
        shared.stop_with(*fault.ending);
    }
    let _ = pieces.send(Err(BrokenOff)).await;
}
