//! What walls cost, as ratios of alternating runs: the same command bare and in a cell of each level, one after the other,
//! so that whatever else the machine does falls on both.
//!
//! `cargo bench -p bench-isolation --bench launch [-- LEVEL… WORKLOAD…]`; prints, asserts nothing. Wall time is from asking for a
//! cell to its proven end, at the median; what then passes until the kernel's last record has been heard, at L3, stands
//! apart. CPU time is user and system time of everything that the run needed: launcher,
//! supervisors, init, program and this process, at the mean. Levels that this machine does not reach are named; L3 takes
//! `bench doctor --fix` before and `--undo` after.

#![expect(clippy::print_stdout, reason = "a benchmark reports on stdout")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use bench_core::{IsolationLevel, Program};
use bench_isolation::{Attempts, CellSpec, Launcher, LauncherSeed, Policy, Slots, Workspace};

/// A level and who listens there.
struct Variant {
    name: &'static str,
    level: IsolationLevel,
    attempts: Attempts,
}

const VARIANTS: &[Variant] = &[
    Variant { name: "L1, nobody listens", level: IsolationLevel::L1, attempts: Attempts::Unheard },
    Variant { name: "L1, notify-open (fallback)", level: IsolationLevel::L1, attempts: Attempts::Recorded },
    Variant { name: "L2, nobody listens", level: IsolationLevel::L2, attempts: Attempts::Unheard },
    Variant { name: "L2, notify-open (fallback)", level: IsolationLevel::L2, attempts: Attempts::Recorded },
    Variant { name: "L3, audit + notify-narrow", level: IsolationLevel::L3, attempts: Attempts::Recorded },
];

/// Name, shell command in the workspace, pairs that are run.
const WORKLOADS: &[(&str, &str, usize)] = &[
    ("true", "", 100),
    ("cc, 3 files", "for f in 1 2 3; do cc -O2 -c f$f.c -o f$f.o; done; cc f1.o f2.o f3.o -o f", 7),
    ("grep -r, 10,000 files", "grep -r needle files | wc -l", 40),
];

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("sandbox-exec") {
        return bench_isolation::sandbox_exec_main();
    }
    let reached = bench_isolation::reachable().level;
    // Launchers start before the runtime has threads.
    let seeds: Vec<(&Variant, LauncherSeed)> = VARIANTS
        .iter()
        .filter(|variant| variant.level <= reached)
        .map(|variant| (variant, Launcher::start_at(variant.level).expect("the launcher starts")))
        .collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let dir = tempfile::tempdir_in("/var/tmp").expect("a directory");
    open_to_all(dir.path());
    let slots = Slots::open(dir.path()).expect("slots");
    let template = dir.path().join("template");
    furnish(&template);
    runtime.block_on(async {
        println!("| workload | walls | wall ms, bare | wall ms, in a cell | then to the last record, ms | CPU ms, bare | CPU ms, in a cell | CPU ratio |");
        println!("|---|---|---|---|---|---|---|---|");
        for (variant, seed) in seeds.into_iter().filter(|(variant, _)| level_chosen(variant)) {
            let launcher = seed.attach().expect("the launcher is attached");
            for (name, command, pairs) in WORKLOADS.iter().filter(|(name, ..)| chosen(name)) {
                let mut slot = slots.take().expect("a slot");
                let workspace = slot.fresh(Some(&template)).expect("a workspace");
                let (bare, walled) = alternate(&launcher, variant, (&workspace, &template), (command, *pairs)).await;
                println!(
                    "| {name} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} |",
                    variant.name,
                    bare.wall_ms,
                    walled.wall_ms,
                    walled.closing_ms,
                    bare.cpu_ms,
                    walled.cpu_ms,
                    walled.cpu_ms / bare.cpu_ms
                );
            }
        }
    });
    for missing in VARIANTS.iter().filter(|variant| variant.level > reached) {
        println!("not run: {}: this machine reaches {reached}; `bench doctor` says why", missing.name);
    }
    ExitCode::SUCCESS
}

/// Is this workload among those that the command line names, if it names any?
fn chosen(name: &str) -> bool {
    let mut named = named().filter(|word| !is_level(word)).peekable();
    named.peek().is_none() || named.any(|word| name.contains(&word))
}

/// The same of its level.
fn level_chosen(variant: &Variant) -> bool {
    let mut named = named().filter(|word| is_level(word)).peekable();
    named.peek().is_none() || named.any(|word| variant.name.starts_with(&word))
}

fn named() -> impl Iterator<Item = String> {
    std::env::args().skip(1).filter(|arg| !arg.starts_with('-'))
}

fn is_level(word: &str) -> bool {
    matches!(word, "L1" | "L2" | "L3")
}

/// Median wall times and mean CPU time of one run.
struct Cost {
    wall_ms: f64,
    closing_ms: f64,
    cpu_ms: f64,
}

