//! A provider that echoes the key must not carry it into a cell or onto the disk: the body is searched as it passes,
//! across pieces, with its content codings and JSON's escapes undone, and broken off before the piece that would complete
//! the key. A key that comes in another coding (base64), or in parts that only a reader of events joins, is not seen.

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
    unescaping: Unescaping,
    unescaped: Watch,
}

/// Undoes the escapes of JSON's strings, wherever they stand in a stream.
#[derive(Default)]
struct Unescaping {
    /// The beginning of an escape whose rest is still to come.
    begun: Vec<u8>,
}

impl Unescaping {
    fn feed(&mut self, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(data.len());
        for byte in data {
            match (self.begun.as_slice(), byte) {
                ([], b'\\') => self.begun.push(*byte),
                ([], _) => out.push(*byte),
                ([_], b'u') => self.begun.push(*byte),
                ([_], _) => {
                    out.push(*byte);
                    self.begun.clear();
                }
                ([_, _, digits @ ..], _) if digits.len() < 3 => self.begun.push(*byte),
                ([_, _, digits @ ..], _) => {
                    let digits = [digits, &[*byte]].concat();
                    let unit =
                        std::str::from_utf8(&digits).ok().and_then(|d| u32::from_str_radix(d, 16).ok());
                    // A key is ASCII; any other character stands for itself whatever it is.
                    out.push(unit.and_then(|unit| u8::try_from(unit).ok()).unwrap_or(b'?'));
                    self.begun.clear();
                }
            }
        }
        out
    }
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
        let unescaping = Unescaping::default();
        Self { inner, raw: watch(), decoding, unfolded: watch(), unescaping, unescaped: watch() }
    }

    fn completes_key(&mut self, data: &[u8]) -> bool {
        if self.raw.completes(data) {
            return true;
        }
        if self.raw.key.is_empty() {
            return false;
        }
        let Some(decoding) = &mut self.decoding else {
            return self.unescaped.completes(&self.unescaping.feed(data));
        };
        match decoding.feed(data) {
            Ok(text) => {
                self.unfolded.completes(&text) || self.unescaped.completes(&self.unescaping.feed(&text))
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_whatever_escapes_it_is_written_with_and_wherever_it_is_cut() {
        let key = b"sk-a/b-EYE";
        let text = br#"{"x":"\"sk-a\/b-\u0045Y\u0045\n"}"#;
        for cut in 0..text.len() {
            let mut unescaping = Unescaping::default();
            let mut watch = Watch { key: key.to_vec(), tail: Vec::new() };
            let found = [&text[..cut], &text[cut..]].map(|piece| watch.completes(&unescaping.feed(piece)));
            assert!(found.contains(&true), "cut at {cut}");
        }
        let mut unescaping = Unescaping::default();
        assert_eq!(unescaping.feed(br"a\\u0041\u4f60b"), br"a\u0041?b");
    }
}
