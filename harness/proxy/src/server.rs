//! The loopback server of one attempt. Each exchange is a task of its own, so that a client that hangs up does not take
//! the record of its request with it.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::exchange::exchange;
use crate::reply::ReplyBody;
use crate::shared::Shared;

/// Connections of an attempt at a time; more wait in the kernel's queue. Each holds a descriptor of the harness or two, and
/// an attempt that opens a thousand must not take them from its neighbours.
const MOST_CONNECTIONS: usize = 128;

/// Pause after a failed accept (no descriptors left), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// The recorder is closing: the connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the recorder is closing")]
struct Closing;

/// Accepts until the recorder closes, then cuts every connection and waits until none can start an exchange any more.
pub(crate) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&shared)));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            () = shared.closed() => break,
        }
    }
    drop(listener);
    connections.shutdown().await;
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    // Without it the first event of a stream waits for the acknowledgement of the head.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| answer(Arc::clone(&shared), request));
    // An error here is the client's own business: it hung up or spoke no HTTP. What it had asked is settled apart.
    let _ = http1::Builder::new().half_close(true).serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<ReplyBody>, Closing> {
    let (reply, answered) = oneshot::channel();
    shared.spawn(exchange(Arc::clone(&shared), request, reply));
    answered.await.map_err(|_| Closing)
}
