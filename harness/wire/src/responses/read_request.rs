//! A Responses request, read.

use serde_json::{Map, Value};

use crate::api::Api;
use crate::fields::{array_at, content_text, str_at, string_at, take_array, text_of};
use crate::request::{
    CallResult, Exposure, ModelRequest, Place, RequestError, RequestMessage, RequestTool, ToolKind,
};
use crate::turn::{Call, CallForm};

/// Tool types that the provider runs itself.
const HOSTED: [&str; 14] = [
    "code_interpreter",
    "computer",
    "computer_use_preview",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "shell",
    "apply_patch",
    "tool_search",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
];
/// Items that carry neither text nor calls that matter here; they are kept and not counted as unknown.
const SILENT: [&str; 8] = [
    "reasoning",
    "web_search_call",
    "file_search_call",
    "image_generation_call",
    "item_reference",
    "compaction",
    "ghost_snapshot",
    "tool_search_call",
];

pub(crate) fn read(mut body: Map<String, Value>) -> Result<ModelRequest, RequestError> {
    let mut request = ModelRequest::empty(Api::Responses);
    if let Some(text) = body.get("instructions").filter(|value| value.is_string()) {
        let text = text.clone();
        body.shift_remove("instructions");
        request.messages.push(RequestMessage::said("instructions", Place::Field, Some(&text), text.clone()));
    }
    let tools = take_array(&mut body, "tools").ok_or(RequestError::Shape("`tools` is no array"))?;
    for tool in tools {
        add_tool(&mut request, &tool, Place::Field, false);
        request.entries.push(tool);
    }
    match body.shift_remove("input") {
        Some(Value::Array(items)) => items.into_iter().for_each(|item| add_item(&mut request, item)),
        Some(Value::String(text)) => {
            let text = Value::String(text);
            request.messages.push(RequestMessage::said("user", Place::Item, Some(&text), text.clone()));
        }
        _ => return Err(RequestError::Shape("`input` is missing or neither text nor array")),
    }
    request.model = body.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    request.stream = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
    request.parallel_tool_calls = body.get("parallel_tool_calls").and_then(Value::as_bool);
    request.rest = body;
    Ok(request)
}

fn add_item(request: &mut ModelRequest, item: Value) {
    let kind = str_at(&item, "type").unwrap_or("message").to_owned();
    let role = str_at(&item, "role").unwrap_or("user").to_owned();
    let message = match kind.as_str() {
        "message" => RequestMessage::said(&role, Place::Item, item.get("content"), item.clone()),
        "additional_tools" | "tool_search_output" => {
            let found = kind == "tool_search_output";
            for tool in array_at(&item, "tools") {
                add_tool(request, tool, Place::Item, found);
                request.entries.push(tool.clone());
            }
            let result = item.get("call_id").and_then(Value::as_str).filter(|_| found);
            let result = result.map(|id| CallResult { id: id.to_owned(), ..CallResult::default() });
            with(item.clone(), "tools", None, result)
        }
        "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call" | "apply_patch_call" => {
            with(item.clone(), "assistant", Some(call_of(&item)), None)
        }
        _ if kind.ends_with("_call_output") => with(item.clone(), "tool", None, Some(result_of(&item))),
        _ => {
            if !SILENT.contains(&kind.as_str()) {
                request.count_unknown(&kind);
            }
            with(item.clone(), "item", None, None)
        }
    };
    request.messages.push(message);
}

fn with(raw: Value, role: &str, call: Option<Call>, result: Option<CallResult>) -> RequestMessage {
    RequestMessage {
        calls: call.into_iter().collect(),
        results: result.into_iter().collect(),
        ..RequestMessage::said(role, Place::Item, None, raw)
    }
}

/// A call as an item of request or response.
pub(super) fn call_of(item: &Value) -> Call {
    let form =
        if str_at(item, "type") == Some("custom_tool_call") { CallForm::Custom } else { CallForm::Function };
    let kind = string_at(item, "type");
    let name = str_at(item, "name").unwrap_or_else(|| kind.strip_suffix("_call").unwrap_or(&kind));
    let arguments = ["arguments", "input", "action"].iter().find_map(|key| item.get(*key));
    Call {
        id: str_at(item, "call_id").or_else(|| str_at(item, "id")).unwrap_or_default().to_owned(),
        name: name.to_owned(),
        arguments: arguments.map(text_of).unwrap_or_default(),
        namespace: str_at(item, "namespace").map(str::to_owned),
        form,
    }
}

fn result_of(item: &Value) -> CallResult {
    let text = match item.get("output") {
        Some(Value::Object(output)) => match output.get("content") {
            Some(content) => content_text(Some(content)),
            None => Value::Object(output.clone()).to_string(),
        },
        other => content_text(other),
    };
    let failed = item.get("success").and_then(Value::as_bool) == Some(false);
    CallResult { id: string_at(item, "call_id"), text, failed }
}

