//! The oracle behind the recorder, over real HTTP: what is played, in which order, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

mod support;

use bench_core::experiment::ProfileKind;
use bench_core::{Action, ActionKind, EndingKind, Step};
use bench_wire::chat::MessageOut;
use proptest::prelude::*;
use serde_json::json;
use support::*;

const CORE: [&str; 4] = ["read", "bash", "edit", "write"];

fn ok(_: &bench_wire::Call, _: &mut Vec<serde_json::Value>) -> String {
    "ok".into()
}

fn together() -> Vec<Step> {
    let edit =
        Action::Edit { path: "b".into(), old: "x".into(), new: "y".into(), whole: Some("whole y".into()) };
    vec![
        Step { actions: vec![read_action("a"), edit, Action::Run { command: "make".into() }] },
        run_step("make test"),
        answer_step(),
    ]
}

#[tokio::test]
async fn a_plan_is_played_in_order_and_its_cost_is_recorded() {
    let stage = Stage::oracle(script(together()), |_| {}).await;
    let mut agent = stage.agent(&CORE);
    let (turns, text) = agent.run(ok).await.unwrap();
    assert_eq!(words(&turns), ["p0100_a=read+p0101_a=edit+p0102_a=bash", "p0200_a=bash"]);
    assert_eq!(turns[0][1].arguments, r#"{"path":"b","old":"x","new":"y"}"#);
    assert_eq!(text, "All done.");
    let (recording, index, dir) = stage.finish().await;
    assert_eq!(recording.stop, None);
    assert_eq!(
        (recording.totals.turns, recording.totals.tool_calls, recording.totals.tool_errors),
        (3, 4, Some(0))
    );
    let oracle = recording.oracle.unwrap();
    assert_eq!(
        (oracle.steps_played, oracle.steps, oracle.substitutions.len(), oracle.fault),
        (3, 3, 0, None)
    );
    assert_eq!(
        (recording.tokens.basis.as_str(), recording.tokens.completeness.as_str()),
        ("json", "complete")
    );
    assert_eq!(recording.provider_usage, None);
    assert_eq!(recording.totals.cached_input_tokens, None, "never said is never zero");
    let calls: Vec<_> =
        recording.tools.iter().map(|tool| (tool.name.as_str(), tool.calls, tool.first_called_turn)).collect();
    assert_eq!(calls, [("read", 1, Some(1)), ("bash", 2, Some(1)), ("edit", 1, Some(1)), ("write", 0, None)]);
    // What was counted is what was sent.
    let body = String::from_utf8(index.body(1).unwrap()).unwrap();
    let first = recording.first_request.unwrap();
    assert_eq!((first.body_bytes, first.body_tokens), (body.len() as u64, counter().count(&body)));
    assert_eq!((first.tools.entries, first.system.bytes), (4, "You act.".len() as u64));
    let inputs: u64 =
        (1..=3).map(|n| counter().count(&String::from_utf8(index.body(n).unwrap()).unwrap())).sum();
    assert_eq!(recording.totals.input_tokens, Some(inputs));
    let steps: Vec<_> =
        trace(dir.path()).into_iter().filter(|event| event["event"] == "oracle_step").collect();
    assert_eq!(steps.len(), 5);
    assert_eq!(steps[1]["tool"], "edit");
}

#[tokio::test]
async fn an_edit_by_lines_takes_the_tag_that_was_told_last_and_reads_where_none_was() {
    let mut by_lines = rule(
        ActionKind::Edit,
        "edit",
        json!({"path": "{path}", "tag": "{tag}", "first": "{first}", "last": "{last}", "text": "{lines}"}),
    );
    by_lines.tag_after = Some("[{path} snapshot ".into());
    let mut lexicon = lexicon();
    lexicon.rules.retain(|rule| rule.action != ActionKind::Edit);
    lexicon.rules.push(by_lines);
    let edit = |new: &str, whole: &str| Action::Edit {
        path: "b".into(),
        old: "x".into(),
        new: new.into(),
        whole: Some(whole.into()),
    };
    let steps = vec![
        Step { actions: vec![edit("y", "one\ny = 1\n")] },
        Step { actions: vec![edit("z", "z\ny = 1\n")] },
        answer_step(),
    ];
    let script = bench_proxy::OracleScript { lexicon: std::sync::Arc::new(lexicon), ..script(steps) };
    let stage = Stage::oracle(script, |_| {}).await;
    let mut agent = stage.agent(&CORE);
    let (turns, _) = agent
        .run(|call, _| match call.name.as_str() {
            "read" => "[b snapshot aa, 2 lines]\n1\tx\n2\tx = 1\n".into(),
            _ => "[b snapshot bb, 2 lines]\nMade 1 change.".into(),
        })
        .await
        .unwrap();
    assert_eq!(words(&turns), ["p0100_r=read", "p0100_a=edit", "p0200_a=edit"]);
    assert_eq!(turns[1][0].arguments, r#"{"path":"b","tag":"aa","first":2,"last":2,"text":"y = 1\n"}"#);
    assert_eq!(turns[2][0].arguments, r#"{"path":"b","tag":"bb","first":1,"last":1,"text":"z\n"}"#);
}

#[tokio::test]
async fn without_parallel_calls_actions_come_one_by_one() {
    let stage = Stage::oracle(script(together()), |_| {}).await;
    let mut agent = stage.agent(&CORE);
    agent.out.parallel_tool_calls = Some(false);
    agent.out.stream = false;
    let (turns, _) = agent.run(ok).await.unwrap();
    assert_eq!(words(&turns), ["p0100_a=read", "p0101_a=edit", "p0102_a=bash", "p0200_a=bash"]);
    assert_eq!(stage.finish().await.0.oracle.unwrap().steps_played, 3);
}

#[tokio::test]
async fn partial_results_do_not_advance_the_plan() {
    let stage = Stage::oracle(script(together()), |_| {}).await;
    let mut agent = stage.agent(&CORE);
    let first = agent.turn().await.unwrap();
    agent.out.messages.push(MessageOut::assistant(&first));
    agent.out.messages.push(MessageOut::tool("call_p0100_a", "ok"));
    let again = agent.turn().await.unwrap();
    let ids: Vec<_> = again.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_p0101_a", "call_p0102_a"]);
}

#[tokio::test]
async fn what_is_not_offered_is_substituted_and_said_so() {
    let edit =
        Action::Edit { path: "b".into(), old: "x".into(), new: "y".into(), whole: Some("whole y".into()) };
    let search = Action::Search { pattern: "a b".into(), path: ".".into() };
    let steps = vec![Step { actions: vec![search] }, Step { actions: vec![edit] }, answer_step()];
    let stage = Stage::oracle(script(steps), |_| {}).await;
    let (turns, _) = stage.agent(&["bash", "write"]).run(ok).await.unwrap();
    assert_eq!(words(&turns), ["p0100_a=bash", "p0200_a=write"]);
    assert_eq!(turns[0][0].arguments, r#"{"command":"grep -rn 'a b' ."}"#);
    assert_eq!(turns[1][0].arguments, r#"{"path":"b","content":"whole y"}"#);
    let substitutions = stage.finish().await.0.oracle.unwrap().substitutions;
    let told: Vec<_> =
        substitutions.iter().map(|s| format!("{} {} {} {}", s.step, s.action, s.tool, s.why)).collect();
    assert_eq!(told, ["1 search bash not_offered", "2 edit write not_offered"]);
}

#[tokio::test]
async fn read_edit_and_write_never_go_through_bash_where_their_tools_are_offered() {
    let write = Action::Write { path: "n".into(), content: "text".into() };
    let edit = Action::Edit { path: "b".into(), old: "x".into(), new: "y".into(), whole: None };
    let steps = vec![Step { actions: vec![read_action("a"), write, edit] }, answer_step()];
    for tools in [["bash", "read", "edit", "write"], ["write", "edit", "read", "bash"]] {
        let stage = Stage::oracle(script(steps.clone()), |_| {}).await;
        let (turns, _) = stage.agent(&tools).run(ok).await.unwrap();
        assert_eq!(words(&turns), ["p0100_a=read+p0101_a=write+p0102_a=edit"]);
        assert!(stage.finish().await.0.oracle.unwrap().substitutions.is_empty());
    }
}

#[tokio::test]
async fn a_deferred_tool_is_loaded_first_and_the_load_is_recorded() {
    let stage =
        Stage::oracle(script(vec![run_step("ls"), find_step(), find_step(), answer_step()]), |_| {}).await;
    let mut agent = stage.agent(&["bash", "capabilities"]);
    let load = |call: &bench_wire::Call, tools: &mut Vec<serde_json::Value>| {
        if call.name == "capabilities" {
            assert_eq!(call.arguments, r#"{"load":"files"}"#);
            tools.push(tool("fd"));
        }
        "ok".to_owned()
    };
    let (turns, _) = agent.run(load).await.unwrap();
    assert_eq!(words(&turns), ["p0100_a=bash", "p0200_d=capabilities", "p0200_a=fd", "p0300_a=fd"]);
    let recording = stage.finish().await.0;
    assert_eq!((recording.totals.loads, recording.totals.surface_changes), (1, 1));
    let load = &recording.loads[0];
    assert_eq!(
        (load.group.as_deref(), load.turn, load.first_call_turn, load.needed),
        (Some("files"), 3, Some(3), true)
    );
    assert_eq!(recording.tools[2].first_offered_turn, 3);
    assert!(recording.oracle.unwrap().substitutions.is_empty());
    let first = recording.first_request.unwrap();
    assert_eq!(first.tools.entries, 2, "the first request stays the first");
}

#[tokio::test]
async fn a_load_that_changes_nothing_is_followed_by_a_substitution() {
    let stage = Stage::oracle(script(vec![find_step(), answer_step()]), |_| {}).await;
    let (turns, _) = stage.agent(&["bash", "capabilities"]).run(ok).await.unwrap();
    assert_eq!(words(&turns), ["p0100_d=capabilities", "p0100_a=bash"]);
}

#[tokio::test]
async fn a_refused_call_gets_one_fallback() {
    let steps = vec![Step { actions: vec![read_action("a")] }, answer_step()];
    let stage = Stage::oracle(script(steps.clone()), |_| {}).await;
    let refuse_read = |call: &bench_wire::Call, _: &mut Vec<_>| {
        if call.name == "read" { "error: no such option".to_owned() } else { "text".to_owned() }
    };
    let (turns, text) = stage.agent(&CORE).run(refuse_read).await.unwrap();
    assert_eq!(
        (words(&turns), text.as_str()),
        (vec!["p0100_a=read".into(), "p0100_b=bash".into()], "All done.")
    );
    let recording = stage.finish().await.0;
    assert_eq!(recording.oracle.unwrap().substitutions[0].why, "refused");
    assert_eq!(
        (recording.totals.tool_errors, recording.tools[0].errors, recording.tools[1].errors),
        (Some(1), Some(1), Some(0))
    );

    let stage = Stage::oracle(script(steps), |_| {}).await;
    let (status, _) = stage.agent(&CORE).run(|_, _| "error: no".into()).await.unwrap_err();
    assert_eq!(status, 400);
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::ToolRefused);
    assert_eq!(stage.finish().await.0.stop.unwrap().kind, EndingKind::ToolRefused);
}

#[tokio::test]
async fn a_command_that_fails_is_not_a_refusal() {
    let stage = Stage::oracle(script(vec![run_step("make"), answer_step()]), |_| {}).await;
    let (turns, _) = stage.agent(&CORE).run(|_, _| "make: *** failed\nexit code 2".into()).await.unwrap();
    assert_eq!(words(&turns), ["p0100_a=bash"]);
}

#[tokio::test]
async fn a_plan_that_cannot_be_played_ends_as_no_such_tool() {
    for tools in [&["read"][..], &[]] {
        let stage = Stage::oracle(script(vec![run_step("make"), answer_step()]), |_| {}).await;
        stage.agent(tools).turn().await.unwrap_err();
        let ending = stage.recorder.stopped().await;
        assert_eq!(ending.kind, EndingKind::NoSuchTool);
        let detail = ending.detail.unwrap();
        assert!(
            detail.contains("step 1 (run)")
                && detail.contains(if tools.is_empty() { "none" } else { "read" }),
            "{detail}"
        );
        // An agent without tools has a first request too.
        assert!(stage.finish().await.0.first_request.is_some());
    }
}

#[tokio::test]
async fn ids_that_were_never_called_and_lost_context_end_as_oracle_lost() {
    let stage = Stage::oracle(script(together()), |_| {}).await;
    let mut agent = stage.agent(&CORE);
    agent.out.messages.push(MessageOut::tool("call_p0200_a", "ok"));
    agent.turn().await.unwrap_err();
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::OracleLost);

    let stage = Stage::oracle(script(together()), |_| {}).await;
    let mut agent = stage.agent(&CORE);
    let start = agent.out.messages.clone();
    let first = agent.turn().await.unwrap();
    agent.out.messages.push(MessageOut::assistant(&first));
    first.calls.iter().for_each(|call| agent.out.messages.push(MessageOut::tool(&call.id, "ok")));
    agent.turn().await.unwrap();
    agent.turn().await.expect("the same request again is answered again");
    agent.out.messages = start;
    agent.turn().await.unwrap_err();
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::OracleLost);
}

#[tokio::test]
async fn an_agent_that_never_stops_asking_ends_as_oracle_lost() {
    let stage = Stage::oracle(script(vec![answer_step()]), |_| {}).await;
    let mut agent = stage.agent(&CORE);
    for _ in 0..13 {
        agent.turn().await.unwrap();
    }
    agent.turn().await.unwrap_err();
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::OracleLost);
}

#[tokio::test]
async fn side_requests_never_advance_the_plan_and_a_compaction_carries_the_place() {
    let stage = Stage::oracle(script(vec![run_step("one"), run_step("two"), answer_step()]), |_| {}).await;
    let mut title = stage.agent(&[]);
    title.out.messages = vec![MessageOut::system("Write a title for this."), MessageOut::user("Do it")];
    assert_eq!(title.turn().await.unwrap().text, "Task", "a title may come before any tools");
    let mut agent = stage.agent(&CORE);
    let first = agent.turn().await.unwrap();
    agent.out.messages.push(MessageOut::assistant(&first));
    agent.out.messages.push(MessageOut::tool("call_p0100_a", "ok"));
    let mut compaction = stage.agent(&[]);
    compaction.out.messages = agent.out.messages.clone();
    compaction.out.messages.push(MessageOut::user("Summarize the conversation so far."));
    let summary = compaction.turn().await.unwrap().text;
    assert!(summary.contains("[plan position 01]"), "{summary}");
    agent.out.messages = vec![MessageOut::system("You act."), MessageOut::user(&summary)];
    let (turns, text) = agent.run(ok).await.unwrap();
    assert_eq!((words(&turns), text.as_str()), (vec!["p0200_a=bash".into()], "All done."));
    let recording = stage.finish().await.0;
    assert_eq!((recording.totals.turns, recording.totals.compactions), (3, 1));
    let classes: Vec<_> =
        recording.requests_by_class.iter().map(|(class, sum)| (class.as_str(), sum.requests)).collect();
    assert_eq!(classes, [("agent_turn", 3), ("compaction", 1), ("title", 1)]);
    assert_eq!(recording.first_request.unwrap().request, 2);
}

#[tokio::test]
async fn the_same_request_gets_the_same_bytes() {
    let stage = Stage::oracle(script(together()), |_| {}).await;
    let agent = stage.agent(&CORE);
    let one = send(&agent.client, agent.request(agent.out.to_bytes())).await.2;
    let two = send(&agent.client, agent.request(agent.out.to_bytes())).await.2;
    assert_eq!(one, two);
}

#[tokio::test]
async fn profiles_do_what_they_say() {
    let plan = || script(vec![run_step("one"), find_step(), answer_step()]);
    let cases = [
        (ProfileKind::Wanders, true),
        (ProfileKind::GivesUp, false),
        (ProfileKind::WrongArguments, true),
        (ProfileKind::InventsTools, true),
        (ProfileKind::NeverDiscovers, true),
    ];
    let perfect = 3;
    for (kind, finishes) in cases {
        let stage = Stage::oracle(with_profile(plan(), kind), |_| {}).await;
        let mut agent = stage.agent(&["bash", "capabilities"]);
        let offered = ["bash", "capabilities", "fd"];
        let mut invented = 0;
        let act = |call: &bench_wire::Call, tools: &mut Vec<serde_json::Value>| {
            if call.name == "capabilities" {
                tools.push(tool("fd"));
            }
            invented += usize::from(!offered.contains(&call.name.as_str()));
            let misfit = call.id.ends_with("_x");
            assert_eq!(misfit, call.arguments == "{}", "{call:?}");
            if misfit { "error: command is required".to_owned() } else { "ok".to_owned() }
        };
        let (turns, text) = agent.run(act).await.unwrap();
        assert_eq!(text == "All done.", finishes, "{kind:?}: {text}");
        let (recording, _, _) = stage.finish().await;
        let oracle = recording.oracle.unwrap();
        let fault = oracle.fault.unwrap_or_default();
        assert_eq!(oracle.steps_played == 3, finishes, "{kind:?}");
        match kind {
            ProfileKind::Perfect => unreachable!("not among the cases"),
            ProfileKind::Wanders => {
                assert!(turns.len() >= perfect + 3 && fault.starts_with("wanders"), "{turns:?}");
            }
            ProfileKind::GivesUp => {
                assert!(turns.len() < perfect && fault.starts_with("gives-up"), "{fault}")
            }
            ProfileKind::WrongArguments => {
                assert_eq!((turns.len(), recording.totals.tool_errors), (perfect + 1, Some(1)));
                assert!(fault.starts_with("wrong-arguments"));
            }
            ProfileKind::InventsTools => {
                assert_eq!((turns.len(), invented), (perfect + 1, 1));
                assert!(fault.starts_with("invents-tools"));
            }
            ProfileKind::NeverDiscovers => {
                assert_eq!(words(&turns), ["p0100_a=bash", "p0200_a=bash"]);
                assert!(fault.starts_with("never-discovers"));
                assert_eq!(json!(oracle.substitutions[0])["why"], "not_offered");
            }
        }
    }
}

/// Plans of any shape without an answer; `find` needs a load.
fn plans() -> impl Strategy<Value = Vec<Step>> {
    let action = (0..6).prop_map(|kind| match kind {
        0 => Action::Run { command: "make".into() },
        1 => read_action("a"),
        2 => Action::Write { path: "n".into(), content: "t".into() },
        3 => Action::Edit { path: "b".into(), old: "x".into(), new: "y".into(), whole: Some("w".into()) },
        4 => Action::Search { pattern: "p".into(), path: ".".into() },
        _ => Action::Find { pattern: "p".into(), path: ".".into() },
    });
    let step = proptest::collection::vec(action, 1..4).prop_map(|actions| Step { actions });
    proptest::collection::vec(step, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_action_of_a_plan_is_done_once_in_order(
        plan in plans(), parallel in any::<Option<bool>>(), stream in any::<bool>(), refused in proptest::collection::btree_set(0_usize..12, 0..3),
    ) {
        let expected: Vec<String> = (1..).zip(&plan).flat_map(|(step, s)| (0..s.actions.len()).map(move |sub| format!("{step:02}{sub:02}"))).collect();
        let steps: Vec<Step> = plan.iter().cloned().chain([answer_step()]).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let stage = Stage::oracle(script(steps), |_| {}).await;
            let mut agent = stage.agent(&["read", "bash", "edit", "write", "capabilities"]);
            agent.out.parallel_tool_calls = parallel;
            agent.out.stream = stream;
            let (mut done, mut seen) = (Vec::new(), 0);
            let act = |call: &bench_wire::Call, tools: &mut Vec<serde_json::Value>| {
                if call.name == "capabilities" {
                    tools.push(tool("fd"));
                    return "loaded".to_owned();
                }
                seen += 1;
                // Only what has a fallback may be refused once.
                if refused.contains(&seen) && ["read", "edit", "fd"].contains(&call.name.as_str()) {
                    return "error: refused".to_owned();
                }
                done.push(call.id[6..10].to_owned());
                "ok".to_owned()
            };
            let (turns, text) = agent.run(act).await.unwrap();
            assert_eq!(text, "All done.");
            if refused.is_empty() || parallel == Some(false) {
                assert_eq!(done, expected, "{turns:?}");
            } else {
                // Together means in any order within the step.
                done.sort();
                assert_eq!(done, expected, "{turns:?}");
            }
            if parallel == Some(false) {
                assert!(turns.iter().all(|calls| calls.len() == 1));
            }
            let recording = stage.finish().await.0;
            let oracle = recording.oracle.unwrap();
            assert_eq!(oracle.steps_played, oracle.steps);
            assert_eq!(recording.totals.turns as usize, turns.len() + 1);
        });
    }
}
