//! What goes ahead of the recorder's own work: requests before they are read.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

mod support;

use std::sync::Arc;

use bench_core::{EndingKind, RunLimits, SystemClock};
use bench_proxy::{EndpointUpstream, RequestLimits, RunBudget, Spent};
use bench_wire::chat::{MessageOut, write_json};
use bytes::Bytes;
use support::provider::*;
use support::*;

#[tokio::test]
async fn what_went_unread_and_cannot_be_read_is_kept_and_nobody_knows_what_it_cost() {
    for (status, completeness) in [(400, "complete"), (200, "lower_bound")] {
        let provider = Provider::start(move |_, number| match number {
            1 => pieces(status, "application/json", vec![b"{}".to_vec()]),
            _ => plain(&final_turn()),
        })
        .await;
        let stage = stage(&provider).await;
        let mut agent = stage.agent(&["bash"]);
        let body = br#"{"messages": "none of them"}"#;
        let (answered, _, _) = send(&agent.client, agent.request(body.to_vec())).await;
        assert_eq!((answered, provider.got().len()), (status, 1), "the provider's to judge");
        agent.turn().await.unwrap();
        let got = provider.got()[0].body.clone();
        let (recording, index, dir) = stage.finish().await;
        assert_eq!((&got, index.body(1).unwrap()), (&Bytes::from_static(body), body.to_vec()));
        let record = &index.records()[0];
        assert_eq!((record.class.as_str(), record.status), ("probe", Some(status)));
        assert!(record.rule.starts_with("passed on, and is no model request"), "{}", record.rule);
        let events = trace(dir.path());
        let words: Vec<_> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        assert_eq!(words, ["request", "response", "request", "offer", "response"]);
        assert_eq!(recording.tokens.completeness, completeness);
    }
}

#[tokio::test]
async fn the_budget_of_a_run_asks_to_read_first_only_where_it_counts_tokens_or_dollars() {
    let tokens = RunLimits { total_tokens: Some(1_000_000), ..RunLimits::default() };
    let dollars = RunLimits { cost_usd: Some(1.0), ..RunLimits::default() };
    let requests = RunLimits { requests: Some(2), ..RunLimits::default() };
    for (limits, goes_unread) in
        [(RunLimits::default(), true), (requests, true), (tokens, false), (dollars, false)]
    {
        let provider = Provider::start(|_, _| plain(&final_turn())).await;
        let upstream = EndpointUpstream::new(&provider.base, Some(KEY.into()), AT_ONCE).unwrap();
        let clock = Arc::new(SystemClock::default());
        let run = Arc::new(RunBudget::new(limits.clone(), Spent::default(), clock));
        let stage = Stage::upstream(Arc::new(upstream), |spec| spec.spending.run = Some(run.clone())).await;
        let mut agent = stage.agent(&["bash"]);
        // Only who reads it first refuses it.
        let body = br#"{"messages": "none of them"}"#;
        let (answered, _, _) = send(&agent.client, agent.request(body.to_vec())).await;
        assert_eq!((answered == 200, provider.got().len()), (goes_unread, usize::from(goes_unread)));
        agent.turn().await.unwrap();
        if limits.requests.is_some() {
            let (status, said) = agent.turn().await.unwrap_err();
            assert!(status == 429 && said.contains("run-limits.requests"), "{said}");
        }
        stage.finish().await;
    }
}

#[tokio::test]
async fn requests_at_once_do_not_break_a_cap_together() {
    let provider = Provider::start(|_, _| streamed(&final_turn())).await;
    let limits = RequestLimits { turns: Some(3), ..RequestLimits::default() };
    let stage = limited(&provider, limits).await;
    let base = stage.recorder.base_url();
    let asking: Vec<_> = (0..8)
        .map(|n| {
            let mut agent = Agent::new(base.clone(), &["bash"]);
            agent.out.messages.push(MessageOut::user(&format!("number {n}")));
            tokio::spawn(async move { agent.turn().await.is_ok() })
        })
        .collect();
    let mut answered = 0;
    for asked in asking {
        answered += u32::from(asked.await.unwrap());
    }
    assert_eq!((answered, provider.got().len()), (3, 3));
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::TurnBudget);
    assert_eq!(stage.finish().await.0.totals.turns, 3);
}

#[tokio::test]
async fn what_was_let_in_before_a_cap_was_reached_is_waited_for() {
    let (held, mut holding) = tokio::sync::mpsc::unbounded_channel();
    let provider = Provider::start(move |_, _| {
        let (response, sender) = silent();
        held.send(sender).unwrap();
        response
    })
    .await;
    let limits = RequestLimits { requests: Some(1), ..RequestLimits::default() };
    let stage = limited(&provider, limits).await;
    let mut first = stage.agent(&["bash"]);
    let mut second = stage.agent(&["bash"]);
    let asking = tokio::spawn(async move { first.turn().await });
    let answer = holding.recv().await.unwrap();
    second.turn().await.unwrap_err();
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::RequestBudget);
    let (said, waits) = (write_json(&final_turn()), stage.recorder.nobody_waits());
    let both = async {
        answer.send(Ok(said.into())).await.unwrap();
        drop(answer);
    };
    tokio::join!(waits, both);
    assert!(asking.await.unwrap().is_ok());
    let (recording, _, _dir) = stage.finish().await;
    assert_eq!((recording.totals.turns, recording.totals.input_tokens), (1, Some(100)));
    assert!(recording.charged.tokens > 0);
}

#[tokio::test]
async fn requests_that_went_unread_are_classed_in_the_order_in_which_they_went() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = stage(&provider).await;
    let mut agent = stage.agent(&["bash"]);
    agent.turn().await.unwrap();
    agent.out.messages.push(MessageOut::user("And now?"));
    agent.turn().await.unwrap();
    let mut other = stage.agent(&["bash"]);
    other.out.messages = vec![MessageOut::system("You help."), MessageOut::user("Look.")];
    other.turn().await.unwrap();
    let (recording, index, dir) = stage.finish().await;
    let classes: Vec<_> = index.records().iter().map(|record| record.class.as_str()).collect();
    assert_eq!(classes, ["agent_turn", "agent_turn", "subagent"]);
    assert_eq!(recording.first_request.unwrap().request, 1);
    let events = trace(dir.path());
    let asked: Vec<_> = events
        .iter()
        .filter(|event| event["event"] == "request")
        .map(|event| event["request"].as_u64().unwrap())
        .collect();
    assert_eq!(asked, [1, 2, 3], "in the order in which they went, wherever the answers stand");
}
