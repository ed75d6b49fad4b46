//! Every API through the recorder, played by the oracle: an agent of a few lines on each, so that what a real agent sends
//! is not needed to know that a plan comes to its end there.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

use std::sync::Arc;

use bench_core::lexicon::BridgeRule;
use bench_core::{Action, ActionKind, EndingKind, Lexicon, Step, WireKind};
use bench_proxy::OracleScript;
use bench_wire::{Api, Call, CallForm, ReplyReader, Turn};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::{Value, json};

mod support;
use support::{Stage, TOKEN, answer_step, http, lexicon, read_action, run_step, script, send};

const APIS: [(Api, WireKind); 4] = [
    (Api::Chat, WireKind::OpenaiChat),
    (Api::Responses, WireKind::OpenaiResponses),
    (Api::Messages, WireKind::AnthropicMessages),
    (Api::Gemini, WireKind::Gemini),
];

fn path(api: Api) -> &'static str {
    match api {
        Api::Chat => "/v1/chat/completions",
        Api::Responses => "/v1/responses",
        Api::Messages => "/v1/messages?beta=true",
        Api::Gemini => "/v1beta/models/m:streamGenerateContent?alt=sse",
    }
}

/// A tool as the API defines it.
fn tool(api: Api, name: &str, argument: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]});
    match api {
        Api::Chat => json!({"type": "function", "function": {"name": name, "parameters": schema}}),
        Api::Responses => json!({"type": "function", "name": name, "parameters": schema}),
        Api::Messages => json!({"name": name, "input_schema": schema}),
        Api::Gemini => json!({"name": name, "parameters": schema}),
    }
}

fn body(api: Api, tools: &[Value], turns: &[Value]) -> Value {
    let (system, hello) = ("You work here.", "Do it.");
    let mut said = match api {
        Api::Chat => {
            vec![json!({"role": "system", "content": system}), json!({"role": "user", "content": hello})]
        }
        Api::Responses => vec![json!({"role": "user", "content": hello})],
        Api::Messages => vec![json!({"role": "user", "content": hello})],
        Api::Gemini => vec![json!({"role": "user", "parts": [{"text": hello}]})],
    };
    said.extend(turns.iter().cloned());
    match api {
        Api::Chat => json!({"model": "m", "messages": said, "tools": tools, "stream": true}),
        Api::Responses => {
            json!({"model": "m", "instructions": system, "input": said, "tools": tools, "stream": true})
        }
        Api::Messages => {
            json!({"model": "m", "max_tokens": 9, "system": system, "messages": said, "tools": tools, "stream": true})
        }
        Api::Gemini => json!({"systemInstruction": {"parts": [{"text": system}]}, "contents": said,
            "tools": [{"functionDeclarations": tools}]}),
    }
}

