//! Conversations without a server: scripts through the pipeline and a real worker.

use super::*;

/// Tells this binary that it is to be a worker.
const BE_WORKER: &str = "BENCH_TEST_CODE_WORKER";

/// Not a test when it is started by hand: the worker of the tests.
#[test]
fn worker_of_the_tests() {
    if std::env::var_os(BE_WORKER).is_some() {
        bench_code::code_worker_main();
        std::process::exit(0);
    }
}

/// This test binary again.
pub(crate) fn launch() -> Launch {
    Launch {
        program: "/proc/self/exe".into(),
        args: ["--exact", "code::tests::worker_of_the_tests", "--nocapture"].map(Into::into).into(),
        env: vec![(BE_WORKER.into(), "1".into())],
    }
}

use bench_core::{
    CodeExposure, CodeLimits, CodeMode, CodePrelude, CodeShape, CodeSwitch, ModelExposure, Surface,
};
use serde_json::{Value, json};

use crate::conversation_tests::{calls, hold_against, results, says};
use crate::offer::tests::{direct, surface};

/// The core four behind code, `think` and `ask` beside it.
fn coded(shape: CodeShape) -> Surface {
    let mut made = surface(vec![direct("think"), direct("ask")]);
    for name in ["read", "bash", "edit", "write", "rg", "tasks_add", "checkpoint"] {
        let mut tool = direct(name);
        tool.code = CodeExposure::Bridged;
        tool.model = match (shape, name) {
            (CodeShape::Mixed, "read" | "bash" | "edit" | "write") => ModelExposure::Direct,
            _ => ModelExposure::Hidden,
        };
        made.tools.push(tool);
    }
    made.code = Some(CodeMode {
        shape,
        mode: CodeSwitch::On,
        direct_tools: Vec::new(),
        preludes: vec![CodePrelude::Output, CodePrelude::Store],
        inline_bytes: 3000,
        each_turn: None,
        limits: CodeLimits::default(),
    });
    made
}

/// The results of these calls, one a turn.
fn told(surface: Surface, asked: &[(&str, Value)]) -> Vec<String> {
    let mut script: Vec<_> = asked.iter().map(|call| calls(std::slice::from_ref(call))).collect();
    script.push(says("Done."));
    let (told, bodies) = hold_against(surface, script);
    assert_eq!(told.unwrap(), "Done.");
    results(bodies.last().unwrap()).into_iter().map(str::to_owned).collect()
}

fn names(body: &Value) -> Vec<&str> {
    body["tools"].as_array().unwrap().iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

fn description<'b>(body: &'b Value, name: &str) -> &'b str {
    let tools = body["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["function"]["name"] == name).unwrap();
    tool["function"]["description"].as_str().unwrap()
}

#[test]
fn eval_runs_scripts_over_the_other_tools_and_keeps_names() {
    let told = told(
        coded(CodeShape::Eval),
        &[
            (
                "eval",
                json!({"code": "const [a, b] = await Promise.all([tool.read({ path: 'a.txt' }), tool.bash({ command: 'echo 7' })]); a.length + b"}),
            ),
            (
                "eval",
                json!({"code": "await tool.edit({ path: 'a.txt', edits: [{ oldText: 'two', newText: b + '' }] }); console.log('changed'); (await tool.read({ path: 'a.txt' }))"}),
            ),
            ("eval", json!({"code": "await tool.read({ path: 'none' })"})),
            ("eval", json!({"code": "await tool.read({ file: 'none' })"})),
            ("eval", json!({"code": "typeof a", "reset": true})),
            ("read", json!({"path": "a.txt"})),
            ("eval", json!({"code": "await tool.checkpoint({ goal: 'x' })"})),
            ("eval", json!({"code": "tool.think"})),
        ],
    );
    assert_eq!(told[0], "15");
    assert_eq!(told[1], "changed\none\n7\n");
    assert!(told[2].starts_with("Error: the script failed: Error: "), "{}", told[2]);
    assert!(told[3].contains("path is missing") && told[3].contains("file is unknown"), "{}", told[3]);
    assert_eq!(told[4], "undefined");
    assert!(told[5].starts_with("Error: there is no tool named \"read\""), "{}", told[5]);
    assert!(told[6].contains("Error: "), "{}", told[6]);
    assert_eq!(told[7], "[The script returned nothing.]");
}

