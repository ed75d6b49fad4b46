//! Which model API a request speaks, told by its path alone: one agent may speak several.

/// A model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// OpenAI chat completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Messages,
    /// Gemini generateContent and streamGenerateContent.
    Gemini,
}

impl Api {
    /// The API whose model call stands at this path (query allowed); none = no model call.
    pub fn of_path(path: &str) -> Option<Self> {
        let path = bare(path);
        if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }
}

/// The path without query and closing slash.
pub(crate) fn bare(path: &str) -> &str {
    path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_the_api() {
        assert_eq!(Api::of_path("/v1/messages?beta=true"), Some(Api::Messages));
        assert_eq!(Api::of_path("/v1/messages/count_tokens?beta=true"), None);
        assert_eq!(Api::of_path("/backend-api/codex/responses"), Some(Api::Responses));
        assert_eq!(Api::of_path("/v1/responses/compact"), None);
        assert_eq!(Api::of_path("/v1/chat/completions/"), Some(Api::Chat));
        assert_eq!(Api::of_path("/v1beta/models/m:streamGenerateContent?alt=sse"), Some(Api::Gemini));
        assert_eq!(Api::of_path("/v1/models"), None);
    }
}
