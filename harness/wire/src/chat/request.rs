//! A request as an agent sent it: a view with everything unknown kept.

use serde_json::{Map, Value};

use crate::api::Api;
use crate::fields::{content_text, json_array, string_at, text_of};
use crate::request::object;
use crate::request::{
    CallResult, Exposure, ModelRequest, Place, RequestError, RequestMessage, RequestTool, ToolKind,
};
use crate::turn::{Call, CallForm};

/// A chat request. `messages` and `tools` are taken out of the body; every other field stays in [`ChatRequest::rest`] in
/// the order of the body, the known ones included.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// Model id asked for; empty when the body names none.
    pub model: String,
    /// Is the response to be streamed?
    pub stream: bool,
    /// Does a stream end with a usage chunk (`stream_options.include_usage`)?
    pub include_usage: bool,
    /// Messages in order.
    pub messages: Vec<ChatMessage>,
    /// Tools in order; empty when the body has none.
    pub tools: Vec<ChatTool>,
    /// May one turn carry several calls? null = not said.
    pub parallel_tool_calls: Option<bool>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Cap on output tokens (`max_completion_tokens` or `max_tokens`).
    pub max_tokens: Option<u64>,
    /// Every other field of the body.
    pub rest: Map<String, Value>,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatMessage {
    /// `system`, `developer`, `user`, `assistant`, `tool`, or whatever was sent.
    pub role: String,
    /// Its text: the content string, or the text parts joined.
    pub text: String,
    /// Calls that an assistant message carries.
    pub calls: Vec<Call>,
    /// The call that a tool message answers.
    pub call_id: Option<String>,
    /// The message as it was sent.
    pub raw: Value,
}

/// A tool definition.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatTool {
    /// `function`, `custom`, or whatever was sent; `function` when not said.
    pub kind: String,
    /// Its name; a hosted tool without one is named by its kind.
    pub name: String,
    /// What the model is told of it.
    pub description: String,
    /// Schema of its arguments; null when it has none.
    pub parameters: Option<Value>,
    /// The definition as it was sent.
    pub raw: Value,
}

impl ChatRequest {
    /// Reads a body.
    pub fn read(body: &[u8]) -> Result<Self, RequestError> {
        let mut rest = object(body)?;
        let Some(Value::Array(messages)) = rest.shift_remove("messages") else {
            return Err(RequestError::Shape("`messages` is missing or no array"));
        };
        let tools = match rest.shift_remove("tools") {
            Some(Value::Array(tools)) => tools,
            None | Some(Value::Null) => Vec::new(),
            Some(_) => return Err(RequestError::Shape("`tools` is no array")),
        };
        let flag = |value: Option<&Value>| value.and_then(Value::as_bool);
        Ok(Self {
            model: text_at(&rest, "model"),
            stream: flag(rest.get("stream")).unwrap_or(false),
            include_usage: flag(rest.get("stream_options").and_then(|o| o.get("include_usage")))
                .unwrap_or(false),
            messages: messages.into_iter().map(ChatMessage::of).collect(),
            tools: tools.into_iter().map(ChatTool::of).collect(),
            parallel_tool_calls: flag(rest.get("parallel_tool_calls")),
            temperature: rest.get("temperature").and_then(Value::as_f64),
            max_tokens: ["max_completion_tokens", "max_tokens"]
                .iter()
                .find_map(|key| rest.get(*key).and_then(Value::as_u64)),
            rest,
        })
    }

    /// Minified JSON of the tool definitions as sent (key order kept); `[]` when there are none.
    pub fn tools_json(&self) -> String {
        json_array(self.tools.iter().map(|tool| &tool.raw))
    }

    /// Minified JSON of the messages that `keep` selects, as sent.
    pub fn messages_json(&self, keep: impl Fn(&ChatMessage) -> bool) -> String {
        json_array(self.messages.iter().filter(|message| keep(message)).map(|message| &message.raw))
    }

    /// The tool of this name.
    pub fn tool(&self, name: &str) -> Option<&ChatTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

impl ChatMessage {
    fn of(raw: Value) -> Self {
        let calls = raw.get("tool_calls").and_then(Value::as_array);
        Self {
            role: string_at(&raw, "role"),
            text: content_text(raw.get("content")),
            calls: calls.map(|calls| calls.iter().map(call_of).collect()).unwrap_or_default(),
            call_id: raw.get("tool_call_id").and_then(Value::as_str).map(str::to_owned),
            raw,
        }
    }

