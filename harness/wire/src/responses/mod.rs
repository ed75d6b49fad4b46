//! OpenAI Responses: `POST …/responses`. Items in, items out; tools may stand in items, in namespaces, or be free text.

mod read_request;
mod read_turn;
mod write_turn;

pub(crate) use read_request::read;
pub(crate) use read_turn::Items;
pub(crate) use write_turn::{write_json, write_stream};
