//! Anthropic Messages: `POST …/messages`. Content is blocks; instructions may stand in `system` or among the messages.

mod read_request;
mod read_turn;
mod write_turn;

pub(crate) use read_request::read;
pub(crate) use read_turn::Blocks;
pub(crate) use write_turn::{write_json, write_stream};
