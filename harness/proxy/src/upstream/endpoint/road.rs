//! The way to an endpoint: straight or through the proxy that the environment names, trusting the public certificate
//! authorities and those that were named beside them.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use tokio::net::TcpStream;
use tower_service::Service;

use super::UpstreamError;

pub(super) type HttpClient = Client<HttpsConnector<Road>, Full<Bytes>>;

/// How an endpoint is reached. Read from the environment and the experiment file by the caller.
#[derive(Debug, Clone, Default)]
pub struct RoadRule {
    /// Proxy for https endpoints (`HTTPS_PROXY`).
    pub https_proxy: Option<String>,
    /// Proxy for http endpoints (`HTTP_PROXY`).
    pub http_proxy: Option<String>,
    /// Hosts that are reached without it (`NO_PROXY`).
    pub no_proxy: Option<String>,
    /// Files of certificates in PEM that are trusted beside the public authorities (`SSL_CERT_FILE`, `ca-file`).
    pub ca_files: Vec<PathBuf>,
}

/// What opens a connection to the first machine on the way, in plain or, to a proxy that wants it, over TLS.
type Door = HttpsConnector<HttpConnector>;

/// Opens connections: straight, or through a proxy.
#[derive(Clone)]
pub(super) enum Road {
    Straight(Door),
    Through(Tunnel<Door>),
}

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;
type Opened = Result<Stream, Box<dyn std::error::Error + Send + Sync>>;

impl Service<Uri> for Road {
    type Response = Stream;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Opened> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        match self {
            Self::Straight(door) => door.poll_ready(cx),
            Self::Through(tunnel) => tunnel.poll_ready(cx).map_err(Into::into),
        }
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        match self {
            Self::Straight(door) => {
                let opening = plain(&to).map(|to| door.call(to));
                Box::pin(async move { opening?.await })
            }
            Self::Through(tunnel) => {
                let opening = tunnel.call(to);
                Box::pin(async move { Ok(opening.await?) })
            }
        }
    }
}

/// A client for one endpoint.
pub(super) fn client(base: &Uri, rule: &RoadRule, connect: Duration) -> Result<HttpClient, UpstreamError> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(connect));
    let trust = trust(&rule.ca_files)?;
    let road = road(base, rule, tls(trust.clone(), http))?;
    Ok(Client::builder(TokioExecutor::new()).build(tls(trust, road)))
}

/// TLS over what the connector opens, where the address asks for it.
fn tls<C>(trust: rustls::ClientConfig, connector: C) -> HttpsConnector<C> {
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(trust);
    builder.https_or_http().enable_http1().wrap_connector(connector)
}

/// The same place without TLS: whoever asked for the connection adds his own.
fn plain(to: &Uri) -> Result<Uri, hyper::http::Error> {
    let port = to.port_u16().unwrap_or(if to.scheme_str() == Some("https") { 443 } else { 80 });
    let authority = format!("{}:{port}", to.host().unwrap_or_default());
    Uri::builder().scheme("http").authority(authority).path_and_query("/").build()
}

fn road(base: &Uri, rule: &RoadRule, door: Door) -> Result<Road, UpstreamError> {
    // Whoever answers on this machine is not asked through another.
    if base.host().is_some_and(is_loopback) {
        return Ok(Road::Straight(door));
    }
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let matcher = Matcher::builder()
        .https(text(&rule.https_proxy))
        .http(text(&rule.http_proxy))
        .no(text(&rule.no_proxy))
        .build();
    let Some(proxy) = matcher.intercept(base) else { return Ok(Road::Straight(door)) };
    if !matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
        let scheme = proxy.uri().scheme_str().unwrap_or("no").to_owned();
        return Err(UpstreamError::Proxy { scheme });
    }
    let tunnel = Tunnel::new(proxy.uri().clone(), door);
    Ok(Road::Through(match proxy.basic_auth() {
        Some(secret) => tunnel.with_auth(secret.clone()),
        None => tunnel,
    }))
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn trust(files: &[PathBuf]) -> Result<rustls::ClientConfig, UpstreamError> {
    let mut roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for file in files {
        for certificate in certificates(file)? {
            roots.add(certificate).map_err(|error| unusable(file, error.to_string()))?;
        }
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring speaks the default protocol versions");
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, UpstreamError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    let found: Vec<_> = read.map_err(|error| unusable(file, error.to_string()))?;
    if found.is_empty() { Err(unusable(file, "it holds no certificate".to_owned())) } else { Ok(found) }
}

fn unusable(file: &Path, why: String) -> UpstreamError {
    UpstreamError::Certificates { path: file.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(base: &str, rule: &RoadRule) -> Result<&'static str, UpstreamError> {
        let door = tls(trust(&[])?, HttpConnector::new());
        Ok(match road(&base.parse().unwrap(), rule, door)? {
            Road::Straight(_) => "straight",
            Road::Through(_) => "through",
        })
    }

    #[test]
    fn the_proxy_is_taken_but_for_the_hosts_that_are_left_out_and_for_this_machine() {
        let rule = RoadRule {
            https_proxy: Some("http://proxy.example:3128".into()),
            no_proxy: Some("inside.example,.local.example".into()),
            ..RoadRule::default()
        };
        for (base, expected) in [
            ("https://api.example.com/v1", "through"),
            ("https://inside.example/v1", "straight"),
            ("https://a.local.example/v1", "straight"),
            ("http://api.example.com/v1", "straight"),
            ("https://127.0.0.1:8443/v1", "straight"),
            ("https://[::1]:8443/v1", "straight"),
        ] {
            assert_eq!(way(base, &rule).unwrap(), expected, "{base}");
        }
        let over_tls = RoadRule { https_proxy: Some("https://proxy.example".into()), ..RoadRule::default() };
        assert_eq!(way("https://api.example.com", &over_tls).unwrap(), "through");
        let socks = RoadRule { https_proxy: Some("socks5://proxy.example".into()), ..RoadRule::default() };
        let refused = way("https://api.example.com", &socks).unwrap_err().to_string();
        assert!(refused.contains("HTTPS_PROXY") && refused.contains("socks5"), "{refused}");
    }

    #[test]
    fn a_straight_way_leads_to_the_port_that_the_scheme_stands_for() {
        for (to, plainly) in [
            ("https://a.example/v1", "http://a.example:443/"),
            ("http://a.example/v1?x", "http://a.example:80/"),
            ("https://[::1]:8443/", "http://[::1]:8443/"),
        ] {
            assert_eq!(plain(&to.parse().unwrap()).unwrap(), plainly.parse::<Uri>().unwrap());
        }
    }

    #[test]
    fn a_file_without_certificates_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for path in [file.path(), Path::new("/nonexistent.pem")] {
            let rule = RoadRule { ca_files: vec![path.to_owned()], ..RoadRule::default() };
            let error = client(&"https://x/v1".parse().unwrap(), &rule, Duration::ZERO).unwrap_err();
            assert!(error.to_string().contains(&path.display().to_string()), "{error}");
        }
    }
}
