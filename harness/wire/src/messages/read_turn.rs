//! A Messages response: one object, or events that build it block by block.

use std::collections::BTreeMap;

use serde_json::Value;

use super::read_request::call_of;
use crate::api::Api;
use crate::fields::{array_at, str_at};
use crate::reply::Gathered;
use crate::turn::Call;
use crate::usage::usage_of;

/// The calls that are being written, by index of their block: the call as started and the JSON text so far.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    open: BTreeMap<u64, (Call, String)>,
}

impl Blocks {
    pub(crate) fn value(&mut self, value: &Value, gathered: &mut Gathered) {
        let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
        match str_at(value, "type") {
            Some("error") => gathered.error(value.get("error").unwrap_or(value)),
            Some("message_start") => message(value.get("message").unwrap_or(&Value::Null), gathered),
            Some("message") => message(value, gathered),
            Some("content_block_start") => {
                if let Some(block) = value.get("content_block") {
                    self.start(index, block, gathered);
                }
            }
            Some("content_block_delta") => {
                if let Some(delta) = value.get("delta") {
                    self.delta(index, delta, gathered);
                }
            }
            Some("content_block_stop") => self.stop(index, gathered),
            Some("message_delta") => {
                if let Some(reason) = value.get("delta").and_then(|delta| str_at(delta, "stop_reason")) {
                    gathered.turn.finish = Some(reason.to_owned());
                }
                usage(value, gathered);
            }
            Some(_) => {}
            None if value.get("error").is_some_and(Value::is_object) => gathered.error(&value["error"]),
            None => message(value, gathered),
        }
    }

    /// Calls whose end was never said are kept as far as they came.
    pub(crate) fn close(&self, gathered: &mut Gathered) {
        let open = self.open.values().cloned();
        gathered.turn.calls.extend(open.map(|(call, text)| finished(call, text)));
    }

    fn start(&mut self, index: u64, block: &Value, gathered: &mut Gathered) {
        match str_at(block, "type") {
            Some("tool_use" | "mcp_tool_use" | "server_tool_use") => {
                if gathered.has_room() && self.open.len() < crate::reply::CALLS_CAP {
                    self.open.insert(index, (call_of(block), String::new()));
                }
            }
            Some(_) | None => add(block, gathered),
        }
    }

    fn delta(&mut self, index: u64, delta: &Value, gathered: &mut Gathered) {
        let text = |key| str_at(delta, key).unwrap_or_default();
        match str_at(delta, "type") {
            Some("text_delta") => gathered.turn.text.push_str(text("text")),
            Some("thinking_delta") => gathered.turn.reasoning.push_str(text("thinking")),
            Some("input_json_delta") => {
                if let Some((_, so_far)) = self.open.get_mut(&index) {
                    so_far.push_str(text("partial_json"));
                }
            }
            Some(_) | None => {}
        }
    }

    fn stop(&mut self, index: u64, gathered: &mut Gathered) {
        if let Some((call, text)) = self.open.remove(&index) {
            gathered.turn.calls.push(finished(call, text));
        }
    }
}

/// What was streamed takes the place of what the start said (`{}`).
fn finished(call: Call, text: String) -> Call {
    if text.is_empty() { call } else { Call { arguments: text, ..call } }
}

fn message(value: &Value, gathered: &mut Gathered) {
    if let Some(id) = str_at(value, "id") {
        gathered.turn.id = id.to_owned();
    }
    if let Some(model) = str_at(value, "model") {
        gathered.turn.model = model.to_owned();
    }
    if let Some(fingerprint) = str_at(value, "system_fingerprint") {
        gathered.turn.fingerprint = Some(fingerprint.to_owned());
    }
    for block in array_at(value, "content") {
        match str_at(block, "type") {
            Some("tool_use" | "mcp_tool_use" | "server_tool_use") if gathered.has_room() => {
                gathered.turn.calls.push(call_of(block));
            }
            Some(_) | None => add(block, gathered),
        }
    }
    if let Some(reason) = str_at(value, "stop_reason") {
        gathered.turn.finish = Some(reason.to_owned());
    }
    usage(value, gathered);
}

fn add(block: &Value, gathered: &mut Gathered) {
    match str_at(block, "type") {
        Some("text") => gathered.turn.text.push_str(str_at(block, "text").unwrap_or_default()),
        Some("thinking") => gathered.turn.reasoning.push_str(str_at(block, "thinking").unwrap_or_default()),
        Some(_) | None => {}
    }
}

fn usage(value: &Value, gathered: &mut Gathered) {
    if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
        gathered.usage(usage_of(Api::Messages, usage));
    }
}
