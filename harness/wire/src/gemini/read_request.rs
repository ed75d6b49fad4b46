//! A Gemini request, read.

use serde_json::{Map, Value};

use crate::api::{Api, bare};
use crate::fields::{str_at, string_at, take_array, text_of};
use crate::request::{
    CallResult, Exposure, ModelRequest, Place, RequestError, RequestMessage, RequestTool, ToolKind, UNNAMED,
};
use crate::turn::{Call, CallForm};

/// Keys of a part beside its content.
const PART_KEYS: [&str; 7] = [
    "text",
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
];

pub(crate) fn read(path: &str, mut body: Map<String, Value>) -> Result<ModelRequest, RequestError> {
    let mut request = ModelRequest::empty(Api::Gemini);
    let bare = bare(path);
    request.stream = bare.ends_with(":streamGenerateContent");
    let named = bare.rsplit('/').next().and_then(|last| last.split(':').next());
    request.model = body.get("model").and_then(Value::as_str).or(named).unwrap_or_default().to_owned();
    let tools = take_array(&mut body, "tools").ok_or(RequestError::Shape("`tools` is no array"))?;
    for tool in tools {
        add_tools(&mut request, &tool);
        request.entries.push(tool);
    }
    for key in ["systemInstruction", "system_instruction"] {
        if let Some(system) = body.shift_remove(key).filter(|system| !system.is_null()) {
            let parts = system.get("parts").unwrap_or(&system).clone();
            request.messages.push(RequestMessage::said("system", Place::Field, Some(&parts), system));
        }
    }
    let Some(contents) = take_array(&mut body, "contents").filter(|contents| !contents.is_empty()) else {
        return Err(RequestError::Shape("`contents` is missing or no array"));
    };
    let mut open = Vec::new();
    let mut named = 0;
    for content in contents {
        let message = message_of(&mut request, content, &mut open, &mut named);
        request.messages.push(message);
    }
    request.rest = body;
    Ok(request)
}

/// `open` holds the calls that no result has answered yet: id and name.
fn message_of(
    request: &mut ModelRequest,
    raw: Value,
    open: &mut Vec<(String, String)>,
    named: &mut u32,
) -> RequestMessage {
    let role = string_at(&raw, "role");
    let role = match role.as_str() {
        "model" => "assistant",
        "function" => "tool",
        "" => "user",
        role => role,
    };
    let (mut calls, mut results, mut texts) = (Vec::new(), Vec::new(), Vec::new());
    for part in raw.get("parts").and_then(Value::as_array).into_iter().flatten() {
        if let Some(call) = part.get("functionCall") {
            let mut call = call_of(call);
            if call.id.is_empty() {
                *named += 1;
                call.id = format!("{UNNAMED}{named}");
            }
            open.push((call.id.clone(), call.name.clone()));
            calls.push(call);
        } else if let Some(response) = part.get("functionResponse") {
            results.push(result_of(response, open));
        } else if part.get("thought").and_then(Value::as_bool) != Some(true) && part.get("text").is_some() {
            texts.push(part.clone());
        } else if !PART_KEYS.iter().any(|key| part.get(*key).is_some()) {
            request.count_unknown("part");
        }
    }
    let texts = Value::Array(texts);
    RequestMessage { calls, results, ..RequestMessage::said(role, Place::Item, Some(&texts), raw) }
}

/// A call as a part of request or response.
pub(super) fn call_of(call: &Value) -> Call {
    Call {
        id: string_at(call, "id"),
        name: string_at(call, "name"),
        arguments: call.get("args").map_or_else(|| "{}".to_owned(), text_of),
        namespace: None,
        form: CallForm::Function,
    }
}

fn result_of(response: &Value, open: &mut Vec<(String, String)>) -> CallResult {
    let (id, name) = (str_at(response, "id"), string_at(response, "name"));
    let at = match id {
        Some(id) => open.iter().position(|(known, _)| known == id),
        None => None,
    };
    let at = at.or_else(|| open.iter().position(|(_, known)| *known == name));
    let id = at.map(|at| open.remove(at).0).or_else(|| id.map(str::to_owned)).unwrap_or_default();
    let inner = response.get("response");
    let said = |key: &str| inner.and_then(|inner| inner.get(key));
    let text = ["output", "result", "error", "content"].iter().find_map(|key| said(key));
    CallResult {
        id,
        text: text.or(inner).map(text_of).unwrap_or_default(),
        failed: said("error").is_some_and(|error| !error.is_null()),
    }
}

fn add_tools(request: &mut ModelRequest, raw: &Value) {
    let declared = ["functionDeclarations", "function_declarations"].iter().find_map(|key| raw.get(*key));
    for declaration in declared.and_then(Value::as_array).into_iter().flatten() {
        let schema = ["parametersJsonSchema", "parameters"].iter().find_map(|key| declaration.get(*key));
        request.tools.push(RequestTool {
            name: string_at(declaration, "name"),
            namespace: None,
            kind: ToolKind::Function,
            exposure: Exposure::Direct,
            place: Place::Field,
            description: string_at(declaration, "description"),
            schema: schema.cloned(),
            raw: declaration.clone(),
        });
    }
    let hosted = raw.as_object().into_iter().flat_map(|tool| tool.iter());
    for (key, value) in hosted.filter(|(key, _)| !key.to_lowercase().starts_with("function")) {
        request.tools.push(RequestTool {
            name: key.clone(),
            namespace: None,
            kind: ToolKind::Hosted(key.clone()),
            exposure: Exposure::Direct,
            place: Place::Field,
            description: String::new(),
            schema: None,
            raw: serde_json::json!({ key.clone(): value }),
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn declarations_are_nested_and_results_answer_by_name_and_order() {
        let body = json!({"systemInstruction": {"parts": [{"text": "S"}]},
            "tools": [{"functionDeclarations": [{"name": "read", "description": "d", "parameters": {}}, {"name": "bash"}]}, {"googleSearch": {}}],
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [{"text": "hm", "thought": true}, {"functionCall": {"name": "bash", "args": {"c": 1}}},
                    {"functionCall": {"name": "read", "args": {}}}, {"functionCall": {"name": "bash", "args": {"c": 2}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "read", "response": {"output": "r"}}},
                    {"functionResponse": {"name": "bash", "response": {"error": "b"}}}, {"mystery": 1}]}],
            "generationConfig": {"temperature": 0}});
        let path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse";
        let request = ModelRequest::read(Api::Gemini, path, body.to_string().as_bytes()).unwrap();
        assert_eq!((request.model.as_str(), request.stream), ("gemini-x", true));
        let names: Vec<_> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!((names, request.entries.len()), (vec!["read", "bash", "googleSearch"], 2));
        let ids: Vec<_> = request.messages[2].calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["order:1", "order:2", "order:3"]);
        let results: Vec<_> =
            request.messages[3].results.iter().map(|r| (r.id.as_str(), r.text.as_str(), r.failed)).collect();
        assert_eq!(results, [("order:2", "r", false), ("order:1", "b", true)]);
        assert_eq!(request.unknown["part"], 1);
        assert_eq!(request.messages[0].text, "S");
    }
}
