//! The recorder before a provider on loopback: fidelity, order, what it measures by.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

mod support;

use bench_wire::WireUsage;
use bench_wire::chat::MessageOut;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response};
use proptest::prelude::*;
use serde_json::json;
use support::provider::*;
use support::*;
use tokio::sync::mpsc;

#[tokio::test]
async fn a_conversation_with_a_provider_is_measured_by_the_providers_word() {
    let provider = Provider::start(|_, number| match number {
        1 => streamed(&calling_turn()),
        _ => plain(&final_turn()),
    })
    .await;
    let stage = stage(&provider).await;
    let mut agent = stage.agent(&["bash"]);
    let (turns, text) = agent.run(|_, _| "out".into()).await.unwrap();
    assert_eq!((turns.len(), text.as_str()), (1, "bye"));
    let got = provider.got();
    assert_eq!(got[0].path, "/api/v1/chat/completions");
    assert_eq!(got[0].headers["authorization"], format!("Bearer {KEY}"));
    let (recording, index, dir) = stage.finish().await;
    assert_eq!(got[1].body, index.body(2).unwrap(), "the bytes on disk are the bytes that went out");
    assert_eq!(
        (recording.tokens.basis.as_str(), recording.tokens.completeness.as_str()),
        ("provider", "complete")
    );
    let totals = &recording.totals;
    assert_eq!(
        (totals.input_tokens, totals.cached_input_tokens, totals.total_tokens),
        (Some(200), Some(120), Some(220))
    );
    assert_eq!(totals.reasoning_tokens, None);
    assert_eq!(recording.turns[0].cached_input_tokens, Some(60));
    let upstream = &recording.upstream;
    assert_eq!((upstream.kind.as_str(), upstream.fingerprint.as_deref()), ("openai-chat", Some("fp-7")));
    assert_eq!(
        (&upstream.models_asked[0], &upstream.models_answered[0]),
        (&"test-model".into(), &"answered-model".into())
    );
    assert_eq!(upstream.statuses["200"], 2);
    assert_eq!(recording.oracle, None);
    assert!(!stands_in(dir.path(), KEY) && !stands_in(dir.path(), TOKEN), "no credential is ever written");
}

#[tokio::test]
async fn one_silent_response_makes_the_whole_attempt_a_local_count() {
    let provider = Provider::start(|_, number| match number {
        1 => streamed(&calling_turn()),
        _ => plain(&bench_wire::Turn { usage: None, ..final_turn() }),
    })
    .await;
    let stage = stage(&provider).await;
    stage.agent(&["bash"]).run(|_, _| "out".into()).await.unwrap();
    let (recording, index, _dir) = stage.finish().await;
    assert_eq!(recording.tokens.basis, "json");
    let counted: u64 = index.records().iter().map(|record| record.body_tokens.unwrap()).sum();
    assert_eq!(recording.totals.input_tokens, Some(counted));
    assert_eq!(recording.totals.cached_input_tokens, None);
    assert_eq!(recording.provider_usage.unwrap().input_tokens, Some(100), "its word is kept all the same");
}

#[tokio::test]
async fn a_usage_that_contradicts_itself_is_nobodys_word() {
    let strange = WireUsage {
        input_tokens: Some(97),
        cached_input_tokens: Some(2_300_000),
        output_tokens: Some(5),
        ..WireUsage::default()
    };
    let provider =
        Provider::start(move |_, _| plain(&bench_wire::Turn { usage: Some(strange), ..final_turn() })).await;
    let stage = stage(&provider).await;
    stage.agent(&["bash"]).run(|_, _| "out".into()).await.unwrap();
    let (recording, index, dir) = stage.finish().await;
    assert_eq!((recording.tokens.basis.as_str(), recording.provider_usage), ("json", None));
    assert_eq!(recording.totals.input_tokens, index.records()[0].body_tokens);
    assert_eq!(index.records()[0].usage, None);
    let refused = trace(dir.path()).into_iter().find(|event| event["event"] == "usage_refused").unwrap();
    assert_eq!(refused["why"], "cached 2300000 of input 97");
}

