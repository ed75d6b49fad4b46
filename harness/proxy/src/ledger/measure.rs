//! Sizes read off a request: the first request as a whole, and each tool when it is first offered.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bench_core::Sha256Hex;
use bench_core::ledger::{FirstRequest, Size, TokenizerIdentity, ToolsSize};
use bench_tokens::Counter;
use bench_wire::{Api, ModelRequest, Place, RequestTool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Fields that differ between equal requests: who asks, and what the provider's cache is told.
fn volatile(api: Api) -> &'static [&'static str] {
    match api {
        Api::Chat => &["metadata", "prompt_cache_key", "safety_identifier", "user"],
        Api::Responses => &["client_metadata", "metadata", "prompt_cache_key", "safety_identifier", "user"],
        Api::Messages => &["metadata"],
        Api::Gemini => &["labels", "session_id"],
    }
}

/// A tool's definition, measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolSize {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) kind: String,
    pub(crate) exposure: String,
    pub(crate) place: String,
    pub(crate) description: Size,
    pub(crate) schema: Size,
    pub(crate) whole: Size,
}

pub(super) fn tool_size(counter: &Counter, tool: &RequestTool) -> ToolSize {
    let schema = tool.schema.as_ref().map(ToString::to_string).unwrap_or_default();
    let place = match tool.place {
        Place::Field => "tools",
        Place::Item => "input_item",
    };
    ToolSize {
        name: tool.name.clone(),
        namespace: tool.namespace.clone(),
        kind: tool.kind.word().to_owned(),
        exposure: tool.exposure.word().to_owned(),
        place: place.to_owned(),
        description: size(counter, &tool.description),
        schema: size(counter, &schema),
        whole: size(counter, &tool.raw.to_string()),
    }
}

/// The first request, measured but for the tokens of its whole and its semantic digest. Tool definitions count as minified
/// JSON in the order and with the keys as sent.
pub(crate) fn first_request(
    counter: &Counter,
    request: u32,
    body: &[u8],
    chat: &ModelRequest,
) -> FirstRequest {
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
    let tools = match chat.entries.is_empty() {
        true => Size::default(),
        false => size(counter, &chat.tools_json()),
    };
    FirstRequest {
        request,
        wire: super::wire_of(chat.api),
        model: chat.model.as_str().into(),
        body_bytes: body.len() as u64,
        body_tokens: 0,
        prompt_tokens: None,
        second_body_tokens: None,
        system,
        system_by_role,
        messages: size(counter, &chat.messages_json(|message| !message.is_instruction())),
        tools: ToolsSize {
            entries: saturating_u32(chat.entries.len()),
            callable: saturating_u32(chat.tools.len()),
            bytes: tools.bytes,
            tokens: tools.tokens,
        },
        unknown_types: chat.unknown.clone(),
        raw_sha256: Sha256Hex::of(body),
        semantic_sha256: Sha256Hex::of(""),
    }
}

/// Counts of bodies by a second tokenizer that are kept for the next attempt: repeats and arms send the same.
const SECOND_KEPT: usize = 1024;

/// Tokens of a body by the second tokenizer. Its vocabulary is loaded when the first request of the process is counted.
pub(crate) fn second_count(counter: &Counter, body: &Sha256Hex, content: &[u8]) -> Option<u64> {
    static KNOWN: Mutex<BTreeMap<(&'static str, Sha256Hex), u64>> = Mutex::new(BTreeMap::new());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let name = TokenizerIdentity::second(counter.name());
    let key = (name, body.clone());
    let before = known().get(&key).copied();
    before.or_else(|| {
        let tokens = Counter::new(name).ok()?.count(std::str::from_utf8(content).ok()?);
        let mut known = known();
        if known.len() >= SECOND_KEPT {
            known.clear();
        }
        known.insert(key, tokens);
        Some(tokens)
    })
}

/// Digest of a request with the volatile fields dropped.
pub(crate) fn semantic_sha256(chat: &ModelRequest) -> Sha256Hex {
    let mut rest = chat.rest.clone();
    volatile(chat.api).iter().for_each(|key| {
        rest.shift_remove(*key);
    });
    let rest = Value::Object(rest).to_string();
    let messages = match chat.api {
        Api::Responses => without_ids(chat),
        Api::Chat | Api::Messages | Api::Gemini => chat.messages_json(|_| true),
    };
    let tools = chat.tools_json();
    Sha256Hex::of_parts([
        ("rest", rest.as_bytes()),
        ("messages", messages.as_bytes()),
        ("tools", tools.as_bytes()),
    ])
}

/// The items without the ids that an agent draws anew for each (`input[].id`); the ids of calls stay.
fn without_ids(chat: &ModelRequest) -> String {
    let bare = chat.messages.iter().map(|message| {
        let mut raw = message.raw.clone();
        if let Value::Object(fields) = &mut raw {
            fields.shift_remove("id");
        }
        raw
    });
    Value::Array(bare.collect()).to_string()
}

pub(super) fn size(counter: &Counter, text: &str) -> Size {
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
        let chat = ModelRequest::read(Api::Chat, "", text.as_bytes()).unwrap();
        FirstRequest {
            semantic_sha256: semantic_sha256(&chat),
            ..first_request(&counter, 1, text.as_bytes(), &chat)
        }
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
    fn tools_are_measured_as_sent_and_hosted_ones_are_called_as_well() {
        let function =
            json!({"type": "function", "function": {"name": "read", "parameters": {"z": 1, "a": 2}}});
        let first = measured(&json!({"messages": [], "tools": [function, {"type": "web_search"}]}));
        assert_eq!((first.tools.entries, first.tools.callable), (2, 2));
        assert_eq!(first.tools.bytes, json!([function, {"type": "web_search"}]).to_string().len() as u64);
    }

    #[test]
    fn a_second_tokenizer_counts_a_body_once() {
        let (counter, other) = (Counter::new("o200k_base").unwrap(), Counter::new("cl100k_base").unwrap());
        let text = "{\"content\": \"Straßenbahnhaltestelle, 你好，世界\"}";
        let body = Sha256Hex::of(text);
        let counted = second_count(&counter, &body, text.as_bytes());
        assert_eq!(counted, Some(other.count(text)));
        assert_ne!(counted, Some(counter.count(text)));
        // By its digest alone: the text is not looked at again.
        assert_eq!(second_count(&counter, &body, b"{}"), counted);
        assert_eq!(second_count(&other, &body, text.as_bytes()), Some(counter.count(text)));
        assert_eq!(second_count(&counter, &Sha256Hex::of("broken"), b"\xff"), None);
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
