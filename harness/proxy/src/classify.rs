//! What a request is for, by rules that are recorded with it. A wrong class would put a title's cost on the agent's
//! loop or hide a turn, so each rule has a name that a reader can check against the bytes.

use bench_core::Sha256Hex;
use bench_wire::{ModelRequest, RequestMessage};
use hyper::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::headers;
use crate::shared::State;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RequestClass {
    /// A turn of the agent's own loop.
    AgentTurn,
    /// A title for the conversation, or another short side question.
    Title,
    /// A summary that takes the place of the conversation.
    Compaction,
    /// A name for a session, a branch or a file.
    Naming,
    /// A question how many tokens something is.
    TokenCounting,
    /// A turn of an agent that the agent started.
    Subagent,
    /// A question to the user, answered in his place.
    Human,
    /// Anything that is no model call.
    Probe,
    /// Turned away by the recorder.
    Refused,
}

impl RequestClass {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::AgentTurn => "agent_turn",
            Self::Title => "title",
            Self::Compaction => "compaction",
            Self::Naming => "naming",
            Self::TokenCounting => "token_counting",
            Self::Subagent => "subagent",
            Self::Human => "human",
            Self::Probe => "probe",
            Self::Refused => "refused",
        }
    }
}

/// Has this attempt shown tools before?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolsSeen {
    /// An earlier request carried tools.
    Before,
    /// None did.
    NotYet,
}

/// By what a conversation is known: its instructions and its first message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conversation {
    instructions: Sha256Hex,
    first: Sha256Hex,
}

/// Second agents that say no name of their own: each is known by its thread, or by how its conversation began.
#[derive(Debug, Default)]
pub(crate) struct Unnamed(Vec<(Option<String>, Conversation)>);

impl Unnamed {
    /// A name for whoever asks this: the one that it was given when it asked before.
    fn name(&mut self, request: &ModelRequest, sent: &HeaderMap) -> String {
        let thread = sent.get(THREAD_HEADER).map(|id| String::from_utf8_lossy(id.as_bytes()).into_owned());
        let began = Conversation::of(request);
        let is_it = |(known, before): &(Option<String>, Conversation)| match (known, &thread) {
            (Some(known), Some(thread)) => known == thread,
            (Some(_), None) | (None, Some(_)) => false,
            (None, None) => before.instructions == began.instructions && before.first == began.first,
        };
        let at = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push((thread, began));
            self.0.len() - 1
        });
        format!("subagent-{}", at + 1)
    }
}

/// Rule of a request without tools whose attempt showed tools only later; written when the attempt is over.
pub(crate) const TOOLS_CAME_LATER: &str = "no tools; a later request of the attempt carries tools";
/// Header by which one agent says that a subagent asks.
const SUBAGENT_HEADER: &str = "x-openai-subagent";
/// Header by which the same agent says in whose thread it asks.
const THREAD_HEADER: &str = "thread-id";
/// Characters read at the beginning and end of a text for the words below.
const WINDOW: usize = 600;

/// Class and rule of a model call, and what it shows of the attempt's main conversation.
pub(crate) fn classify(
    request: &ModelRequest,
    sent: &HeaderMap,
    state: &mut State,
) -> (RequestClass, String) {
    if let Some(name) = headers::agent(sent) {
        return (RequestClass::Subagent, format!("header {}: {name}", headers::AGENT));
    }
    if let Some(word) = sent.get(SUBAGENT_HEADER) {
        let word = String::from_utf8_lossy(word.as_bytes());
        let class = if word == "compact" { RequestClass::Compaction } else { RequestClass::Subagent };
        return (class, format!("header {SUBAGENT_HEADER}: {word}"));
    }
    if request.tools.is_empty() {
        let (class, rule) = without_tools(request, state.tools_seen);
        return (class, rule.to_owned());
    }
    let conversation = Conversation::of(request);
    let main = state.conversation.get_or_insert_with(|| conversation.clone());
    // Agents rewrite their instructions (then the first message stays) and compact (then the instructions stay).
    if main.instructions != conversation.instructions && main.first != conversation.first {
        let rule = "carries tools; instructions and first message are not those of the main conversation";
        return (RequestClass::Subagent, rule.to_owned());
    }
    (RequestClass::AgentTurn, "carries tools".to_owned())
}

/// The second agent that asks; `None` = the main one.
pub(crate) fn asker(
    request: &ModelRequest,
    sent: &HeaderMap,
    class: RequestClass,
    unnamed: &mut Unnamed,
) -> Option<String> {
    let named = headers::agent(sent).map(str::to_owned);
    named.or_else(|| (class == RequestClass::Subagent).then(|| unnamed.name(request, sent)))
}

impl Conversation {
    fn of(request: &ModelRequest) -> Self {
        let instructions = request.messages.iter().filter(|m| m.is_instruction());
        let instructions: String = instructions.map(|m| m.text.as_str()).collect();
        let first = request.messages.iter().find(|m| !m.is_instruction() && !m.text.is_empty());
        Self {
            instructions: Sha256Hex::of(instructions),
            first: Sha256Hex::of(first.map(|m| m.text.as_str()).unwrap_or_default()),
        }
    }
}

/// Words of a request for a name.
const NAMES: &[&str] = &["name for th", "session name", "branch name", "name this session", "kebab-case"];
/// Whole orders, which a task that speaks of titles or names does not give.
const TITLE_ORDERS: &[&str] = &[
    "title for th",
    "title of th",
    "a title",
    "short title",
    "concise title",
    "brief title",
    "conversation title",
    "session title",
    "thread title",
];
const NAME_ORDERS: &[&str] = &["name for this", "name for the session", "a branch name", "name this session"];

