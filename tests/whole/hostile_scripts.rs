//! Scripts that mean harm, handed over by a model through the real binary: each ends as it is written down, the next one
//! finds the agent as usable as before, nothing comes out of the cell, and no process outlives the run.

use std::os::unix::fs::MetadataExt as _;

use serde_json::{Value, json};

use crate::provider::{Got, Provider, Said, says};
use crate::workplace::{Outcome, Workplace, walls};

const CANARY: &str = "bench-canary-5d0c-hostile-scripts";
const SECRET: &str = "S3CRET-hostile-9a1e";
/// Run after every hostile script: the language, and a call through the pipeline.
const USABLE: &str = "[1, 2].map((x) => x * 2).join('+') + ' ' + (await TOOL.read({ path: 'a.txt' })).trim()";
const USED: &str = "2+4 untouched";

/// A call of the model's, and words of which one must stand in its result.
type Move = (&'static str, Value, &'static [&'static str]);

const OVER: &[&str] = &["Error: the script was ended when its time was over"];
const MEMORY: &[&str] = &["out of memory", "memory or stack ran out"];
const TAMPERED: &[&str] = &["belongs to the language"];
const NO_HOST: &[&str] = &["Error: the script failed"];

/// Scripts of which each lasts until it is ended.
const ENDLESS: [&str; 5] = [
    "while (true) {}",
    "for (;;) { try { for (;;) {} } catch {} finally { continue } }",
    "const again = async () => { for (;;) await null; }; await again()",
    "/^(a+)+$/.test('a'.repeat(60) + 'b')",
    // Its command and what that started end with it.
    "await tool.bash({ command: 'setsid sleep 86397 & sleep 86398' })",
];

/// Scripts that end by themselves, and how.
const SHORT: [(&str, &[&str]); 13] = [
    ("const a = []; for (;;) a.push(new Array(1000).fill(7))", MEMORY),
    ("const b = []; for (;;) b.push(new Uint8Array(1 << 20))", MEMORY),
    ("function deep(n) { return 1 + deep(n + 1) } deep(0)", &["stack", "memory"]),
    ("Array.prototype.map = () => 'evil'; 1", TAMPERED),
    ("Object.prototype.then = (f) => f('evil'); 1", TAMPERED),
    ("JSON.stringify = () => 'evil'; Promise.prototype.then = () => {}; 1", TAMPERED),
    (
        "[typeof require, typeof process, typeof fetch, typeof Deno, typeof std].join()",
        &["undefined,undefined,undefined,undefined,undefined"],
    ),
    ("import fs from 'fs'; fs.readFileSync('/etc/passwd')", &["there is no module \"fs\" to import"]),
    ("await import('file:///etc/passwd')", NO_HOST),
    ("tool.read.constructor('return process')()", NO_HOST),
    (
        "Promise.reject(new Error('lost')); 'fine'",
        &["a promise was rejected and nobody handled it: Error: lost"],
    ),
    (
        "for (let i = 0; i < 5000; i++) console.log('x'.repeat(1000)); 'end'",
        &["bytes of output were left out"],
    ),
    ("await new Promise(() => {})", &["waits for something that can never come"]),
];

/// Each move of `eval`, whose interpreter stays from script to script.
fn through_eval() -> Vec<Move> {
    let usable = || ("eval", json!({"code": USABLE.replace("TOOL", "tool")}), &[USED][..]);
    let endless = ENDLESS.map(|code| ("eval", json!({"code": code, "timeout": 0.4}), OVER));
    let short = SHORT.map(|(code, words)| ("eval", json!({"code": code}), words));
    endless.into_iter().chain(short).flat_map(|hostile| [hostile, usable()]).collect()
}

/// A fresh interpreter for every script.
fn through_sidecar() -> Vec<Move> {
    let run = |code: &str| json!({"code": code.replace("tool.", "Agent.")});
    let usable = || ("execute_typescript", run(&USABLE.replace("TOOL", "tool")), &[USED][..]);
    let short = SHORT.iter().filter(|(_, words)| *words != TAMPERED);
    let mut moves: Vec<Move> = Vec::new();
    for (code, words) in short {
        moves.extend([("execute_typescript", run(code), *words), usable()]);
    }
    // Who keeps nothing loses nothing: the next script has a language of its own.
    moves
        .extend([("execute_typescript", run("Array.prototype.map = () => 'evil'; 1"), &["1"][..]), usable()]);
    moves
}

/// Scripts that are left running: ended on demand, and the last one with the conversation.
fn through_exec() -> Vec<Move> {
    let begun = |code: &str| json!({"input": format!("// @exec: {{\"yield_time_ms\": 50}}\n{}", code.replace("tool.", "tools."))});
    let mut moves: Vec<Move> = Vec::new();
    for (number, code) in (1..).zip(ENDLESS) {
        moves.extend([
            ("exec", begun(code), &["still runs; wait takes it up"][..]),
            ("exec", json!({"input": USABLE.replace("TOOL", "tools")}), &[USED][..]),
            (
                "wait",
                json!({"script_id": number, "terminate": true}),
                &["Error: the script was ended, and its calls with it"][..],
            ),
        ]);
    }
    moves.push(("exec", begun(ENDLESS[4]), &["still runs"]));
    moves.push(("exec", begun(ENDLESS[0]), &["still runs"]));
    moves
}

/// What each arm's model does, by the arm's surface.
fn moves(surface: &str) -> Vec<Move> {
    match surface {
        "code-mode" => through_eval(),
        "code-sidecar" => through_sidecar(),
        _ => through_exec(),
    }
}

const SURFACES: [&str; 3] = ["code-mode", "code-sidecar", "code-exec"];

/// The surface from which a request comes, by the tool that it shows.
fn surface_of(got: &Got) -> &'static str {
    match got.body["tools"][0]["function"]["name"].as_str() {
        Some("eval") => "code-mode",
        Some("execute_typescript") => "code-sidecar",
        _ => "code-exec",
    }
}

fn results(got: &Got) -> Vec<&str> {
    let messages = got.body["messages"].as_array().unwrap();
    messages.iter().filter(|m| m["role"] == "tool").map(|m| m["content"].as_str().unwrap()).collect()
}

/// The next move of whoever asks, or the end.
fn answered(got: &Got) -> Said {
    let done = results(got).len();
    let moves = moves(surface_of(got));
    let Some((tool, arguments, _)) = moves.get(done) else { return says("m-1", "Done.") };
    let call = json!({"id": format!("call-{done}"), "type": "function",
        "function": {"name": tool, "arguments": arguments.to_string()}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let body = json!({"id": "r1", "object": "chat.completion", "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}});
    (200, String::new(), body.to_string())
}

fn experiment(provider: &Provider, level: &str, surfaces: &[&str], suite: &str) -> String {
    let arm = |surface: &&str| format!("[[arm]]\nname = \"{surface}\"\nsurface = \"{surface}\"\n");
    let arms: String = surfaces.iter().map(arm).collect();
    format!(
        "name = \"hostile\"\nrepeats = 1\nsuite = \"{suite}\"\nmodel = \"m-1\"\nmin-isolation = \"{level}\"\n\
         [upstream]\nkind = \"openai-chat\"\nbase-url = \"{}\"\nkey-env = \"TEST_KEY\"\n{arms}",
        provider.base
    )
}

fn task(place: &Workplace, suite: &str) {
    let dir = format!("suites/{suite}/{suite}");
    place.file(
        &format!("{dir}/task.toml"),
        &format!("format-version = 1\ntitle = \"Hostile\"\ncanary = \"{CANARY}\"\n"),
    );
    place.file(&format!("{dir}/instruction.md"), "Do it.\n");
    place.file(&format!("{dir}/workspace/a.txt"), "untouched\n");
    place.file(&format!("{dir}/verify/run.sh"), &format!("# {CANARY}\ngrep -qx untouched a.txt\n"));
    place.file(
        &format!("{dir}/oracle.toml"),
        &format!("# {CANARY}\nformat-version = 1\n[[step]]\nanswer = \"Done.\"\n"),
    );
}

/// The binary under a file of its own, so that its processes can be told from those of other tests.
fn own_binary(place: &Workplace) -> std::path::PathBuf {
    let copy = place.path().join("bench");
    std::fs::copy(env!("CARGO_BIN_EXE_bench"), &copy).unwrap();
    copy
}

/// Command lines of processes that run this file, or that a script started and nobody else could have.
fn left(program: &std::path::Path) -> Vec<String> {
    let file = std::fs::metadata(program).unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let is_it = std::fs::metadata(entry.path().join("exe"))
            .is_ok_and(|exe| (exe.dev(), exe.ino()) == (file.dev(), file.ino()));
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if is_it || line.contains("sleep 86397") || line.contains("sleep 86398") {
            found.push(line);
        }
    }
    found
}

fn run(place: &Workplace, program: &std::path::Path, file: &str) -> Outcome {
    let mut command = std::process::Command::new(program);
    command
        .args(["run", file, "-q", "-o", "run", "--suites", "suites", "--yes", "--no-canary"])
        .current_dir(place.path())
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", place.path())
        .env("BENCH_STATE_DIR", place.path().join("state"))
        .env("TEST_KEY", "test-key-0001")
        .stdin(std::process::Stdio::null());
    Outcome::of(command.output().unwrap())
}

#[test]
fn every_hostile_script_ends_as_specified_and_leaves_the_agent_usable() {
    if !walls("every_hostile_script_ends_as_specified_and_leaves_the_agent_usable") {
        return;
    }
    let highest = Workplace::new().highest_level();
    let mut levels = vec![highest.trim_matches('"'), "L1"];
    levels.dedup();
    for level in levels {
        let place = Workplace::new();
        task(&place, "hostile");
        let program = own_binary(&place);
        let provider = Provider::start(|got, _| answered(got));
        let file = place.file("hostile.toml", &experiment(&provider, level, &SURFACES, "hostile"));
        let outcome = run(&place, &program, &file);
        assert_eq!(left(&program), Vec::<String>::new(), "{level}: processes outlive the run");
        let records = if place.path().join("run/journal.jsonl").exists() {
            place.records("run")
        } else {
            panic!("{outcome:?}")
        };
        for surface in SURFACES {
            ended_as_specified(surface, level, &provider.got());
            let record = records.iter().find(|record| record["arm"] == surface).unwrap();
            stayed_inside(record, &format!("{surface} at {level}"));
        }
    }
}

fn ended_as_specified(surface: &str, level: &str, all: &[Got]) {
    let own = all.iter().filter(|got| surface_of(got) == surface);
    let last = own.max_by_key(|got| results(got).len()).unwrap();
    let results = results(last);
    let moves = moves(surface);
    assert_eq!(results.len(), moves.len(), "{surface} at {level}: {}", results.last().unwrap_or(&""));
    for ((tool, given, words), result) in moves.iter().zip(results) {
        let shown = &result[..result.floor_char_boundary(400)];
        let ok = words.iter().any(|word| result.contains(word));
        assert!(ok, "{surface} at {level}: {tool} {given}: {words:?} in\n{shown}");
        assert!(
            result.len() < 600 << 10,
            "{surface} at {level}: {given} came back with {} bytes",
            result.len()
        );
    }
}

fn stayed_inside(record: &Value, cell: &str) {
    assert_eq!(record["ending"]["kind"], "completed", "{cell}: {}", record["ending"]);
    assert_eq!(record["verdict"], "passed", "{cell}");
    assert_eq!(record["isolation"]["quiescent"], true, "{cell}");
    assert_ne!(record["isolation"]["evidence_complete"], false, "{cell}");
    let events = record["isolation"]["events"].as_array().unwrap();
    assert!(events.iter().all(|event| event["class"] != "outside_access"), "{cell}: {events:?}");
    if cell.starts_with("code-mode") {
        let metrics = &record["metrics"];
        assert_eq!(metrics["scripts"], 2 * (ENDLESS.len() + SHORT.len()), "{cell}");
        assert_eq!(metrics["script_timeouts"], ENDLESS.len(), "{cell}");
    }
}

/// What a script reaches through its calls meets the same walls as any call.
#[test]
fn a_script_that_reaches_out_of_its_cell_gets_nothing_and_is_recorded() {
    if !walls("a_script_that_reaches_out_of_its_cell_gets_nothing_and_is_recorded") {
        return;
    }
    let outside = tempfile::tempdir_in("/var/tmp").unwrap();
    let answer = outside.path().join("answer.txt");
    std::fs::write(&answer, SECRET).unwrap();
    for (path, mode) in [(outside.path(), 0o777), (answer.as_path(), 0o666)] {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let place = Workplace::new();
    task(&place, "reach");
    let path = answer.to_str().unwrap().to_owned();
    let code = format!(
        "const told = await Promise.all([tool.read({{ path: '{path}' }}).catch(String), \
         tool.bash({{ command: 'cat {path}; echo x > {path}' }}).catch(String)]); told.join()"
    );
    let provider = Provider::start(move |got, _| match results(got).len() {
        0 => {
            let call = json!({"id": "c", "type": "function",
                "function": {"name": "eval", "arguments": json!({"code": code}).to_string()}});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            let body = json!({"id": "r1", "object": "chat.completion", "model": "m-1",
                "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}});
            (200, String::new(), body.to_string())
        }
        _ => says("m-1", "Done."),
    });
    let program = own_binary(&place);
    let file = place.file("reach.toml", &experiment(&provider, "L1", &["code-mode"], "reach"));
    run(&place, &program, &file);
    assert_eq!(left(&program), Vec::<String>::new());
    assert_eq!(std::fs::read_to_string(&answer).unwrap(), SECRET);
    let record = &place.records("run")[0];
    if record["isolation"]["evidence_complete"] == true {
        assert_eq!(record["ending"]["kind"], "outside_access", "{}", record["ending"]);
    }
    for got in provider.got() {
        assert!(!got.body.to_string().contains(SECRET), "{}", got.body);
    }
}
