//! Trace pages and exports: what agents wrote is shown and never obeyed, every export has what its format asks for.

#![allow(clippy::unwrap_used, reason = "a test may panic wherever it stands")]

mod support;

use bench_core::ledger::AgentTotals;
use bench_core::lifecycle::{Violation, ViolationKind};
use bench_core::{Sha256Hex, WireKind};
use bench_record::{CellRecord, RequestRecord};
use bench_reports::export::{Exported, atif, harbor, inspect, otlp};
use bench_reports::{Attempt, trace_page, trace_place, trace_stamp};
use bench_trajectory::{Answer, Exchange, Message, SurfaceChange, Tool, ToolCall, ToolResult, Trajectory};
use serde_json::Value;
use support::cell;

const HOSTILE: &str = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)> \" ' \u{1b}]0;owned\u{7}\u{202e}\u{0}";

fn record(request: u32) -> RequestRecord {
    RequestRecord {
        agent: None,
        format_version: 1,
        request,
        class: "agent_turn".into(),
        rule: "carries tools".into(),
        wire: WireKind::OpenaiChat,
        method: "POST".into(),
        path: "/v1/chat/completions".into(),
        headers: Vec::new(),
        model: Some("oracle".into()),
        started_at: format!("2026-12-01T10:00:00.{request}00Z"),
        first_byte_ms: Some(1.0),
        last_byte_ms: Some(2.0),
        status: Some(200),
        body_sha256: Sha256Hex::of("body"),
        body_bytes: 10,
        body_tokens: Some(5),
        prompt_tokens: None,
        encoding: None,
        response_sha256: None,
        response_type: None,
        response_encoding: None,
        usage: None,
        response_tokens: None,
        retry_of: None,
    }
}

/// Two turns: a call that is answered, and the end; every text is hostile.
fn trajectory() -> Trajectory {
    let hostile = || HOSTILE.to_owned();
    let tool = Tool { name: hostile(), kind: hostile(), description: hostile(), schema: None };
    let result = ToolResult { text: hostile(), failed: Some(true), request: 2 };
    let call = ToolCall { id: "c1".into(), name: hostile(), arguments: hostile(), result: Some(result) };
    let answer = Answer {
        model: hostile(),
        text: hostile(),
        reasoning: hostile(),
        finish: Some(hostile()),
        calls: vec![call],
        trouble: Some(hostile()),
        ..Answer::default()
    };
    let message = |role: &str| Message { role: role.to_owned(), text: hostile(), results: Vec::new() };
    let exchange =
        |request: u32, said: Vec<Message>, surface: SurfaceChange, answer: Option<Answer>| Exchange {
            record: record(request),
            at_ms: Some(f64::from(request) * 100.0),
            conversation: 0,
            turn: Some(request),
            said,
            dropped: 0,
            surface,
            answer,
        };
    let surface = SurfaceChange { offered: 1, added: vec![tool], ..SurfaceChange::default() };
    Trajectory {
        exchanges: vec![
            exchange(1, vec![message("system"), message(HOSTILE)], surface, Some(answer)),
            exchange(2, Vec::new(), SurfaceChange { offered: 1, ..SurfaceChange::default() }, None),
        ],
        stdout: hostile(),
        patch: hostile(),
        trouble: vec![hostile()],
        ..Trajectory::default()
    }
}

#[test]
fn a_trace_shows_what_agents_wrote_and_obeys_nothing() {
    let (mut record, trajectory) = (cell("t00", 1, "bare", 1), trajectory());
    record.ending.detail = Some(HOSTILE.to_owned());
    let page = trace_page("t00/r01", &[Attempt { record: &record, trajectory: &trajectory }]);
    assert!(page.matches("&lt;img src=x onerror=alert(2)&gt;").count() > 12, "the words are shown");
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(!page.contains("<img") && !page.contains('\u{202e}') && !page.contains(" style="));
    assert!(!page.chars().any(|c| c.is_control() && !"\n\t".contains(c)));
    assert!(page.contains(&format!("id=\"{}\"", trace_place(&record).1)));
    assert!(page.contains(&trace_stamp(&[&record])), "by which the next report knows that it is up to date");
}

