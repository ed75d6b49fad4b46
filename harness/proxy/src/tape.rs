//! What has arrived of a response: its bytes, when each piece came, and the turn as far as it can be read.

use bench_wire::{Api, ReplyReader, TurnError, WireUsage};
use bytes::Bytes;
use hyper::body::Frame;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, StatusCode};

use crate::exchange::{BODY_CAP, Outcome};
use crate::ledger::turn_tokens;
use crate::shared::Shared;
use crate::trace::rounded;

/// What has arrived of a response.
pub(crate) struct Tape {
    status: StatusCode,
    origin_ms: f64,
    bytes: Vec<u8>,
    frames: Vec<(f64, u64)>,
    reader: ReplyReader,
}

impl Tape {
    pub(crate) fn new(api: Api, status: StatusCode, headers: &HeaderMap, origin_ms: f64) -> Self {
        let reader = ReplyReader::new(api, headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()));
        Self { status, origin_ms, bytes: Vec::new(), frames: Vec::new(), reader }
    }

    /// Keeps a piece; false when there is no room for it.
    pub(crate) fn take(&mut self, frame: &Frame<Bytes>, now_ms: f64) -> bool {
        let Some(data) = frame.data_ref() else { return true };
        if self.bytes.len() + data.len() > BODY_CAP {
            return false;
        }
        self.bytes.extend_from_slice(data);
        self.frames.push((rounded(now_ms - self.origin_ms), self.bytes.len() as u64));
        if self.status.is_success() {
            self.reader.feed(data);
        }
        true
    }

    pub(crate) fn outcome(self, shared: &Shared, ended: bool) -> Outcome {
        let (turn, readable) = match (self.status.is_success(), self.reader.finish()) {
            (true, Ok(turn)) => (Some(turn), true),
            (true, Err(TurnError::Incomplete { turn, .. })) => (Some(*turn), false),
            (true, Err(TurnError::Refused { .. })) => (None, false),
            (false, _) => (None, ended),
        };
        let mut turn = turn;
        let said = turn.as_mut().and_then(|turn| turn.usage.take());
        // A usage that contradicts itself is nobody's word: the turn counts as one without usage.
        let usage_refused = said.as_ref().and_then(WireUsage::contradiction);
        if let Some(turn) = turn.as_mut().filter(|_| usage_refused.is_none()) {
            turn.usage = said;
        }
        Outcome {
            usage_refused,
            status: Some(self.status.as_u16()),
            upstream_status: Some(self.status.as_u16()),
            answered: true,
            output_tokens: turn.as_ref().map(|turn| turn_tokens(&shared.spec.counter, turn)),
            whole: readable,
            turn,
            frames: self.frames,
            bytes: Some(self.bytes),
            ..Outcome::default()
        }
    }
}
