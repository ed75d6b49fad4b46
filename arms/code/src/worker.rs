//! The worker: a process of its own that holds the language engine and nothing else. Orders come in over one socket, calls
//! and output go out over it.
//!
//! It is never torn down: whoever started it kills it, and the kernel kills it with its parent. It trusts no deadline of its
//! own; an endless script is ended from outside. What a script could do to this process it can do to nobody else: the
//! process has no files open but the socket, and the cell's walls are around it as around everything in the cell.

mod line;
mod realm;
mod script;
mod shown;
mod tamper;

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, Signal};

use crate::protocol::ToWorker;
use line::{Got, Lines};
use realm::Realm;

/// Memory beside the engine's own cap that the process may take: texts on their way in and out, the parser.
const BESIDE_BYTES: u64 = 256 << 20;

/// Body of the hidden subcommand `code-worker`. Its standard input is the socket.
pub fn code_worker_main() -> ExitCode {
    // With the agent's end; where it has ended already the socket says so.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned() else { return ExitCode::FAILURE };
    let socket = UnixStream::from(socket);
    let Ok(answers) = socket.try_clone() else { return ExitCode::FAILURE };
    serve(&mut Lines::of(socket), answers);
    ExitCode::SUCCESS
}

/// Runs one script after the other until nobody is there any more.
fn serve(lines: &mut Lines, answers: UnixStream) {
    let Ok(out) = line::Out::of(answers) else { return };
    let mut realm: Option<Realm> = None;
    while let Got::Line(line) = lines.next(None) {
        let order = match serde_json::from_str(&line) {
            Ok(ToWorker::Run(order)) => order,
            // An answer that comes after the script has ended is nobody's.
            Ok(ToWorker::Answer { .. }) => continue,
            Err(_) => return,
        };
        if realm.is_none() {
            limit_memory(order.memory_bytes);
            realm = Realm::new(out.clone(), order.memory_bytes);
        }
        // Without an engine nothing can be run; the end of this process says it.
        let Some(realm) = &realm else { return };
        if !realm.run(*order, lines) {
            return;
        }
    }
}

fn limit_memory(engine_bytes: usize) {
    let most = Some((engine_bytes as u64).saturating_mul(2).saturating_add(BESIDE_BYTES));
    // A limit that is lower already stays; the engine has its own cap all the same.
    let _ = rustix::process::setrlimit(Resource::Data, Rlimit { current: most, maximum: most });
}
