//! Scripts through a real worker process: this test binary again.

#![allow(clippy::wildcard_enum_match_arm, reason = "a test names the endings that it expects")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::functions::{Callback, Reach};

/// Tells this binary that it is to be a worker.
const BE_WORKER: &str = "BENCH_TEST_CODE_WORKER";

/// Not a test when it is started by hand: the worker of the tests below.
#[test]
fn worker_of_the_tests() {
    if std::env::var_os(BE_WORKER).is_some() {
        crate::code_worker_main();
        std::process::exit(0);
    }
}

fn launch() -> Launch {
    Launch {
        program: "/proc/self/exe".into(),
        args: ["--exact", "engine::tests::worker_of_the_tests", "--nocapture"].map(Into::into).into(),
        env: vec![(BE_WORKER.into(), "1".into())],
    }
}

/// `echo` gives its arguments back, `fail` fails, `hang` waits until it is told to stop, `meet` waits until as many are
/// there as its arguments say.
#[derive(Default)]
struct Scripted {
    calls: Mutex<Vec<NestedCall>>,
    stopped: AtomicUsize,
    present: Mutex<usize>,
    all_there: Condvar,
}

impl Bridge for Scripted {
    fn call(&self, call: &NestedCall, stop: &Stop) -> Result<Value, String> {
        lock(&self.calls).push(call.clone());
        match call.tool.as_str() {
            "fail" => Err("no such luck".to_owned()),
            "hang" => {
                let mut watched = [rustix::event::PollFd::new(stop, rustix::event::PollFlags::IN)];
                rustix::event::poll(&mut watched, None).unwrap();
                self.stopped.fetch_add(1, Ordering::SeqCst);
                Err("stopped".to_owned())
            }
            "meet" => {
                let wanted = call.arguments["of"].as_u64().unwrap() as usize;
                let mut present = lock(&self.present);
                *present += 1;
                self.all_there.notify_all();
                let met = self.all_there.wait_while(present, |present| *present < wanted).unwrap();
                drop(met);
                Ok(json!("met"))
            }
            _ => Ok(call.arguments.clone()),
        }
    }
}

fn limits() -> Limits {
    Limits {
        time: Duration::from_secs(60),
        memory_bytes: 64 << 20,
        output_bytes: 100_000,
        value_bytes: 100_000,
        calls: 1000,
        drain: Duration::from_millis(500),
    }
}

struct Tried {
    engine: Engine,
    bridge: Arc<Scripted>,
    functions: Functions,
    limits: Limits,
}

impl Tried {
    fn new(keeps: Keeps) -> Self {
        let callback = |tool: &&str| Callback {
            tool: (*tool).into(),
            owner: "agent".into(),
            description: format!("The tool {tool}."),
            parameters: json!({"type": "object"}),
            annotations: Value::Null,
            reach: Reach::Model,
        };
        let callbacks: Vec<Callback> =
            ["echo", "fail", "hang", "meet", "svc__x-y"].iter().map(callback).collect();
        let functions = Functions::of(&callbacks);
        Self { engine: Engine::new(launch(), keeps), bridge: Arc::default(), functions, limits: limits() }
    }

    fn begin(&mut self, text: &str) -> Running {
        let preludes = [Prelude::Output, Prelude::Store, Prelude::Search, Prelude::Yield];
        let script = Script {
            text,
            functions: &self.functions,
            globals: Globals::Namespaces,
            preludes: &preludes,
            limits: &self.limits,
        };
        self.engine.start(&script, Arc::clone(&self.bridge) as Arc<dyn Bridge>).unwrap()
    }

    fn run(&mut self, text: &str) -> Outcome {
        let mut running = self.begin(text);
        assert_eq!(running.wait(None), Waited::Over);
        self.engine.finish(running)
    }

    fn value(&mut self, text: &str) -> String {
        match self.run(text).ending {
            ScriptEnding::Returned(value) => value.unwrap_or_else(|| "nothing".into()),
            other => format!("{other:?}"),
        }
    }

    /// With a short limit, for what would never end.
    fn cut_short(&mut self, text: &str) -> Outcome {
        self.limits.time = Duration::from_millis(150);
        let outcome = self.run(text);
        self.limits.time = limits().time;
        outcome
    }
}

fn eval() -> Tried {
    Tried::new(Keeps::State)
}

