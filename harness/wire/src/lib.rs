//! The model APIs as they are on the wire: read, write, stream.
//!
//! One module per API: [`chat`] (OpenAI chat completions) is here; responses, messages and gemini get modules of their
//! own beside it. What every API says in the end is a [`Turn`]; how it is framed differs. This crate knows nothing of
//! arms, cells or tasks, opens no socket, and keeps every field that it does not know.

pub mod auxiliary;
pub mod chat;
pub mod sse;
pub mod turn;

pub use turn::{Call, Turn, TurnError, WireUsage};
