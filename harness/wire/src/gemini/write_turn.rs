//! A Gemini response, written. The same turn is the same bytes.

use serde_json::{Value, json};

use crate::fields::{object_of, pieces};
use crate::turn::{Turn, WireUsage};

/// Characters of text carried by one chunk.
const PIECE: usize = 1024;

/// The body of a response that is not streamed.
pub(crate) fn write_json(turn: &Turn) -> Vec<u8> {
    let mut parts = Vec::new();
    if !turn.reasoning.is_empty() {
        parts.push(json!({"text": turn.reasoning, "thought": true}));
    }
    if !turn.text.is_empty() {
        parts.push(json!({"text": turn.text}));
    }
    parts.extend(calls(turn));
    chunk(turn, parts, true).to_string().into_bytes()
}

/// The chunks of a streamed response, each a whole server-sent event; the last one says why it stopped.
pub(crate) fn write_stream(turn: &Turn) -> Vec<Vec<u8>> {
    let thoughts = pieces(&turn.reasoning, PIECE).map(|piece| json!({"text": piece, "thought": true}));
    let texts = pieces(&turn.text, PIECE).map(|piece| json!({"text": piece}));
    let parts = thoughts.chain(texts).chain(calls(turn));
    let mut frames: Vec<Vec<u8>> = parts.map(|part| frame(&chunk(turn, vec![part], false))).collect();
    frames.push(frame(&chunk(turn, vec![json!({"text": ""})], true)));
    frames
}

fn frame(chunk: &Value) -> Vec<u8> {
    format!("data: {chunk}\r\n\r\n").into_bytes()
}

fn calls(turn: &Turn) -> impl Iterator<Item = Value> + '_ {
    turn.calls.iter().map(|call| {
        let mut part = json!({"functionCall": {"name": call.name, "args": object_of(&call.arguments)}});
        if !call.id.is_empty() {
            part["functionCall"]["id"] = json!(call.id);
        }
        part
    })
}

fn chunk(turn: &Turn, parts: Vec<Value>, last: bool) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    let mut body = json!({"responseId": turn.id, "modelVersion": turn.model});
    if let Some(fingerprint) = &turn.fingerprint {
        body["systemFingerprint"] = json!(fingerprint);
    }
    if last {
        candidate["finishReason"] = json!(finish_of(turn));
        if let Some(usage) = &turn.usage {
            body["usageMetadata"] = usage_value(usage);
        }
    }
    body["candidates"] = json!([candidate]);
    body
}

fn finish_of(turn: &Turn) -> &str {
    match turn.finish.as_deref() {
        None | Some("stop" | "tool_calls") => "STOP",
        Some("length") => "MAX_TOKENS",
        Some(word) => word,
    }
}

fn usage_value(usage: &WireUsage) -> Value {
    let mut value = json!({});
    if let Some(input) = usage.input_tokens {
        value["promptTokenCount"] = json!(input);
    }
    if let Some(cached) = usage.cached_input_tokens {
        value["cachedContentTokenCount"] = json!(cached);
    }
    if let Some(output) = usage.output_tokens {
        value["candidatesTokenCount"] = json!(output.saturating_sub(usage.reasoning_tokens.unwrap_or(0)));
    }
    if let Some(thoughts) = usage.reasoning_tokens {
        value["thoughtsTokenCount"] = json!(thoughts);
    }
    if let Some(total) = usage.total_tokens() {
        value["totalTokenCount"] = json!(total);
    }
    value
}
