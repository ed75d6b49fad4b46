//! Can this machine put up the walls of level L2? Tried for real, in a process of its own that changes nothing else.

use std::os::fd::OwnedFd;
use std::process::ExitCode;

use bench_core::IsolationLevel;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

use super::{init, launcher};
use crate::message::{Order, Refusal};
use crate::spec::Policy;

/// Argument after the hidden subcommand that asks for a trial.
pub(crate) const ARGUMENT: &str = "try-namespaces";

/// Puts up a cell with namespaces around `true`; prints the answer as one line of JSON.
#[expect(clippy::print_stdout, reason = "its answer is read by the process that started it")]
pub(crate) fn main() -> ExitCode {
    let answer: Result<(), Refusal> = launcher::set_up()
        .map_err(|error| Refusal::setup("start the trial", error))
        .and_then(|(surroundings, signals)| attempt(&surroundings, signals));
    println!("{}", serde_json::to_string(&answer).expect("our own words are valid JSON values"));
    ExitCode::SUCCESS
}

fn attempt(surroundings: &launcher::Surroundings, signals: OwnedFd) -> Result<(), Refusal> {
    let fail = |error: rustix::io::Errno| Refusal::setup("start the trial", error);
    let order = Order {
        program: Some("/bin/sh".into()),
        args: vec!["-c".to_owned(), ":".to_owned()],
        env: std::collections::BTreeMap::new(),
        cwd: "/".into(),
        policy: Policy::default(),
        level: IsolationLevel::L2,
        canary: std::env::args().nth(3),
        wall_ms: 5_000,
    };
    let (harness, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(fail)?;
    let pipe = || rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(fail);
    let ((_out, stdout), (_err, stderr)) = (pipe()?, pipe()?);
    let (cell, _raised) =
        init::start(&order, [stdout, stderr], &theirs, (surroundings, Err("a trial")), signals)?;
    let (ended, watched) = cell.run(&theirs, None);
    let _ = rustix::net::recv(&harness, &mut [0u8; 1], RecvFlags::DONTWAIT);
    if watched.is_none() {
        return Err(Refusal::no_wall("detector", "nobody hears of the cell's calls"));
    }
    if ended.exit_code == Some(0) && ended.quiescent {
        return Ok(());
    }
    Err(Refusal::no_wall("namespaces", format!("a shell inside ended with {ended:?}")))
}
