//! The loop against a scripted server on loopback: what it sends, what it makes of what comes back.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bench_core::experiment::{Capabilities, ModelSettings};
use bench_core::{Discovery, Surface, WireKind};
use bench_wire::chat::{StreamUsage, write_json, write_stream};
use bench_wire::{Call, Turn};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use crate::conversation::hold;
use crate::offer::tests::{deferred, direct, surface};
use crate::start::Start;

/// An answer of the server: status, content type, body.
pub(crate) type Answer = (u16, &'static str, Vec<u8>);

pub(crate) fn says(text: &str) -> Answer {
    let turn = Turn { text: text.into(), finish: Some("stop".into()), ..Turn::default() };
    (200, "text/event-stream", write_stream(&turn, StreamUsage::Included).concat())
}

pub(crate) fn calls(calls: &[(&str, Value)]) -> Answer {
    let calls = calls.iter().enumerate().map(|(index, (name, arguments))| Call {
        id: format!("call_{index}"),
        name: (*name).into(),
        arguments: arguments.to_string(),
        ..Call::default()
    });
    let turn = Turn { calls: calls.collect(), finish: Some("tool_calls".into()), ..Turn::default() };
    (200, "application/json", write_json(&turn))
}

/// Serves the answers in order and returns what the loop said at its end and the bodies that it sent.
pub(crate) fn hold_against(surface: Surface, answers: Vec<Answer>) -> (Result<String, String>, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let script = Arc::new(Mutex::new(answers.into_iter()));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = std::thread::spawn({
        let bodies = bodies.clone();
        move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
            runtime.block_on(async {
                tokio::select! { () = serve(listener, bodies, script) => {}, _ = stopped => {} }
            });
        }
    });
    let start = Start {
        base_url: format!("http://127.0.0.1:{port}/v1"),
        api_key: "token-1".into(),
        model: "m".into(),
        surface,
        wire: WireKind::OpenaiChat,
        capabilities: Capabilities::default(),
        settings: ModelSettings::default(),
        instruction: "Do it.".into(),
        workspace: folder.path().to_owned(),
    };
    let told = hold(&start).map_err(|error| error.to_string());
    stop.send(()).unwrap();
    server.join().unwrap();
    (told, std::mem::take(&mut bodies.lock().unwrap()))
}

async fn serve(
    listener: std::net::TcpListener,
    bodies: Arc<Mutex<Vec<Value>>>,
    script: Arc<Mutex<std::vec::IntoIter<Answer>>>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(|request: Request<Incoming>| async {
            assert_eq!(request.uri().path(), "/v1/chat/completions");
            assert_eq!(request.headers()["authorization"], "Bearer token-1");
            let body = request.into_body().collect().await.unwrap().to_bytes();
            bodies.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
            let (status, kind, body) = script.lock().unwrap().next().expect("the script has an answer");
            let response = Response::builder().status(status).header("content-type", kind);
            Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).unwrap())
        });
        hyper::server::conn::http1::Builder::new()
            .serve_connection(TokioIo::new(stream), service)
            .await
            .unwrap();
    }
}

pub(crate) fn core_four() -> Surface {
    surface(vec![direct("read"), direct("bash"), direct("edit"), direct("write")])
}

pub(crate) fn results(request: &Value) -> Vec<&str> {
    let messages = request["messages"].as_array().unwrap();
    messages.iter().filter(|m| m["role"] == "tool").map(|m| m["content"].as_str().unwrap()).collect()
}

