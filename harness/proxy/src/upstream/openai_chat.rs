//! Any endpoint that speaks OpenAI chat completions, over https or http.
//!
//! Body bytes and headers go out as the agent sent them, but for host, connection headers, credentials, and
//! `accept-encoding`, which becomes `identity`: a compressed answer could be neither read nor measured.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderValue, RETRY_AFTER};
use hyper::{HeaderMap, Request, Response, StatusCode, Uri};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::key_guard::GuardedBody;
use super::{BoxFuture, Retry, Upstream, UpstreamFault, UpstreamRequest, UpstreamResponse, UsageSource};
use crate::headers;

/// Time to reach the endpoint before a try counts as failed.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an error's body that are quoted.
const QUOTED: usize = 300;
/// Tries of the preflight.
const PREFLIGHT_TRIES: u32 = 3;

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

/// What the preflight found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// Status that the endpoint answered to a plain GET of its base URL; any status proves that somebody is there.
    pub status: u16,
}

type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// An endpoint that speaks OpenAI chat completions.
pub struct OpenaiChatUpstream {
    base: String,
    host: String,
    key: String,
    authorization: Option<HeaderValue>,
    policy: RetryPolicy,
    client: HttpClient,
}

/// A failed try, and how long the provider asks to wait.
struct Failed {
    status: Option<u16>,
    reason: String,
    retry_after: Option<Duration>,
    worth_retrying: bool,
}

impl OpenaiChatUpstream {
    /// An endpoint by its base URL (up to and including the version part). `key` = `None` sends no credentials.
    pub fn new(base_url: &str, key: Option<String>, policy: RetryPolicy) -> Result<Self, UpstreamError> {
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
        let host = uri.authority().ok_or_else(|| bad("it has no host".to_owned()))?.to_string();
        if host.contains('@') {
            return Err(bad("it holds credentials; name the key's environment variable instead".to_owned()));
        }
        let key = key.unwrap_or_default();
        let authorization = match key.as_str() {
            "" => None,
            key => {
                let mut value =
                    HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| UpstreamError::Key)?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        let base = base_url.trim_end_matches('/').to_owned();
        Ok(Self { base, host, key, authorization, policy, client: client() })
    }

    /// Asks once whether anybody is there, up to three times. No tokens are spent.
    pub async fn preflight(&self) -> Result<Preflight, UpstreamError> {
        let mut why = String::new();
        for attempt in 0..PREFLIGHT_TRIES {
            if attempt > 0 {
                tokio::time::sleep(self.policy.first_wait).await;
            }
            let request = Request::get(self.base.as_str()).body(Full::default());
            let request = request.expect("the base URL was parsed when the upstream was made");
            match self.client.request(request).await {
                Ok(response) => return Ok(Preflight { status: response.status().as_u16() }),
                Err(error) => why = in_full(&error),
            }
        }
        Err(UpstreamError::Unreachable { url: self.base.clone(), why, tries: PREFLIGHT_TRIES })
    }

    async fn ask(&self, request: UpstreamRequest) -> Result<UpstreamResponse, UpstreamFault> {
        let mut retries = Vec::new();
        loop {
            let failed = match self.attempt(&request).await {
                Ok(response) => return Ok(self.passing(response, retries)),
                Err(failed) => failed,
            };
            let made = u32::try_from(retries.len()).unwrap_or(u32::MAX);
            if !failed.worth_retrying || made >= self.policy.retries {
                let tries = if made == 0 { String::new() } else { format!(" (after {made} retries)") };
                let detail = format!("{}: {}{tries}", self.base, failed.reason);
                return Err(UpstreamFault {
                    status: failed.status,
                    retries,
                    ..UpstreamFault::unavailable(self.redacted(&detail))
                });
            }
            let wait = self.wait(made, failed.retry_after);
            retries.push(Retry {
                status: failed.status,
                reason: self.redacted(&failed.reason),
                wait_ms: wait.as_secs_f64() * 1000.0,
            });
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(&self, request: &UpstreamRequest) -> Result<Response<Incoming>, Failed> {
        let broken =
            |reason: String| Failed { status: None, reason, retry_after: None, worth_retrying: true };
        let outgoing = self.outgoing(request).map_err(|error| Failed {
            worth_retrying: false,
            ..broken(format!("the request cannot be written: {error}"))
        })?;
        let response = self
            .client
            .request(outgoing)
            .await
            .map_err(|error| broken(format!("no answer: {}", in_full(&error))))?;
        let status = response.status();
        let worth_retrying = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
        // A wrong key or an empty account is nobody's failure but ours: it must not count against the arm.
        let is_ours =
            [StatusCode::UNAUTHORIZED, StatusCode::PAYMENT_REQUIRED, StatusCode::FORBIDDEN].contains(&status);
        if !worth_retrying && !is_ours {
            return Ok(response);
        }
        let retry_after = retry_after(response.headers());
        let said = quoted(response.into_body()).await;
        let reason = format!("status {}{said}", status.as_u16());
        Err(Failed { status: Some(status.as_u16()), reason, retry_after, worth_retrying })
    }

    fn outgoing(&self, request: &UpstreamRequest) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let path = request.path.strip_prefix("/v1").unwrap_or(&request.path);
        let mut outgoing =
            Request::builder().method(request.method.clone()).uri(format!("{}{path}", self.base));
        if let Some(headers) = outgoing.headers_mut() {
            headers.extend(request.headers.clone());
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            if let Some(authorization) = &self.authorization {
                headers.insert(AUTHORIZATION, authorization.clone());
            }
        }
        outgoing.body(Full::new(request.body.clone()))
    }

    fn passing(&self, response: Response<Incoming>, retries: Vec<Retry>) -> UpstreamResponse {
        let (head, body) = response.into_parts();
        let mut kept = headers::for_agent(&head.headers);
        if !self.key.is_empty() {
            let echoes: Vec<_> = kept
                .iter()
                .filter(|(_, value)| memchr::memmem::find(value.as_bytes(), self.key.as_bytes()).is_some())
                .map(|(name, _)| name.clone())
                .collect();
            for name in echoes {
                kept.remove(name);
            }
        }
        let body = GuardedBody::new(body, &self.key).boxed_unsync();
        UpstreamResponse { status: head.status, headers: kept, body, retries, steps: Vec::new() }
    }

    fn wait(&self, made: u32, asked: Option<Duration>) -> Duration {
        let own = self.policy.first_wait.saturating_mul(1 << made.min(16));
        asked.unwrap_or(own).min(self.policy.longest_wait)
    }

    fn redacted(&self, text: &str) -> String {
        if self.key.is_empty() { text.to_owned() } else { text.replace(&self.key, "[key]") }
    }
}

impl Upstream for OpenaiChatUpstream {
    fn call(&self, request: UpstreamRequest) -> BoxFuture<'_, Result<UpstreamResponse, UpstreamFault>> {
        Box::pin(self.ask(request))
    }

    fn kind(&self) -> &'static str {
        "openai-chat"
    }

