//! A Messages request, read.

use serde_json::{Map, Value};

use crate::api::Api;
use crate::fields::{content_text, str_at, string_at, take_array};
use crate::request::{
    CallResult, Exposure, ModelRequest, Place, RequestError, RequestMessage, RequestTool, ToolKind,
};
use crate::turn::{Call, CallForm};

/// Blocks that are neither text nor a call nor a result of one; they are kept and not counted as unknown.
const SILENT: [&str; 12] = [
    "text",
    "thinking",
    "redacted_thinking",
    "image",
    "document",
    "search_result",
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "tool_search_tool_result",
    "tool_reference",
    "container_upload",
];

pub(crate) fn read(mut body: Map<String, Value>) -> Result<ModelRequest, RequestError> {
    let mut request = ModelRequest::empty(Api::Messages);
    let tools = take_array(&mut body, "tools").ok_or(RequestError::Shape("`tools` is no array"))?;
    for tool in tools {
        request.tools.push(tool_of(&tool));
        request.entries.push(tool);
    }
    if let Some(system) = body.shift_remove("system").filter(|system| !system.is_null()) {
        request.messages.push(RequestMessage::said("system", Place::Field, Some(&system), system.clone()));
    }
    let Some(Value::Array(messages)) = body.shift_remove("messages") else {
        return Err(RequestError::Shape("`messages` is missing or no array"));
    };
    for message in messages {
        let message = message_of(&mut request, message);
        request.messages.push(message);
    }
    request.model = body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    request.stream = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
    let one = body.get("tool_choice").and_then(|choice| choice.get("disable_parallel_tool_use"));
    request.parallel_tool_calls = one.and_then(Value::as_bool).map(|one| !one);
    mark_found(&mut request);
    request.rest = body;
    Ok(request)
}

fn message_of(request: &mut ModelRequest, raw: Value) -> RequestMessage {
    let role = string_at(&raw, "role");
    let (mut calls, mut results, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for block in raw.get("content").and_then(Value::as_array).into_iter().flatten() {
        match str_at(block, "type") {
            Some("text") | None => texts.push(block.clone()),
            Some("tool_use" | "mcp_tool_use") => calls.push(call_of(block)),
            Some("tool_result" | "mcp_tool_result") => results.push(CallResult {
                id: string_at(block, "tool_use_id"),
                text: content_text(block.get("content")),
                failed: block.get("is_error").and_then(Value::as_bool) == Some(true),
            }),
            Some(kind) if SILENT.contains(&kind) => {}
            Some(kind) => request.count_unknown(kind),
        }
    }
    let content = match raw.get("content") {
        Some(Value::Array(_)) => Some(Value::Array(texts)),
        other => other.cloned(),
    };
    RequestMessage { calls, results, ..RequestMessage::said(&role, Place::Item, content.as_ref(), raw) }
}

/// A call as a block of request or response.
pub(super) fn call_of(block: &Value) -> Call {
    Call {
        id: string_at(block, "id"),
        name: string_at(block, "name"),
        arguments: block.get("input").map(ToString::to_string).unwrap_or_default(),
        namespace: str_at(block, "server_name").map(str::to_owned),
        form: CallForm::Function,
    }
}

fn tool_of(raw: &Value) -> RequestTool {
    let kind = match str_at(raw, "type") {
        None | Some("custom") => ToolKind::Function,
        Some(kind) => ToolKind::Hosted(kind.to_owned()),
    };
    let deferred = raw.get("defer_loading").and_then(Value::as_bool) == Some(true);
    RequestTool {
        name: str_at(raw, "name").unwrap_or_else(|| kind.word()).to_owned(),
        namespace: None,
        exposure: if deferred { Exposure::Deferred } else { Exposure::Direct },
        place: Place::Field,
        description: string_at(raw, "description"),
        schema: raw.get("input_schema").cloned(),
        raw: raw.clone(),
        kind,
    }
}

/// A deferred tool to which a `tool_reference` points was shown by a search.
fn mark_found(request: &mut ModelRequest) {
    if !request.tools.iter().any(|tool| tool.exposure == Exposure::Deferred) {
        return;
    }
    let mut found = Vec::new();
    for message in &request.messages {
        references(&message.raw, 0, &mut found);
    }
    for tool in request.tools.iter_mut().filter(|tool| tool.exposure == Exposure::Deferred) {
        if found.contains(&tool.name) {
            tool.exposure = Exposure::Found;
        }
    }
}

fn references(value: &Value, depth: u32, found: &mut Vec<String>) {
    if depth > 6 {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| references(item, depth + 1, found)),
        Value::Object(fields) if str_at(value, "type") == Some("tool_reference") => {
            let name = ["tool_name", "name"].iter().find_map(|key| fields.get(*key)).and_then(Value::as_str);
            found.extend(name.map(str::to_owned));
        }
        Value::Object(fields) => {
            let inner = ["content", "tool_references"].iter().filter_map(|key| fields.get(*key));
            inner.for_each(|inner| references(inner, depth + 1, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn system_text_stands_in_the_field_and_among_the_messages() {
        let body = json!({"model": "m", "max_tokens": 9, "stream": true,
            "system": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "cache_control": {"type": "ephemeral"}}],
            "tools": [
                {"name": "Bash", "description": "d", "input_schema": {"type": "object"}},
                {"name": "Late", "defer_loading": true, "input_schema": {}},
                {"name": "Seen", "defer_loading": true, "input_schema": {}},
                {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}],
            "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
            "messages": [
                {"role": "system", "content": "c"},
                {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "text", "text": "there"}]},
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"},
                    {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [{"type": "text", "text": "no"}]},
                    {"type": "tool_search_tool_result", "content": {"type": "tool_search_tool_search_result",
                        "tool_references": [{"type": "tool_reference", "tool_name": "Seen"}]}},
                    {"type": "smell"}]}]});
        let request =
            ModelRequest::read(Api::Messages, "/v1/messages?beta=true", body.to_string().as_bytes()).unwrap();
        let system: Vec<_> =
            request.messages.iter().filter(|m| m.is_instruction()).map(|m| m.text.as_str()).collect();
        assert_eq!(system, ["ab", "c"]);
        let exposures: Vec<_> = request.tools.iter().map(|tool| tool.exposure.word()).collect();
        assert_eq!(exposures, ["direct", "deferred", "found", "direct"]);
        assert_eq!(request.tools[3].kind.word(), "tool_search_tool_regex_20251119");
        assert_eq!(request.parallel_tool_calls, Some(false));
        assert_eq!(request.messages[3].calls[0].arguments, r#"{"command":"ls"}"#);
        assert_eq!(
            request.messages[4].results,
            [CallResult { id: "t1".into(), text: "no".into(), failed: true }]
        );
        assert_eq!(request.unknown.keys().collect::<Vec<_>>(), ["smell"]);
        assert_eq!(request.rest.keys().collect::<Vec<_>>(), ["model", "max_tokens", "stream", "tool_choice"]);
    }
}
