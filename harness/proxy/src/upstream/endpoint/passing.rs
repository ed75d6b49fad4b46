//! The body of an endpoint's answer on its way: what was read ahead, then the rest, each piece within its time. It holds
//! the endpoint's place among the requests in flight until the answer is over.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Sleep;

use super::super::UpstreamFault;

pub(super) struct Passing {
    ahead: Option<Bytes>,
    rest: Option<Incoming>,
    idle: Duration,
    waiting: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Passing {
    pub(super) fn new(
        ahead: Option<Bytes>,
        rest: Option<Incoming>,
        idle: Duration,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self { ahead, rest, idle, waiting: Box::pin(tokio::time::sleep(idle)), _place: place }
    }
}

impl Body for Passing {
    type Data = Bytes;
    type Error = UpstreamFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamFault>>> {
        if let Some(bytes) = self.ahead.take() {
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        let Some(rest) = self.rest.as_mut() else { return Poll::Ready(None) };
        match Pin::new(rest).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                let next = tokio::time::Instant::now() + self.idle;
                self.waiting.as_mut().reset(next);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                Poll::Ready(Some(Err(UpstreamFault::broken(format!("the response broke off: {error}")))))
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Pending => self.waiting.as_mut().poll(cx).map(|()| {
                let seconds = self.idle.as_secs_f64();
                Some(Err(UpstreamFault::broken(format!("the response stood still for {seconds} s"))))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ahead.is_none() && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let ahead = self.ahead.as_ref().map_or(0, |bytes| bytes.len() as u64);
        match &self.rest {
            None => SizeHint::with_exact(ahead),
            Some(rest) => {
                let mut hint = SizeHint::new();
                hint.set_lower(ahead + rest.size_hint().lower());
                hint
            }
        }
    }
}
