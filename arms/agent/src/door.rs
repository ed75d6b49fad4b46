//! The one way out of the cell: requests to the recorder. A fresh connection for each, which costs next to nothing on
//! loopback and leaves no question whether a request on a connection that broke had been received.

use bench_core::WireKind;
use bench_wire::{Api, ReplyReader, Turn, TurnError};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::capabilities::Marks;

/// Characters of a refusal's body that are shown.
const SHOWN: usize = 500;

/// Where the model is asked.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    authority: String,
    /// Path of the version, under which every endpoint stands.
    base: String,
    api: Api,
    endpoint: &'static str,
    bearer: String,
    /// The agent that asks, where it is not the main one.
    agent: Option<String>,
}

/// Header by which a second agent says who asks.
const AGENT_HEADER: &str = "x-bench-agent";

/// Why there is no turn.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DoorError {
    #[error("BENCH_BASE_URL {0:?} is not of the form http://HOST:PORT/PATH")]
    BadUrl(String),
    #[error("BENCH_API_KEY cannot be sent as a header")]
    BadKey,
    #[error(
        "BENCH_WIRE {0:?}: the reference agent speaks openai-chat, openai-responses and anthropic-messages"
    )]
    Wire(&'static str),
    #[error("no connection to {authority}: {source}")]
    Connect { authority: String, source: std::io::Error },
    #[error("the request to {authority} broke off: {source}")]
    Broken { authority: String, source: hyper::Error },
    #[error("{authority} answered with status {status}: {body}")]
    Status { authority: String, status: u16, body: String },
    #[error(transparent)]
    Turn(#[from] TurnError),
}

impl Door {
    /// Checks and takes apart a base URL.
    pub(crate) fn to(base_url: &str, api_key: &str, wire: WireKind) -> Result<Self, DoorError> {
        let bad = || DoorError::BadUrl(base_url.to_owned());
        let url: Uri = base_url.parse().map_err(|_| bad())?;
        let authority = url.authority().filter(|authority| authority.port().is_some()).ok_or_else(bad)?;
        if url.scheme_str() != Some("http") || url.query().is_some() {
            return Err(bad());
        }
        if api_key.bytes().any(|byte| !(b' '..=b'~').contains(&byte)) {
            return Err(DoorError::BadKey);
        }
        let (api, endpoint) = match wire {
            WireKind::OpenaiChat => (Api::Chat, "chat/completions"),
            WireKind::OpenaiResponses => (Api::Responses, "responses"),
            WireKind::AnthropicMessages => (Api::Messages, "messages"),
            WireKind::Gemini => return Err(DoorError::Wire(wire.word())),
        };
        Ok(Self {
            authority: authority.to_string(),
            base: url.path().trim_end_matches('/').to_owned(),
            api,
            endpoint,
            bearer: format!("Bearer {api_key}"),
            agent: None,
        })
    }

    /// The same door for an agent of this name: letters, digits and signs.
    pub(crate) fn for_agent(self, name: Option<&str>) -> Self {
        Self { agent: name.map(str::to_owned), ..self }
    }

    /// Where this agent marks beginnings and ends.
    pub(crate) fn marks(&self) -> Marks {
        Marks::to(&self.authority, &self.base, &self.bearer, self.agent.as_deref())
    }

    /// Asks the person who gave the task; the harness answers for him and counts it. An `Err` is what the model is told.
    pub(crate) async fn ask_person(&self, question: &serde_json::Value) -> Result<String, String> {
        let body = question.to_string().into_bytes();
        let told = |error: &dyn std::fmt::Display| format!("nobody can be asked here: {error}");
        let response = self.send("human", body).await.map_err(|error| told(&error))?;
        let status = response.status();
        let bytes = response.into_body().collect().await.map_err(|error| told(&error))?.to_bytes();
        let answer: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        match answer.get("answer").and_then(serde_json::Value::as_str) {
            Some(text) if status.is_success() => Ok(text.to_owned()),
            Some(_) | None => Err("nobody can be asked here; decide by what the files say".to_owned()),
        }
    }

    /// Sends a model request and reads the turn that answers it.
    pub(crate) async fn ask(&self, body: Vec<u8>) -> Result<Turn, DoorError> {
        let response = self.send(self.endpoint, body).await?;
        let status = response.status();
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mut reader = ReplyReader::new(self.api, content_type);
        let mut start_of_body = Vec::new();
        let mut body = response.into_body();
        while let Some(frame) = body.frame().await {
            let Ok(bytes) = frame.map_err(|source| self.broken(source))?.into_data() else { continue };
            if status.is_success() {
                reader.feed(&bytes);
            } else if start_of_body.len() < 4 * SHOWN {
                start_of_body.extend_from_slice(&bytes);
            }
        }
        if status.is_success() {
            return Ok(reader.finish()?);
        }
        let body = String::from_utf8_lossy(&start_of_body).chars().take(SHOWN).collect();
        Err(DoorError::Status { authority: self.authority.clone(), status: status.as_u16(), body })
    }

    async fn send(&self, endpoint: &str, body: Vec<u8>) -> Result<Response<Incoming>, DoorError> {
        let connect = |source| DoorError::Connect { authority: self.authority.clone(), source };
        let stream = TcpStream::connect(&self.authority).await.map_err(connect)?;
        stream.set_nodelay(true).map_err(connect)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|source| self.broken(source))?;
        // Its errors come back through the response as well.
        tokio::spawn(connection);
        let mut request = Request::post(format!("{}/{endpoint}", self.base));
        if let Some(agent) = &self.agent {
            request = request.header(AGENT_HEADER, agent);
        }
        let request = request
            .header(HOST, &self.authority)
            .header(AUTHORIZATION, &self.bearer)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .header(USER_AGENT, concat!("bench-agent/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::from(body)))
            .expect("path and headers have been checked when the door was made");
        sender.send_request(request).await.map_err(|source| self.broken(source))
    }

    fn broken(&self, source: hyper::Error) -> DoorError {
        DoorError::Broken { authority: self.authority.clone(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_with_a_port_is_a_door() {
        let to = |url: &str, key: &str| Door::to(url, key, WireKind::OpenaiChat);
        assert_eq!(to("http://127.0.0.1:80/v1/", "k").unwrap().base, "/v1");
        for url in ["", "127.0.0.1:80", "https://h:1/v1", "http://h/v1", "http://h:1/v1?x=1"] {
            assert!(to(url, "k").is_err(), "{url}");
        }
        assert!(to("http://h:1/v1", "a\nb").is_err());
        assert!(Door::to("http://h:1/v1", "k", WireKind::Gemini).is_err());
    }
}