#[tokio::test]
async fn the_first_piece_passes_before_the_last_is_sent() {
    let (sender, receiver) = mpsc::channel(1);
    let receiver = std::sync::Mutex::new(Some(receiver));
    let provider = Provider::start(move |_, _| {
        let pieces = Pieces(receiver.lock().unwrap().take().unwrap());
        Response::builder().header("content-type", "text/event-stream").body(pieces).unwrap()
    })
    .await;
    let stage = stage(&provider).await;
    let agent = stage.agent(&["bash"]);
    let frames = bench_wire::chat::write_stream(&final_turn(), bench_wire::chat::StreamUsage::Included);
    let asked = agent.client.request(agent.request(agent.out.to_bytes()));
    let (response, sent) = tokio::join!(asked, sender.send(Ok(Bytes::from(frames[0].clone()))));
    sent.unwrap();
    let mut body = response.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), frames[0]);
    // Each piece is sent only when the one before has reached the agent.
    for frame in &frames[1..] {
        sender.send(Ok(Bytes::from(frame.clone()))).await.unwrap();
        let passed = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(passed, frame);
    }
    drop(sender);
    assert!(body.frame().await.is_none());
    let (recording, index, _dir) = stage.finish().await;
    assert_eq!(index.response(1).unwrap().unwrap(), frames.concat());
    assert_eq!(index.frames(1).unwrap().len(), frames.len());
    assert_eq!(recording.tokens.completeness, "complete");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn bytes_pass_unchanged_both_ways(
        text in any::<String>(), noise in "[ \n]{0,5}", answer in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..60), 1..6),
        value in "[a-z]{1,9}",
    ) {
        let body = format!("{noise}{{ \"messages\" : [{}],\"x\":1.0e0}}{noise}", json!({"role": "user", "content": text})).into_bytes();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let said = answer.clone();
            let provider = Provider::start(move |_, _| pieces(200, "application/octet-stream", said.clone())).await;
            let stage = stage(&provider).await;
            let request = Request::post(format!("{}/chat/completions?a=b%20c", stage.recorder.base_url()))
                .header("x-api-key", TOKEN)
                .header("x-twice", &value)
                .header("x-twice", "second")
                .header("accept-encoding", "gzip")
                .body(Full::new(Bytes::from(body.clone())))
                .unwrap();
            let (status, headers, passed) = send(&http(), request).await;
            assert_eq!((status, &passed[..], &headers["content-type"]), (200, &answer.concat()[..], &"application/octet-stream".parse().unwrap()));
            let got = provider.got().remove(0);
            assert_eq!((&got.body[..], got.path.as_str(), got.method.as_str()), (&body[..], "/api/v1/chat/completions?a=b%20c", "POST"));
            let twice: Vec<_> = got.headers.get_all("x-twice").iter().map(|v| v.to_str().unwrap().to_owned()).collect();
            assert_eq!(twice, [value.clone(), "second".to_owned()]);
            assert_eq!(got.headers["accept-encoding"], "gzip");
            assert!(got.headers.get("x-api-key").is_none());
            let (recording, index, _dir) = stage.finish().await;
            assert_eq!(index.body(1).unwrap(), body);
            assert_eq!(index.response(1).unwrap().unwrap(), answer.concat());
            assert_eq!(recording.tokens.completeness, "lower_bound", "nobody can read such a response");
        });
    }
}

#[tokio::test]
async fn requests_at_once_are_all_recorded() {
    let provider = Provider::start(|_, _| streamed(&final_turn())).await;
    let stage = stage(&provider).await;
    let base = stage.recorder.base_url();
    let asking: Vec<_> = (0..8)
        .map(|n| {
            let mut agent = Agent::new(base.clone(), &["bash"]);
            agent.out.messages.push(MessageOut::user(&format!("number {n}")));
            tokio::spawn(async move { agent.turn().await.unwrap() })
        })
        .collect();
    for asked in asking {
        assert_eq!(asked.await.unwrap().text, "bye");
    }
    let (recording, index, _dir) = stage.finish().await;
    assert_eq!((recording.totals.turns, recording.totals.output_tokens), (8, Some(80)));
    let mut numbers: Vec<_> = index.records().iter().map(|record| record.request).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
    for number in 1..=8 {
        index.body(number).unwrap();
    }
}

#[tokio::test]
async fn tools_that_come_later_make_earlier_requests_side_requests() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = stage(&provider).await;
    stage.agent(&[]).turn().await.unwrap();
    stage.agent(&["bash"]).turn().await.unwrap();
    let (recording, index, _dir) = stage.finish().await;
    assert_eq!((recording.totals.turns, recording.first_request.unwrap().request), (1, 2));
    assert_eq!(index.records()[0].class, "title");
    assert!(index.records()[0].rule.contains("later"));
}

#[tokio::test]
async fn an_agent_without_tools_has_a_first_request_too() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = stage(&provider).await;
    stage.agent(&[]).turn().await.unwrap();
    let (recording, _, _dir) = stage.finish().await;
    let first = recording.first_request.unwrap();
    assert_eq!((first.request, first.tools.entries, recording.totals.turns), (1, 0, 1));
}
