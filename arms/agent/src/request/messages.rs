//! A Messages request: where the wire defers, a search's result points at what it found, whose definitions travel flagged
//! at the end of `tools` from then on. What nobody has found is not sent: the one real agent seen on this wire does the same.

use serde_json::{Map, Value, json};

use super::{Asked, Said, Shown};
use crate::catalogue::ToolDefinition;
use crate::offer::{Found, Offer};

/// Sent where no cap is set: this API demands one.
const OUTPUT_TOKENS: u32 = 32_000;

pub(super) fn body(asked: &Asked<'_>, shown: &Shown<'_>) -> Vec<u8> {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    set("model", json!(asked.model));
    set("max_tokens", json!(asked.settings.max_output_tokens.unwrap_or(OUTPUT_TOKENS)));
    set("system", json!(shown.system));
    set("messages", messages(shown.said));
    if let Some(offer) = shown.offer {
        set("tools", tools(offer));
        if asked.capabilities.parallel_tool_calls == Some(false) {
            set("tool_choice", json!({"type": "auto", "disable_parallel_tool_use": true}));
        }
    }
    if let Some(temperature) = asked.settings.temperature {
        set("temperature", json!(temperature));
    }
    if let Some(effort) = &asked.settings.thinking {
        set("output_config", json!({"effort": effort}));
    }
    set("stream", json!(true));
    Value::Object(body).to_string().into_bytes()
}

fn tools(offer: &Offer) -> Value {
    let shown = offer.tools().iter().map(|tool| declared(tool));
    let found: &[_] = if offer.discovery() == Found::OnTheWire { offer.found() } else { &[] };
    let flagged = found.iter().map(|tool| {
        let mut value = declared(tool);
        value["defer_loading"] = json!(true);
        value
    });
    shown.chain(flagged).collect()
}

fn declared(tool: &ToolDefinition) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
}

/// Results of one turn stand in one user message, in the order of the calls.
fn messages(said: &[Said]) -> Value {
    let mut messages: Vec<Value> = Vec::new();
    for part in said {
        let (role, blocks) = blocks(part);
        match messages.last_mut() {
            Some(last) if last["role"] == role => {
                last["content"].as_array_mut().expect("content is a list").extend(blocks);
            }
            _ => messages.push(json!({"role": role, "content": blocks})),
        }
    }
    Value::Array(messages)
}

fn blocks(said: &Said) -> (&'static str, Vec<Value>) {
    let text_block = |text: &str| json!({"type": "text", "text": text});
    match said {
        Said::User(text) => ("user", vec![text_block(text)]),
        Said::Model(turn) => {
            let text = (!turn.text.is_empty()).then(|| text_block(&turn.text));
            let calls = turn.calls.iter().map(|call| {
                let input = serde_json::from_str::<Value>(&call.arguments).unwrap_or_else(|_| json!({}));
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
            });
            ("assistant", text.into_iter().chain(calls).collect())
        }
        Said::Result { call, text, schemas } => {
            let content = match schemas.is_empty() {
                true => json!(text),
                false => schemas
                    .iter()
                    .map(|tool| json!({"type": "tool_reference", "tool_name": tool.name}))
                    .collect(),
            };
            ("user", vec![json!({"type": "tool_result", "tool_use_id": call.id, "content": content})])
        }
    }
}
