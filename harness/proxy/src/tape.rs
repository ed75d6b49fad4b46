//! What has arrived of a response: its bytes, when each piece came, and the turn as far as it can be read.

use bench_wire::{Api, ReplyReader, TurnError, WireUsage};
use bytes::Bytes;
use hyper::body::Frame;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, StatusCode};

use crate::coding::Decoding;
use crate::exchange::{BODY_CAP, Outcome};
use crate::headers::codings;
use crate::ledger::turn_tokens;
use crate::shared::Shared;
use crate::trace::rounded;

/// What has arrived of a response.
pub(crate) struct Tape {
    status: StatusCode,
    origin_ms: f64,
    bytes: Vec<u8>,
    frames: Vec<(f64, u64)>,
    /// Undoes the codings of the response; what passes is never changed.
    decoding: Option<Decoding>,
    /// Could everything so far be undone?
    legible: bool,
    is_stream: bool,
    response_type: Option<String>,
    response_encoding: Option<String>,
    reader: ReplyReader,
}

impl Tape {
    pub(crate) fn new(api: Api, status: StatusCode, headers: &HeaderMap, origin_ms: f64) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let reader = ReplyReader::new(api, text(CONTENT_TYPE));
        let (response_type, response_encoding) = (text(CONTENT_TYPE).map(str::to_owned), codings(headers));
        let is_stream = text(CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/event-stream"));
        let decoding = Decoding::of(response_encoding.as_deref(), BODY_CAP);
        let (legible, decoding) = (decoding.is_ok(), decoding.ok().flatten());
        Self {
            status,
            origin_ms,
            bytes: Vec::new(),
            frames: Vec::new(),
            decoding,
            legible,
            is_stream,
            response_type,
            response_encoding,
            reader,
        }
    }

    /// Keeps a piece; false when there is no room for it. It is read when the answer is over: nobody waits for that.
    pub(crate) fn take(&mut self, frame: &Frame<Bytes>, now_ms: f64) -> bool {
        let Some(data) = frame.data_ref() else { return true };
        if self.bytes.len() + data.len() > BODY_CAP {
            return false;
        }
        self.bytes.extend_from_slice(data);
        self.frames.push((rounded(now_ms - self.origin_ms), self.bytes.len() as u64));
        true
    }

    /// Reads what came, in the pieces in which it came.
    fn read_all(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut from = 0;
        for at in 0..self.frames.len() {
            let to = self.frames[at].1 as usize;
            if self.status.is_success() && self.legible {
                self.read(&bytes[from..to]);
            }
            from = to;
        }
        self.bytes = bytes;
        self.read_rest();
    }

    fn read(&mut self, data: &[u8]) {
        let Some(decoding) = &mut self.decoding else { return self.reader.feed(data) };
        match decoding.feed(data) {
            Ok(text) => self.reader.feed(&text),
            // It passes as it came; what it says stays unknown.
            Err(_) => self.legible = false,
        }
    }

    /// The last bytes of a coded response, and whether it was whole.
    fn read_rest(&mut self) {
        let Some(decoding) = self.decoding.take() else { return };
        match decoding.finish() {
            Ok(text) => self.reader.feed(&text),
            Err(_) => self.legible = false,
        }
    }

    pub(crate) fn outcome(mut self, shared: &Shared, ended: bool) -> Outcome {
        self.read_all();
        let legible = self.legible;
        let (mut cut_short, mut refused) = (false, None);
        let is_stream = self.is_stream;
        let (turn, readable) = match (self.status.is_success(), self.reader.finish()) {
            (true, Ok(turn)) => (Some(turn), legible),
            (true, Err(TurnError::Incomplete { turn, .. })) => {
                // Who has said why it stopped was not cut short, whatever else could not be read.
                cut_short = legible && is_stream && turn.finish.is_none();
                (Some(*turn), false)
            }
            (true, Err(TurnError::Refused { turn, message })) => {
                refused = Some(message);
                // What was streamed and stated before it was worked for, and is charged.
                let is_empty = turn.text.is_empty() && turn.calls.is_empty() && turn.usage.is_none();
                ((!is_empty).then_some(*turn), false)
            }
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
            cut_short,
            refused: refused.filter(|_| is_stream),
            turn,
            frames: self.frames,
            bytes: Some(self.bytes),
            response_type: self.response_type,
            response_encoding: self.response_encoding,
            ..Outcome::default()
        }
    }
}
