//! CPU and wall time of a trivial cell, beside the same two commands spawned bare.
//!
//! `cargo bench -p bench --bench cell`. A trivial cell copies four files, runs a one-line agent that makes one request
//! through its recorder, and one-line verifier in a second cell. The cost of a cell is the difference between a run of
//! many and a run of few, so that start-up and report are not in it; CPU is user + system of bench and all its
//! descendants. The floor is the same one-liners spawned bare, answered by a thread of this program: without walls,
//! with the environment and, for root, the user that they have in a cell. A shell reads its locale's files and looks up
//! who it is, which is its own work wherever it stands.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const FEW: u32 = 20;
const MANY: u32 = 220;
const ROUNDS: usize = 5;

const AGENT: &str = "u=${BENCH_BASE_URL#http://}; h=${u%%/*}; b='{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}'; \
exec 3<>/dev/tcp/${h%:*}/${h#*:}; \
printf 'POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\nauthorization: Bearer %s\\r\\ncontent-length: %s\\r\\nconnection: close\\r\\n\\r\\n%s' \"$BENCH_API_KEY\" ${#b} \"$b\" >&3; \
read -r line <&3; echo done > done.txt";
const VERIFIER: &str = "read -r word < done.txt; [ \"$word\" = done ]";
const CANARY: &str = "bench-canary-0000-trivial-cell";
/// What every cell's environment holds beside its directories.
const IN_A_CELL: [(&str, &str); 4] =
    [("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TERM", "dumb"), ("GIT_CONFIG_NOSYSTEM", "1")];
/// The user of the first slot, where root runs the cells.
const OWNER: u32 = 64_000;

/// CPU and wall of one measurement, milliseconds per cell.
#[derive(Clone, Copy)]
struct PerCell {
    cpu_ms: f64,
    wall_ms: f64,
}

fn main() {
    // `cargo test --benches` asks for a list; there is nothing to list.
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    // The user of the bare commands passes through it.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o711)).expect("its mode");
    write_suite(dir.path());
    let mut cells = Vec::new();
    let mut floors = Vec::new();
    for round in 0..ROUNDS {
        floors.push(floor(dir.path()));
        cells.push(cell(dir.path(), round));
    }
    let level = isolation_level(dir.path());
    let (cell_cpu, cell_wall) = (median(&cells, |c| c.cpu_ms), median(&cells, |c| c.wall_ms));
    let (floor_cpu, floor_wall) = (median(&floors, |c| c.cpu_ms), median(&floors, |c| c.wall_ms));
    println!("trivial cell at {level}, median of {ROUNDS} rounds of {} cells", MANY - FEW);
    println!("                         CPU ms  wall ms");
    println!("cell through bench       {cell_cpu:>6.2}  {cell_wall:>7.2}");
    println!("two commands bare        {floor_cpu:>6.2}  {floor_wall:>7.2}");
    println!("bench's own share        {:>6.2}  {:>7.2}", cell_cpu - floor_cpu, cell_wall - floor_wall);
    println!("ratio                    {:>6.2}  {:>7.2}", cell_cpu / floor_cpu, cell_wall / floor_wall);
}

