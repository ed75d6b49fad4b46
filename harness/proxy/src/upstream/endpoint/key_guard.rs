//! A provider that echoes the key must not carry it into a cell or onto the disk: the body is searched as it passes,
//! across pieces and with its content codings undone, and broken off before the piece that would complete the key.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use memchr::memmem;

use super::super::UpstreamFault;
use super::passing::Passing;
use crate::coding::Decoding;
use crate::exchange::BODY_CAP;

pub(super) struct GuardedBody {
    inner: Passing,
    raw: Watch,
    decoding: Option<Decoding>,
    unfolded: Watch,
}

/// Looks for the key across the pieces of one stream.
struct Watch {
    key: Vec<u8>,
    tail: Vec<u8>,
}

impl GuardedBody {
    /// Watches a body for the key; an empty key watches for nothing.
    pub(super) fn new(inner: Passing, key: &str, coding: Option<&str>) -> Self {
        let watch = || Watch { key: key.as_bytes().to_vec(), tail: Vec::new() };
        let decoding = if key.is_empty() { None } else { Decoding::of(coding, BODY_CAP).ok().flatten() };
        Self { inner, raw: watch(), decoding, unfolded: watch() }
    }

    fn completes_key(&mut self, data: &[u8]) -> bool {
        if self.raw.completes(data) {
            return true;
        }
        let Some(decoding) = &mut self.decoding else { return false };
        match decoding.feed(data) {
            Ok(text) => self.unfolded.completes(&text),
            // Unreadable for us is unreadable for whoever reads the record.
            Err(_) => {
                self.decoding = None;
                false
            }
        }
    }
}

impl Watch {
    fn completes(&mut self, data: &[u8]) -> bool {
        if self.key.is_empty() {
            return false;
        }
        let joint: Vec<u8> = self.tail.iter().chain(data.iter().take(self.key.len())).copied().collect();
        let found = memmem::find(&joint, &self.key).is_some() || memmem::find(data, &self.key).is_some();
        self.tail.extend_from_slice(&data[data.len().saturating_sub(self.key.len())..]);
        let surplus = self.tail.len().saturating_sub(self.key.len() - 1);
        self.tail.drain(..surplus);
        found
    }
}

impl Body for GuardedBody {
    type Data = Bytes;
    type Error = UpstreamFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamFault>>> {
        let frame = match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(frame)) => frame,
        };
        Poll::Ready(Some(match frame {
            Err(broken) => Err(broken),
            Ok(frame) if frame.data_ref().is_some_and(|data| self.completes_key(data)) => {
                Err(UpstreamFault::unavailable(
                    "the response repeats the key, so it was broken off; use an endpoint that does not echo credentials",
                ))
            }
            Ok(frame) => Ok(frame),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