#[test]
fn calls_are_run_in_order_and_their_results_sent_until_a_turn_has_none() {
    let (told, bodies) = hold_against(
        core_four(),
        vec![
            calls(&[
                ("edit", json!({"path": "a.txt", "edits": [{"oldText": "two", "newText": "2"}]})),
                ("read", json!({"path": "a.txt"})),
            ]),
            calls(&[("bash", json!({"command": "cat a.txt; exit 4"}))]),
            says("Done."),
        ],
    );
    assert_eq!(told.unwrap(), "Done.");
    assert_eq!(bodies.len(), 3);
    assert_eq!(
        results(&bodies[2]),
        ["Made 1 replacement in a.txt", "one\n2\n", "one\n2\nCommand exited with code 4"]
    );
    let messages = bodies[1]["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
    assert_eq!(messages[2]["tool_calls"][1]["id"], messages[4]["tool_call_id"]);
    let sent_before = bodies[1]["messages"].as_array().unwrap();
    assert_eq!(bodies[2]["messages"].as_array().unwrap()[..sent_before.len()], sent_before[..]);
}

#[test]
fn every_refused_or_failed_call_is_marked_and_the_loop_goes_on() {
    let (told, bodies) = hold_against(
        core_four(),
        vec![
            calls(&[
                ("invented", json!({})),
                ("read", json!({"file": "a.txt"})),
                ("read", json!({"path": "missing.txt"})),
                ("edit", json!({"path": "a.txt", "edits": [{"oldText": "zz", "newText": "2"}]})),
            ]),
            says("Gave up."),
        ],
    );
    assert_eq!(told.unwrap(), "Gave up.");
    let results = results(&bodies[1]);
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|result| result.starts_with("Error: ")), "{results:?}");
}

#[test]
fn a_loaded_group_is_declared_from_the_next_request_on() {
    let mut gateway = core_four();
    gateway.tools.push(deferred("fd", "search"));
    gateway.tools.push(deferred("create_goal", "session"));
    gateway.discovery = Discovery::Gateway;
    let (told, bodies) = hold_against(
        gateway,
        vec![
            calls(&[("capabilities", json!({})), ("capabilities", json!({"groups": ["serach"]}))]),
            calls(&[("capabilities", json!({"groups": ["search"]})), ("fd", json!({}))]),
            calls(&[("fd", json!({}))]),
            says("Found."),
        ],
    );
    assert_eq!(told.unwrap(), "Found.");
    let tools: Vec<_> = bodies.iter().map(|body| body["tools"].as_array().unwrap().clone()).collect();
    assert_eq!(tools[0].len(), 5);
    assert_eq!(tools[1], tools[0]);
    assert_eq!(tools[2][..5], tools[0][..]);
    assert_eq!((tools[2].len(), &tools[2][5]["function"]["name"]), (6, &json!("fd")));
    assert_eq!(tools[3], tools[2]);
    let results = results(&bodies[3]);
    assert!(results[0].starts_with("search: find files by name, search their text (fd)\nsession: "));
    assert!(
        results[1].starts_with("Error: the arguments of capabilities do not fit: groups[0] must be one of")
    );
    assert!(results[2].starts_with("search: loaded fd (find files and folders by name)"));
    assert_eq!(results[3], "Error: fd can be called from the next turn on");
    assert_eq!(results[4], "a.txt\n");
}