    fn host(&self) -> Option<String> {
        Some(self.host.clone())
    }

    fn usage_source(&self) -> UsageSource {
        UsageSource::Provider
    }
}

impl std::fmt::Debug for OpenaiChatUpstream {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenaiChatUpstream").field("base", &self.base).finish_non_exhaustive()
    }
}

fn client() -> HttpClient {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let https = hyper_rustls::HttpsConnectorBuilder::new()
        .with_webpki_roots()
        .https_or_http()
        .enable_http1()
        .wrap_connector(http);
    Client::builder(TokioExecutor::new()).build(https)
}

/// Seconds that the provider asks to wait. The form with a date is not used by model APIs and counts as not said.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The beginning of an error's body.
async fn quoted(mut body: Incoming) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < QUOTED {
        match body.frame().await {
            Some(Ok(frame)) => bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
            Some(Err(_)) | None => break,
        }
    }
    bytes.truncate(QUOTED);
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// An error with its causes: the outermost one says only "client error".
fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_base_url_is_named_with_its_remedy() {
        for bad in
            ["", "api.example.com", "ftp://x/v1", "https://user:pw@x/v1", "https://x/v1?a=b", "http://"]
        {
            let error = OpenaiChatUpstream::new(bad, None, RetryPolicy::default()).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains("https://api.example.com/v1"), "{bad}: {error}");
        }
        let key = Some("a\nb".to_owned());
        assert!(matches!(
            OpenaiChatUpstream::new("https://x/v1", key, RetryPolicy::default()),
            Err(UpstreamError::Key)
        ));
    }

    #[test]
    fn waits_are_the_providers_but_bounded() {
        let upstream = OpenaiChatUpstream::new("http://x/v1", None, RetryPolicy::default()).unwrap();
        assert_eq!(upstream.wait(0, None), Duration::from_millis(500));
        assert_eq!(upstream.wait(2, None), Duration::from_secs(2));
        assert_eq!(upstream.wait(0, Some(Duration::from_secs(3))), Duration::from_secs(3));
        assert_eq!(upstream.wait(0, Some(Duration::from_secs(9999))), Duration::from_secs(60));
    }

    #[test]
    fn the_key_stands_in_no_debug_output() {
        let upstream =
            OpenaiChatUpstream::new("http://x/v1", Some("sk-secret".into()), RetryPolicy::default());
        assert!(!format!("{:?}", upstream.unwrap()).contains("secret"));
    }
}
