//! A response written for either framing. `created` is always 0: the same turn is the same bytes.

use serde_json::{Value, json};

use super::request_out::call_value;
use crate::fields::pieces;
use crate::turn::{Turn, WireUsage};

/// Characters of text or arguments carried by one chunk of a stream.
const PIECE: usize = 1024;

/// Does a stream end with a usage chunk?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamUsage {
    /// Yes: the request asked for it.
    Included,
    /// No.
    LeftOut,
}

/// The body of a response that is not streamed.
pub fn write_json(turn: &Turn) -> Vec<u8> {
    let content = if turn.text.is_empty() && !turn.calls.is_empty() { Value::Null } else { json!(turn.text) };
    let mut message = json!({"role": "assistant", "content": content});
    if !turn.reasoning.is_empty() {
        message["reasoning_content"] = json!(turn.reasoning);
    }
    if !turn.calls.is_empty() {
        message["tool_calls"] = turn.calls.iter().map(call_value).collect();
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish_of(turn)});
    let mut body = head(turn, "chat.completion");
    body["choices"] = json!([choice]);
    if let Some(usage) = &turn.usage {
        body["usage"] = usage_value(usage);
    }
    body.to_string().into_bytes()
}

/// The frames of a streamed response, each a whole server-sent event; the last one is `[DONE]`.
pub fn write_stream(turn: &Turn, usage: StreamUsage) -> Vec<Vec<u8>> {
    let mut frames = vec![delta(turn, json!({"role": "assistant", "content": ""}))];
    for piece in pieces(&turn.reasoning, PIECE) {
        frames.push(delta(turn, json!({"reasoning_content": piece})));
    }
    for piece in pieces(&turn.text, PIECE) {
        frames.push(delta(turn, json!({"content": piece})));
    }
    for (index, call) in turn.calls.iter().enumerate() {
        let start = json!({"index": index, "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": ""}});
        frames.push(delta(turn, json!({"tool_calls": [start]})));
        for piece in pieces(&call.arguments, PIECE) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            frames.push(delta(turn, json!({"tool_calls": [more]})));
        }
    }
    frames.push(chunk(turn, json!([{"index": 0, "delta": {}, "finish_reason": finish_of(turn)}]), None));
    if let (StreamUsage::Included, Some(said)) = (usage, &turn.usage) {
        frames.push(chunk(turn, json!([]), Some(said)));
    }
    frames.push(b"data: [DONE]\n\n".to_vec());
    frames
}

fn delta(turn: &Turn, delta: Value) -> Vec<u8> {
    chunk(turn, json!([{"index": 0, "delta": delta, "finish_reason": null}]), None)
}

fn chunk(turn: &Turn, choices: Value, usage: Option<&WireUsage>) -> Vec<u8> {
    let mut body = head(turn, "chat.completion.chunk");
    body["choices"] = choices;
    if let Some(usage) = usage {
        body["usage"] = usage_value(usage);
    }
    format!("data: {body}\n\n").into_bytes()
}

fn head(turn: &Turn, object: &str) -> Value {
    let mut body = json!({"id": turn.id, "object": object, "created": 0, "model": turn.model});
    if let Some(fingerprint) = &turn.fingerprint {
        body["system_fingerprint"] = json!(fingerprint);
    }
    body
}

fn finish_of(turn: &Turn) -> &str {
    match (&turn.finish, turn.calls.is_empty()) {
        (Some(said), _) => said,
        (None, true) => "stop",
        (None, false) => "tool_calls",
    }
}

fn usage_value(usage: &WireUsage) -> Value {
    let mut value = json!({});
    if let Some(input) = usage.input_tokens {
        value["prompt_tokens"] = json!(input);
    }
    if let Some(output) = usage.output_tokens {
        value["completion_tokens"] = json!(output);
    }
    if let (Some(input), Some(output)) = (usage.input_tokens, usage.output_tokens) {
        value["total_tokens"] = json!(input.saturating_add(output));
    }
    if let Some(cached) = usage.cached_input_tokens {
        value["prompt_tokens_details"] = json!({"cached_tokens": cached});
    }
    if let Some(reasoning) = usage.reasoning_tokens {
        value["completion_tokens_details"] = json!({"reasoning_tokens": reasoning});
    }
    value
}
