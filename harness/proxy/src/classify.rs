//! What a request is for, by rules that are recorded with it. A wrong class would put a title's cost on the agent's
//! loop or hide a turn, so each rule has a name that a reader can check against the bytes.

use bench_wire::chat::{ChatMessage, ChatRequest};

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestClass {
    /// A turn of the agent's own loop.
    AgentTurn,
    /// A name for the conversation, or another short side question.
    Title,
    /// A summary that takes the place of the conversation.
    Compaction,
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

/// Rule of a request without tools whose attempt showed tools only later; written when the attempt is over.
pub(crate) const TOOLS_CAME_LATER: &str = "no tools; a later request of the attempt carries tools";

/// Characters read at the beginning and end of a text for the words below.
const WINDOW: usize = 600;

/// Class and rule of a chat request.
pub(crate) fn classify(request: &ChatRequest, seen: ToolsSeen) -> (RequestClass, &'static str) {
    if !request.tools.is_empty() {
        return (RequestClass::AgentTurn, "carries tools");
    }
    let dialogue: Vec<&ChatMessage> = request.messages.iter().filter(|m| !m.is_instruction()).collect();
    let instruction = request.messages.iter().find(|m| m.is_instruction());
    let asks = |words: &[&str]| {
        let texts = [instruction.copied_text(), dialogue.last().copied().copied_text()];
        texts.iter().any(|text| words.iter().any(|word| text.contains(word)))
    };
    let (title, summary) = (asks(&["title"]), asks(&["summar", "compact"]));
    match (seen, dialogue.len() <= 2) {
        (ToolsSeen::NotYet, true) if title => (RequestClass::Title, "no tools; short; asks for a title"),
        (ToolsSeen::NotYet, _) => (RequestClass::AgentTurn, "no tools seen in this attempt yet"),
        (ToolsSeen::Before, true) if title => (RequestClass::Title, "no tools; short; asks for a title"),
        (ToolsSeen::Before, _) if summary => (RequestClass::Compaction, "no tools; asks for a summary"),
        (ToolsSeen::Before, true) => (RequestClass::Title, "no tools after tools; short"),
        (ToolsSeen::Before, false) => (RequestClass::Compaction, "no tools after tools; long"),
    }
}

trait Ends {
    /// Beginning and end of the message's text, lower case.
    fn copied_text(self) -> String;
}

impl Ends for Option<&ChatMessage> {
    fn copied_text(self) -> String {
        let Some(message) = self else { return String::new() };
        let text = message.text.as_str();
        let head: String = text.chars().take(WINDOW).collect();
        let tail: String = text.chars().rev().take(WINDOW).collect::<Vec<_>>().into_iter().rev().collect();
        format!("{head}\n{tail}").to_lowercase()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class_of(body: &serde_json::Value, seen: ToolsSeen) -> RequestClass {
        classify(&ChatRequest::read(body.to_string().as_bytes()).unwrap(), seen).0
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
        assert_eq!(
            class_of(&json!({"messages": [user("title")], "tools": [tool]}), ToolsSeen::NotYet),
            RequestClass::AgentTurn
        );
        assert_eq!(class_of(&title, ToolsSeen::NotYet), RequestClass::Title);
        assert_eq!(class_of(&title, ToolsSeen::Before), RequestClass::Title);
        assert_eq!(class_of(&plain, ToolsSeen::NotYet), RequestClass::AgentTurn);
        assert_eq!(class_of(&plain, ToolsSeen::Before), RequestClass::Title);
        assert_eq!(class_of(&summary, ToolsSeen::Before), RequestClass::Compaction);
        assert_eq!(class_of(&long, ToolsSeen::Before), RequestClass::Compaction);
        assert_eq!(class_of(&long, ToolsSeen::NotYet), RequestClass::AgentTurn);
    }
}