#[test]
fn declarations_follow_the_plan_and_never_tell_of_a_direct_tool() {
    let mut with_direct = coded(CodeShape::Eval);
    with_direct.lifecycle = bench_core::Lifecycle::Followed;
    let mut list = direct("tasks_list");
    (list.model, list.code) = (ModelExposure::Hidden, CodeExposure::Bridged);
    with_direct.tools.push(list);
    with_direct.code.as_mut().unwrap().direct_tools = vec!["bash".into()];
    with_direct.code.as_mut().unwrap().preludes = Vec::new();
    let add = json!({"code": "await tool.tasks_add({ items: [{ subject: 'x' }] })"});
    let (_, bodies) = hold_against(with_direct, vec![calls(&[("eval", add)]), says("Done.")]);
    assert_eq!(names(&bodies[0]), ["think", "ask", "bash", "eval"]);
    let (before, after) = (description(&bodies[0], "eval"), description(&bodies[1], "eval"));
    assert!(
        before.contains(
            "  read(args: { path: string; offset?: number; limit?: number }): Promise<unknown>; // "
        )
    );
    assert!(
        !before.contains("bash(args")
            && !before.contains("think(args")
            && !before.contains("tasks_list(args")
    );
    assert!(!before.contains("display") && after.contains("tasks_list(args"), "{after}");
    assert!(
        description(&hold_against(coded(CodeShape::Eval), vec![says("x")]).1[0], "eval")
            .contains("declare function display")
    );
}

#[test]
fn off_and_auto_without_the_flag_show_the_tools_themselves() {
    for (switch, shown) in [(CodeSwitch::Off, false), (CodeSwitch::Auto, false), (CodeSwitch::On, true)] {
        let mut surface = coded(CodeShape::Eval);
        surface.code.as_mut().unwrap().mode = switch;
        let (_, bodies) = hold_against(surface, vec![says("x")]);
        assert_eq!(names(&bodies[0]).contains(&"eval"), shown, "{switch:?}");
        assert_eq!(names(&bodies[0]).contains(&"read"), !shown, "{switch:?}");
    }
    let flagged =
        bench_core::experiment::Capabilities { supports_code_mode_only: true, ..Default::default() };
    let mut surface = coded(CodeShape::Eval);
    surface.code.as_mut().unwrap().mode = CodeSwitch::Auto;
    let offer = crate::offer::Offer::of(&surface, &flagged, bench_core::WireKind::OpenaiChat).unwrap();
    assert!(offer.code().is_some());
}

#[test]
fn the_catalog_lists_declares_and_executes() {
    let mut surface = coded(CodeShape::Catalog);
    surface.code.as_mut().unwrap().each_turn = Some("Batch it.".into());
    let graph = json!([{"tool": "Agent/read", "description": "a", "depends_on": []}, {"tool": "Agent/raed", "description": "b", "depends_on": [0, 5]}]);
    let script = vec![
        calls(&[("list_functions", json!({}))]),
        calls(&[("get_function_details", json!({"functions": ["Agent.read", "Agent.bash"]}))]),
        calls(&[("get_function_details", json!({"functions": ["Agent.raed"]}))]),
        calls(&[(
            "execute_typescript",
            json!({"code": "async function run() { return await Agent.read({ path: 'a.txt' }) }", "tool_graph": graph}),
        )]),
        calls(&[("execute_typescript", json!({"code": "1", "tool_graph": [{"tool": "x"}]}))]),
        says("Done."),
    ];
    let (_, bodies) = hold_against(surface, script);
    let told = results(bodies.last().unwrap());
    assert!(told[0].contains("Agent.read: ") && told[0].contains("// namespace Agent"), "{}", told[0]);
    assert!(
        told[1].contains("function read(args: { /** ") && told[1].contains("function bash("),
        "{}",
        told[1]
    );
    assert!(told[2].starts_with("Error: there is no function Agent.raed"), "{}", told[2]);
    assert!(told[3].starts_with("one\ntwo\n"), "{}", told[3]);
    assert!(told[3].contains("[tool_graph: call 1: there is no function \"Agent/raed\"]"), "{}", told[3]);
    assert!(told[4].contains("tool_graph[0].depends_on is missing"), "{}", told[4]);
    assert_eq!(
        names(&bodies[0]),
        ["think", "ask", "list_functions", "get_function_details", "execute_typescript"]
    );
    for body in &bodies {
        let messages = body["messages"].as_array().unwrap();
        assert_eq!(messages.last().unwrap()["content"], "Batch it.");
        assert_eq!(body.to_string().matches("Batch it.").count(), 1);
    }
}

