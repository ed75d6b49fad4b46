//! A Responses response, written. The same turn is the same bytes.

use serde_json::{Value, json};

use crate::fields::pieces;
use crate::turn::{Call, CallForm, Turn, WireUsage};

/// Characters of text or arguments carried by one event.
const PIECE: usize = 1024;

/// The body of a response that is not streamed.
pub(crate) fn write_json(turn: &Turn) -> Vec<u8> {
    let items: Vec<Value> = items(turn).collect();
    response(turn, finish_of(turn), &items).to_string().into_bytes()
}

/// The events of a streamed response; the last one is `response.completed`.
pub(crate) fn write_stream(turn: &Turn) -> Vec<Vec<u8>> {
    let mut events = Events::default();
    let mut started = response(turn, "in_progress", &[]);
    started["usage"] = Value::Null;
    events.push("response.created", json!({"response": started}));
    let items: Vec<Value> = items(turn).collect();
    for (index, item) in items.iter().enumerate() {
        events.item(index, item);
    }
    let finish = finish_of(turn);
    let word = if finish == "completed" { "response.completed" } else { "response.incomplete" };
    events.push(word, json!({"response": response(turn, finish, &items)}));
    events.frames
}

#[derive(Default)]
struct Events {
    frames: Vec<Vec<u8>>,
}

impl Events {
    fn push(&mut self, kind: &str, fields: Value) {
        let mut event = json!({"type": kind, "sequence_number": self.frames.len()});
        if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
            event.extend(fields);
        }
        self.frames.push(format!("event: {kind}\ndata: {event}\n\n").into_bytes());
    }

    fn item(&mut self, index: usize, item: &Value) {
        let id = &item["id"];
        let mut started = item.clone();
        started["status"] = json!("in_progress");
        let (deltas, place) = match item["type"].as_str() {
            Some("message") => {
                started["content"] = json!([]);
                ("response.output_text", item["content"][0]["text"].as_str())
            }
            Some("custom_tool_call") => {
                started["input"] = json!("");
                ("response.custom_tool_call_input", item["input"].as_str())
            }
            Some("function_call") => {
                started["arguments"] = json!("");
                ("response.function_call_arguments", item["arguments"].as_str())
            }
            _ => ("", None),
        };
        self.push("response.output_item.added", json!({"output_index": index, "item": started}));
        let is_text = deltas == "response.output_text";
        if is_text {
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            let fields = json!({"item_id": id, "output_index": index, "content_index": 0, "part": part});
            self.push("response.content_part.added", fields);
        }
        for piece in pieces(place.unwrap_or_default(), PIECE) {
            let mut fields = json!({"item_id": id, "output_index": index, "delta": piece});
            if is_text {
                fields["content_index"] = json!(0);
            }
            self.push(&format!("{deltas}.delta"), fields);
        }
        self.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }
}

fn items(turn: &Turn) -> impl Iterator<Item = Value> + '_ {
    let id = |kind: &str, index: usize| format!("{kind}_{}_{index}", turn.id);
    let reasoning = (!turn.reasoning.is_empty()).then(|| {
        let summary = json!([{"type": "summary_text", "text": turn.reasoning}]);
        json!({"type": "reasoning", "id": id("rs", 0), "summary": summary})
    });
    let message = (!turn.text.is_empty()).then(|| {
        let content = json!([{"type": "output_text", "text": turn.text, "annotations": []}]);
        json!({"type": "message", "id": id("msg", 0), "status": "completed", "role": "assistant", "content": content})
    });
    let calls = turn.calls.iter().enumerate().map(move |(index, call)| item_of(&id("fc", index), call));
    reasoning.into_iter().chain(message).chain(calls)
}

fn item_of(id: &str, call: &Call) -> Value {
    let (kind, field) = match call.form {
        CallForm::Function => ("function_call", "arguments"),
        CallForm::Custom => ("custom_tool_call", "input"),
    };
    let mut item =
        json!({"type": kind, "id": id, "status": "completed", "call_id": call.id, "name": call.name});
    item[field] = json!(call.arguments);
    if let Some(namespace) = &call.namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

fn response(turn: &Turn, status: &str, items: &[Value]) -> Value {
    let mut body = json!({"id": turn.id, "object": "response", "created_at": 0, "status": status,
        "model": turn.model, "output": items, "error": null, "incomplete_details": null});
    if !["completed", "in_progress"].contains(&status) {
        body["status"] = json!("incomplete");
        body["incomplete_details"] = json!({"reason": status});
    }
    if let Some(fingerprint) = &turn.fingerprint {
        body["system_fingerprint"] = json!(fingerprint);
    }
    if let Some(usage) = &turn.usage {
        body["usage"] = usage_value(usage);
    }
    body
}

fn finish_of(turn: &Turn) -> &str {
    match turn.finish.as_deref() {
        None | Some("stop" | "tool_calls" | "completed") => "completed",
        Some("length") => "max_output_tokens",
        Some(word) => word,
    }
}

fn usage_value(usage: &WireUsage) -> Value {
    let mut value = json!({});
    let mut set = |key: &str, field: Value| value[key] = field;
    if let Some(input) = usage.input_tokens {
        set("input_tokens", json!(input));
    }
    if let Some(output) = usage.output_tokens {
        set("output_tokens", json!(output));
    }
    if let Some(total) = usage.total_tokens() {
        set("total_tokens", json!(total));
    }
    if let Some(cached) = usage.cached_input_tokens {
        set("input_tokens_details", json!({"cached_tokens": cached}));
    }
    if let Some(reasoning) = usage.reasoning_tokens {
        set("output_tokens_details", json!({"reasoning_tokens": reasoning}));
    }
    value
}