fn write_suite(root: &Path) {
    let task = root.join("suites/trivial/one");
    for (name, text) in [
        (
            "task.toml",
            format!("format-version = 1\ntitle = \"One\"\ntrack = \"default\"\ncanary = \"{CANARY}\"\n"),
        ),
        ("instruction.md", "Write done.\n".to_owned()),
        ("oracle.toml", format!("# {CANARY}\nformat-version = 1\n[[step]]\nanswer = \"done\"\n")),
        ("verify/run.sh", format!("# {CANARY}\n{VERIFIER}\n")),
        ("workspace/a.txt", "a\n".to_owned()),
        ("workspace/b.txt", "b\n".to_owned()),
        ("workspace/c.txt", "c\n".to_owned()),
        ("workspace/d.txt", "d\n".to_owned()),
    ] {
        let path = task.join(name);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

fn experiment(repeats: u32) -> String {
    format!(
        "name = \"trivial\"\nseed = 1\nrepeats = {repeats}\nsuite = \"trivial\"\nmodel = \"m\"\n[upstream]\nkind = \"oracle\"\n[[arm]]\nname = \"only\"\nagent = \"command\"\nsurface = \"as-is\"\ncommand = [\"/bin/bash\", \"-c\", {AGENT:?}]\n"
    )
}

fn cell(root: &Path, round: usize) -> PerCell {
    let few = run(root, round, FEW);
    let many = run(root, round, MANY);
    let cells = f64::from(MANY - FEW);
    PerCell { cpu_ms: (many.cpu_ms - few.cpu_ms) / cells, wall_ms: (many.wall_ms - few.wall_ms) / cells }
}

fn run(root: &Path, round: usize, repeats: u32) -> PerCell {
    let file = root.join("trivial.toml");
    fs::write(&file, experiment(repeats)).expect("a file");
    let output = root.join(format!("run-{round}-{repeats}"));
    let (before, began) = (children_cpu_ms(), Instant::now());
    let result = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["run", "-q", "--suites"])
        .arg(root.join("suites"))
        .arg("-o")
        .arg(&output)
        .arg(&file)
        .env("BENCH_STATE_DIR", root.join("state"))
        .output()
        .expect("bench starts");
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    PerCell { cpu_ms: children_cpu_ms() - before, wall_ms: began.elapsed().as_secs_f64() * 1000.0 }
}

/// The same two one-liners, spawned bare.
fn floor(root: &Path) -> PerCell {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        for stream in listener.incoming().take((MANY - FEW) as usize) {
            let mut stream = stream.expect("a connection");
            let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
            // Answering before the whole request is read would end the client by SIGPIPE.
            while !request.ends_with(b"]}") {
                let count = stream.read(&mut buffer).expect("a request");
                assert!(count > 0, "the client went away");
                request.extend_from_slice(&buffer[..count]);
            }
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let dir = root.join("floor");
    fs::create_dir_all(&dir).expect("a folder");
    if is_root() {
        std::os::unix::fs::chown(&dir, Some(OWNER), Some(OWNER)).expect("a folder to give away");
    }
    let (before, began) = (children_cpu_ms(), Instant::now());
    for _ in 0..MANY - FEW {
        bare(&dir, &["/bin/bash", "-c", AGENT], &url);
        bare(&dir, &["/bin/sh", "-c", VERIFIER], &url);
    }
    let cells = f64::from(MANY - FEW);
    let measured = PerCell {
        cpu_ms: (children_cpu_ms() - before) / cells,
        wall_ms: began.elapsed().as_secs_f64() * 1000.0 / cells,
    };
    server.join().expect("the server ends");
    measured
}

fn bare(dir: &Path, argv: &[&str], url: &str) {
    let mut command = Command::new(argv[0]);
    command
        .args(&argv[1..])
        .current_dir(dir)
        .env_clear()
        .envs(IN_A_CELL)
        .env("HOME", dir)
        .env("TMPDIR", dir)
        .env("BENCH_BASE_URL", url)
        .env("BENCH_API_KEY", "dummy")
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if is_root() {
        command.uid(OWNER).gid(OWNER);
    }
    assert!(command.status().expect("a shell starts").success());
}

fn is_root() -> bool {
    // SAFETY: geteuid takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// User + system CPU of all descendants that were waited for.
fn children_cpu_ms() -> f64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage fills the struct it is given.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ms = |t: libc::timeval| t.tv_sec as f64 * 1000.0 + t.tv_usec as f64 / 1000.0;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}

fn median(all: &[PerCell], of: impl Fn(&PerCell) -> f64) -> f64 {
    let mut values: Vec<f64> = all.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn isolation_level(root: &Path) -> String {
    let journal = fs::read_to_string(root.join(format!("run-0-{FEW}/journal.jsonl"))).unwrap_or_default();
    let record: serde_json::Value =
        journal.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    record["isolation"]["level"].as_str().unwrap_or("unknown").to_owned()
}
