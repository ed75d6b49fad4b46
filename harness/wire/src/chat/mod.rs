//! OpenAI chat completions: `POST …/chat/completions`.
//!
//! [`ChatRequest`] reads what an agent sent, [`ChatRequestOut`] writes what our own agent sends, [`write_json`] and
//! [`write_stream`] write a response, [`TurnReader`] reads one of either framing as its bytes arrive.

mod read_turn;
mod request;
mod request_out;
mod write_turn;

pub use read_turn::TurnReader;
pub use request::{ChatMessage, ChatRequest, ChatTool};
pub use request_out::{ChatRequestOut, MessageOut};
pub use write_turn::{StreamUsage, write_json, write_stream};

/// Is this the path of a chat completion (query allowed)?
pub fn is_chat_path(path: &str) -> bool {
    path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/').ends_with("/chat/completions")
}

#[cfg(test)]
mod round_trip;
