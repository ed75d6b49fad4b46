//! A provider on loopback that answers what the test says.

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bench_proxy::{EndpointUpstream, RequestLimits, RetryPolicy};
use bench_wire::chat::{StreamUsage, write_json, write_stream};
use bench_wire::{Call, Turn, WireUsage};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;

use super::Stage;

/// The key that a provider is to be shown, and nobody else.
pub const KEY: &str = "sk-real-key-93b1";
pub const AT_ONCE: RetryPolicy =
    RetryPolicy { retries: 3, first_wait: Duration::ZERO, longest_wait: Duration::ZERO };

/// A recorder in front of this provider.
pub async fn stage(provider: &Provider) -> Stage {
    limited(provider, RequestLimits::default()).await
}

pub async fn limited(provider: &Provider, limits: RequestLimits) -> Stage {
    let upstream = EndpointUpstream::new(&provider.base, Some(KEY.into()), AT_ONCE).unwrap();
    Stage::upstream(Arc::new(upstream), |spec| spec.limits = limits).await
}

/// An answer whose pieces, the first included, the test sends.
pub fn silent() -> (Response<Pieces>, mpsc::Sender<Result<Bytes, std::io::Error>>) {
    let (sender, receiver) = mpsc::channel(1);
    (Response::builder().header("content-type", "application/json").body(Pieces(receiver)).unwrap(), sender)
}

/// Does any file below hold this text?
pub fn stands_in(dir: &Path, text: &str) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => stands_in(&path, text),
            false => memchr::memmem::find(&std::fs::read(&path).unwrap(), text.as_bytes()).is_some(),
        }
    })
}

/// A request as the provider got it.
#[derive(Debug, Clone)]
pub struct Got {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A body whose pieces the test sends; an `Err` breaks the connection.
pub struct Pieces(pub mpsc::Receiver<Result<Bytes, std::io::Error>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

/// The answers of a test: request and its number (from 1) to response.
pub type Answers = dyn Fn(&Got, usize) -> Response<Pieces> + Send + Sync;

pub struct Provider {
    pub base: String,
    pub got: Arc<Mutex<Vec<Got>>>,
    server: tokio::task::JoinHandle<()>,
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Provider {
    pub async fn start(answers: impl Fn(&Got, usize) -> Response<Pieces> + Send + Sync + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/api/v1", listener.local_addr().unwrap());
        let got: Arc<Mutex<Vec<Got>>> = Arc::default();
        let (answers, kept): (Arc<Answers>, _) = (Arc::new(answers), Arc::clone(&got));
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let (answers, kept) = (Arc::clone(&answers), Arc::clone(&kept));
                let service =
                    service_fn(move |request| answer(Arc::clone(&answers), Arc::clone(&kept), request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Self { base, got, server }
    }

    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

async fn answer(
    answers: Arc<Answers>,
    kept: Arc<Mutex<Vec<Got>>>,
    request: Request<Incoming>,
) -> Result<Response<Pieces>, std::convert::Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let path = head.uri.path_and_query().unwrap().to_string();
    let got = Got { method: head.method, path, headers: head.headers, body };
    let number = {
        let mut kept = kept.lock().unwrap();
        kept.push(got.clone());
        kept.len()
    };
    Ok(answers(&got, number))
}

/// A response of these pieces.
pub fn pieces(status: u16, content_type: &str, pieces: Vec<Vec<u8>>) -> Response<Pieces> {
    let (sender, receiver) = mpsc::channel(pieces.len().max(1));
    for piece in pieces {
        sender.try_send(Ok(Bytes::from(piece))).unwrap();
    }
    Response::builder().status(status).header("content-type", content_type).body(Pieces(receiver)).unwrap()
}

/// What a provider says when it calls `bash`.
pub fn calling_turn() -> Turn {
    Turn {
        id: "r1".into(),
        model: "answered-model".into(),
        calls: vec![Call { id: "c1".into(), name: "bash".into(), arguments: "{}".into(), ..Call::default() }],
        finish: Some("tool_calls".into()),
        usage: Some(WireUsage {
            input_tokens: Some(100),
            cached_input_tokens: Some(60),
            output_tokens: Some(10),
            ..WireUsage::default()
        }),
        fingerprint: Some("fp-7".into()),
        ..Turn::default()
    }
}

/// What a provider says when it is done.
pub fn final_turn() -> Turn {
    Turn { text: "bye".into(), finish: Some("stop".into()), calls: Vec::new(), ..calling_turn() }
}

pub fn streamed(turn: &Turn) -> Response<Pieces> {
    pieces(200, "text/event-stream", write_stream(turn, StreamUsage::Included))
}

pub fn plain(turn: &Turn) -> Response<Pieces> {
    pieces(200, "application/json", vec![write_json(turn)])
}

/// A provider that gives every request the same frames and keeps nothing: its base URL, and the task that serves.
pub async fn stateless(kind: &'static str, frames: Vec<Vec<u8>>) -> (String, tokio::task::JoinHandle<()>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/api/v1", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            let frames = frames.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let frames = frames.clone();
                async move {
                    request.into_body().collect().await.unwrap();
                    Ok::<_, std::io::Error>(pieces(200, kind, frames))
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    (base, server)
}
