//! How dear the reference agent itself is: CPU from its start to its first request, and the plan of one request over a
//! thousand tools. Prints both beside what they must stay below; decides nothing, since a loaded machine says little.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]
#![allow(clippy::unwrap_used, reason = "a benchmark may fail by panic")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Instant;

use bench_core::Surface;

const ROUNDS: usize = 15;
const TOOLS: usize = 1000;

fn main() {
    // `cargo test --benches` asks for a list; there is nothing to list.
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    for name in ["bare", "gateway", "all"] {
        let mut ms: Vec<f64> = (0..ROUNDS).map(|_| start_cpu_ms(name)).collect();
        println!("agent start to first request, {name}: {:.2} ms of CPU (at most 20)", median(&mut ms));
    }
    let mut plan = bench_agent::planner(TOOLS);
    let mut ms: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            assert_eq!(plan(), TOOLS + 1);
            began.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    println!("plan of one request over {TOOLS} tools: {:.3} ms (at most 5)", median(&mut ms));
}

/// CPU of the agent's one thread when its first request has arrived.
fn start_cpu_ms(surface: &str) -> f64 {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = std::fs::read_to_string(format!("{root}/../../arms/catalog/surfaces/{surface}.toml")).unwrap();
    let surface: Surface = toml::from_str(&text).unwrap();
    let door = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut agent = Command::new(env!("CARGO_BIN_EXE_bench"))
        .args(["agent", "--", "Do it."])
        .env("BENCH_BASE_URL", format!("http://{}/v1", door.local_addr().unwrap()))
        .env("BENCH_API_KEY", "k")
        .env("BENCH_MODEL", "m")
        .env("BENCH_WIRE", "openai-chat")
        .env("BENCH_SURFACE", serde_json::to_string(&surface).unwrap())
        .env("BENCH_SETTINGS", serde_json::to_string(&bench_core::ModelSettings::default()).unwrap())
        .env("BENCH_CAPABILITIES", serde_json::to_string(&bench_core::Capabilities::default()).unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut stream, _) = door.accept().unwrap();
    let mut some = [0; 4096];
    assert!(stream.read(&mut some).unwrap() > 0);
    let spent = std::fs::read_to_string(format!("/proc/{}/schedstat", agent.id())).unwrap();
    agent.kill().unwrap();
    agent.wait().unwrap();
    spent.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e6
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