#[test]
fn values_come_back_whatever_form_the_script_has() {
    let mut tried = eval();
    for (script, value) in [
        ("1 + 1", "2"),
        ("const a: number = 3; a", "3"),
        ("return { b: [1, 'x'] }", r#"{"b":[1,"x"]}"#),
        ("'just text'", "just text"),
        ("const r = await tool.echo({ a: 1 }); return r.a", "1"),
        ("const r = await Agent.echo({ a: 2 }); r.a", "2"),
        ("(await Svc.x_y({ z: 1 })).z + (await tool['svc__x-y']({ z: 2 })).z", "3"),
        ("await tool.echo()", "{}"),
        ("async function run() { return (await tool.echo({ a: 5 })).a }", "5"),
        ("let n: string", "nothing"),
        ("enum E { A = 4, B } E.B", "5"),
        ("try { await tool.fail({}) } catch (e) { e.message }", "nothing"),
        ("try { await tool.fail({}) } catch (e) { return e.message }", "no such luck"),
        ("await new Promise(done => setTimeout(() => done('late'), 5))", "late"),
        ("10n ** 20n", "100000000000000000000"),
        ("ALL_TOOLS.length + ' ' + searchTools('the tool hang', 1)[0].name", "10 Agent.hang"),
    ] {
        assert_eq!(tried.value(script), value, "{script}");
    }
}

#[test]
fn state_goes_from_script_to_script_and_names_can_be_declared_again() {
    let mut tried = eval();
    assert_eq!(
        tried.value("const a = 1; function twice(n: number) { return 2 * n } class C { x = 7 }"),
        "nothing"
    );
    assert_eq!(tried.value("const a = twice(20) + new C().x; const { b } = { b: a }; b"), "47");
    assert_eq!(tried.value("a + b"), "94");
    tried.engine.reset();
    assert_eq!(tried.value("typeof a"), "undefined");
    let mut fresh = Tried::new(Keeps::Nothing);
    assert_eq!(fresh.value("globalThis.a = 1; store('k', { v: a }); typeof a"), "number");
    assert_eq!(fresh.value("typeof a + load('k').v + typeof load('none')"), "undefined1undefined");
}

#[test]
fn calls_of_one_promise_all_are_open_at_the_same_time() {
    let mut tried = eval();
    let outcome = tried.run("await Promise.all([1, 2, 3].map(() => tool.meet({ of: 3 })))");
    assert_eq!(outcome.ending, ScriptEnding::Returned(Some(r#"["met","met","met"]"#.into())));
    assert!(
        outcome.calls.iter().all(|call| call.beside_others && call.succeeded == Some(true)),
        "{outcome:?}"
    );
    let outcome = tried.run("await tool.echo({}); await tool.echo({}); tool.fail({}).catch(() => 0)");
    assert!(outcome.calls.iter().all(|call| !call.beside_others), "{outcome:?}");
    assert_eq!(outcome.calls.len(), 3);
}

#[test]
fn output_is_captured_in_order_and_bounded() {
    let mut tried = eval();
    let outcome = tried.run(
        "console.log('a', 1, { b: [2] }, undefined, null); text([1]); console.error(new TypeError('t'))",
    );
    assert_eq!(outcome.output, "a 1 {\"b\":[2]} undefined null\n[1]\nTypeError: t\n");
    let outcome = tried.run("for (let i = 0; i < 5000; i++) console.log('x'.repeat(1000)); 'end'");
    assert_eq!((outcome.output.len(), outcome.ending), (100_000, ScriptEnding::Returned(Some("end".into()))));
    assert_eq!(outcome.remarks, ["4905000 bytes of output were left out"]);
    let outcome = tried.run("'y'.repeat(3000000)");
    assert_eq!(outcome.remarks, ["2900000 bytes of the returned value were left out"]);
}

#[test]
fn errors_are_led_back_to_the_line_of_the_script() {
    let mut tried = eval();
    for (script, told) in [
        ("interface A { a: 1 }\n\nconst x: A = { a: 1 };\nx.b();", "TypeError: not a function (line 4)"),
        ("const a = ;", "SyntaxError: line 1, column 11: Unexpected token"),
        (
            "import fs from 'fs';\nfs.readFileSync('/etc/passwd')",
            "SyntaxError: there is no module \"fs\" to import",
        ),
        ("\nthrow 'plain'", "thrown: plain"),
        ("await tool.fail({})", "Error: no such luck"),
        ("await tool.nothing({})", "TypeError: not a function (line 1)"),
        ("await new Promise(() => {})", "the script waits for something that can never come"),
        ("const o = {}; o.o = o; o", "what the script returned cannot be written as JSON"),
    ] {
        match tried.run(script).ending {
            ScriptEnding::Threw(error) => assert!(error.starts_with(told), "{script}: {error}"),
            other => panic!("{script}: {other:?}"),
        }
    }
}

#[test]
fn endless_scripts_are_ended_at_their_limit_and_the_next_one_runs() {
    let mut tried = eval();
    for script in [
        "while (true) {}",
        "for (;;) { try { for (;;) {} } catch {} finally { continue } }",
        "const loop = async () => { for (;;) await null; }; await loop()",
        "Promise.resolve().then(function again() { return Promise.resolve().then(again) }); while (true) await 0",
        "/^(a+)+$/.test('a'.repeat(60) + 'b')",
        "await new Promise(() => setInterval(() => {}, 1))",
        "new Array(3e3).fill(1).map(String).sort(() => { for (;;) {} })",
        "[][Symbol.iterator] ; ({ toJSON() { for (;;) {} } })",
        "console.log({ toJSON() { for (;;) {} } })",
    ] {
        tried.value("globalThis.kept = 1");
        let outcome = tried.cut_short(script);
        assert!(matches!(outcome.ending, ScriptEnding::TimedOut), "{script}: {:?}", outcome.ending);
        assert!(outcome.state_lost);
        assert_eq!(tried.value("typeof kept + 1"), "undefined1", "{script}");
    }
}

#[test]
fn memory_and_stack_have_ends_and_leave_the_engine_usable() {
    let mut tried = eval();
    for script in [
        "const a = []; for (;;) a.push(new Array(1000).fill(7))",
        "let s = 'x'; for (;;) s += s",
        "const b = []; for (;;) b.push(new Uint8Array(1 << 20))",
        "function deep(n) { return 1 + deep(n + 1) } deep(0)",
        "JSON.parse('['.repeat(1e6))",
        "const o = {}; let p = o; for (let i = 0; i < 1e5; i++) p = p.n = {}; JSON.stringify(o)",
        &format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000)),
        &format!("{}1", "- ".repeat(200_000)),
    ] {
        let ending = tried.run(script).ending;
        let short = &script[..script.len().min(60)];
        match ending {
            ScriptEnding::Threw(why) => assert!(!why.contains("null"), "{short}: {why}"),
            ScriptEnding::Died(_) => {}
            other => panic!("{short}: {other:?}"),
        }
        assert_eq!(tried.value("6 * 7"), "42", "{short}");
    }
}

#[test]
fn a_script_that_changes_the_language_takes_its_state_with_it() {
    let mut tried = eval();
    for script in [
        "Array.prototype.map = () => 'evil'",
        "Object.prototype.toJSON = () => 'evil'",
        "Object.prototype.then = (f) => f('evil')",
        "Promise.prototype.then = () => {}; 1",
        "JSON = { parse: 1 }",
        "Object.setPrototypeOf(Function.prototype, null)",
        "Object.defineProperty(String.prototype, 'length2', { get() { return 1 } }); 1",
        "delete Reflect.ownKeys; 1",
    ] {
        let outcome = tried.run(script);
        assert!(outcome.state_lost, "{script}: {outcome:?}");
        assert!(
            outcome.remarks.iter().any(|r| r.contains("belongs to the language")),
            "{script}: {outcome:?}"
        );
        assert_eq!(
            tried.value("JSON.stringify([1].map(x => x + 1)) + await (async () => 'ok')()"),
            "[2]ok",
            "{script}"
        );
    }
    let kept = tried.run("globalThis.a = 1; console.log = 3; tool.echo = 4; a");
    assert!(!kept.state_lost, "what the engine puts there anew may be changed: {kept:?}");
    assert_eq!(tried.value("console.log('x'); (await tool.echo({ b: a })).b"), "1");
}

#[test]
fn there_is_no_host_to_reach_for() {
    let mut tried = eval();
    let names = tried.value(
        "['require','process','Deno','Bun','fetch','XMLHttpRequest','WebAssembly','std','os','scriptArgs','print','load_',\
         'Worker','module','exports','importScripts','bjson'].filter(n => n in globalThis).join()",
    );
    assert_eq!(names, "");
    for script in [
        "await import('fs')",
        "await import('file:///etc/passwd')",
        "new Function('return process')()",
        "eval('process')",
    ] {
        assert!(matches!(tried.run(script).ending, ScriptEnding::Threw(_)), "{script}");
    }
    let constructor = tried.value("tool.echo.constructor('return typeof process + typeof require')()");
    assert_eq!(constructor, "undefinedundefined");
}

#[test]
fn rejections_that_nobody_hears_are_told() {
    let mut tried = eval();
    let outcome = tried
        .run("Promise.reject(new Error('lost')); tool.fail({}); Promise.reject(1).catch(() => {}); 'fine'");
    assert_eq!(outcome.ending, ScriptEnding::Returned(Some("fine".into())));
    let told: BTreeSet<&str> = outcome.remarks.iter().map(String::as_str).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter().all(|remark| remark.starts_with("a promise was rejected and nobody handled it: Error: "))
    );
    assert!(tried.run("await tool.fail({})").remarks.is_empty());
}

#[test]
fn calls_that_run_are_stopped_with_their_script_and_later_ones_refused() {
    let mut tried = eval();
    tried.limits.time = Duration::from_millis(100);
    let outcome =
        tried.run("tool.hang({}).catch(() => tool.echo({ late: 1 })); tool.hang({}); await tool.hang({})");
    assert_eq!(outcome.ending, ScriptEnding::TimedOut);
    // The drain waits until all have heard of it.
    assert_eq!(tried.bridge.stopped.load(Ordering::SeqCst), 3);
    assert!(outcome.calls.iter().all(|call| call.succeeded.is_none()), "{outcome:?}");
    assert!(lock(&tried.bridge.calls).iter().all(|call| call.tool == "hang"));
    let running = tried.begin("await tool.hang({})");
    // A call is on its way once the ledger knows it.
    while running.ledger.lock().calls.is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(tried.engine.finish(running).ending, ScriptEnding::Stopped);
}

#[test]
fn a_call_of_a_script_that_is_over_is_refused() {
    let desk = Mutex::new(None);
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let voice = crate::process::Voice::of(ours);
    let call = FromWorker::Call { epoch: 3, call: 9, tool: "echo".into(), arguments: json!({}), open: 0 };
    heard(&desk, Some(call), &voice);
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(theirs), &mut line).unwrap();
    assert_eq!(
        line,
        "{\"say\":\"answer\",\"call\":9,\"result\":{\"Err\":\"the script that made this call is over\"}}\n"
    );
}

