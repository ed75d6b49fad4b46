//! What walls cost: CPU and wall time of a trivial program in a cell, beside the same program spawned bare.
//!
//! `cargo bench -p bench-isolation`; prints, asserts nothing. CPU is user and system time of this process and of every
//! descendant that has been waited for, the launcher's included.

#![expect(clippy::print_stdout, reason = "a benchmark reports on stdout")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Instant;

use bench_core::Program;
use bench_isolation::{CellSpec, Launcher, Policy, Slots};

const CELLS: u32 = 300;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("sandbox-exec") {
        return bench_isolation::sandbox_exec_main();
    }
    for round in 1..=3 {
        let bare = measured(|| {
            for _ in 0..CELLS {
                std::process::Command::new("/bin/true").output().expect("/bin/true runs");
            }
        });
        let cells = measured(walled);
        println!(
            "round {round}: bare {:.2} ms CPU, {:.2} ms wall; in a cell {:.2} ms CPU, {:.2} ms wall; walls cost {:.2} ms CPU",
            bare.cpu_ms,
            bare.wall_ms,
            cells.cpu_ms,
            cells.wall_ms,
            cells.cpu_ms - bare.cpu_ms,
        );
    }
    ExitCode::SUCCESS
}

fn walled() {
    let seed = Launcher::start().expect("the launcher starts");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let dir = tempfile::tempdir().expect("a directory");
    let slots = Slots::open(dir.path()).expect("slots");
    let mut slot = slots.take().expect("a slot");
    let workspace = slot.fresh(None).expect("a workspace");
    runtime.block_on(async {
        let launcher = seed.attach().expect("the launcher is attached");
        for _ in 0..CELLS {
            let spec = CellSpec {
                program: Program::Path("/bin/true".into()),
                args: Vec::new(),
                env: BTreeMap::new(),
                cwd: workspace.root().to_owned(),
                policy: Policy {
                    writable: workspace.writable(),
                    connect_port: Some(4000),
                    must_not_read: vec![slots.decoy()],
                    ..Policy::default()
                },
                wall_ms: 10_000,
                output_cap_bytes: 1 << 20,
            };
            let mut cell = launcher.launch(spec).await.expect("the cell starts");
            cell.wait().await.expect("the cell ends");
        }
    });
}

struct Cost {
    cpu_ms: f64,
    wall_ms: f64,
}

/// Cost per cell of `work`.
fn measured(work: impl FnOnce()) -> Cost {
    let (cpu, start) = (cpu_ms(), Instant::now());
    work();
    let per_cell = |total: f64| total / f64::from(CELLS);
    Cost { wall_ms: per_cell(start.elapsed().as_secs_f64() * 1e3), cpu_ms: per_cell(cpu_ms() - cpu) }
}

fn cpu_ms() -> f64 {
    let of = |who| {
        // SAFETY: an all-zero rusage is valid storage for the call to fill.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut usage);
            usage
        };
        let ms = |t: libc::timeval| t.tv_sec as f64 * 1e3 + t.tv_usec as f64 / 1e3;
        ms(usage.ru_utime) + ms(usage.ru_stime)
    };
    of(libc::RUSAGE_SELF) + of(libc::RUSAGE_CHILDREN)
}
