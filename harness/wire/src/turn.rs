//! What a model says in one turn, whatever the API: text, reasoning, calls, why it stopped, what it cost.

use serde::{Deserialize, Serialize};

/// One model response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turn {
    /// Id of the response.
    pub id: String,
    /// Model id as answered.
    pub model: String,
    /// Visible text; empty = none.
    pub text: String,
    /// Reasoning text, where the API shows it; empty = none.
    pub reasoning: String,
    /// Tool calls in order.
    pub calls: Vec<Call>,
    /// Why it stopped, in the API's word; null when the response ended before it said so.
    pub finish: Option<String>,
    /// What the provider says it cost.
    pub usage: Option<WireUsage>,
    /// The provider's fingerprint of its back end.
    pub fingerprint: Option<String>,
}

/// One call of a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Call {
    /// Id by which its result answers it.
    pub id: String,
    /// Tool.
    pub name: String,
    /// Arguments as the model wrote them: usually JSON, not always valid; the free text of a custom call.
    pub arguments: String,
    /// Namespace of the tool, where the wire says it apart.
    pub namespace: Option<String>,
    /// What `arguments` are.
    pub form: CallForm,
}

/// What the arguments of a call are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CallForm {
    /// JSON by the tool's schema.
    #[default]
    Function,
    /// Free text.
    Custom,
}

/// Usage in one normal form: input includes cached, output includes reasoning. Null = not said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireUsage {
    /// Input tokens.
    pub input_tokens: Option<u64>,
    /// Of these, from the provider's cache.
    pub cached_input_tokens: Option<u64>,
    /// Of the input, written to the provider's cache.
    pub cache_write_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
    /// Of these, reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Input plus output in the provider's own addition.
    #[serde(default)]
    pub stated_total: Option<u64>,
    /// Of the input, not from the cache, where that is said as well.
    #[serde(default)]
    pub missed_tokens: Option<u64>,
}

/// A response that is not a whole turn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The response ended, or could no longer be read, before the model had said why it stopped.
    #[error("the response is not whole ({why}); {} characters of text and {} calls arrived", turn.text.len(), turn.calls.len())]
    Incomplete {
        /// What arrived.
        turn: Box<Turn>,
        /// What is missing or wrong.
        why: String,
    },
    /// The provider answered with an error object.
    #[error("the provider answered with an error: {message}")]
    Refused {
        /// What had arrived before it.
        turn: Box<Turn>,
        /// Its words.
        message: String,
    },
}

impl TurnError {
    /// What arrived before it broke, if anything.
    pub fn partial(&self) -> Option<&Turn> {
        match self {
            Self::Incomplete { turn, .. } => Some(turn),
            Self::Refused { .. } => None,
        }
    }
}
