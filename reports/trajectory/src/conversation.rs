//! Which conversation a request goes on with, and what is new in it. Agents send everything again with each request, hold
//! side conversations, and sum up what grew too long: a request belongs to the conversation with which it shares the
//! longest beginning.

use bench_wire::ModelRequest;

use crate::{Message, SurfaceChange, Tool};

/// What a request adds to its conversation.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) conversation: usize,
    pub(crate) said: Vec<Message>,
    pub(crate) dropped: usize,
    pub(crate) surface: SurfaceChange,
}

/// Conversations seen so far.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    all: Vec<Conversation>,
}

#[derive(Debug)]
struct Conversation {
    class: String,
    messages: Vec<Message>,
    tools: Vec<Tool>,
}

impl Conversations {
    /// Takes the next request.
    pub(crate) fn next(&mut self, class: &str, request: &ModelRequest) -> News {
        let messages: Vec<Message> = request.messages.iter().map(message).collect();
        let tools: Vec<Tool> = request.tools.iter().map(tool).collect();
        let shared =
            |of: &Conversation| of.messages.iter().zip(&messages).take_while(|(a, b)| a == b).count();
        // A compaction keeps little of the conversation that it sums up, so its class is enough to know it by.
        let known = (self.all.iter().enumerate().rev())
            .map(|(at, of)| (at, shared(of), of.class == class))
            .filter(|(_, shared, same)| *same && *shared > 0)
            .max_by_key(|(_, shared, _)| *shared);
        match known {
            Some((at, shared, _)) => {
                let before = &mut self.all[at];
                let said = new_words(&messages[shared..]);
                let dropped = before.messages.len() - shared;
                let surface = change(&before.tools, &tools);
                *before = Conversation { class: class.to_owned(), messages, tools };
                News { conversation: at, said, dropped, surface }
            }
            None => {
                let said = new_words(&messages);
                let surface = change(&[], &tools);
                self.all.push(Conversation { class: class.to_owned(), messages, tools });
                News { conversation: self.all.len() - 1, said, dropped: 0, surface }
            }
        }
    }
}

/// Without the model's own words: those stand in the answer before.
fn new_words(messages: &[Message]) -> Vec<Message> {
    let own = |message: &Message| message.role == "assistant" && message.results.is_empty();
    let empty = |message: &Message| message.text.is_empty() && message.results.is_empty();
    messages.iter().filter(|message| !(own(message) || empty(message))).cloned().collect()
}

fn message(message: &bench_wire::RequestMessage) -> Message {
    Message {
        role: message.role.clone(),
        text: message.text.clone(),
        results: message.results.iter().map(|r| (r.id.clone(), r.text.clone(), r.failed)).collect(),
    }
}

fn tool(tool: &bench_wire::RequestTool) -> Tool {
    Tool {
        name: tool.full_name(),
        kind: tool.kind.word().to_owned(),
        description: tool.description.clone(),
        schema: tool.schema.clone(),
    }
}

fn change(before: &[Tool], now: &[Tool]) -> SurfaceChange {
    let old = |name: &str| before.iter().find(|tool| tool.name == name);
    SurfaceChange {
        offered: now.len(),
        added: now.iter().filter(|tool| old(&tool.name).is_none()).cloned().collect(),
        removed: (before.iter().filter(|tool| !now.iter().any(|other| other.name == tool.name)))
            .map(|tool| tool.name.clone())
            .collect(),
        changed: now.iter().filter(|tool| old(&tool.name).is_some_and(|old| old != *tool)).cloned().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_wire::Api;

    fn request(messages: &str, tools: &str) -> ModelRequest {
        let body = format!("{{\"model\":\"m\",\"messages\":[{messages}],\"tools\":[{tools}]}}");
        ModelRequest::read(Api::Chat, "/v1/chat/completions", body.as_bytes()).unwrap()
    }

    const SYSTEM: &str = r#"{"role":"system","content":"be brief"}"#;
    const USER: &str = r#"{"role":"user","content":"hello"}"#;
    const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}"#;
    const RESULT: &str = r#"{"role":"tool","tool_call_id":"c1","content":"text"}"#;

    fn tool(name: &str, words: &str) -> String {
        format!(
            r#"{{"type":"function","function":{{"name":"{name}","description":"{words}","parameters":{{}}}}}}"#
        )
    }

    #[test]
    fn a_turn_shows_only_what_it_adds_and_how_its_tools_differ() {
        let mut conversations = Conversations::default();
        let first =
            conversations.next("agent_turn", &request(&format!("{SYSTEM},{USER}"), &tool("read", "a")));
        assert_eq!((first.said.len(), first.surface.added.len()), (2, 1));
        let tools = format!("{},{}", tool("read", "b"), tool("edit", "c"));
        let second =
            conversations.next("agent_turn", &request(&format!("{SYSTEM},{USER},{CALL},{RESULT}"), &tools));
        assert_eq!(second.said.len(), 1, "{:?}", second.said);
        assert_eq!(second.said[0].results[0].0, "c1");
        assert_eq!(second.surface.added[0].name, "edit");
        assert_eq!(second.surface.changed[0].name, "read");
        let third = conversations.next("agent_turn", &request(&format!("{SYSTEM},{USER}"), ""));
        assert_eq!((third.dropped, third.surface.removed.len()), (2, 2));
    }

    #[test]
    fn a_side_question_is_a_conversation_of_its_own() {
        let mut conversations = Conversations::default();
        conversations.next("agent_turn", &request(&format!("{SYSTEM},{USER}"), ""));
        let side = conversations.next("title", &request(USER, ""));
        assert_eq!(side.conversation, 1);
        let back =
            conversations.next("agent_turn", &request(&format!("{SYSTEM},{USER},{CALL},{RESULT}"), ""));
        assert_eq!((back.conversation, back.dropped), (0, 0));
    }
}