async fn alternate(
    launcher: &Launcher,
    variant: &Variant,
    (workspace, template): (&Workspace, &Path),
    (command, pairs): (&str, usize),
) -> (Cost, Cost) {
    let (mut bare, mut walled, mut closing) = (Vec::new(), Vec::new(), Vec::new());
    let (mut bare_cpu, mut walled_cpu) = (0.0, 0.0);
    for _ in 0..pairs {
        let before = bare_children_ms();
        let start = Instant::now();
        run_bare(command, template);
        bare.push(start.elapsed().as_secs_f64() * 1e3);
        bare_cpu += bare_children_ms() - before;
        let before = of_launcher_ms(launcher.pid()) + own_ms();
        let (to_end, to_last_record) = run_walled(launcher, variant, workspace, command).await;
        walled.push(to_end);
        closing.push(to_last_record);
        walled_cpu += of_launcher_ms(launcher.pid()) + own_ms() - before;
    }
    let per_run = |total: f64| total / pairs as f64;
    (
        Cost { wall_ms: median(bare), closing_ms: 0.0, cpu_ms: per_run(bare_cpu) },
        Cost { wall_ms: median(walled), closing_ms: median(closing), cpu_ms: per_run(walled_cpu) },
    )
}

fn program(command: &str) -> (&'static str, Vec<String>) {
    match command {
        "" => ("/bin/true", Vec::new()),
        command => ("/bin/sh", vec!["-c".to_owned(), command.to_owned()]),
    }
}

fn run_bare(command: &str, dir: &Path) {
    let (program, args) = program(command);
    let output = std::process::Command::new(program).args(args).current_dir(dir).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Milliseconds from asking for the cell to its end, and from there to the kernel's last record.
async fn run_walled(
    launcher: &Launcher,
    variant: &Variant,
    workspace: &Workspace,
    command: &str,
) -> (f64, f64) {
    let (program, args) = program(command);
    let path = "/usr/local/bin:/usr/bin:/bin".to_owned();
    // At L1 the host's own is out of reach.
    let tmp = workspace.seen(variant.level).tmp.to_string_lossy().into_owned();
    let spec = CellSpec {
        program: Program::Path(program.into()),
        args,
        env: BTreeMap::from([("PATH".to_owned(), path), ("TMPDIR".to_owned(), tmp)]),
        cwd: workspace.root().to_owned(),
        policy: Policy { writable: workspace.writable(), attempts: variant.attempts, ..Policy::default() },
        wall_ms: 60_000,
        output_cap_bytes: 1 << 20,
    };
    let start = Instant::now();
    let mut cell = launcher.launch(spec).await.expect("the cell starts");
    let exit = cell.wait().await.expect("the cell ends");
    assert_eq!(exit.exit_code, Some(0), "{}", String::from_utf8_lossy(&exit.stderr.head));
    let records = exit.records_ms.unwrap_or(0.0);
    (start.elapsed().as_secs_f64() * 1e3 - records, records)
}

fn furnish(dir: &Path) {
    std::fs::create_dir_all(dir.join("files")).expect("a directory");
    for file in 1..=3 {
        let body: String =
            (0..300).map(|n| format!("int f{file}_{n}(int x) {{ return x * {n} + {file}; }}\n")).collect();
        let main = if file == 1 { "int main(void) { return 0; }\n" } else { "" };
        std::fs::write(dir.join(format!("f{file}.c")), format!("#include <stdio.h>\n{body}{main}"))
            .expect("a file");
    }
    for number in 0..10_000 {
        let sub = dir.join(format!("files/{:02}", number % 100));
        std::fs::create_dir_all(&sub).expect("a directory");
        std::fs::write(sub.join(format!("{number}.txt")), "some text without what is looked for\n")
            .expect("a file");
    }
}

fn open_to_all(dir: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir, mode).expect("its mode is set");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU of a launcher, of the supervisors that wait for their next cell, and of everything that either has waited for, from
/// the kernel's ticks (10 ms: sums over many runs). What a supervisor does after its last report counts to the next run.
fn of_launcher_ms(pid: u32) -> f64 {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let supervisors = children.split_whitespace().filter_map(ticks_of);
    let launcher = ticks_of(&pid.to_string()).expect("the launcher lives");
    (launcher + supervisors.sum::<f64>()) * 10.0
}

/// Ticks of a process and of those that it has waited for; none when it has ended.
fn ticks_of(pid: &str) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split(' ').skip(11).take(4).filter_map(|field| field.parse::<f64>().ok()).sum())
}

fn own_ms() -> f64 {
    bench_isolation::own_cpu_ms()
}

/// CPU of what was spawned bare and waited for.
fn bare_children_ms() -> f64 {
    // SAFETY: an all-zero rusage is valid storage for the call to fill.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let ms = |t: libc::timeval| t.tv_sec as f64 * 1e3 + t.tv_usec as f64 / 1e3;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}
