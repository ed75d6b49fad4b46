//! A request as our own agent writes it: one fixed order of keys, so that equal content is equal bytes.

use serde::Serialize;
use serde_json::Value;

use crate::turn::{Call, Turn};

/// A chat request to be sent. Fields are written in this order; what is `None` or empty is left out.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ChatRequestOut {
    /// Model id.
    pub model: String,
    /// Messages.
    pub messages: Vec<MessageOut>,
    /// Tool definitions as raw JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Value>,
    /// May one turn carry several calls?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Cap on output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Seed for the provider's sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Thinking effort, in the provider's word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// Stream the response (with a usage chunk at its end)?
    pub stream: bool,
}

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct MessageOut(Value);

impl ChatRequestOut {
    /// The body.
    pub fn to_bytes(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct WithOptions<'a> {
            #[serde(flatten)]
            request: &'a ChatRequestOut,
            #[serde(skip_serializing_if = "Option::is_none")]
            stream_options: Option<Value>,
        }
        let stream_options = self.stream.then(|| serde_json::json!({"include_usage": true}));
        serde_json::to_vec(&WithOptions { request: self, stream_options })
            .expect("strings, numbers and JSON values are always written")
    }
}

impl MessageOut {
    /// Instructions.
    pub fn system(text: &str) -> Self {
        Self(serde_json::json!({"role": "system", "content": text}))
    }

    /// What the user says.
    pub fn user(text: &str) -> Self {
        Self(serde_json::json!({"role": "user", "content": text}))
    }

    /// What the model said: its text and its calls, ids echoed verbatim.
    pub fn assistant(turn: &Turn) -> Self {
        let content = if turn.text.is_empty() { Value::Null } else { turn.text.as_str().into() };
        let mut message = serde_json::json!({"role": "assistant", "content": content});
        if !turn.calls.is_empty() {
            message["tool_calls"] = turn.calls.iter().map(call_value).collect();
        }
        Self(message)
    }

    /// The result of a call.
    pub fn tool(call_id: &str, text: &str) -> Self {
        Self(serde_json::json!({"role": "tool", "tool_call_id": call_id, "content": text}))
    }
}

pub(super) fn call_value(call: &Call) -> Value {
    serde_json::json!({
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatRequest;

    #[test]
    fn the_order_of_keys_is_pinned_and_what_is_written_is_read_back() {
        let turn = Turn {
            calls: vec![Call {
                id: "c".into(),
                name: "read".into(),
                arguments: "{\"path\":\"a\"}".into(),
                ..Call::default()
            }],
            ..Turn::default()
        };
        let request = ChatRequestOut {
            model: "m".into(),
            messages: vec![
                MessageOut::system("S"),
                MessageOut::user("U"),
                MessageOut::assistant(&turn),
                MessageOut::tool("c", "out"),
            ],
            tools: vec![serde_json::json!({"type": "function", "function": {"name": "read"}})],
            temperature: Some(0.0),
            stream: true,
            ..ChatRequestOut::default()
        };
        let bytes = request.to_bytes();
        assert_eq!(
            String::from_utf8(bytes.clone()).unwrap(),
            concat!(
                r#"{"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"U"},"#,
                r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]},"#,
                r#"{"role":"tool","tool_call_id":"c","content":"out"}],"#,
                r#""tools":[{"type":"function","function":{"name":"read"}}],"temperature":0.0,"stream":true,"stream_options":{"include_usage":true}}"#
            )
        );
        let read = ChatRequest::read(&bytes).unwrap();
        assert_eq!(read.messages[2].calls, turn.calls);
        assert!(read.include_usage);
    }
}
