//! A Messages response, written. The same turn is the same bytes.

use serde_json::{Value, json};

use crate::fields::{object_of, pieces};
use crate::turn::{Call, Turn, WireUsage};

/// Characters of text or input carried by one event.
const PIECE: usize = 1024;

/// The body of a response that is not streamed.
pub(crate) fn write_json(turn: &Turn) -> Vec<u8> {
    let mut content = Vec::new();
    if !turn.reasoning.is_empty() {
        content.push(json!({"type": "thinking", "thinking": turn.reasoning, "signature": "none"}));
    }
    if !turn.text.is_empty() {
        content.push(json!({"type": "text", "text": turn.text}));
    }
    content.extend(turn.calls.iter().map(|call| tool_use(call, object_of(&call.arguments))));
    let mut body = head(turn);
    body["content"] = json!(content);
    body["stop_reason"] = json!(finish_of(turn));
    if let Some(usage) = &turn.usage {
        body["usage"] = usage_value(usage);
    }
    body.to_string().into_bytes()
}

/// The events of a streamed response; the last one is `message_stop`.
pub(crate) fn write_stream(turn: &Turn) -> Vec<Vec<u8>> {
    let mut start = head(turn);
    if let Some(usage) = &turn.usage {
        let mut first = usage_value(usage);
        first["output_tokens"] = json!(1);
        start["usage"] = first;
    }
    let mut frames = vec![frame("message_start", json!({"message": start}))];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        frames.push(frame("content_block_start", json!({"index": index, "content_block": start})));
        for delta in deltas {
            frames.push(frame("content_block_delta", json!({"index": index, "delta": delta})));
        }
        frames.push(frame("content_block_stop", json!({"index": index})));
        index += 1;
    };
    if !turn.reasoning.is_empty() {
        let deltas = pieces(&turn.reasoning, PIECE).map(|p| json!({"type": "thinking_delta", "thinking": p}));
        let signature = json!({"type": "signature_delta", "signature": "none"});
        let deltas = deltas.chain([signature]).collect();
        block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
    }
    if !turn.text.is_empty() {
        let deltas = pieces(&turn.text, PIECE).map(|p| json!({"type": "text_delta", "text": p}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for call in &turn.calls {
        let deltas =
            pieces(&call.arguments, PIECE).map(|p| json!({"type": "input_json_delta", "partial_json": p}));
        block(tool_use(call, json!({})), deltas.collect());
    }
    let mut end = json!({"delta": {"stop_reason": finish_of(turn), "stop_sequence": null}});
    if let Some(usage) = &turn.usage {
        end["usage"] = usage_value(usage);
    }
    frames.push(frame("message_delta", end));
    frames.push(frame("message_stop", json!({})));
    frames
}

fn frame(kind: &str, fields: Value) -> Vec<u8> {
    let mut event = json!({"type": kind});
    if let (Value::Object(event), Value::Object(fields)) = (&mut event, fields) {
        event.extend(fields);
    }
    format!("event: {kind}\ndata: {event}\n\n").into_bytes()
}

fn head(turn: &Turn) -> Value {
    let mut body = json!({"id": turn.id, "type": "message", "role": "assistant", "model": turn.model,
        "content": [], "stop_reason": null, "stop_sequence": null});
    if let Some(fingerprint) = &turn.fingerprint {
        body["system_fingerprint"] = json!(fingerprint);
    }
    body
}

fn tool_use(call: &Call, input: Value) -> Value {
    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
}

fn finish_of(turn: &Turn) -> &str {
    match turn.finish.as_deref() {
        Some("tool_calls") => "tool_use",
        Some("stop") => "end_turn",
        Some("length") => "max_tokens",
        Some(word) => word,
        None if turn.calls.is_empty() => "end_turn",
        None => "tool_use",
    }
}

/// The input that was neither read from nor written to the cache, and those two beside it.
fn usage_value(usage: &WireUsage) -> Value {
    let mut value = json!({});
    if let Some(input) = usage.input_tokens {
        let (read, written) = (usage.cached_input_tokens, usage.cache_write_tokens);
        value["input_tokens"] =
            json!(input.saturating_sub(read.unwrap_or(0)).saturating_sub(written.unwrap_or(0)));
    }
    if let Some(read) = usage.cached_input_tokens {
        value["cache_read_input_tokens"] = json!(read);
    }
    if let Some(written) = usage.cache_write_tokens {
        value["cache_creation_input_tokens"] = json!(written);
    }
    if let Some(output) = usage.output_tokens {
        value["output_tokens"] = json!(output);
    }
    value
}
