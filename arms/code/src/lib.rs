//! x
mod functions;
mod protocol;
mod schema;
mod strip;
pub use functions::{Callback, Function, FunctionCache, Functions, Reach, hash_of};
pub use protocol::Prelude;
