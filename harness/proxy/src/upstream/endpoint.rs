//! An endpoint that is asked over https or http: the agent's request passes as it is, with the real key in place of its own.
//!
//! Body bytes and headers go out as the agent sent them, but for host, connection headers and credentials. A try that fails
//! by transport or by status is made again, as long as nothing of an answer has reached the agent; what a model or an error
//! *says* decides nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bench_core::EndpointKind;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::answered::{in_full, is_passing, is_whole_json, retry_after};
use self::key_guard::GuardedBody;
use self::passing::Passing;
use self::road::HttpClient;
use self::spec::{base_uri, credentials};
use super::{BoxFuture, Retry, Upstream, UpstreamFault, UpstreamRequest, UpstreamResponse, UsageSource};
use crate::exchange::BODY_CAP;
use crate::headers;

mod answered;
mod key_guard;
mod passing;
mod road;
mod spec;

pub use road::RoadRule;
pub use spec::{EndpointSpec, RetryPolicy, Timeouts, UpstreamError};

/// Bytes of an error's body that are quoted.
const QUOTED: usize = 300;
/// Bytes from which on a key is taken for a secret.
const SHORTEST_SECRET: usize = 8;
/// Bytes of a key's beginning that are more than chance at the end of a text.
const TELLING: usize = 4;
/// Tries of the preflight.
const PREFLIGHT_TRIES: u32 = 3;
/// What Anthropic's API asks for where the agent names no version.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// What the preflight found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// Status that the endpoint answered to a plain GET of its base URL; any status proves that somebody is there.
    pub status: u16,
}

/// An endpoint that is asked over the network.
pub struct EndpointUpstream {
    spec: EndpointSpec,
    base: String,
    host: String,
    /// What is looked for in answers; empty when the key is too short to be a secret.
    key: String,
    credentials: Vec<(HeaderName, HeaderValue)>,
    places: Option<Arc<Semaphore>>,
    client: HttpClient,
}

/// A failed try, and how long the provider asks to wait.
struct Failed {
    status: Option<u16>,
    reason: String,
    bytes: u64,
    retry_after: Option<Duration>,
    worth_retrying: bool,
}

impl Failed {
    fn broken(reason: String) -> Self {
        Self { status: None, reason, bytes: 0, retry_after: None, worth_retrying: true }
    }
}

/// An answer that may pass: its head, what was read ahead, and what is still to come.
struct Answer {
    head: hyper::http::response::Parts,
    ahead: Option<Bytes>,
    rest: Option<Incoming>,
}

impl EndpointUpstream {
    /// An endpoint that speaks OpenAI chat completions, by its base URL. `key` = `None` sends no credentials.
    pub fn new(base_url: &str, key: Option<String>, policy: RetryPolicy) -> Result<Self, UpstreamError> {
        let spec = EndpointSpec {
            kind: EndpointKind::OpenaiChat,
            base_url: base_url.to_owned(),
            policy,
            timeouts: Timeouts::default(),
            concurrency: None,
            road: RoadRule::default(),
        };
        Self::open(spec, key)
    }

    /// Any endpoint. `key` = `None` sends no credentials.
    pub fn open(spec: EndpointSpec, key: Option<String>) -> Result<Self, UpstreamError> {
        let uri = base_uri(&spec.base_url)?;
        let host = uri.authority().map(ToString::to_string).unwrap_or_default();
        let key = key.unwrap_or_default();
        let credentials = match key.is_empty() {
            true => Vec::new(),
            false => credentials(spec.kind, &key)?,
        };
        // What an endpoint on this machine takes for a key ("none", "EMPTY") stands in ordinary text as well.
        let key = if key.len() < SHORTEST_SECRET { String::new() } else { key };
        let client = road::client(&uri, &spec.road, spec.timeouts.connect)?;
        let places = spec.concurrency.map(|places| Arc::new(Semaphore::new(places as usize)));
        let base = spec.base_url.trim_end_matches('/').to_owned();
        Ok(Self { spec, base, host, key, credentials, places, client })
    }

