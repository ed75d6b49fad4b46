//! The recorder before a provider on loopback: who is let through to it, and who is not.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

mod support;

use bench_core::EndingKind;
use bench_proxy::RequestLimits;
use bench_wire::chat::MessageOut;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use support::provider::*;
use support::*;

#[tokio::test]
async fn only_the_attempts_own_credential_is_let_in() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = stage(&provider).await;
    let agent = stage.agent(&["bash"]);
    for header in [None, Some("Bearer other"), Some("Basic eDp5")] {
        let mut request = agent.request(agent.out.to_bytes());
        request.headers_mut().remove("authorization");
        if let Some(value) = header {
            request.headers_mut().insert("authorization", value.parse().unwrap());
        }
        assert_eq!(send(&agent.client, request).await.0, 401);
    }
    assert!(provider.got().is_empty());
    let (recording, index, _dir) = stage.finish().await;
    assert_eq!(recording.requests_by_class["refused"].requests, 3);
    assert_eq!(
        (recording.first_request, recording.totals.input_tokens, recording.tokens.completeness.as_str()),
        (None, None, "none")
    );
    assert_eq!(index.records()[0].rule, "not this attempt's credential");
}

#[tokio::test]
async fn probes_are_answered_from_the_table_and_cost_nothing() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = stage(&provider).await;
    let ask = |method: &str, path: &str| {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", stage.recorder.base_url()))
            .header("authorization", format!("Bearer {TOKEN}"))
    };
    let empty = || Full::new(Bytes::new());
    let client = http();
    assert_eq!(send(&client, ask("GET", "/models").body(empty()).unwrap()).await.0, 200);
    assert_eq!(send(&client, ask("HEAD", "/").body(empty()).unwrap()).await.0, 200);
    assert_eq!(send(&client, ask("POST", "/embeddings").body(empty()).unwrap()).await.0, 404);
    let upgrade =
        ask("GET", "/chat/completions").header("connection", "upgrade").header("upgrade", "websocket");
    assert_eq!(send(&client, upgrade.body(empty()).unwrap()).await.0, 426);
    let zipped =
        ask("POST", "/chat/completions").header("content-encoding", "compress").body(empty()).unwrap();
    assert_eq!(send(&client, zipped).await.0, 415);
    assert_eq!(send(&client, ask("POST", "/chat/completions").body(empty()).unwrap()).await.0, 400);
    assert!(provider.got().is_empty());
    let (recording, index, _dir) = stage.finish().await;
    let classes: Vec<_> = index.records().iter().map(|record| record.class.as_str()).collect();
    assert_eq!(classes, ["probe", "probe", "probe", "probe", "refused", "refused"]);
    assert_eq!((recording.totals.requests, recording.totals.turns), (6, 0));
}

#[tokio::test]
async fn budgets_are_checked_before_a_request_is_let_through() {
    let case =
        |turns, requests, total_tokens| RequestLimits { turns, requests, total_tokens, cost_usd: None };
    let cases = [
        (case(Some(2), None, None), EndingKind::TurnBudget, "turns", 2.0),
        (case(None, Some(2), None), EndingKind::RequestBudget, "requests", 2.0),
        (case(None, None, Some(400)), EndingKind::TokenBudget, "total-tokens", 400.0),
    ];
    for (limits, kind, name, value) in cases {
        let provider = Provider::start(|_, _| streamed(&calling_turn())).await;
        let stage = limited(&provider, limits).await;
        let (status, body) = stage.agent(&["bash"]).run(|_, _| "out ".repeat(20)).await.unwrap_err();
        assert_eq!(status, 429, "{body}");
        let ending = stage.recorder.stopped().await;
        let limit = ending.limit.unwrap();
        assert_eq!((ending.kind, limit.name.as_str(), limit.value), (kind, name, value));
        assert_eq!(stage.agent(&["bash"]).turn().await.unwrap_err().0, 503, "the attempt has ended");
        let got = provider.got().len();
        let (recording, index, _dir) = stage.finish().await;
        assert_eq!((recording.totals.turns as usize, index.records().len()), (got, got + 2));
        if kind != EndingKind::TokenBudget {
            assert_eq!(got, 2);
        }
        assert_eq!(recording.requests_by_class["refused"].requests, 2);
    }
}

#[tokio::test]
async fn a_canary_in_a_request_ends_the_attempt() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = stage(&provider).await;
    let mut agent = stage.agent(&["bash"]);
    agent.out.messages.push(MessageOut::user("I found canary-5f1e in a file."));
    assert_eq!(agent.turn().await.unwrap_err().0, 403);
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::CanarySeen);
    assert!(provider.got().is_empty());
    let (recording, _, dir) = stage.finish().await;
    assert_eq!(recording.stop.unwrap().kind, EndingKind::CanarySeen);
    assert_eq!(trace(dir.path()).iter().filter(|event| event["event"] == "stop").count(), 1);
}

#[tokio::test]
async fn a_body_beyond_the_cap_is_refused_and_recorded() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = stage(&provider).await;
    let agent = stage.agent(&["bash"]);
    let request = agent.request(vec![b' '; (64 << 20) + 1]);
    // The answer may come while the client is still sending: a broken connection is an answer as well.
    if let Ok(response) = agent.client.request(request).await {
        assert_eq!(response.status(), 413);
    }
    let (_, index, _dir) = stage.finish().await;
    assert_eq!((index.records()[0].class.as_str(), index.records()[0].status), ("refused", Some(413)));
    assert!(provider.got().is_empty());
}
