//! The model APIs as they are on the wire: read, write, stream.
//!
//! One module per API ([`chat`], `responses`, `messages`, `gemini`), told apart by the path ([`Api`]). What an agent asks
//! is a [`ModelRequest`] in the end, and what a model says a [`Turn`], whatever framed it: whoever measures or answers reads
//! those and no wire. This crate knows nothing of arms, cells or tasks, opens no socket, and keeps every field that it does
//! not know.

mod api;
pub mod auxiliary;
pub mod chat;
pub mod coding;
mod fields;
mod framing;
mod gemini;
mod json;
mod messages;
pub mod reply;
pub mod request;
mod responses;
pub mod sse;
pub mod turn;
mod usage;

pub use api::Api;
pub use reply::ReplyReader;
pub use request::{
    CallResult, Exposure, ModelRequest, Place, RequestError, RequestMessage, RequestTool, ToolKind,
};
pub use turn::{Call, CallForm, Turn, TurnError, WireUsage};