    /// Asks once whether anybody is there, up to three times. No tokens are spent.
    pub async fn preflight(&self) -> Result<Preflight, UpstreamError> {
        let mut why = String::new();
        for attempt in 0..PREFLIGHT_TRIES {
            if attempt > 0 {
                tokio::time::sleep(self.spec.policy.first_wait).await;
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
        let place = self.place().await;
        let mut retries = Vec::new();
        loop {
            let began = Instant::now();
            let failed = match self.attempt(&request).await {
                Ok(answer) => return Ok(self.passing(answer, retries, place)),
                Err(failed) => failed,
            };
            let made = u32::try_from(retries.len()).unwrap_or(u32::MAX);
            if !failed.worth_retrying || made >= self.spec.policy.retries {
                let tries = if made == 0 { String::new() } else { format!(" (after {made} retries)") };
                let detail = format!("{}: {}{tries}", self.base, failed.reason);
                return Err(UpstreamFault {
                    status: failed.status,
                    retries,
                    ..UpstreamFault::unavailable(self.redacted(&detail))
                });
            }
            let wait = self.wait(made, failed.retry_after);
            let retry = Retry {
                status: failed.status,
                reason: self.redacted(&failed.reason),
                took_ms: began.elapsed().as_secs_f64() * 1000.0,
                bytes: failed.bytes,
                wait_ms: wait.as_secs_f64() * 1000.0,
            };
            request.tries.note(retry.clone());
            retries.push(retry);
            tokio::time::sleep(wait).await;
        }
    }

    /// A place among the requests in flight, kept until the answer is over.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        let places = Arc::clone(self.places.as_ref()?);
        // An error would mean that the semaphore was closed, and nobody closes it.
        places.acquire_owned().await.ok()
    }

    async fn attempt(&self, request: &UpstreamRequest) -> Result<Answer, Failed> {
        let outgoing = self.outgoing(request).map_err(|error| Failed {
            worth_retrying: false,
            ..Failed::broken(format!("the request cannot be written: {error}"))
        })?;
        let first_byte = self.spec.timeouts.first_byte;
        let answered = tokio::time::timeout(first_byte, self.client.request(outgoing)).await;
        let response = match answered {
            Err(_) => return Err(Failed::broken(format!("no answer within {} s", first_byte.as_secs_f64()))),
            Ok(Err(error)) => return Err(Failed::broken(format!("no answer: {}", in_full(&error)))),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        let worth_retrying = is_passing(status);
        // A wrong key or an empty account is nobody's failure but ours: it must not count against the arm.
        let is_ours =
            [StatusCode::UNAUTHORIZED, StatusCode::PAYMENT_REQUIRED, StatusCode::FORBIDDEN].contains(&status);
        if !worth_retrying && !is_ours {
            return self.read_ahead(response).await;
        }
        let retry_after = retry_after(response.headers());
        let said = self.quoted(response.into_body()).await;
        let bytes = said.len() as u64;
        let reason = format!("status {}{said}", status.as_u16());
        Err(Failed { status: Some(status.as_u16()), reason, bytes, retry_after, worth_retrying })
    }

    /// A stream up to its first piece, anything else whole: until then a break is the recorder's to mend.
    async fn read_ahead(&self, response: Response<Incoming>) -> Result<Answer, Failed> {
        let (head, mut body) = response.into_parts();
        let status = head.status;
        let failed = |reason: String, bytes: usize| Failed {
            status: Some(status.as_u16()),
            bytes: bytes as u64,
            ..Failed::broken(reason)
        };
        let text = |name: HeaderName| head.headers.get(name).and_then(|value| value.to_str().ok());
        let kind = text(CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        let is_json = kind.starts_with("application/json");
        let mut read = BytesMut::new();
        let mut patience = self.spec.timeouts.first_byte;
        loop {
            let frame = match tokio::time::timeout(patience, body.frame()).await {
                Err(_) => {
                    let reason = format!("the response stood still for {} s", patience.as_secs_f64());
                    return Err(failed(reason, read.len()));
                }
                Ok(Some(Err(error))) => {
                    return Err(failed(format!("the response broke off: {}", in_full(&error)), read.len()));
                }
                Ok(Some(Ok(frame))) => frame,
                Ok(None) => break,
            };
            patience = self.spec.timeouts.idle;
            read.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            if !is_json && !read.is_empty() || read.len() > BODY_CAP {
                return Ok(Answer { head, ahead: Some(read.freeze()), rest: Some(body) });
            }
        }
        if status.is_success() && kind.starts_with("text/event-stream") {
            return Err(failed("the stream ended before its first event".to_owned(), 0));
        }
        if status.is_success() && is_json && !is_whole_json(headers::codings(&head.headers).as_deref(), &read)
        {
            return Err(failed("the answer says that it is JSON and is not".to_owned(), read.len()));
        }
        let ahead = (!read.is_empty()).then(|| read.freeze());
        Ok(Answer { head, ahead, rest: None })
    }

    fn outgoing(&self, request: &UpstreamRequest) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let path = without_version(&request.path);
        let mut outgoing =
            Request::builder().method(request.method.clone()).uri(format!("{}{path}", self.base));
        if let Some(headers) = outgoing.headers_mut() {
            headers.extend(request.headers.clone());
            for (name, value) in &self.credentials {
                headers.insert(name.clone(), value.clone());
            }
            let version = HeaderName::from_static("anthropic-version");
            if self.spec.kind == EndpointKind::AnthropicMessages && !headers.contains_key(&version) {
                headers.insert(version, HeaderValue::from_static(ANTHROPIC_VERSION));
            }
        }
        outgoing.body(Full::new(request.body.clone()))
    }

    fn passing(
        &self,
        answer: Answer,
        retries: Vec<Retry>,
        place: Option<OwnedSemaphorePermit>,
    ) -> UpstreamResponse {
        let Answer { head, ahead, rest } = answer;
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
        let codings = headers::codings(&head.headers);
        let body = Passing::new(ahead, rest, self.spec.timeouts.idle, place);
        let body = GuardedBody::new(body, &self.key, codings.as_deref()).boxed_unsync();
        UpstreamResponse { status: head.status, headers: kept, body, retries, steps: Vec::new() }
    }

    fn wait(&self, made: u32, asked: Option<Duration>) -> Duration {
        let own = self.spec.policy.first_wait.saturating_mul(1 << made.min(16));
        asked.unwrap_or(own).min(self.spec.policy.longest_wait)
    }

    fn redacted(&self, text: &str) -> String {
        if self.key.is_empty() { text.to_owned() } else { text.replace(&self.key, "[key]") }
    }

    /// The beginning of an error's body.
    async fn quoted(&self, mut body: Incoming) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < QUOTED + self.key.len() {
            match tokio::time::timeout(self.spec.timeouts.idle, body.frame()).await {
                Ok(Some(Ok(frame))) => bytes.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
                Ok(Some(Err(_)) | None) | Err(_) => break,
            }
        }
        // Redacted before it is cut: half a key is a key to half the work.
        let text = self.redacted(&String::from_utf8_lossy(&bytes));
        let begun = (TELLING..self.key.len())
            .rev()
            .find(|length| self.key.get(..*length).is_some_and(|beginning| text.ends_with(beginning)));
        let text = &text[..text.len() - begun.unwrap_or(0)];
        let text: String = text.trim().chars().take(QUOTED).collect();
        if text.is_empty() { String::new() } else { format!(": {text}") }
    }
}

impl Upstream for EndpointUpstream {
    fn call(&self, request: UpstreamRequest) -> BoxFuture<'_, Result<UpstreamResponse, UpstreamFault>> {
        Box::pin(self.ask(request))
    }