#[test]
fn what_is_no_turn_ends_the_conversation_with_the_reason() {
    let refused = (429, "application/json", br#"{"error":{"message":"slow down"}}"#.to_vec());
    let told = hold_against(core_four(), vec![refused]).0.unwrap_err();
    assert!(told.contains("status 429") && told.contains("slow down"), "{told}");
    let cut =
        (200, "text/event-stream", b"data: {\"choices\":[{\"delta\":{\"content\":\"Hal\"}}]}\n\n".to_vec());
    assert!(hold_against(core_four(), vec![cut]).0.unwrap_err().contains("not whole"));
    let broken = surface(vec![direct("raed")]);
    let (told, bodies) = hold_against(broken, Vec::new());
    assert!(told.unwrap_err().contains("\"raed\"") && bodies.is_empty());
}

#[test]
fn the_same_answers_give_the_same_requests() {
    let talk = || {
        let script = vec![calls(&[("bash", json!({"command": "ls; echo $((6 * 7))"}))]), says("x")];
        let mut bodies = hold_against(core_four(), script).1;
        // The two workspaces of this test differ in name, which only the instructions hold.
        bodies.iter_mut().for_each(|body| body["messages"][0] = Value::Null);
        bodies
    };
    assert_eq!(talk(), talk());
}

/// A surface of the catalogue.
fn of_catalogue(name: &str) -> Surface {
    let path = format!("{}/../catalog/surfaces/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn tool_names_of(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

/// The contract of every mechanism on chat completions: what the model calls before `rg` can be used, how it calls it
/// then, and what changes in the request's tools. None of them can unload, and none touches what stood there before.
#[test]
fn the_contract_of_every_mechanism() {
    let rg = json!({"pattern": "two"});
    type Row = (&'static str, Vec<(&'static str, Value)>, (&'static str, Value), usize);
    let table: [Row; 7] = [
        // mechanism, calls before first use, first use, tools that join the tail
        ("entries", vec![], ("rg", rg.clone()), 0),
        ("gateway", vec![("capabilities", json!({"groups": ["search"]}))], ("rg", rg.clone()), 2),
        ("native", vec![("capabilities", json!({"groups": ["search"]}))], ("rg", rg.clone()), 2),
        ("search-tail", vec![("tool_search", json!({"query": "rg", "limit": 1}))], ("rg", rg.clone()), 1),
        (
            "search-result",
            vec![("tool_search", json!({"query": "rg", "limit": 1}))],
            ("tool_call", json!({"name": "rg", "arguments": rg})),
            0,
        ),
        ("devices", vec![], ("write", json!({"path": "dev://rg", "content": rg.to_string()})), 0),
        ("all", vec![], ("rg", rg.clone()), 0),
    ];
    for (mechanism, before, (tool, arguments), grown) in table {
        let mut script: Vec<Answer> = before.iter().map(|call| calls(std::slice::from_ref(call))).collect();
        script.push(calls(&[(tool, arguments)]));
        script.push(says("Found."));
        let (told, bodies) = hold_against(of_catalogue(mechanism), script);
        assert_eq!(told.unwrap(), "Found.", "{mechanism}");
        assert_eq!(bodies.len(), before.len() + 2, "{mechanism}: round trips");
        let last = bodies.last().unwrap();
        assert_eq!(results(last).last(), Some(&"a.txt:2:two\n"), "{mechanism}");
        let (first, last) = (tool_names_of(&bodies[0]), tool_names_of(last));
        assert_eq!(last[..first.len()], first[..], "{mechanism}: the prefix stays");
        assert_eq!(last.len() - first.len(), grown, "{mechanism}: the tail grows");
        let declared = |body: &Value| body["tools"].as_array().unwrap()[..first.len()].to_vec();
        assert_eq!(declared(bodies.last().unwrap()), declared(&bodies[0]), "{mechanism}: byte for byte");
        assert_eq!(bodies.last().unwrap()["messages"][0], bodies[0]["messages"][0], "{mechanism}");
    }
}

#[test]
fn what_was_not_found_or_mounted_is_refused_with_the_remedy() {
    let told = |surface: &str, call: (&str, Value)| {
        let bodies = hold_against(of_catalogue(surface), vec![calls(&[call]), says("x")]).1;
        results(&bodies[1])[0].to_owned()
    };
    let rg = || json!({"pattern": "two"});
    assert!(told("search-tail", ("rg", rg())).ends_with("find it with tool_search first"));
    assert!(told("search-result", ("rg", rg())).ends_with("find it with tool_search first"));
    let through = ("tool_call", json!({"name": "rg", "arguments": rg()}));
    assert!(told("search-result", through).ends_with("use tool_search first"));
    assert!(told("devices", ("rg", rg())).ends_with("called by writing to dev://rg"));
    assert!(told("devices", ("read", json!({"path": "dev://"}))).starts_with("dev://fd: find files"));
    assert!(told("devices", ("read", json!({"path": "dev://rg"}))).starts_with("{\"name\":\"rg\""));
    let wrong = ("write", json!({"path": "dev://rg", "content": "{}"}));
    let wrong = told("devices", wrong);
    assert!(wrong.contains("pattern is missing") && wrong.contains("\"parameters\""), "{wrong}");
    assert!(told("explicit", ("rg", rg())).contains("there is no tool named \"rg\""));
}

#[test]
fn an_intent_loads_a_group_before_the_first_request_and_nothing_else_does() {
    let surface = of_catalogue("explicit");
    let first = |instruction: &str| {
        let body = crate::first_request(&surface, "m", &ModelSettings::default(), instruction, "/w").unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        tool_names_of(&body).join(" ")
    };
    assert_eq!(first("Fix it."), "read bash edit write");
    assert_eq!(
        first("Look at the git history, then fix it."),
        "read bash edit write git_show git_diff git_log"
    );
    // What works on a list that is empty stays away.
    assert_eq!(first("Keep a task list."), "read bash edit write tasks_add create_goal");
}

#[test]
fn tools_follow_the_life_of_what_they_work_on() {
    let mut surface = surface(vec![direct("tasks_add"), direct("tasks_list"), direct("read")]);
    surface.lifecycle = bench_core::Lifecycle::Followed;
    let add = json!({"items": [{"subject": "a"}]});
    let script = vec![calls(&[("tasks_list", json!({}))]), calls(&[("tasks_add", add)]), says("x")];
    let bodies = hold_against(surface, script).1;
    assert_eq!(tool_names_of(&bodies[1]), ["tasks_add", "read"]);
    assert!(results(&bodies[1])[0].contains("there is nothing yet that tasks_list could work on"));
    assert_eq!(tool_names_of(&bodies[2]), ["tasks_add", "read", "tasks_list"]);
}

#[test]
fn a_result_over_budget_is_cut_and_read_from_the_archive() {
    let read = json!({"ref": "archive://1", "operation": "query", "text": "1001321"});
    let script = vec![
        calls(&[("bash", json!({"command": "seq 1000001 1001900"}))]),
        calls(&[("archive_read", read)]),
        says("x"),
    ];
    let bodies = hold_against(of_catalogue("headless"), script).1;
    let results = results(&bodies[2]);
    assert!(
        results[0].len() <= 2048 * 4 && results[0].contains("The whole is archive://1."),
        "{}",
        results[0]
    );
    assert!(results[0].starts_with("1000001\n") && results[0].ends_with("1001900\n"));
    assert_eq!(results[1], "1321:1001321\n[1 lines hold it.]");
}

#[test]
fn a_mark_takes_out_what_came_after_it() {
    let surface = surface(vec![direct("checkpoint"), direct("rewind"), direct("read"), direct("yield")]);
    let script = vec![
        calls(&[("rewind", json!({"report": "r"})), ("checkpoint", json!({"goal": "g"}))]),
        calls(&[("read", json!({"path": "a.txt"}))]),
        calls(&[("rewind", json!({"report": "It says two."}))]),
        calls(&[("yield", json!({"text": "Handed."}))]),
    ];
    let (told, bodies) = hold_against(surface, script);
    assert_eq!(told.unwrap(), "Handed.");
    assert!(results(&bodies[1])[0].contains("there is no mark"));
    let last = bodies[3]["messages"].as_array().unwrap();
    assert_eq!(last[..last.len() - 1], bodies[1]["messages"].as_array().unwrap()[..]);
    assert_eq!(last[last.len() - 1]["content"], "What was found since the mark:\nIt says two.");
}

#[test]
fn a_full_window_is_summed_up_and_the_last_turns_stay() {
    let mut surface = core_four();
    surface.compaction = Some(bench_core::Compaction { window_tokens: 2200, at_percent: 80, keep_turns: 1 });
    let print = || calls(&[("bash", json!({"command": "seq 1 300"}))]);
    let script = vec![print(), print(), says("It is half done."), says("x")];
    let (told, bodies) = hold_against(surface, script);
    assert_eq!(told.unwrap(), "x");
    assert!(bodies[2].get("tools").is_none());
    let last = bodies[3]["messages"].as_array().unwrap();
    let roles: Vec<_> = last.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "user", "assistant", "tool"]);
    assert_eq!(last[2]["content"], "Summary of the work so far:\nIt is half done.");
}

#[test]
fn looks_of_one_turn_are_answered_in_their_order() {
    let mut surface = surface(vec![direct("bash"), direct("read")]);
    surface.scheduling = bench_core::Scheduling::Barrier;
    let looks = [("read", json!({"path": "a.txt"})), ("read", json!({"path": "a.txt", "offset": 2}))];
    let bodies = hold_against(surface, vec![calls(&looks), says("x")]).1;
    assert_eq!(results(&bodies[1]), ["one\ntwo\n", "two\n"]);
}