/// Adds a definition, or all of its namespace.
fn add_tool(request: &mut ModelRequest, raw: &Value, place: Place, found: bool) {
    let kind = str_at(raw, "type").unwrap_or("function");
    if kind == "namespace" {
        let namespace = string_at(raw, "name");
        for tool in array_at(raw, "tools") {
            let tool = tool_of(tool, Some(&namespace), place, found);
            request.tools.push(tool);
        }
        return;
    }
    if !["function", "custom"].contains(&kind) && !HOSTED.contains(&kind) {
        request.count_unknown(kind);
    }
    request.tools.push(tool_of(raw, None, place, found));
}

fn tool_of(raw: &Value, namespace: Option<&str>, place: Place, found: bool) -> RequestTool {
    let word = str_at(raw, "type").unwrap_or("function");
    let kind = match word {
        "function" => ToolKind::Function,
        "custom" => ToolKind::Custom,
        _ => ToolKind::Hosted(word.to_owned()),
    };
    let deferred = raw.get("defer_loading").and_then(Value::as_bool) == Some(true);
    let name = str_at(raw, "name").or_else(|| str_at(raw, "server_label")).unwrap_or(word);
    RequestTool {
        name: name.to_owned(),
        namespace: namespace.map(str::to_owned),
        kind,
        exposure: match (found, deferred) {
            (true, _) => Exposure::Found,
            (false, true) => Exposure::Deferred,
            (false, false) => Exposure::Direct,
        },
        place,
        description: string_at(raw, "description"),
        schema: ["parameters", "format"].iter().find_map(|key| raw.get(*key)).cloned(),
        raw: raw.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_value(body: Value) -> ModelRequest {
        ModelRequest::read(Api::Responses, "/v1/responses", body.to_string().as_bytes()).unwrap()
    }

    #[test]
    fn tools_are_found_wherever_they_stand() {
        let request = read_value(
            json!({"model": "m", "stream": true, "store": false, "instructions": "Be brief.",
            "tools": [
                {"type": "function", "name": "exec_command", "description": "d", "parameters": {"type": "object"}},
                {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark"}},
                {"type": "namespace", "name": "mcp__git", "tools": [
                    {"type": "function", "name": "log", "defer_loading": true}, {"type": "function", "name": "show"}]},
                {"type": "web_search"}, {"type": "hologram"}],
            "input": [
                {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "late"}]},
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
                {"role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "c1", "name": "log", "namespace": "mcp__git", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "out"}]},
                {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin"},
                {"type": "custom_tool_call_output", "call_id": "c2", "output": "ok"},
                {"type": "tool_search_output", "call_id": "c3", "tools": [{"type": "function", "name": "found"}]},
                {"type": "reasoning", "summary": []},
                {"type": "telepathy"}, 7]}),
        );
        let tools: Vec<_> = request
            .tools
            .iter()
            .map(|t| (t.full_name(), t.kind.word().to_owned(), t.exposure.word(), t.place))
            .collect();
        let expected = [
            ("exec_command", "function", "direct", Place::Field),
            ("apply_patch", "custom", "direct", Place::Field),
            ("mcp__git.log", "function", "deferred", Place::Field),
            ("mcp__git.show", "function", "direct", Place::Field),
            ("web_search", "web_search", "direct", Place::Field),
            ("hologram", "hologram", "direct", Place::Field),
            ("late", "function", "direct", Place::Item),
            ("found", "function", "found", Place::Item),
        ];
        assert_eq!(tools, expected.map(|(a, b, c, d)| (a.to_owned(), b.to_owned(), c, d)));
        assert_eq!(request.entries.len(), 7);
        assert_eq!(request.unknown.keys().collect::<Vec<_>>(), ["hologram", "telepathy"]);
        let system: Vec<_> =
            request.messages.iter().filter(|m| m.is_instruction()).map(|m| m.text.as_str()).collect();
        assert_eq!(system, ["Be brief.", "ab"]);
        let calls: Vec<_> = request.messages.iter().flat_map(|m| &m.calls).collect();
        assert_eq!((calls[0].namespace.as_deref(), calls[1].form), (Some("mcp__git"), CallForm::Custom));
        let results: Vec<_> =
            request.messages.iter().flat_map(|m| &m.results).map(|r| r.text.as_str()).collect();
        assert_eq!(results, ["out", "ok", ""]);
        assert!(request.tool("mcp__git__log").is_some() && request.tool("mcp__git.show").is_some());
        assert_eq!(request.rest.keys().collect::<Vec<_>>(), ["model", "stream", "store"]);
    }

    #[test]
    fn an_input_may_be_text() {
        let request = read_value(json!({"model": "m", "input": "hi"}));
        assert_eq!((request.messages[0].role.as_str(), request.messages[0].text.as_str()), ("user", "hi"));
        assert!(ModelRequest::read(Api::Responses, "/x", b"{}").is_err());
    }
}
