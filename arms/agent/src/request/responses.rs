//! A Responses request: `tools` never change where the wire defers; what a search finds stands in an input item.

use bench_wire::CallForm;
use serde_json::{Map, Value, json};

use super::{Asked, Said, Shown};
use crate::catalogue::{SEARCH, ToolDefinition, home_group};
use crate::offer::{Found, Offer};

pub(super) fn body(asked: &Asked<'_>, shown: &Shown<'_>) -> Vec<u8> {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| {
        body.insert(key.to_owned(), value);
    };
    set("model", json!(asked.model));
    set("instructions", json!(shown.system));
    set("input", shown.said.iter().flat_map(|said| items(said, shown)).collect());
    if let Some(offer) = shown.offer {
        set("tools", tools(asked, offer));
        if let Some(parallel) = asked.capabilities.parallel_tool_calls {
            set("parallel_tool_calls", json!(parallel));
        }
    }
    if let Some(temperature) = asked.settings.temperature {
        set("temperature", json!(temperature));
    }
    if let Some(most) = asked.settings.max_output_tokens {
        set("max_output_tokens", json!(most));
    }
    if let Some(effort) = &asked.settings.thinking {
        set("reasoning", json!({"effort": effort}));
    }
    set("stream", json!(true));
    set("store", json!(false));
    Value::Object(body).to_string().into_bytes()
}

fn tools(asked: &Asked<'_>, offer: &Offer) -> Value {
    offer.tools().iter().map(|tool| declared(tool, asked.capabilities.freeform_tools, offer)).collect()
}

/// A tool as it stands in `tools`.
fn declared(tool: &ToolDefinition, freeform: bool, offer: &Offer) -> Value {
    if tool.name == SEARCH && offer.discovery() == Found::OnTheWire {
        return json!({
            "type": "tool_search", "execution": "client",
            "description": tool.description, "parameters": tool.parameters,
        });
    }
    // The two tools whose arguments are a text of its own form.
    if freeform && ["apply_patch", "exec"].contains(&tool.name.as_str()) {
        return json!({"type": "custom", "name": tool.name, "description": tool.description, "format": {"type": "text"}});
    }
    function(tool)
}

fn function(tool: &ToolDefinition) -> Value {
    json!({"type": "function", "name": tool.name, "description": tool.description, "parameters": tool.parameters})
}

fn items(said: &Said, shown: &Shown<'_>) -> Vec<Value> {
    let on_the_wire = shown.offer.is_none_or(|offer| offer.discovery() == Found::OnTheWire);
    match said {
        Said::User(text) => vec![message("user", "input_text", text)],
        Said::Model(turn) => {
            let text = (!turn.text.is_empty()).then(|| message("assistant", "output_text", &turn.text));
            let calls = turn.calls.iter().map(|call| match call.form {
                CallForm::Custom => json!({
                    "type": "custom_tool_call", "call_id": call.id, "name": call.name, "input": call.arguments,
                }),
                CallForm::Function if on_the_wire && is_search(&call.name) => json!({
                    "type": "tool_search_call", "call_id": call.id, "execution": "client",
                    "name": SEARCH,
                    "arguments": serde_json::from_str::<Value>(&call.arguments).unwrap_or_default(),
                }),
                CallForm::Function => json!({
                    "type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments,
                }),
            });
            text.into_iter().chain(calls).collect()
        }
        Said::Result { call, schemas, .. } if on_the_wire && is_search(&call.name) => {
            let found: Vec<Value> = schemas.iter().map(|tool| found(tool)).collect();
            vec![json!({
                "type": "tool_search_output", "call_id": call.id, "status": "completed", "execution": "client",
                "tools": found,
            })]
        }
        Said::Result { call, text, .. } => {
            let kind = match call.form {
                CallForm::Custom => "custom_tool_call_output",
                CallForm::Function => "function_call_output",
            };
            vec![json!({"type": kind, "call_id": call.id, "output": text})]
        }
    }
}

/// A call of the search comes back with or without a name: its item's type says what it is.
fn is_search(name: &str) -> bool {
    name == SEARCH || name.is_empty()
}

fn found(tool: &ToolDefinition) -> Value {
    let mut value = function(tool);
    value["defer_loading"] = json!(true);
    // A group is no namespace here: a namespace would change the names by which tools are called.
    debug_assert!(home_group(&tool.name).is_some());
    value
}

fn message(role: &str, kind: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
}