#[test]
fn calls_without_await_are_waited_for_and_nothing_goes_on_after_the_end() {
    let mut tried = eval();
    let outcome = tried.run("tool.echo({ a: 1 }).then(() => tool.echo({ a: 2 })); setTimeout(() => tool.echo({ a: 3 }), 20); 'done'");
    assert_eq!(outcome.ending, ScriptEnding::Returned(Some("done".into())));
    assert_eq!(outcome.calls.len(), 2);
    tried.value("await new Promise(done => setTimeout(done, 40))");
    assert_eq!(lock(&tried.bridge.calls).len(), 2);
}

#[test]
fn too_many_calls_are_refused_one_by_one() {
    let mut tried = eval();
    tried.limits.calls = 2;
    assert_eq!(
        tried.value(
            "let n = 0; try { for (;;) { await tool.echo({}); n++ } } catch (e) { return n + e.message }"
        ),
        "2a script may make 2 calls"
    );
}

#[test]
fn a_script_hands_over_while_it_runs_and_is_taken_up_again() {
    let mut tried = Tried::new(Keeps::Nothing);
    let mut running = tried.begin(
        "text('one'); await yield_control(); text('two'); await tool.meet({ of: 2 }); text('three'); 4",
    );
    assert_eq!(running.wait(Some(Duration::from_secs(60))), Waited::Runs);
    assert_eq!(running.take_output(), "one\n");
    let mut other = tried.begin("await tool.meet({ of: 2 })");
    assert_eq!((running.wait(None), other.wait(None)), (Waited::Over, Waited::Over));
    let outcome = tried.engine.finish(running);
    assert_eq!(
        (outcome.output.as_str(), outcome.ending),
        ("two\nthree\n", ScriptEnding::Returned(Some("4".into())))
    );
    assert_eq!(tried.engine.finish(other).ending, ScriptEnding::Returned(Some("met".into())));
}

#[test]
fn a_program_that_is_no_worker_is_a_named_ending() {
    let launch = Launch { program: "/bin/true".into(), args: Vec::new(), env: Vec::new() };
    let mut tried = eval();
    tried.engine = Engine::new(launch, Keeps::State);
    assert_eq!(tried.run("1").ending, ScriptEnding::Died("ended with code 0".into()));
    let missing = Launch { program: "/no/such/program".into(), args: Vec::new(), env: Vec::new() };
    assert!(Engine::new(missing, Keeps::State).warm().is_err());
}
