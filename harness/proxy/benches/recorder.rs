//! What the recorder adds: latency of a 45 KB request answered by a 20-frame stream, to its first frame and to its last,
//! against the same provider asked directly; requests a second; memory over 10,000 requests; counting 100 KB.
//!
//! `cargo bench -p bench-proxy --bench recorder`. The provider is a process of its own and keeps nothing; recorder and agent
//! share this one, each on a thread of its own. Direct and recorded requests alternate, so that a busy machine slows both
//! alike, with a pause of 5 ms before each. The request is shaped as real ones are: a third tools, a third instructions, a third conversation.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its figures and stops where it cannot go on"
)]

#[path = "support/heap.rs"]
mod heap;
#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench_core::{RunLimits, SystemClock};
use bench_proxy::{EndpointUpstream, Recorder, RetryPolicy, RunBudget, Spent};
use bench_wire::Turn;
use bench_wire::chat::{StreamUsage, write_stream};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use support::provider::{final_turn, stateless};
use support::{HttpClient, TOKEN, counter, http, loopback, spec};

/// Repeated to the wanted size: ordinary words, so that they count as ordinary text does.
const LINE: &str = "The quick brown fox jumps over the lazy dog; 12 files were changed.\n";
const BODY_BYTES: usize = 45_000;
/// What one tool of `support::tool` takes.
const TOOL_BYTES: usize = 190;
/// The argument that makes this program the provider.
const PROVIDER: &str = "--provider";
const FRAMES: usize = 20;
const PAIRS: usize = 1_000;
/// Between two requests.
const PAUSE: Duration = Duration::from_millis(5);
/// Pairs before the measured ones: they open connections and fill caches.
const WARM_UP: usize = 50;
const IN_FLIGHT: usize = 8;
const MANY: usize = 10_000;

fn main() {
    // `cargo test --benches` asks for a list; there is nothing to list.
    if std::env::args().any(|arg| arg == "--list") {
        return;
    }
    if std::env::args().any(|arg| arg == PROVIDER) {
        return provide();
    }
    let mut child = provider();
    let base = base_of(&mut child);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let dir = tempfile::tempdir().unwrap();
        let upstream = EndpointUpstream::new(&base, None, RetryPolicy::default()).unwrap();
        let mut spec = spec(dir.path(), Arc::new(upstream));
        // As every run has one.
        let clock = Arc::new(SystemClock::default());
        spec.spending.run = Some(Arc::new(RunBudget::new(RunLimits::default(), Spent::default(), clock)));
        let recorder = Recorder::start(loopback(), spec).await.unwrap();
        latency(&base, &recorder.base_url()).await;
        let elapsed = many(&recorder.base_url(), 5_000).await;
        println!("small requests, {IN_FLIGHT} in flight: {:.0} requests/s", 5_000.0 / elapsed);
        memory(&recorder.base_url()).await;
        recorder.finish().await.unwrap();
    });
    counting();
    child.kill().unwrap();
    child.wait().unwrap();
}

/// This program again, as the provider.
fn provider() -> Child {
    let me = std::env::current_exe().unwrap();
    Command::new(me).arg(PROVIDER).stdout(Stdio::piped()).spawn().unwrap()
}

/// The provider says where it listens.
fn base_of(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

fn provide() {
    let turn = Turn { text: "word ".repeat(64), ..final_turn() };
    let written = write_stream(&turn, StreamUsage::Included).concat();
    let frames: Vec<Vec<u8>> = written.chunks(written.len().div_ceil(FRAMES)).map(<[u8]>::to_vec).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (base, server) = stateless("text/event-stream", frames).await;
        println!("{base}");
        server.await.unwrap();
    });
}

