//! What the walls hold, tried from inside, as the launcher of a real run puts them up.
//!
//! This binary is also its own launcher (`sandbox-exec`), its own agent (`agent`) and a harness that gets killed
//! (`harness`), hence a `main` of its own in place of the usual test harness.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test, though clippy cannot tell: it has a main of its own and reports itself"
)]

mod agent;
mod ending;
mod files;
mod reach;
mod stage;
mod without_landlock;

use std::process::ExitCode;

use bench_core::IsolationLevel;

/// What a case needs of this kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Any Landlock.
    Landlock,
    /// Namespaces of the cell's own.
    Namespaces,
    /// Landlock of at least this ABI.
    Abi(u32),
    Nothing,
}

impl Needs {
    /// Why the case is skipped here.
    fn unmet(self, level: IsolationLevel) -> Option<String> {
        let reachable = bench_isolation::reachable();
        if reachable.level < level && self != Self::Nothing {
            return Some(format!("{level} cannot be reached here: {}", reachable.missing.join("; ")));
        }
        if self == Self::Namespaces && level < IsolationLevel::L2 {
            return Some("of cells with namespaces alone".to_owned());
        }
        let (needed, here) = match self {
            Self::Nothing => return None,
            Self::Landlock | Self::Namespaces => (1, reachable.landlock_abi),
            Self::Abi(abi) => (abi, reachable.landlock_abi),
        };
        match here {
            None => Some(format!("no Landlock here; {}", reachable.remedy.unwrap_or_default())),
            Some(abi) => (abi < needed).then(|| format!("Landlock ABI {abi} here, {needed} needed")),
        }
    }
}

/// One case: its name, what it needs, what it does (a panic is its failure).
type Case = (&'static str, Needs, fn());

fn cases() -> Vec<Case> {
    [files::cases(), reach::cases(), ending::cases(), without_landlock::cases()].concat()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("sandbox-exec") => return bench_isolation::sandbox_exec_main(),
        Some("agent") => return agent::main(&args[2..]),
        Some("harness") => return ending::harness_to_be_killed(&args[2..]),
        Some("without-landlock") => return without_landlock::inner_main(),
        _ => {}
    }
    let list = args.iter().any(|arg| arg == "--list");
    let filters: Vec<&String> = args[1..].iter().filter(|arg| !arg.starts_with('-')).collect();
    let chosen = cases().into_iter().filter(|(name, ..)| {
        filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()))
    });
    if list {
        chosen.for_each(|(name, ..)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    run(chosen)
}

fn run(chosen: impl Iterator<Item = Case>) -> ExitCode {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let chosen: Vec<Case> = chosen.collect();
    for level in [IsolationLevel::L1, IsolationLevel::L2] {
        stage::play_at(level);
        for (name, needs, case) in &chosen {
            if let Some(reason) = needs.unmet(level) {
                println!("test {level} {name} ... skipped: {reason}");
                skipped += 1;
            } else if std::panic::catch_unwind(case).is_ok() {
                println!("test {level} {name} ... ok");
                passed += 1;
            } else {
                println!("test {level} {name} ... FAILED");
                failed += 1;
            }
        }
    }
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
