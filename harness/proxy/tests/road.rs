//! The way to an endpoint: through the proxy that the environment names, trusting a private certificate authority.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bench_core::EndpointKind;
use bench_proxy::{EndpointSpec, EndpointUpstream, RetryPolicy, RoadRule, Timeouts};
use bench_wire::chat::write_json;
use support::Stage;
use support::provider::final_turn;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

const HOST: &str = "upstream.test";

async fn read_until(stream: &mut (impl AsyncRead + Unpin), end: &[u8]) -> Vec<u8> {
    let mut read = Vec::new();
    while !read.ends_with(end) {
        if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            break;
        }
    }
    read
}

/// A server's side of TLS with a certificate of its own for this name; hands back the certificate in PEM.
fn certified(name: &str) -> (TlsAcceptor, String) {
    let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.key_pair.serialize_der()).unwrap();
    let config =
        ServerConfig::builder_with_provider(Arc::new(tokio_rustls::rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
    (TlsAcceptor::from(Arc::new(config)), made.cert.pem())
}

/// An endpoint that speaks TLS with a certificate of its own; hands back the certificate in PEM.
async fn endpoint() -> (std::net::SocketAddr, String) {
    let (acceptor, pem) = certified(HOST);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            answer(stream).await;
        }
    });
    (address, pem)
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    read_until(&mut stream, b"}").await;
    let body = write_json(&final_turn());
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), &body].concat()).await.unwrap();
    stream.shutdown().await.unwrap();
}

/// A proxy that knows one place behind it, whatever name is asked for; keeps what it was asked. With a certificate it is
/// reached over TLS.
async fn proxy(behind: std::net::SocketAddr, tls: Option<TlsAcceptor>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = match tls {
        None => format!("http://user:pass@127.0.0.1:{port}"),
        Some(_) => format!("https://user:pass@localhost:{port}"),
    };
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = asked.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            match &tls {
                None => relay(stream, behind, &kept).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => relay(stream, behind, &kept).await,
                    Err(_) => continue,
                },
            }
        }
    });
    (url, asked)
}

async fn relay(
    mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    behind: std::net::SocketAddr,
    kept: &Mutex<Vec<String>>,
) {
    let head = read_until(&mut stream, b"\r\n\r\n").await;
    kept.lock().unwrap().push(String::from_utf8(head).unwrap());
    stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let mut far = TcpStream::connect(behind).await.unwrap();
    tokio::spawn(async move { tokio::io::copy_bidirectional(&mut stream, &mut far).await });
}

async fn turn(road: RoadRule) -> Result<(), (u16, String)> {
    let spec = EndpointSpec {
        kind: EndpointKind::OpenaiChat,
        base_url: format!("https://{HOST}/v1"),
        policy: RetryPolicy { retries: 0, first_wait: Duration::ZERO, longest_wait: Duration::ZERO },
        timeouts: Timeouts::default(),
        concurrency: None,
        road,
    };
    let upstream = EndpointUpstream::open(spec, Some("sk-real-key-93b1".into())).unwrap();
    let stage = Stage::upstream(Arc::new(upstream), |_| {}).await;
    stage.agent(&["bash"]).turn().await.map(|_| ())
}

#[tokio::test]
async fn a_proxy_and_a_private_authority_are_honoured() {
    let (behind, certificate) = endpoint().await;
    let (https_proxy, asked) = proxy(behind, None).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), certificate).unwrap();
    let through = RoadRule { https_proxy: Some(https_proxy), ..RoadRule::default() };
    let trusting = RoadRule { ca_files: vec![file.path().to_owned()], ..through.clone() };
    turn(trusting).await.unwrap();
    let head = asked.lock().unwrap()[0].clone();
    assert!(head.starts_with("CONNECT upstream.test:443 "), "{head}");
    assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic "), "{head}");
    assert!(!head.contains("sk-real-key"), "the proxy learns no key");
    let (status, said) = turn(through).await.unwrap_err();
    assert_eq!(status, 502);
    assert!(said.to_ascii_lowercase().contains("certificate"), "{said}");
}

#[tokio::test]
async fn a_proxy_may_itself_be_reached_over_tls() {
    let (behind, certificate) = endpoint().await;
    let (acceptor, of_the_proxy) = certified("localhost");
    let (https_proxy, asked) = proxy(behind, Some(acceptor)).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), certificate + &of_the_proxy).unwrap();
    let ca_files = vec![file.path().to_owned()];
    turn(RoadRule { https_proxy: Some(https_proxy), ca_files, ..RoadRule::default() }).await.unwrap();
    assert!(asked.lock().unwrap()[0].starts_with("CONNECT upstream.test:443 "));
}
