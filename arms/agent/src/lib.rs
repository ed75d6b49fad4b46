//! The reference agent: loop, tool catalogue, surfaces, gateway; runs inside the cell.
//!
//! Two halves. One is pure and asked by the harness too: what a surface shows to the model ([`offer`], [`catalogue`],
//! [`request`]). The other runs behind the walls only: the loop ([`conversation`]), the way to the recorder ([`door`])
//! and the tools ([`tools`]). It knows no task, no arm and no repeat, and nothing that it sends or prints depends on
//! time, process ids or names made up on the way: the same surface, workspace and answers give the same bytes.

mod answer;
mod arguments;
mod budget;
mod catalogue;
mod code;
mod conversation;
#[cfg(test)]
mod conversation_tests;
mod devices;
mod door;
mod offer;
mod pipeline;
mod registry;
mod request;
mod schedule;
mod search;
mod servers;
mod start;
mod surface_check;
mod tally;
mod tools;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

pub use bench_code::code_worker_main;
pub use catalogue::tool_names;
#[doc(hidden)]
pub use registry::planner;
pub use request::first_request;
pub use surface_check::{SurfaceError, check_surface};

/// Body of the hidden subcommand `agent`: `-- INSTRUCTION` as arguments, everything else from `BENCH_*` variables and
/// the working directory. Prints the model's final text and exits 0; anything that stops it goes to stderr with exit 1.
pub fn agent_main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let told = start::Start::from_process(args)
        .map_err(|error| error.to_string())
        .and_then(|start| conversation::hold(&start).map_err(|error| error.to_string()));
    let kept = match &told {
        Ok(text) => {
            tally::say(&tally::AgentEvent::Answer { text });
            Ok(())
        }
        Err(error) => writeln!(std::io::stderr(), "bench agent: {error}"),
    };
    if told.is_ok() && kept.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
