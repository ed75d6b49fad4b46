//! What a script costs beside what its calls cost: the start of a worker, calls one after the other, calls beside one
//! another. Bounds: a worker starts in 5 ms, 100 calls add 10 ms, 100 waits of 200 ms beside one another take 220 ms. Run it
//! as `cargo bench -p bench-code --bench engine` on a machine that does nothing else.

#![allow(clippy::unwrap_used, reason = "a benchmark may panic wherever it stands")]

use std::sync::Arc;
use std::time::Duration;

use bench_code::{
    Bridge, Callback, Engine, Functions, Globals, Keeps, Launch, Limits, NestedCall, Reach, Script,
    ScriptEnding, Stop,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

/// `echo` answers at once, `wait` after 200 ms.
struct Bench;

impl Bridge for Bench {
    fn call(&self, call: &NestedCall, stop: &Stop) -> Result<Value, String> {
        if call.tool == "wait" {
            let patience = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
            poll(&mut [PollFd::new(stop, PollFlags::IN)], Some(&patience)).unwrap();
        }
        Ok(call.arguments.clone())
    }
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("code-worker") {
        bench_code::code_worker_main();
        return;
    }
    divan::main();
}

fn functions() -> Functions {
    let callback = |tool: &str| Callback {
        tool: tool.to_owned(),
        owner: "agent".to_owned(),
        description: "A tool.".to_owned(),
        parameters: json!({"type": "object"}),
        annotations: Value::Null,
        reach: Reach::Model,
    };
    Functions::of(&[callback("echo"), callback("wait")])
}

fn run(engine: &mut Engine, functions: &Functions, text: &str) {
    let limits = Limits {
        time: Duration::from_secs(60),
        memory_bytes: 64 << 20,
        output_bytes: 1 << 16,
        value_bytes: 1 << 16,
        calls: 1000,
        drain: Duration::from_millis(500),
    };
    let script = Script { text, functions, globals: Globals::OneObject, preludes: &[], limits: &limits };
    let mut running = engine.start(&script, Arc::new(Bench)).unwrap();
    running.wait(None);
    let outcome = engine.finish(running);
    assert!(matches!(outcome.ending, ScriptEnding::Returned(_)), "{outcome:?}");
}

/// A new process, a new engine, a first script of one number.
#[divan::bench(sample_count = 50)]
fn worker_start(bencher: divan::Bencher<'_, '_>) {
    let functions = functions();
    bencher.bench(|| {
        let mut engine = Engine::new(Launch::own("code-worker"), Keeps::Nothing);
        run(&mut engine, &functions, "1");
    });
}

/// A script without calls in a worker that runs already: what the next one is to be held against.
#[divan::bench(sample_count = 50)]
fn no_call(bencher: divan::Bencher<'_, '_>) {
    with_worker(bencher, "1");
}

/// A hundred calls, each awaited before the next.
#[divan::bench(sample_count = 50)]
fn hundred_calls(bencher: divan::Bencher<'_, '_>) {
    with_worker(bencher, "for (let i = 0; i < 100; i++) await tool.echo({ i })");
}

/// A hundred waits of 200 ms beside one another.
#[divan::bench(sample_count = 5)]
fn hundred_waits(bencher: divan::Bencher<'_, '_>) {
    with_worker(bencher, "await Promise.all(Array.from({ length: 100 }, (_, i) => tool.wait({ i })))");
}

fn with_worker(bencher: divan::Bencher<'_, '_>, text: &str) {
    let functions = functions();
    let mut engine = Engine::new(Launch::own("code-worker"), Keeps::State);
    run(&mut engine, &functions, "0");
    bencher.bench_local(|| run(&mut engine, &functions, text));
}
