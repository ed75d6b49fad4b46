//! A response read as its bytes arrive, in either framing.

use serde_json::Value;

use super::request::call_of;
use crate::api::Api;
use crate::fields::text_of;
use crate::framing::Framing;
use crate::json;
use crate::turn::{Call, Turn, TurnError, WireUsage};
use crate::usage::usage_of;

/// The most calls kept of one turn.
const CALLS_CAP: usize = 4096;

/// Reads one response incrementally: feed it bytes cut anywhere, then [`TurnReader::finish`].
#[derive(Debug)]
pub struct TurnReader {
    framing: Framing,
    turn: Turn,
    refused: Option<String>,
    trouble: Option<String>,
    done: bool,
    open_slots: Vec<i64>,
}

impl TurnReader {
    /// A reader for a response with this Content-Type; without a telling one the first byte decides.
    pub fn new(content_type: Option<&str>) -> Self {
        Self {
            framing: Framing::new(content_type),
            turn: Turn::default(),
            refused: None,
            trouble: None,
            done: false,
            open_slots: Vec::new(),
        }
    }

    /// Takes the next bytes of the body.
    pub fn feed(&mut self, bytes: &[u8]) {
        let events = self.framing.feed(bytes);
        self.trouble = self.trouble.take().or(self.framing.trouble());
        events.iter().for_each(|event| self.event(event));
    }

    /// Has a stream said `[DONE]`?
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// What has arrived so far of a stream.
    pub fn so_far(&self) -> &Turn {
        &self.turn
    }

    /// The whole turn, or what is wrong with it.
    pub fn finish(mut self) -> Result<Turn, TurnError> {
        if let Some(event) = std::mem::take(&mut self.framing).finish() {
            self.event(&event);
        }
        if let Some(message) = self.refused {
            return Err(TurnError::Refused { turn: Box::new(self.turn), message });
        }
        let why = match (self.trouble, &self.turn.finish) {
            (Some(trouble), _) => trouble,
            (None, Some(_)) => return Ok(self.turn),
            (None, None) => "it ended without a finish reason".to_owned(),
        };
        Err(TurnError::Incomplete { turn: Box::new(self.turn), why })
    }

    fn event(&mut self, data: &[u8]) {
        if data == b"[DONE]" {
            self.done = true;
            return;
        }
        match json::value(data) {
            Ok(value) => self.object(&value),
            Err(unread) => self.trouble = Some(unread.to_string()),
        }
    }

    /// A chunk of a stream, or the one object of a body: both have the same parts under `delta` or `message`.
    fn object(&mut self, value: &Value) {
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            let message = error.get("message").and_then(Value::as_str);
            // What stands beside it counts all the same.
            self.refused = Some(message.map_or_else(|| error.to_string(), str::to_owned));
        }
        let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(id) = text("id") {
            self.turn.id = id;
        }
        if let Some(model) = text("model") {
            self.turn.model = model;
        }
        self.turn.fingerprint = text("system_fingerprint").or(self.turn.fingerprint.take());
        self.usage(value);
        let choices = value.get("choices").and_then(Value::as_array);
        // Only the first choice is a turn of the agent; `n > 1` is nothing that an agent's loop asks for.
        for choice in choices.into_iter().flatten() {
            if choice.get("index").and_then(Value::as_i64).unwrap_or(0) == 0 {
                self.choice(choice);
            }
        }
    }

    /// Some servers state it in the first choice or under a name of their own. A later word adds to an earlier one.
    fn usage(&mut self, value: &Value) {
        let places = ["/usage", "/choices/0/usage", "/x_groq/usage"];
        let stated = places.iter().filter_map(|place| value.pointer(place)).filter(|usage| usage.is_object());
        let usage =
            stated.map(|usage| usage_of(Api::Chat, usage)).find(|usage| *usage != WireUsage::default());
        if let Some(usage) = usage {
            self.turn.usage = Some(self.turn.usage.map_or(usage, |before| before.later(usage)));
        }
    }

    fn choice(&mut self, choice: &Value) {
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.turn.finish = Some(reason.to_owned());
        }
        if let Some(message) = choice.get("message") {
            self.texts(message);
            let calls = message.get("tool_calls").and_then(Value::as_array);
            self.turn.calls.extend(calls.into_iter().flatten().take(CALLS_CAP).map(call_of));
        }
        if let Some(delta) = choice.get("delta") {
            self.texts(delta);
            let calls = delta.get("tool_calls").and_then(Value::as_array);
            calls.into_iter().flatten().for_each(|call| self.call_delta(call));
        }
    }

    fn texts(&mut self, part: &Value) {
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        self.turn.text.push_str(text("content").unwrap_or_default());
        let reasoning = text("reasoning_content").or_else(|| text("reasoning"));
        self.turn.reasoning.push_str(reasoning.unwrap_or_default());
    }

    /// A piece of a call. Its slot is its `index`; servers that leave it out start a call with an id and go on without.
    fn call_delta(&mut self, raw: &Value) {
        let id = raw.get("id").and_then(Value::as_str).unwrap_or_default();
        let slot = raw.get("index").and_then(Value::as_i64);
        let known = match slot {
            Some(slot) => self.open_slots.iter().position(|&open| open == slot),
            None if id.is_empty() => self.turn.calls.len().checked_sub(1),
            None => None,
        };
        let at = match known {
            Some(at) => at,
            None if self.turn.calls.len() >= CALLS_CAP => {
                self.trouble = Some(format!("more than {CALLS_CAP} calls in one turn"));
                return;
            }
            None => {
                self.turn.calls.push(Call::default());
                self.open_slots.push(slot.unwrap_or(i64::MIN));
                self.turn.calls.len() - 1
            }
        };
        let call = &mut self.turn.calls[at];
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        let function = raw.get("function");
        let name = function.and_then(|f| f.get("name")).and_then(Value::as_str).unwrap_or_default();
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        if let Some(arguments) = function.and_then(|f| f.get("arguments")) {
            call.arguments.push_str(&text_of(arguments));
        }
    }
}
