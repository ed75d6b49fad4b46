//! What the recorder sends to the agent: a body that passes piece by piece, or an answer of its own.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc;

/// The upstream's body broke off: the agent's connection must break off as well, or a cut response reads as whole.
#[derive(Debug, thiserror::Error)]
#[error("the response broke off upstream")]
pub(crate) struct BrokenOff;

/// A body on its way to the agent.
pub(crate) enum ReplyBody {
    /// Pieces as they arrive.
    Passing(mpsc::Receiver<Result<Frame<Bytes>, BrokenOff>>),
    /// All at once.
    Whole(Option<Bytes>),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        match &mut *self {
            Self::Passing(pieces) => pieces.poll_recv(cx),
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Passing(_) => false,
            Self::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
        }
    }
}

/// An answer of the recorder's own: an error object that every API's clients can read.
pub(crate) fn error_body(code: &str, message: &str) -> Bytes {
    let body = serde_json::json!({"type": "error", "error": {"message": message, "type": "bench_recorder", "code": code}});
    Bytes::from(body.to_string())
}

/// A whole response.
pub(crate) fn whole(status: StatusCode, content_type: &'static str, body: Bytes) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::Whole(Some(body.clone())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static(content_type));
    response.headers_mut().insert(CONTENT_LENGTH, body.len().into());
    response
}