    fn kind(&self) -> &'static str {
        self.spec.kind.word()
    }

    fn host(&self) -> Option<String> {
        Some(self.host.clone())
    }

    fn reads(&self) -> bool {
        false
    }

    fn usage_source(&self) -> UsageSource {
        UsageSource::Provider
    }
}

impl std::fmt::Debug for EndpointUpstream {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EndpointUpstream").field("base", &self.base).finish_non_exhaustive()
    }
}

/// The path below the version part: `/v1/messages?beta=true` is `/messages?beta=true`.
fn without_version(path: &str) -> &str {
    let Some(rest) = path.strip_prefix("/v") else { return path };
    let end = rest.find('/').unwrap_or(rest.len());
    let is_version = rest[..end].starts_with(|c: char| c.is_ascii_digit())
        && rest[..end].chars().all(|c| c.is_ascii_alphanumeric());
    if is_version { &rest[end..] } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_base_url_is_named_with_its_remedy() {
        for bad in
            ["", "api.example.com", "ftp://x/v1", "https://user:pw@x/v1", "https://x/v1?a=b", "http://"]
        {
            let error = EndpointUpstream::new(bad, None, RetryPolicy::default()).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains("https://api.example.com/v1"), "{bad}: {error}");
        }
        let key = Some("a\nb".to_owned());
        assert!(matches!(
            EndpointUpstream::new("https://x/v1", key, RetryPolicy::default()),
            Err(UpstreamError::Key)
        ));
    }

    #[test]
    fn waits_are_the_providers_but_bounded() {
        let upstream = EndpointUpstream::new("http://x/v1", None, RetryPolicy::default()).unwrap();
        assert_eq!(upstream.wait(0, None), Duration::from_millis(500));
        assert_eq!(upstream.wait(2, None), Duration::from_secs(2));
        assert_eq!(upstream.wait(0, Some(Duration::from_secs(3))), Duration::from_secs(3));
        assert_eq!(upstream.wait(0, Some(Duration::from_secs(9999))), Duration::from_secs(60));
    }

    #[test]
    fn the_version_part_of_the_agents_path_is_the_base_urls() {
        for (path, rest) in [
            ("/v1/messages?beta=true", "/messages?beta=true"),
            ("/v1beta/models/m:generateContent", "/models/m:generateContent"),
            ("/chat/completions", "/chat/completions"),
            ("/vault/x", "/vault/x"),
        ] {
            assert_eq!(without_version(path), rest);
        }
    }

    #[test]
    fn the_key_stands_in_no_debug_output() {
        let upstream = EndpointUpstream::new("http://x/v1", Some("sk-secret".into()), RetryPolicy::default());
        assert!(!format!("{:?}", upstream.unwrap()).contains("secret"));
    }
}