/// A turn and its results as the API echoes them.
fn echo(api: Api, turn: &Turn) -> Vec<Value> {
    let input = |call: &Call| serde_json::from_str::<Value>(&call.arguments).unwrap();
    let calls = turn.calls.iter();
    match api {
        Api::Chat => {
            let made = calls.clone().map(|c| json!({"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}));
            let made = json!({"role": "assistant", "content": null, "tool_calls": made.collect::<Vec<_>>()});
            let results = calls.map(|c| json!({"role": "tool", "tool_call_id": c.id, "content": "ok"}));
            [made].into_iter().chain(results).collect()
        }
        Api::Responses => calls
            .flat_map(|c| match c.form {
                CallForm::Function => [
                    json!({"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments}),
                    json!({"type": "function_call_output", "call_id": c.id, "output": "ok"}),
                ],
                CallForm::Custom => [
                    json!({"type": "custom_tool_call", "call_id": c.id, "name": c.name, "input": c.arguments}),
                    json!({"type": "custom_tool_call_output", "call_id": c.id, "output": "ok"}),
                ],
            })
            .collect(),
        Api::Messages => {
            let made = calls.clone().map(|c| json!({"type": "tool_use", "id": c.id, "name": c.name, "input": input(c)}));
            let results = calls.map(|c| json!({"type": "tool_result", "tool_use_id": c.id, "content": "ok"}));
            vec![
                json!({"role": "assistant", "content": made.collect::<Vec<_>>()}),
                json!({"role": "user", "content": results.collect::<Vec<_>>()}),
            ]
        }
        // Without the ids: many agents do not echo them.
        Api::Gemini => {
            let made = calls.clone().map(|c| json!({"functionCall": {"name": c.name, "args": input(c)}}));
            let results = calls.map(|c| json!({"functionResponse": {"name": c.name, "response": {"output": "ok"}}}));
            vec![
                json!({"role": "model", "parts": made.collect::<Vec<_>>()}),
                json!({"role": "user", "parts": results.collect::<Vec<_>>()}),
            ]
        }
    }
}

fn post(stage: &Stage, path: &str, body: &Value) -> Request<Full<Bytes>> {
    let url = format!("http://127.0.0.1:{}{path}", stage.recorder.port());
    let request =
        Request::post(url).header("x-goog-api-key", TOKEN).header("content-type", "application/json");
    request.body(Full::new(Bytes::from(body.to_string()))).unwrap()
}

async fn ask(stage: &Stage, api: Api, body: &Value) -> Turn {
    let (status, headers, bytes) = send(&http(), post(stage, path(api), body)).await;
    assert_eq!(status, 200, "{api:?}: {}", String::from_utf8_lossy(&bytes));
    let mut reader = ReplyReader::new(api, headers.get("content-type").and_then(|value| value.to_str().ok()));
    reader.feed(&bytes);
    reader.finish().unwrap()
}

/// Plays until the model answers without a call; the calls of each turn.
async fn play(stage: &Stage, api: Api, tools: &[Value]) -> Vec<Vec<Call>> {
    let (mut turns, mut calls) = (Vec::new(), Vec::new());
    loop {
        let turn = ask(stage, api, &body(api, tools, &turns)).await;
        if turn.calls.is_empty() {
            assert_eq!(turn.text, "All done.");
            return calls;
        }
        turns.extend(echo(api, &turn));
        calls.push(turn.calls);
    }
}

fn plan() -> OracleScript {
    let together = Step { actions: vec![read_action("a"), read_action("b")] };
    script(vec![run_step("ls"), together, run_step("pwd"), answer_step()])
}

#[tokio::test]
async fn a_plan_comes_to_its_end_on_every_api() {
    for (api, wire) in APIS {
        let stage = Stage::oracle(plan(), |_| {}).await;
        let tools = [tool(api, "bash", "command"), tool(api, "read", "path")];
        let calls = play(&stage, api, &tools).await;
        let names: Vec<Vec<&str>> =
            calls.iter().map(|calls| calls.iter().map(|call| call.name.as_str()).collect()).collect();
        assert_eq!(names, [vec!["bash"], vec!["read", "read"], vec!["bash"]], "{api:?}");
        let (recording, index, _dir) = stage.finish().await;
        assert_eq!(recording.stop, None, "{api:?}");
        let oracle = recording.oracle.unwrap();
        assert_eq!((oracle.steps_played, oracle.steps), (4, 4), "{api:?}");
        let first = recording.first_request.unwrap();
        assert_eq!((first.wire, first.model.as_str()), (wire, "m"));
        assert_eq!(first.system.bytes, "You work here.".len() as u64, "{api:?}");
        assert_eq!((first.tools.callable, recording.totals.tool_calls), (2, 4), "{api:?}");
        assert_eq!(index.records()[0].wire, wire);
        assert!(recording.tools.iter().all(|tool| tool.calls == 2), "{api:?}: {:?}", recording.tools);
        let context: Vec<_> = recording.turns.iter().map(|turn| turn.context.clone().unwrap()).collect();
        assert_eq!(context[0].shared_prefix_bytes, None);
        assert!(context.iter().all(|context| context.prefix_broken_in.is_none()), "{api:?}: {context:?}");
        assert!(context[3].shared_prefix_bytes > context[2].shared_prefix_bytes, "{api:?}");
        assert_eq!(recording.tools[0].offered_turns, Some(4));
    }
}

fn bridged(told: &str) -> Arc<Lexicon> {
    let bridge = BridgeRule {
        tool: "exec".into(),
        field: None,
        told: told.into(),
        code: "const r = await tools.{tool}({arguments}); text(r.output)".into(),
        json: false,
        with: Default::default(),
        batch: None,
    };
    Arc::new(Lexicon { bridges: vec![bridge], ..lexicon() })
}

fn exec() -> Value {
    let description = "Runs code.\n### `bash`\nbash(args: { command: string }): Promise<{ output: string }>;";
    json!({"type": "custom", "name": "exec", "description": description, "format": {"type": "grammar"}})
}

#[tokio::test]
async fn code_that_calls_the_nested_tool_is_written_where_its_dialect_is_known() {
    let steps = vec![run_step("ls"), Step { actions: vec![read_action("a")] }, answer_step()];
    let script = OracleScript { lexicon: bridged("`{tool}`"), ..script(steps) };
    let stage = Stage::oracle(script, |_| {}).await;
    let calls = play(&stage, Api::Responses, &[exec()]).await;
    let written: Vec<_> = calls.iter().flatten().map(|call| (call.form, call.arguments.as_str())).collect();
    assert_eq!(
        written,
        [
            (CallForm::Custom, r#"const r = await tools.bash({"command":"ls"}); text(r.output)"#),
            (CallForm::Custom, r#"const r = await tools.bash({"command":"cat a"}); text(r.output)"#),
        ]
    );
    let (recording, ..) = stage.finish().await;
    let listed: Vec<_> =
        recording.tools.iter().map(|tool| (tool.name.as_str(), tool.r#where.as_str())).collect();
    assert_eq!(listed, [("exec", "tools"), ("bash", "description")]);
    assert_eq!(recording.oracle.unwrap().substitutions.len(), 1, "reading by cat is one");
}

#[tokio::test]
async fn an_unknown_dialect_is_no_such_tool() {
    let script =
        OracleScript { lexicon: bridged("tool.{tool}("), ..script(vec![run_step("ls"), answer_step()]) };
    let stage = Stage::oracle(script, |_| {}).await;
    let (status, ..) =
        send(&http(), post(&stage, path(Api::Responses), &body(Api::Responses, &[exec()], &[]))).await;
    assert_eq!(status, 400);
    let (recording, ..) = stage.finish().await;
    assert_eq!(recording.stop.unwrap().kind, EndingKind::NoSuchTool);
}

#[tokio::test]
async fn a_tool_with_the_shape_of_a_shell_plays_what_no_rule_knows() {
    let steps = vec![run_step("ls"), Step { actions: vec![read_action("a")] }, answer_step()];
    let stage = Stage::oracle(script(steps), |_| {}).await;
    let mut terminal = tool(Api::Messages, "terminal", "script");
    terminal["input_schema"]["properties"]["timeout"] = json!({"type": "integer"});
    terminal["input_schema"]["required"] = json!(["timeout", "script"]);
    let other = tool(Api::Messages, "look_up", "query");
    let calls = play(&stage, Api::Messages, &[other, terminal]).await;
    let written: Vec<_> = calls.iter().flatten().map(|call| call.arguments.as_str()).collect();
    assert_eq!(written, [r#"{"timeout":60,"script":"ls"}"#, r#"{"timeout":60,"script":"cat a"}"#]);
    let (recording, ..) = stage.finish().await;
    assert_eq!(recording.oracle.unwrap().substitutions.len(), 2);
}

#[tokio::test]
async fn an_edit_waits_until_its_file_was_read() {
    let mut lexicon = lexicon();
    let rules = lexicon.rules.iter_mut().filter(|rule| rule.action == ActionKind::Edit);
    rules.for_each(|rule| rule.reads_first = true);
    let edit = |path: &str| Action::Edit { path: path.into(), old: "x".into(), new: "y".into(), whole: None };
    let steps = vec![
        Step { actions: vec![read_action("a")] },
        Step { actions: vec![edit("a"), edit("b")] },
        answer_step(),
    ];
    let stage = Stage::oracle(OracleScript { lexicon: Arc::new(lexicon), ..script(steps) }, |_| {}).await;
    let api = Api::Messages;
    let tools = [tool(api, "read", "path"), tool(api, "edit", "path")];
    let calls = support::words(&play(&stage, api, &tools).await);
    assert_eq!(calls, ["p0100_a=read", "p0201_r=read", "p0200_a=edit+p0201_a=edit"]);
}

#[tokio::test]
async fn counts_and_probes_are_answered_here_and_cost_no_turn() {
    let stage = Stage::oracle(plan(), |_| {}).await;
    let count = post(&stage, "/v1/messages/count_tokens?beta=true", &json!({"messages": []}));
    let (status, _, bytes) = send(&http(), count).await;
    let counted: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!((status, counted["input_tokens"].as_u64().is_some_and(|n| n > 0)), (200, true));
    let url = format!("http://127.0.0.1:{}/api/hello", stage.recorder.port());
    let head = Request::head(url).header("x-api-key", TOKEN).body(Full::default()).unwrap();
    assert_eq!(send(&http(), head).await.0, 200);
    let url = format!("http://127.0.0.1:{}/v1/responses", stage.recorder.port());
    let upgrade = Request::get(url)
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .body(Full::default())
        .unwrap();
    assert_eq!(send(&http(), upgrade).await.0, 426);
    let (recording, ..) = stage.finish().await;
    let classes: Vec<_> =
        recording.requests_by_class.iter().map(|(class, totals)| (class.as_str(), totals.requests)).collect();
    assert_eq!(classes, [("probe", 2), ("token_counting", 1)]);
    assert_eq!(recording.totals.turns, 0);
}

#[tokio::test]
async fn a_subagents_turns_are_not_the_agents() {
    let stage = Stage::oracle(plan(), |_| {}).await;
    let api = Api::Messages;
    let tools = [tool(api, "bash", "command"), tool(api, "read", "path")];
    ask(&stage, api, &body(api, &tools, &[])).await;
    let mut sub = body(api, &tools, &[]);
    sub["system"] = json!("You are a helper.");
    sub["messages"] = json!([{"role": "user", "content": "Look around."}]);
    ask(&stage, api, &sub).await;
    let mut other = sub.clone();
    other["messages"] = json!([{"role": "user", "content": "Look elsewhere."}]);
    ask(&stage, api, &other).await;
    let said = json!({"role": "assistant", "content": "Looked."});
    sub["messages"].as_array_mut().unwrap().extend([said, json!({"role": "user", "content": "And now?"})]);
    ask(&stage, api, &sub).await;
    let (recording, index, _dir) = stage.finish().await;
    let classes: Vec<_> = index.records().iter().map(|record| record.class.as_str()).collect();
    assert_eq!(classes, ["agent_turn", "subagent", "subagent", "subagent"]);
    assert!(index.records()[1].rule.contains("main conversation"));
    assert_eq!(recording.totals.turns, 1);
    // Agents that say no names are told apart by how their conversations began.
    let agents: Vec<_> = recording.agents.iter().map(|agent| (agent.name.as_str(), agent.requests)).collect();
    assert_eq!(agents, [("subagent-1", 2), ("subagent-2", 1)]);
}