#[test]
fn the_filesystem_shows_declarations_and_no_file() {
    let told = told(
        coded(CodeShape::Filesystem),
        &[
            ("execute_bash", json!({"command": "cat /sdk/Agent/read.d.ts"})),
            ("execute_bash", json!({"command": "cat a.txt"})),
            ("execute_typescript", json!({"code": "return (await Agent.read({ path: 'a.txt' })).trim()"})),
        ],
    );
    assert!(told[0].contains("function read("), "{}", told[0]);
    assert!(told[1].starts_with("Error: "), "{}", told[1]);
    assert_eq!(told[2], "one\ntwo");
}

/// Waits for a file; ends by itself where nobody makes it any more.
const AWAIT_GO: &str = "n=0; while ! test -e go && [ $n -lt 3000 ]; do sleep 0.02; n=$((n+1)); done";

#[test]
fn exec_leaves_a_long_script_running_and_wait_takes_it_up() {
    let awaits = format!(
        "// @exec: {{\"yield_time_ms\": 0}}\ntext('begun'); await tools.bash({{ command: '{AWAIT_GO}' }}); text('over'); 5"
    );
    let told = told(
        coded(CodeShape::Exec),
        &[
            ("exec", json!({"input": awaits})),
            ("exec", json!({"input": "store('k', 4); await tools.write({ path: 'go', content: '' })"})),
            ("wait", json!({"script_id": 1, "yield_time_ms": 60000})),
            ("wait", json!({"script_id": 1})),
            (
                "exec",
                json!({"input": "text('a'); await yield_control(); await tools.bash({ command: 'sleep 86400' })"}),
            ),
            ("wait", json!({"script_id": 2, "terminate": true})),
            ("exec", json!({"input": "load('k') + typeof globalThis.x"})),
        ],
    );
    assert!(told[0].ends_with("[Script 1 still runs; wait takes it up.]"), "{}", told[0]);
    assert!(told[2].ends_with("over\n5"), "{}", told[2]);
    assert_eq!(told[3], "Error: there is no script 1 that runs; none runs");
    assert_eq!(told[4], "a\n[Script 2 still runs; wait takes it up.]");
    assert!(told[5].starts_with("Error: the script was ended, and its calls with it"), "{}", told[5]);
    assert_eq!(told[6], "4undefined");
}

#[test]
fn the_mixed_shape_says_at_each_direct_tool_how_code_calls_it() {
    let (_, bodies) = hold_against(coded(CodeShape::Mixed), vec![says("x")]);
    assert_eq!(names(&bodies[0]), ["think", "ask", "read", "bash", "edit", "write", "exec", "wait"]);
    assert!(
        description(&bodies[0], "bash").ends_with(
            "From code: tools.bash(args: { command: string; timeout?: number }): Promise<unknown>"
        )
    );
    assert!(description(&bodies[0], "exec").contains("  bash(args: "));
    let sidecar = hold_against(coded(CodeShape::Sidecar), vec![says("x")]).1;
    assert!(description(&sidecar[0], "execute_typescript").contains("Agent: bash, checkpoint, edit, read"));
}

#[test]
fn a_script_at_its_limit_is_an_error_and_its_command_is_gone() {
    let mut surface = coded(CodeShape::Eval);
    surface.code.as_mut().unwrap().limits.time_ms = 300;
    let told = told(
        surface,
        &[
            ("eval", json!({"code": "await tool.bash({ command: 'echo $$ > pid; sleep 86400' })"})),
            (
                "eval",
                json!({"code": "(await tool.bash({ command: 'kill -0 $(cat pid) 2>&1 || echo gone' }))"}),
            ),
        ],
    );
    assert!(told[0].starts_with("Error: the script was ended when its time was over"), "{}", told[0]);
    assert!(told[1].contains("gone"), "{}", told[1]);
}