fn without_tools(request: &ModelRequest, seen: ToolsSeen) -> (RequestClass, &'static str) {
    let speaks = |m: &&RequestMessage| !m.is_instruction() && m.role != "item";
    let dialogue: Vec<&RequestMessage> = request.messages.iter().filter(speaks).collect();
    let instruction = request.messages.iter().find(|m| m.is_instruction());
    let (instructed, said) = (ends(instruction), ends(dialogue.last().copied()));
    let holds = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let asks = |words: &[&str]| holds(&instructed, words) || holds(&said, words);
    // Before any tool was seen, what is said may be the task itself, of an agent that has none: a task may speak of titles.
    let orders = |words: &[&str], orders: &[&str]| match seen {
        ToolsSeen::NotYet => holds(&instructed, words) || holds(&said, orders),
        ToolsSeen::Before => asks(words),
    };
    let title = orders(&["title"], TITLE_ORDERS);
    let names = orders(NAMES, NAME_ORDERS);
    let summary = asks(&["summar", "compact"]);
    match (seen, dialogue.len() <= 2) {
        (_, true) if title => (RequestClass::Title, "no tools; short; asks for a title"),
        (_, true) if names => (RequestClass::Naming, "no tools; short; asks for a name"),
        (ToolsSeen::NotYet, _) => (RequestClass::AgentTurn, "no tools seen in this attempt yet"),
        (ToolsSeen::Before, _) if summary => (RequestClass::Compaction, "no tools; asks for a summary"),
        (ToolsSeen::Before, true) => (RequestClass::Title, "no tools after tools; short"),
        (ToolsSeen::Before, false) => (RequestClass::Compaction, "no tools after tools; long"),
    }
}

/// Beginning and end of a message's text, lower case.
fn ends(message: Option<&RequestMessage>) -> String {
    let Some(message) = message else { return String::new() };
    let text = message.text.as_str();
    let head: String = text.chars().take(WINDOW).collect();
    let tail: String = text.chars().rev().take(WINDOW).collect::<Vec<_>>().into_iter().rev().collect();
    format!("{head}\n{tail}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use bench_wire::Api;

    use super::*;

    fn class_of(body: &serde_json::Value, seen: ToolsSeen) -> RequestClass {
        let request = ModelRequest::read(Api::Chat, "", body.to_string().as_bytes()).unwrap();
        if request.tools.is_empty() { without_tools(&request, seen).0 } else { RequestClass::AgentTurn }
    }

    #[test]
    fn a_thread_is_one_agent_however_its_conversation_began() {
        let request = |text: &str| {
            let body = serde_json::json!({"messages": [{"role": "user", "content": text}]});
            ModelRequest::read(Api::Chat, "", body.to_string().as_bytes()).unwrap()
        };
        let thread = |id: &'static str| {
            HeaderMap::from_iter([(
                hyper::header::HeaderName::from_static(THREAD_HEADER),
                id.parse().unwrap(),
            )])
        };
        let mut unnamed = Unnamed::default();
        let mut name = |text: &str, sent: HeaderMap| unnamed.name(&request(text), &sent);
        assert_eq!(name("look", thread("a")), "subagent-1");
        assert_eq!(name("look", thread("b")), "subagent-2");
        assert_eq!(name("a summary of it", thread("a")), "subagent-1");
        assert_eq!(name("look", HeaderMap::new()), "subagent-3");
        assert_eq!(name("look", HeaderMap::new()), "subagent-3");
    }

    #[test]
    fn the_rules_by_example() {
        use serde_json::json;
        let user = |text: &str| json!({"role": "user", "content": text});
        let tool = json!({"type": "function", "function": {"name": "read"}});
        let title = json!({"messages": [{"role": "system", "content": "You are a title generator."}, user("Fix it")]});
        let summary =
            json!({"messages": [user("a"), user("b"), user("c"), user("Summarize the conversation")]});
        let long = json!({"messages": [user("a"), user("b"), user("c")]});
        let plain = json!({"messages": [user("Fix it")]});
        let name = json!({"messages": [user("Generate a short kebab-case name that captures this")]});
        assert_eq!(
            class_of(&json!({"messages": [user("title")], "tools": [tool]}), ToolsSeen::NotYet),
            RequestClass::AgentTurn
        );
        assert_eq!(class_of(&title, ToolsSeen::NotYet), RequestClass::Title);
        let asked = json!({"messages": [user("Write a short title for this conversation: Fix it")]});
        assert_eq!(class_of(&asked, ToolsSeen::NotYet), RequestClass::Title);
        for task in ["Rename the title field of Book to heading.", "Validate the branch name in push.sh."] {
            let of_an_agent_without_tools = json!({"messages": [user(task)]});
            assert_eq!(
                class_of(&of_an_agent_without_tools, ToolsSeen::NotYet),
                RequestClass::AgentTurn,
                "{task}"
            );
        }
        assert_eq!(class_of(&title, ToolsSeen::Before), RequestClass::Title);
        assert_eq!(class_of(&name, ToolsSeen::Before), RequestClass::Naming);
        assert_eq!(class_of(&plain, ToolsSeen::NotYet), RequestClass::AgentTurn);
        assert_eq!(class_of(&plain, ToolsSeen::Before), RequestClass::Title);
        assert_eq!(class_of(&summary, ToolsSeen::Before), RequestClass::Compaction);
        assert_eq!(class_of(&long, ToolsSeen::Before), RequestClass::Compaction);
        assert_eq!(class_of(&long, ToolsSeen::NotYet), RequestClass::AgentTurn);
    }
}
