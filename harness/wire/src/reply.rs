//! A response of any API: read as its bytes arrive, written for either framing.

use serde_json::Value;

use crate::api::Api;
use crate::framing::Framing;
use crate::json;
use crate::turn::{Turn, TurnError, WireUsage};
use crate::{chat, gemini, messages, responses};

/// The most calls kept of one turn.
pub(crate) const CALLS_CAP: usize = 4096;

/// The most bytes of one response that are read.
pub const RESPONSE_CAP: usize = 64 << 20;

/// Reads one response of any API incrementally: feed it bytes cut anywhere, then [`ReplyReader::finish`].
#[derive(Debug)]
pub struct ReplyReader {
    kind: Kind,
    /// Bytes that came.
    fed: usize,
}

#[derive(Debug)]
enum Kind {
    Chat(Box<chat::TurnReader>),
    Other(Box<Other>),
}

#[derive(Debug)]
struct Other {
    framing: Framing,
    gathered: Gathered,
    gather: Gather,
}

#[derive(Debug)]
enum Gather {
    Responses(responses::Items),
    Messages(messages::Blocks),
    Gemini,
}

/// What has been read of a response.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) turn: Turn,
    pub(crate) refused: Option<String>,
    pub(crate) trouble: Option<String>,
}

impl Gathered {
    /// A later word on usage.
    pub(crate) fn usage(&mut self, later: WireUsage) {
        self.turn.usage = Some(self.turn.usage.map_or(later, |before| before.later(later)));
    }

    /// Is there room for one more call? Says so where there is none.
    pub(crate) fn has_room(&mut self) -> bool {
        let room = self.turn.calls.len() < CALLS_CAP;
        if !room {
            self.trouble = Some(format!("more than {CALLS_CAP} calls in one turn"));
        }
        room
    }

    /// An error object of the provider.
    pub(crate) fn error(&mut self, error: &Value) {
        let message = error.get("message").and_then(Value::as_str);
        self.refused = Some(message.map_or_else(|| error.to_string(), str::to_owned));
    }
}

impl ReplyReader {
    /// A reader for a response of this API with this Content-Type; without a telling one the first byte decides.
    pub fn new(api: Api, content_type: Option<&str>) -> Self {
        let gather = match api {
            Api::Chat => {
                return Self { kind: Kind::Chat(Box::new(chat::TurnReader::new(content_type))), fed: 0 };
            }
            Api::Responses => Gather::Responses(responses::Items::default()),
            Api::Messages => Gather::Messages(messages::Blocks::default()),
            Api::Gemini => Gather::Gemini,
        };
        let (framing, gathered) = (Framing::new(content_type), Gathered::default());
        Self { kind: Kind::Other(Box::new(Other { framing, gathered, gather })), fed: 0 }
    }

    /// Takes the next bytes of the body. What comes after [`RESPONSE_CAP`] bytes is not read, and the turn is not whole.
    pub fn feed(&mut self, bytes: &[u8]) {
        let room = RESPONSE_CAP.saturating_sub(self.fed);
        self.fed = self.fed.saturating_add(bytes.len());
        let bytes = &bytes[..bytes.len().min(room)];
        match &mut self.kind {
            Kind::Chat(reader) => reader.feed(bytes),
            Kind::Other(other) => other.feed(bytes),
        }
    }

    /// The whole turn, or what is wrong with it.
    pub fn finish(self) -> Result<Turn, TurnError> {
        let read = match self.kind {
            Kind::Chat(reader) => reader.finish(),
            Kind::Other(other) => other.finish(),
        };
        match read {
            Ok(turn) if self.fed > RESPONSE_CAP => {
                let why = format!("it is larger than {RESPONSE_CAP} bytes");
                Err(TurnError::Incomplete { turn: Box::new(turn), why })
            }
            read => read,
        }
    }
}

impl Other {
    fn feed(&mut self, bytes: &[u8]) {
        let events = self.framing.feed(bytes);
        self.gathered.trouble = self.gathered.trouble.take().or(self.framing.trouble());
        events.iter().for_each(|event| self.event(event));
    }

    fn event(&mut self, data: &[u8]) {
        // Servers that sit between may close any stream by the word of chat completions.
        if data == b"[DONE]" || data.is_empty() {
            return;
        }
        match json::value(data) {
            Ok(value) => self.value(&value),
            Err(unread) => self.gathered.trouble = Some(unread.to_string()),
        }
    }

    fn value(&mut self, value: &Value) {
        match &mut self.gather {
            Gather::Responses(items) => items.value(value, &mut self.gathered),
            Gather::Messages(blocks) => blocks.value(value, &mut self.gathered),
            Gather::Gemini => gemini::value(value, &mut self.gathered),
        }
    }

    fn finish(mut self) -> Result<Turn, TurnError> {
        if let Some(event) = std::mem::take(&mut self.framing).finish() {
            self.event(&event);
        }
        match &self.gather {
            Gather::Messages(blocks) => blocks.close(&mut self.gathered),
            Gather::Responses(items) => items.close(&mut self.gathered),
            Gather::Gemini => {}
        }
        let Gathered { turn, refused, trouble } = self.gathered;
        if let Some(message) = refused {
            return Err(TurnError::Refused { turn: Box::new(turn), message });
        }
        let why = match (trouble, &turn.finish) {
            (Some(trouble), _) => trouble,
            (None, Some(_)) => return Ok(turn),
            (None, None) => "it ended without a finish reason".to_owned(),
        };
        Err(TurnError::Incomplete { turn: Box::new(turn), why })
    }
}

/// The body of a response that is not streamed.
pub fn write_json(api: Api, turn: &Turn) -> Vec<u8> {
    match api {
        Api::Chat => chat::write_json(turn),
        Api::Responses => responses::write_json(turn),
        Api::Messages => messages::write_json(turn),
        Api::Gemini => gemini::write_json(turn),
    }
}

/// The frames of a streamed response, each a whole server-sent event.
pub fn write_stream(api: Api, turn: &Turn, usage: chat::StreamUsage) -> Vec<Vec<u8>> {
    match api {
        Api::Chat => chat::write_stream(turn, usage),
        Api::Responses => responses::write_stream(turn),
        Api::Messages => messages::write_stream(turn),
        Api::Gemini => gemini::write_stream(turn),
    }
}

#[cfg(test)]
mod round_trip;
