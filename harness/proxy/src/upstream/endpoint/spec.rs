//! An endpoint as it is described: where it is, what carries its key, how patient and how stubborn one is with it; and
//! what can be wrong with the description.

use std::path::PathBuf;
use std::time::Duration;

use bench_core::EndpointKind;
use hyper::Uri;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

use super::road::RoadRule;

/// How failed tries are made again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Tries after the first.
    pub retries: u32,
    /// Wait before the first of them where the provider names none; doubled each time.
    pub first_wait: Duration,
    /// No wait is longer, whatever the provider asks.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { retries: 3, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(60) }
    }
}

/// How long a silent endpoint is waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timeouts {
    /// Until it is reached.
    pub connect: Duration,
    /// Until the first byte of an answer's body.
    pub first_byte: Duration,
    /// Between two pieces of it.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
        }
    }
}

/// An endpoint, described.
#[derive(Debug, Clone)]
pub struct EndpointSpec {
    /// Its API: decides the header that carries the key.
    pub kind: EndpointKind,
    /// Base URL up to and including the version part.
    pub base_url: String,
    /// Retries.
    pub policy: RetryPolicy,
    /// Patience.
    pub timeouts: Timeouts,
    /// Requests in flight at once; none = as many as come.
    pub concurrency: Option<u32>,
    /// Proxy and trust.
    pub road: RoadRule,
}

/// An endpoint that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// Not a base URL.
    #[error("upstream base URL {url:?}: {why}; write it like https://api.example.com/v1")]
    BaseUrl {
        /// As given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The key cannot stand in a header.
    #[error(
        "the upstream's key holds characters that no HTTP header may hold (a line break?); set its variable anew"
    )]
    Key,
    /// The proxy is of a kind that is not spoken.
    #[error(
        "the environment names a proxy by the scheme {scheme:?} (HTTPS_PROXY or HTTP_PROXY), and only http:// and https:// proxies are spoken to; name another, or put the upstream's host into NO_PROXY"
    )]
    Proxy {
        /// Its scheme.
        scheme: String,
    },
    /// Certificates to be trusted cannot be read.
    #[error(
        "certificates {path}: {why}; name a file of certificates in PEM with `ca-file` or SSL_CERT_FILE, or leave both out"
    )]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Nobody answers there.
    #[error(
        "upstream {url} cannot be reached ({why}; {tries} tries); check the URL, the network and any proxy, then run the same command again"
    )]
    Unreachable {
        /// The base URL.
        url: String,
        /// The last failure.
        why: String,
        /// How often it was tried.
        tries: u32,
    },
}

pub(super) fn base_uri(base_url: &str) -> Result<Uri, UpstreamError> {
    let bad = |why: String| UpstreamError::BaseUrl { url: base_url.to_owned(), why };
    let uri: Uri = base_url.parse().map_err(|error| bad(format!("{error}")))?;
    match uri.scheme_str() {
        Some("http" | "https") => {}
        Some(other) => return Err(bad(format!("scheme {other:?} is neither http nor https"))),
        None => return Err(bad("it has no scheme".to_owned())),
    }
    if uri.query().is_some() {
        return Err(bad("it has a query".to_owned()));
    }
    let host = uri.authority().ok_or_else(|| bad("it has no host".to_owned()))?;
    if host.as_str().contains('@') {
        return Err(bad("it holds credentials; name the key's environment variable instead".to_owned()));
    }
    Ok(uri)
}

/// The headers that carry the key.
pub(super) fn credentials(
    kind: EndpointKind,
    key: &str,
) -> Result<Vec<(HeaderName, HeaderValue)>, UpstreamError> {
    let (name, text) = match kind {
        EndpointKind::OpenaiChat | EndpointKind::OpenaiResponses => (AUTHORIZATION, format!("Bearer {key}")),
        EndpointKind::AnthropicMessages => (HeaderName::from_static("x-api-key"), key.to_owned()),
        EndpointKind::GeminiGenerateContent => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
    };
    let mut value = HeaderValue::from_str(&text).map_err(|_| UpstreamError::Key)?;
    value.set_sensitive(true);
    Ok(vec![(name, value)])
}
