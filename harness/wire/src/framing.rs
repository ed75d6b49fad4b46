//! The framing of a response: server-sent events or one JSON body, told by Content-Type or by the first byte.

use crate::sse::Splitter;

/// The largest body kept of a response that is not streamed, in bytes.
const JSON_CAP: usize = 64 << 20;

/// Cuts a response into the JSON texts that it carries.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    kind: Kind,
    trouble: Option<String>,
}

#[derive(Debug, Default)]
enum Kind {
    #[default]
    Unknown,
    Stream(Splitter),
    Json(Vec<u8>),
}

impl Framing {
    /// For a response with this Content-Type; without a telling one the first byte decides.
    pub(crate) fn new(content_type: Option<&str>) -> Self {
        let kind = match content_type {
            Some(kind) if kind.contains("event-stream") => Kind::Stream(Splitter::new()),
            Some(kind) if kind.contains("json") => Kind::Json(Vec::new()),
            Some(_) | None => Kind::Unknown,
        };
        Self { kind, trouble: None }
    }

    /// Takes the next bytes; returns the events that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        if let Kind::Unknown = self.kind {
            let Some(first) = bytes.iter().find(|b| !b.is_ascii_whitespace()) else { return Vec::new() };
            self.kind = match first {
                b'{' | b'[' => Kind::Json(Vec::new()),
                _ => Kind::Stream(Splitter::new()),
            };
        }
        match &mut self.kind {
            Kind::Unknown => Vec::new(),
            Kind::Json(body) => {
                let room = JSON_CAP.saturating_sub(body.len());
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if bytes.len() > room {
                    self.trouble = Some(format!("the body is larger than {JSON_CAP} bytes"));
                }
                Vec::new()
            }
            Kind::Stream(splitter) => {
                let events = splitter.feed(bytes);
                if splitter.overflowed() {
                    self.trouble = Some("an event is larger than the reader keeps".to_owned());
                }
                events
            }
        }
    }

    /// What is wrong with it, if anything.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.clone()
    }

    /// The end: the body, or the last event of a stream.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        match self.kind {
            Kind::Unknown => None,
            Kind::Json(body) => Some(body),
            Kind::Stream(splitter) => splitter.finish(),
        }
    }
}
