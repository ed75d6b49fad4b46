//! The oracle's words on the wire: the same request gets the same bytes.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bench_tokens::Counter;
use bench_wire::chat::StreamUsage;
use bench_wire::reply::{write_json, write_stream};
use bench_wire::{Call, Turn, WireUsage};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, StatusCode};

use super::play::PlannedCall;
use crate::ledger::turn_tokens;
use crate::upstream::{OracleStep, ReadRequest, UpstreamFault, UpstreamResponse};

/// Raised when the oracle's words change for equal requests.
const FINGERPRINT: &str = "oracle-1";

/// A turn before it is written for a request.
pub(super) struct Spoken {
    turn: Turn,
    steps: Vec<OracleStep>,
}

pub(super) fn title() -> Spoken {
    said("title", "Task".to_owned(), Vec::new())
}

pub(super) fn summary(marker: &str) -> Spoken {
    said("summary", format!("The work so far follows a plan. {marker}"), Vec::new())
}

pub(super) fn answer(id: &str, text: String, step: OracleStep) -> Spoken {
    said(id, text, vec![step])
}

pub(super) fn calls(id: &str, planned: Vec<PlannedCall>) -> Spoken {
    let mut spoken = said(id, String::new(), Vec::new());
    spoken.turn.finish = Some("tool_calls".to_owned());
    for PlannedCall { id, tool, namespace, form, arguments, step, .. } in planned {
        spoken.turn.calls.push(Call { id: id.to_string(), name: tool, arguments, namespace, form });
        spoken.steps.push(step);
    }
    spoken
}

fn said(id: &str, text: String, steps: Vec<OracleStep>) -> Spoken {
    let turn = Turn {
        id: format!("chatcmpl-{id}"),
        text,
        finish: Some("stop".to_owned()),
        fingerprint: Some(FINGERPRINT.to_owned()),
        ..Turn::default()
    };
    Spoken { turn, steps }
}

/// Writes a turn as the request wants it: any model id is accepted and echoed; usage is the local count.
pub(super) fn response(counter: &Counter, request: &ReadRequest, spoken: Spoken) -> UpstreamResponse {
    let Spoken { mut turn, steps } = spoken;
    turn.model.clone_from(&request.chat.model);
    turn.usage = Some(WireUsage {
        input_tokens: request.input_tokens,
        output_tokens: Some(turn_tokens(counter, &turn)),
        ..WireUsage::default()
    });
    let mut headers = HeaderMap::new();
    let frames: VecDeque<Bytes> = if request.chat.stream {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        let usage = if request.chat.include_usage { StreamUsage::Included } else { StreamUsage::LeftOut };
        write_stream(request.chat.api, &turn, usage).into_iter().map(Bytes::from).collect()
    } else {
        let body = Bytes::from(write_json(request.chat.api, &turn));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CONTENT_LENGTH, body.len().into());
        VecDeque::from([body])
    };
    let body = Pieces(frames).boxed_unsync();
    UpstreamResponse { status: StatusCode::OK, headers, body, retries: Vec::new(), steps }
}

/// A body of pieces that are all there already.
struct Pieces(VecDeque<Bytes>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = UpstreamFault;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, UpstreamFault>>> {
        Poll::Ready(self.0.pop_front().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}
