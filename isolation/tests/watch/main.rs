//! What the watchers hear, on the running kernel: user notification, the list of refused calls, the audit tap.
//!
//! Each case has a benign twin, in itself or beside it: ordinary work must not be an attempt at anything. Cases that
//! need auditing switch it on as root, as `bench doctor --fix` does, and put it back exactly as it was.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test, though clippy cannot tell: it has a main of its own and reports itself"
)]

mod audit;
mod calls;
mod cell;
mod notify;

use std::process::ExitCode;

/// What a case needs of this machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// x86_64 and Landlock.
    Filter,
    /// Landlock ABI 7 and the right to switch auditing.
    Audit,
}

impl Needs {
    fn unmet(self) -> Option<String> {
        use bench_isolation::audit::switch;
        let abi = bench_isolation::reachable().landlock_abi.unwrap_or(0);
        match self {
            Self::Filter if bench_isolation::seccomp::ARCHITECTURE.is_none() => Some("not x86_64".to_owned()),
            Self::Filter if abi < 1 => Some("no Landlock".to_owned()),
            Self::Filter => None,
            Self::Audit if abi < 7 => {
                Some(format!("Landlock ABI {abi} here, 7 needed for its audit records"))
            }
            Self::Audit => match switch::state() {
                Err(error) => Some(format!("auditing cannot be switched here: {error}")),
                Ok(state) if state.enabled == 2 => Some("auditing is locked".to_owned()),
                Ok(_) => None,
            },
        }
    }
}

/// One case: its name, what it needs, what it does (a panic is its failure).
pub(crate) type Case = (&'static str, Needs, fn());

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("cell") => cell::become_cell(&args[2..]),
        Some("call") => return calls::main(&args[2..]),
        _ => {}
    }
    let cases = [notify::cases(), calls::cases(), audit::cases()].concat();
    let filters: Vec<&String> = args[1..].iter().filter(|arg| !arg.starts_with('-')).collect();
    let chosen = cases.into_iter().filter(|(name, ..)| {
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
    });
    if args.iter().any(|arg| arg == "--list") {
        chosen.for_each(|(name, ..)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, needs, case) in chosen {
        if let Some(reason) = needs.unmet() {
            println!("test {name} ... skipped: {reason}");
            skipped += 1;
        } else if std::panic::catch_unwind(case).is_ok() {
            println!("test {name} ... ok");
            passed += 1;
        } else {
            println!("test {name} ... FAILED");
            failed += 1;
        }
    }
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