/// A request of the size and the make that real agents send first.
fn body() -> Bytes {
    let part = BODY_BYTES / 3;
    let text = |bytes: usize| LINE.repeat(bytes / LINE.len());
    let mut messages = vec![serde_json::json!({"role": "system", "content": text(part)})];
    for n in 0..10 {
        let call = serde_json::json!({"id": format!("c{n}"), "type": "function",
            "function": {"name": "tool00", "arguments": "{\"path\":\"a\"}"}});
        messages.push(serde_json::json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(
            serde_json::json!({"role": "tool", "tool_call_id": format!("c{n}"), "content": text(part / 10)}),
        );
    }
    let tools: Vec<_> = (0..part / TOOL_BYTES).map(|n| support::tool(&format!("tool{n:02}"))).collect();
    Bytes::from(
        serde_json::json!({"model": "m", "stream": true, "messages": messages, "tools": tools}).to_string(),
    )
}

/// Milliseconds from the request to the first frame of its answer, and to the last.
async fn timed(client: &HttpClient, base: &str, body: &Bytes) -> (f64, f64) {
    let request = Request::post(format!("{base}/chat/completions"))
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("content-type", "application/json")
        .body(Full::new(body.clone()))
        .unwrap();
    let began = Instant::now();
    let so_far = || began.elapsed().as_secs_f64() * 1000.0;
    let response = client.request(request).await.unwrap();
    assert_eq!(response.status(), 200);
    let mut answer = response.into_body();
    let mut first = None;
    while let Some(frame) = answer.frame().await {
        frame.unwrap();
        first.get_or_insert_with(so_far);
    }
    (first.unwrap(), so_far())
}

/// As an agent asks that has carried out a call in between: what the recorder still has to count of the request before
/// must neither slow down this one nor, where the two alternate, one that goes direct.
async fn after_a_pause(client: &HttpClient, base: &str, body: &Bytes) -> (f64, f64) {
    tokio::time::sleep(PAUSE).await;
    timed(client, base, body).await
}

async fn latency(direct: &str, recorded: &str) {
    let (client, body) = (http(), body());
    let (mut plain, mut through) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS + WARM_UP {
        let a = after_a_pause(&client, direct, &body).await;
        let b = after_a_pause(&client, recorded, &body).await;
        if pair >= WARM_UP {
            plain.push(a);
            through.push(b);
        }
    }
    println!("{} byte request, {FRAMES} frames, {PAIRS} pairs: median and 90th percentile, ms", body.len());
    let first = |times: &[(f64, f64)]| quantiles(times.iter().map(|(first, _)| *first).collect());
    let last = |times: &[(f64, f64)]| quantiles(times.iter().map(|(_, last)| *last).collect());
    compared("first frame", first(&plain), first(&through));
    compared("whole answer", last(&plain), last(&through));
    let (plain, through) = (cpu(&client, direct, &body).await, cpu(&client, recorded, &body).await);
    println!("CPU of agent and recorder, ms a request: {plain:.3} direct, {through:.3} recorded");
}

/// What a request takes of this process's CPU, in milliseconds: the same on a machine that does other work as well.
async fn cpu(client: &HttpClient, base: &str, body: &Bytes) -> f64 {
    let before = cpu_ticks();
    for _ in 0..PAIRS {
        timed(client, base, body).await;
    }
    // A hundredth of a second each, whatever the machine.
    (cpu_ticks() - before) as f64 * 10.0 / PAIRS as f64
}

/// User and system time of this process so far.
fn cpu_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(") ").unwrap().1;
    after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn compared(what: &str, plain: (f64, f64), through: (f64, f64)) {
    println!("{what}: direct       {:>8.3} {:>8.3}", plain.0, plain.1);
    println!("{what}: recorded     {:>8.3} {:>8.3}", through.0, through.1);
    println!("{what}: added        {:>8.3} {:>8.3}", through.0 - plain.0, through.1 - plain.1);
}

fn quantiles(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    (values[values.len() / 2], values[values.len() * 9 / 10])
}

/// Small requests, several at once; seconds.
async fn many(base: &str, requests: usize) -> f64 {
    let messages = serde_json::json!([{"role": "user", "content": "go"}]);
    let body =
        Bytes::from(serde_json::json!({"model": "m", "stream": true, "messages": messages}).to_string());
    let client = http();
    let began = Instant::now();
    let workers: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let (client, base, body) = (client.clone(), base.to_owned(), body.clone());
            tokio::spawn(async move {
                for _ in 0..requests / IN_FLIGHT {
                    timed(&client, &base, &body).await;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    began.elapsed().as_secs_f64()
}

async fn memory(base: &str) {
    println!("over {MANY} requests: resident KiB, and KiB of live allocations");
    for part in 0..=4 {
        if part > 0 {
            many(base, MANY / 4).await;
        }
        println!("after {:>6}: {:>8} {:>8}", part * MANY / 4, resident_kib(), heap::live_bytes() / 1024);
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn counting() {
    let text = LINE.repeat(100_000 / LINE.len());
    let counter = counter();
    counter.count(&text);
    let times = (0..200).map(|_| {
        let began = Instant::now();
        std::hint::black_box(counter.count(std::hint::black_box(&text)));
        began.elapsed().as_secs_f64() * 1000.0
    });
    println!("counting {} bytes: {:.2} ms (median)", text.len(), quantiles(times.collect()).0);
}