    /// Is it instruction text (role `system` or `developer`), wherever it stands?
    pub fn is_instruction(&self) -> bool {
        self.role == "system" || self.role == "developer"
    }
}

impl ChatTool {
    fn of(raw: Value) -> Self {
        let kind = match raw.get("type").and_then(Value::as_str) {
            Some(kind) => kind.to_owned(),
            None => "function".to_owned(),
        };
        let inner = raw.get(&kind).filter(|inner| inner.is_object()).unwrap_or(&raw);
        let name = inner.get("name").and_then(Value::as_str).unwrap_or(&kind).to_owned();
        let parameters = ["parameters", "input_schema", "format"].iter().find_map(|key| inner.get(*key));
        Self {
            description: string_at(inner, "description"),
            parameters: parameters.cloned(),
            name,
            kind,
            raw,
        }
    }
}

pub(super) fn call_of(raw: &Value) -> Call {
    let custom = raw.get("custom").filter(|inner| inner.is_object());
    let inner = raw.get("function").or(custom).unwrap_or(raw);
    let arguments = inner.get("arguments").or_else(|| inner.get("input"));
    Call {
        id: string_at(raw, "id"),
        name: string_at(inner, "name"),
        arguments: arguments.map(text_of).unwrap_or_default(),
        namespace: None,
        form: if custom.is_some() { CallForm::Custom } else { CallForm::Function },
    }
}

fn text_at(map: &Map<String, Value>, key: &str) -> String {
    map.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl From<ChatRequest> for ModelRequest {
    fn from(chat: ChatRequest) -> Self {
        let mut request = Self {
            model: chat.model,
            stream: chat.stream,
            include_usage: chat.include_usage,
            parallel_tool_calls: chat.parallel_tool_calls,
            rest: chat.rest,
            ..Self::empty(Api::Chat)
        };
        for tool in chat.tools {
            request.entries.push(tool.raw.clone());
            request.tools.push(tool.into());
        }
        request.messages.extend(chat.messages.into_iter().map(RequestMessage::from));
        request
    }
}

impl From<ChatTool> for RequestTool {
    fn from(tool: ChatTool) -> Self {
        let kind = match tool.kind.as_str() {
            "function" => ToolKind::Function,
            "custom" => ToolKind::Custom,
            _ => ToolKind::Hosted(tool.kind),
        };
        Self {
            name: tool.name,
            namespace: None,
            kind,
            exposure: Exposure::Direct,
            place: Place::Field,
            description: tool.description,
            schema: tool.parameters,
            raw: tool.raw,
        }
    }
}

impl From<ChatMessage> for RequestMessage {
    fn from(message: ChatMessage) -> Self {
        let ChatMessage { role, text, calls, call_id, raw } = message;
        let said = Self::said(&role, Place::Item, raw.get("content"), Value::Null);
        let results = call_id.map(|id| CallResult { id, text, failed: false });
        let is_result = results.is_some();
        Self {
            calls,
            results: results.into_iter().collect(),
            text: if is_result { String::new() } else { said.text },
            parts: if is_result { Vec::new() } else { said.parts },
            raw,
            ..Self::said(&role, Place::Item, None, Value::Null)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_seen_whole_and_nothing_unknown_is_lost() {
        let body = br#"{"model":"m","store":false,"messages":[
            {"role":"system","content":"S"},
            {"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{}},{"type":"text","text":"b"}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"out"}],
            "tools":[{"type":"function","function":{"name":"read","description":"D","parameters":{"type":"object","b":1,"a":2}}},{"type":"web_search"}],
            "stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":9,"x":{"y":1}}"#;
        let request = ChatRequest::read(body).unwrap();
        assert!(request.stream && request.include_usage);
        assert_eq!(request.messages[1].text, "ab");
        assert_eq!(request.messages[2].calls[0].name, "read");
        assert_eq!(request.messages[3].call_id.as_deref(), Some("c1"));
        assert_eq!((request.tools[0].name.as_str(), request.tools[1].name.as_str()), ("read", "web_search"));
        assert_eq!(
            request.tools[0].parameters.as_ref().unwrap().to_string(),
            r#"{"type":"object","b":1,"a":2}"#
        );
        assert!(request.tools_json().ends_with(r#",{"type":"web_search"}]"#));
        assert_eq!(request.max_tokens, Some(9));
        let kept: Vec<_> = request.rest.keys().map(String::as_str).collect();
        assert_eq!(kept, ["model", "store", "stream", "stream_options", "max_completion_tokens", "x"]);
    }

    #[test]
    fn what_is_no_chat_request_is_named() {
        for body in ["", "[]", "{}", r#"{"messages":1}"#, r#"{"messages":[],"tools":{}}"#] {
            assert!(ChatRequest::read(body.as_bytes()).is_err(), "{body}");
        }
        assert!(ChatRequest::read(br#"{"messages":[1,null,"x"],"tools":[2,null]}"#).is_ok());
    }

    proptest! {
        #[test]
        fn no_body_panics(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = ChatRequest::read(&body);
        }
    }
}
