//! A Responses response: one object, or events of which the finished items and the last one count.

use serde_json::Value;

use super::read_request::call_of;
use crate::api::Api;
use crate::fields::{array_at, content_text, str_at};
use crate::reply::Gathered;
use crate::usage::usage_of;

/// What of a stream has been seen of the item that is being written.
#[derive(Debug, Default)]
pub(crate) struct Items {
    /// Text of items that are not finished: kept, should the stream be cut.
    open_text: String,
    open_reasoning: String,
    finished: bool,
}

impl Items {
    pub(crate) fn value(&mut self, value: &Value, gathered: &mut Gathered) {
        match str_at(value, "type") {
            Some("error") => gathered.error(value.get("error").unwrap_or(value)),
            Some("response.created" | "response.in_progress") => head(value.get("response"), gathered),
            Some("response.output_text.delta") => self.open_text.push_str(delta(value)),
            Some("response.reasoning_text.delta" | "response.reasoning_summary_text.delta") => {
                self.open_reasoning.push_str(delta(value));
            }
            Some("response.output_item.done") => {
                if let Some(item) = value.get("item") {
                    self.open_text.clear();
                    self.open_reasoning.clear();
                    add(item, gathered);
                    self.finished = true;
                }
            }
            Some("response.completed" | "response.incomplete" | "response.failed") => {
                if let Some(response) = value.get("response") {
                    self.end(response, gathered);
                }
            }
            Some(_) => {}
            None if value.get("error").is_some_and(Value::is_object) => gathered.error(&value["error"]),
            None => self.end(value, gathered),
        }
    }

    /// A stream that was cut: what had arrived of the item that was being written.
    pub(crate) fn close(&self, gathered: &mut Gathered) {
        gathered.turn.text.push_str(&self.open_text);
        gathered.turn.reasoning.push_str(&self.open_reasoning);
    }

    /// The whole response: its items where the stream has not shown them, status and usage.
    fn end(&mut self, response: &Value, gathered: &mut Gathered) {
        head(Some(response), gathered);
        if let Some(error) = response.get("error").filter(|error| error.is_object()) {
            gathered.error(error);
        }
        if !self.finished && array_at(response, "output").next().is_some() {
            self.open_text.clear();
            self.open_reasoning.clear();
            array_at(response, "output").for_each(|item| add(item, gathered));
        }
        if let Some(status) = str_at(response, "status").filter(|status| *status != "in_progress") {
            let reason = response.get("incomplete_details").and_then(|details| str_at(details, "reason"));
            gathered.turn.finish = Some(reason.unwrap_or(status).to_owned());
        }
        if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
            gathered.usage(usage_of(Api::Responses, usage));
        }
    }
}

fn delta(value: &Value) -> &str {
    str_at(value, "delta").unwrap_or_default()
}

fn head(response: Option<&Value>, gathered: &mut Gathered) {
    let text = |key| response.and_then(|response| str_at(response, key)).map(str::to_owned);
    if let Some(id) = text("id") {
        gathered.turn.id = id;
    }
    if let Some(model) = text("model") {
        gathered.turn.model = model;
    }
    gathered.turn.fingerprint = text("system_fingerprint").or(gathered.turn.fingerprint.take());
}

fn add(item: &Value, gathered: &mut Gathered) {
    match str_at(item, "type") {
        Some("message") => gathered.turn.text.push_str(&content_text(item.get("content"))),
        Some("reasoning") => {
            gathered.turn.reasoning.push_str(&content_text(item.get("summary")));
            gathered.turn.reasoning.push_str(&content_text(item.get("content")));
        }
        Some(kind) if kind.ends_with("_call") && gathered.has_room() => {
            gathered.turn.calls.push(call_of(item));
        }
        Some(_) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReplyReader, TurnError};

    #[test]
    fn a_response_that_failed_keeps_what_was_streamed_and_stated() {
        let events = [
            r#"{"type":"response.output_text.delta","delta":"hi"}"#,
            r#"{"type":"response.failed","response":{"status":"failed","error":{"message":"down"},"usage":{"input_tokens":5,"output_tokens":1}}}"#,
        ];
        let mut reader = ReplyReader::new(Api::Responses, Some("text/event-stream"));
        events.iter().for_each(|event| reader.feed(format!("data: {event}\n\n").as_bytes()));
        let error = reader.finish().unwrap_err();
        let TurnError::Refused { turn, message } = error else { panic!("{error}") };
        assert_eq!((message.as_str(), turn.text.as_str()), ("down", "hi"));
        assert_eq!(turn.usage.unwrap().input_tokens, Some(5));
    }
}
