//! Gemini: `POST …/models/MODEL:generateContent` and `:streamGenerateContent`. Declarations are nested, and calls have no
//! ids of their own: a result answers the first open call of its name.

mod read_request;
mod read_turn;
mod write_turn;

pub(crate) use read_request::read;
pub(crate) use read_turn::value;
pub(crate) use write_turn::{write_json, write_stream};