#[test]
fn a_trace_names_second_agents_and_the_requests_that_break_the_lifecycle() {
    let (mut record, mut trajectory) = (cell("t00", 1, "bare", 1), trajectory());
    let page = |record: &CellRecord, trajectory: &Trajectory| {
        trace_page("t00/r01", &[Attempt { record, trajectory }])
    };
    assert!(page(&record, &trajectory).contains("lifecycle</dt><dd>unknown</dd>"));
    record.lifecycle = Some(Vec::new());
    assert!(page(&record, &trajectory).contains("holds in every request"));
    record.lifecycle = Some(vec![Violation {
        request: 2,
        tool: "rewind".into(),
        kind: ViolationKind::Surplus,
        why: HOSTILE.into(),
    }]);
    record.agents = vec![AgentTotals {
        name: format!("scout {HOSTILE}"),
        requests: 3,
        input_tokens: 1234,
        output_tokens: 56,
        first_ms: Some(10.0),
        last_ms: Some(250.0),
    }];
    trajectory.exchanges[1].turn = None;
    trajectory.exchanges[1].record.agent = Some("scout".into());
    let shown = page(&record, &trajectory);
    assert!(shown.contains("1 violation, told at its request"));
    assert_eq!(shown.matches("rewind is offered and should not be").count(), 1, "at request 2 alone");
    assert!(shown.contains("Request 2, by the second agent scout"));
    assert!(shown.contains("1,234") && shown.contains("10 to 250 ms"), "what it spent, and when");
    assert!(!shown.contains("<img") && !shown.contains('\u{1b}'));
}

#[test]
fn a_trace_without_evidence_says_so_and_shows_what_the_journal_knows() {
    let record = cell("t00", 1, "bare", 1);
    let gone = Trajectory::read(std::path::Path::new("/nowhere/at/all"));
    let page = trace_page("t00/r01", &[Attempt { record: &record, trajectory: &gone }]);
    assert!(page.contains("not here any more"), "{page}");
}

#[test]
fn another_verdict_or_other_evidence_makes_another_stamp() {
    let record = cell("t00", 1, "bare", 1);
    let mut other = record.clone();
    other.dir_sha256 = Some(Sha256Hex::of("other evidence"));
    assert_ne!(trace_stamp(&[&record]), trace_stamp(&[&other]));
    let mut again = record.clone();
    again.attempt = 2;
    assert_ne!(trace_stamp(&[&record]), trace_stamp(&[&record, &again]));
}

#[test]
fn a_trajectory_counts_its_steps_and_answers_its_calls() {
    let (record, trajectory) = (cell("t00", 1, "bare", 1), trajectory());
    let value = atif::trajectory(Exported { record: &record, trajectory: &trajectory });
    assert_eq!(value["schema_version"], "ATIF-v1.7");
    let steps = value["steps"].as_array().unwrap();
    let ids: Vec<u64> = steps.iter().map(|step| step["step_id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    assert_eq!(
        steps[2]["tool_calls"][0]["tool_call_id"],
        steps[2]["observation"]["results"][0]["source_call_id"]
    );
    assert!(
        steps[2]["tool_calls"][0]["arguments"].is_object(),
        "arguments that are no JSON are kept as text"
    );
    assert_eq!(value["agent"]["tool_definitions"].as_array().map(Vec::len), Some(1));
    assert_eq!(value["final_metrics"]["total_steps"], 4);
    let bare = Trajectory::default();
    let empty = atif::trajectory(Exported { record: &record, trajectory: &bare });
    assert_eq!(empty["steps"].as_array().map(Vec::len), Some(1), "the format wants a step");
}

#[test]
fn no_outcome_is_no_reward() {
    let (mut record, trajectory) = (cell("t00", 1, "bare", 1), trajectory());
    record.ending.kind = bench_core::EndingKind::UpstreamFault;
    let attempt = Exported { record: &record, trajectory: &trajectory };
    let result = harbor::trial("small", attempt).remove(0).value;
    assert_eq!(result.get("verifier_result"), None);
    assert_eq!(result["exception_info"]["exception_type"], "upstream_fault");
    let log = inspect::log("small", &[attempt]).unwrap();
    assert_eq!(log["samples"][0].get("scores"), None);
    assert_eq!(log["results"]["scores"][0]["metrics"], Value::Object(Default::default()));
    assert_eq!(log["results"]["scores"][0]["unscored_samples"], 1);
}

#[test]
fn spans_hang_together() {
    let (record, trajectory) = (cell("t00", 1, "bare", 1), trajectory());
    let traces = otlp::traces("small", &[Exported { record: &record, trajectory: &trajectory }]);
    let spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    let names: Vec<&str> =
        spans.iter().map(|span| span["name"].as_str().unwrap().split(' ').next().unwrap()).collect();
    assert_eq!(names, ["invoke_agent", "chat", "execute_tool", "chat"]);
    assert!(spans[1..].iter().all(|span| span["parentSpanId"] == spans[0]["spanId"]));
    assert!(spans.iter().all(|span| span["traceId"] == spans[0]["traceId"]));
    insta::assert_json_snapshot!("otlp_chat_span", spans[3]);
}
