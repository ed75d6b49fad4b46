//! What a turn shares with the turn before, from the bytes: providers cache a prompt from its beginning, in the order
//! tools, instructions, conversation, and up to the first byte that differs.

use std::sync::{Arc, OnceLock};

use bench_wire::ModelRequest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a turn shares with the turn before it, in bytes of that order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Prefix {
    /// Bytes of tools, instructions and conversation.
    pub(crate) parts: [u64; 3],
    /// Bytes up to the first difference; null for the first turn.
    pub(crate) shared: Option<u64>,
    /// Part in which something that the turn before had sent was changed or taken away; null = nothing was.
    pub(crate) broken: Option<Part>,
}

/// A part of what a turn sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Part {
    Tools,
    System,
    Messages,
}

impl Part {
    /// All of them, in the order of the provider's cache.
    const ALL: [Self; 3] = [Self::Tools, Self::System, Self::Messages];

    /// The word used in files and output.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::System => "system",
            Self::Messages => "messages",
        }
    }
}

/// What a turn sends, in the order of the provider's cache. Its pieces are written out when they are first asked for: two
/// turns ask, this one and the next.
#[derive(Debug)]
pub(crate) struct Sent {
    chat: Arc<ModelRequest>,
    pieces: OnceLock<Vec<(usize, String)>>,
}

impl Sent {
    pub(crate) fn of(chat: Arc<ModelRequest>) -> Self {
        Self { chat, pieces: OnceLock::new() }
    }

    fn pieces(&self) -> &[(usize, String)] {
        self.pieces.get_or_init(|| {
            let tools = self.chat.entries.iter().map(|entry| (0, bare(entry)));
            let of = |part: usize| {
                let wanted = move |m: &&bench_wire::RequestMessage| m.is_instruction() == (part == 1);
                self.chat.messages.iter().filter(wanted).map(move |message| (part, bare(&message.raw)))
            };
            tools.chain(of(1)).chain(of(2)).collect()
        })
    }

    /// What this turn shares with the one before.
    pub(crate) fn after(&self, before: Option<&Self>) -> Prefix {
        let mut prefix = Prefix::default();
        let pieces = self.pieces();
        for (part, text) in pieces {
            prefix.parts[*part] += text.len() as u64;
        }
        let Some(before) = before else { return prefix };
        let then = before.pieces();
        let equal = pieces.iter().zip(then).take_while(|(a, b)| a == b).count();
        let mut shared: u64 = pieces[..equal].iter().map(|(_, text)| text.len() as u64).sum();
        if let (Some((_, now)), Some((_, then))) = (pieces.get(equal), then.get(equal)) {
            shared += now.bytes().zip(then.bytes()).take_while(|(a, b)| a == b).count() as u64;
        }
        prefix.shared = Some(shared);
        prefix.broken = then.get(equal).map(|(then, _)| {
            // A tool that was added breaks the cache where the tools end, although nothing was taken away.
            let now = pieces.get(equal).map_or(*then, |(now, _)| *now);
            Part::ALL[now.min(*then)]
        });
        prefix
    }
}

/// A piece without marks that say only what is to be cached: they wander from turn to turn, and with them a text is a part
/// of its own now and a plain text then.
fn bare(value: &Value) -> String {
    let text = value.to_string();
    if !text.contains("\"cache_control\"") {
        return text;
    }
    let mut value = value.clone();
    unmark(&mut value, 0);
    let only = value.get("content").and_then(Value::as_array).filter(|parts| parts.len() == 1);
    let plain = only.and_then(|parts| parts[0].as_object()).filter(|part| part.len() == 2);
    let plain = plain.and_then(|part| part.get("text")).cloned();
    if let Some(plain) = plain {
        value["content"] = plain;
    }
    value.to_string()
}

fn unmark(value: &mut Value, depth: u32) {
    if depth > 8 {
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| unmark(item, depth + 1)),
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(|field| unmark(field, depth + 1));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use bench_wire::Api;
    use serde_json::json;

    use super::*;

    fn sent(body: &Value) -> Sent {
        Sent::of(Arc::new(ModelRequest::read(Api::Chat, "", body.to_string().as_bytes()).unwrap()))
    }

    fn body(tools: &[&str], system: &str, said: &[&str]) -> Value {
        let tools: Vec<_> =
            tools.iter().map(|name| json!({"type": "function", "function": {"name": name}})).collect();
        let mut messages = vec![json!({"role": "system", "content": system})];
        messages.extend(said.iter().map(|text| json!({"role": "user", "content": text})));
        json!({"messages": messages, "tools": tools})
    }

    #[test]
    fn what_only_grows_at_its_end_keeps_its_prefix() {
        let one = sent(&body(&["a"], "S", &["1"]));
        assert_eq!(one.after(None).shared, None);
        let two = sent(&body(&["a"], "S", &["1", "2"]));
        let prefix = two.after(Some(&one));
        assert_eq!(prefix.broken, None);
        assert_eq!(prefix.shared, Some(one.after(None).parts.iter().sum()));
    }

    #[test]
    fn the_part_that_breaks_is_named() {
        let one = sent(&body(&["a"], "S", &["1", "2"]));
        let broken = |other: Value| sent(&other).after(Some(&one)).broken;
        assert_eq!(broken(body(&["a", "b"], "S", &["1", "2"])), Some(Part::Tools));
        assert_eq!(broken(body(&["a"], "T", &["1", "2"])), Some(Part::System));
        assert_eq!(broken(body(&["a"], "S", &["1", "x"])), Some(Part::Messages));
        assert_eq!(broken(body(&["a"], "S", &["1"])), Some(Part::Messages));
    }

    #[test]
    fn marks_of_the_cache_wander_without_breaking_it() {
        let sent_with = |parts: Value| sent(&json!({"messages": [{"role": "user", "content": parts}]}));
        let mark = json!({"type": "ephemeral"});
        let marked = sent_with(json!([{"type": "text", "text": "x", "cache_control": mark}]));
        let two =
            json!([{"type": "text", "text": "x"}, {"type": "text", "text": "y", "cache_control": mark}]);
        let bare = json!([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]);
        assert_eq!(sent_with(bare).after(Some(&sent_with(two))).broken, None);
        let plain = sent(&json!({"messages": [{"role": "user", "content": "x"}]}));
        assert_eq!(plain.after(Some(&marked)).broken, None);
    }
}
