//! Sizes read off a request: the first request as a whole, and each tool when it is first offered.

use bench_core::ledger::{FirstRequest, Size, ToolsSize};
use bench_core::{Sha256Hex, WireKind};
use bench_tokens::Counter;
use bench_wire::chat::{ChatRequest, ChatTool};

/// Fields that differ between equal requests: who asks and what the provider's cache is told.
const VOLATILE: [&str; 4] = ["metadata", "prompt_cache_key", "safety_identifier", "user"];

/// A tool's definition, measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolSize {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) description: Size,
    pub(crate) schema: Size,
    pub(crate) whole: Size,
}

pub(crate) fn tool_size(counter: &Counter, tool: &ChatTool) -> ToolSize {
    let schema = tool.parameters.as_ref().map(ToString::to_string).unwrap_or_default();
    ToolSize {
        name: tool.name.clone(),
        kind: tool.kind.clone(),
        description: size(counter, &tool.description),
        schema: size(counter, &schema),
        whole: size(counter, &tool.raw.to_string()),
    }
}

/// Can the model call it, so that the agent has to answer? Hosted tools are the provider's own.
pub(crate) fn is_callable(tool: &ChatTool) -> bool {
    tool.kind == "function" || tool.kind == "custom"
}

/// What only the request as a whole tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Body<'a> {
    pub(crate) request: u32,
    pub(crate) bytes: &'a [u8],
    pub(crate) tokens: u64,
}

/// The first request, measured. Tool definitions count as minified JSON in the order and with the keys as sent.
pub(crate) fn first_request(counter: &Counter, body: Body<'_>, chat: &ChatRequest) -> FirstRequest {
    let mut by_role: Vec<(String, String)> = Vec::new();
    for message in chat.messages.iter().filter(|message| message.is_instruction()) {
        match by_role.iter_mut().find(|(role, _)| *role == message.role) {
            Some((_, text)) => text.push_str(&message.text),
            None => by_role.push((message.role.clone(), message.text.clone())),
        }
    }
    let system_by_role: Vec<_> =
        by_role.iter().map(|(role, text)| (role.clone(), size(counter, text))).collect();
    let system = system_by_role.iter().fold(Size::default(), |sum, (_, part)| Size {
        bytes: sum.bytes + part.bytes,
        tokens: sum.tokens + part.tokens,
    });
    let tools = match chat.tools.is_empty() {
        true => Size::default(),
        false => size(counter, &chat.tools_json()),
    };
    FirstRequest {
        request: body.request,
        wire: WireKind::OpenaiChat,
        model: chat.model.clone(),
        body_bytes: body.bytes.len() as u64,
        body_tokens: body.tokens,
        system,
        system_by_role,
        messages: size(counter, &chat.messages_json(|message| !message.is_instruction())),
        tools: ToolsSize {
            entries: saturating_u32(chat.tools.len()),
            callable: callable(chat),
            bytes: tools.bytes,
            tokens: tools.tokens,
        },
        raw_sha256: Sha256Hex::of(body.bytes),
        semantic_sha256: semantic_sha256(chat),
    }
}

/// Functions that the model can call.
pub(crate) fn callable(chat: &ChatRequest) -> u32 {
    saturating_u32(chat.tools.iter().filter(|tool| is_callable(tool)).count())
}

/// Digest of a request with the volatile fields dropped.
pub(crate) fn semantic_sha256(chat: &ChatRequest) -> Sha256Hex {
    let mut rest = chat.rest.clone();
    VOLATILE.iter().for_each(|key| {
        rest.shift_remove(*key);
    });
    let rest = serde_json::Value::Object(rest).to_string();
    let messages = chat.messages_json(|_| true);
    let tools = chat.tools_json();
    Sha256Hex::of_parts([
        ("rest", rest.as_bytes()),
        ("messages", messages.as_bytes()),
        ("tools", tools.as_bytes()),
    ])
}

fn size(counter: &Counter, text: &str) -> Size {
    Size { bytes: text.len() as u64, tokens: counter.count(text) }
}

pub(crate) fn saturating_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn measured(body: &serde_json::Value) -> FirstRequest {
        let counter = Counter::new("o200k_base").unwrap();
        let text = body.to_string();
        let chat = ChatRequest::read(text.as_bytes()).unwrap();
        let body = Body { request: 1, bytes: text.as_bytes(), tokens: counter.count(&text) };
        first_request(&counter, body, &chat)
    }

    #[test]
    fn system_text_is_found_wherever_it_stands() {
        let first = measured(&json!({"model": "m", "messages": [
            {"role": "system", "content": "abc"},
            {"role": "user", "content": "hello"},
            {"role": "system", "content": [{"type": "text", "text": "de"}]},
            {"role": "developer", "content": "f"},
        ]}));
        assert_eq!(first.system.bytes, 6);
        let roles: Vec<_> =
            first.system_by_role.iter().map(|(role, size)| (role.as_str(), size.bytes)).collect();
        assert_eq!(roles, [("system", 5), ("developer", 1)]);
        assert_eq!(first.messages.bytes, br#"[{"role":"user","content":"hello"}]"#.len() as u64);
        assert_eq!((first.tools.entries, first.tools.bytes, first.tools.tokens), (0, 0, 0));
    }

    #[test]
    fn tools_are_measured_as_sent_and_hosted_ones_are_not_callable() {
        let function =
            json!({"type": "function", "function": {"name": "read", "parameters": {"z": 1, "a": 2}}});
        let first = measured(&json!({"messages": [], "tools": [function, {"type": "web_search"}]}));
        assert_eq!((first.tools.entries, first.tools.callable), (2, 1));
        assert_eq!(first.tools.bytes, json!([function, {"type": "web_search"}]).to_string().len() as u64);
    }

    #[test]
    fn volatile_fields_alone_do_not_change_the_semantic_digest() {
        let one = measured(&json!({"model": "m", "messages": [], "user": "a", "prompt_cache_key": "1"}));
        let two = measured(&json!({"model": "m", "messages": [], "user": "b"}));
        let other = measured(&json!({"model": "n", "messages": []}));
        assert_eq!(one.semantic_sha256, two.semantic_sha256);
        assert_ne!(one.raw_sha256, two.raw_sha256);
        assert_ne!(one.semantic_sha256, other.semantic_sha256);
    }
}
