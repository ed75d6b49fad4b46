//! The engine of code mode: what an agent needs to let a model act by scripts instead of single calls.
//!
//! Three parts. [`Functions`] makes names and TypeScript declarations of tools and their schemas; it is pure. The worker
//! ([`code_worker_main`]) is a process that holds the language engine. [`Engine`] starts workers, hands scripts to them,
//! lets a [`Bridge`] carry out the calls that come back out, and keeps the limits. Which tools there are, what the model is
//! shown of all this and what a call means is the agent's business: nothing here knows a surface or a conversation.

mod engine;
mod filter;
mod functions;
mod pool;
mod process;
mod protocol;
mod schema;
mod stop;
mod strip;
mod worker;

pub use engine::{
    Bridge, CallRecord, Engine, Globals, Keeps, Limits, NestedCall, Outcome, Running, Script, ScriptEnding,
    Waited,
};
pub use filter::value_for_code;
pub use functions::{Callback, Function, FunctionCache, Functions, Reach, hash_of};
pub use process::Launch;
pub use protocol::Prelude;
pub use stop::Stop;
pub use worker::code_worker_main;
