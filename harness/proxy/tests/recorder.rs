//! The recorder before a provider on loopback: fidelity, order, budgets, secrets, failures.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bench_core::EndingKind;
use bench_proxy::{OpenaiChatUpstream, RequestLimits, RetryPolicy, UpstreamError};
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

const KEY: &str = "sk-real-key-93b1";
const AT_ONCE: RetryPolicy =
    RetryPolicy { retries: 3, first_wait: Duration::ZERO, longest_wait: Duration::ZERO };

async fn stage(provider: &Provider) -> Stage {
    limited(provider, RequestLimits::default()).await
}

async fn limited(provider: &Provider, limits: RequestLimits) -> Stage {
    let upstream = OpenaiChatUpstream::new(&provider.base, Some(KEY.into()), AT_ONCE).unwrap();
    Stage::upstream(Arc::new(upstream), |spec| spec.limits = limits).await
}

/// Does any file below hold this text?
fn stands_in(dir: &Path, text: &str) -> bool {
    std::fs::read_dir(dir).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => stands_in(&path, text),
            false => memchr::memmem::find(&std::fs::read(&path).unwrap(), text.as_bytes()).is_some(),
        }
    })
}

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
    let response = agent.client.request(agent.request(agent.out.to_bytes())).await.unwrap();
    let mut body = response.into_body();
    // Each piece is sent only when the one before has reached the agent.
    for frame in &frames {
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
            assert_eq!(got.headers["accept-encoding"], "identity");
            assert!(got.headers.get("x-api-key").is_none());
            let (recording, index, _dir) = stage.finish().await;
            assert_eq!(index.body(1).unwrap(), body);
            assert_eq!(index.response(1).unwrap().unwrap(), answer.concat());
            assert_eq!(recording.tokens.completeness, "lower_bound", "nobody can read such a response");
        });
    }
}

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
    let zipped = ask("POST", "/chat/completions").header("content-encoding", "zstd").body(empty()).unwrap();
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
    let case = |turns, requests, total_tokens| RequestLimits { turns, requests, total_tokens };
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
async fn failed_tries_are_made_again_and_counted() {
    let provider = Provider::start(|_, number| match number {
        1 => pieces(500, "text/plain", vec![b"oops".to_vec()]),
        2 => pieces(429, "text/plain", vec![]),
        _ => plain(&final_turn()),
    })
    .await;
    let stage = stage(&provider).await;
    stage.agent(&["bash"]).turn().await.unwrap();
    let (recording, index, dir) = stage.finish().await;
    assert_eq!((recording.totals.retries, recording.totals.turns, index.records().len()), (2, 1, 1));
    let statuses: Vec<_> = recording.upstream.statuses.into_iter().collect();
    assert_eq!(statuses, [("200".into(), 1), ("429".into(), 1), ("500".into(), 1)]);
    let retries: Vec<_> = trace(dir.path()).into_iter().filter(|event| event["event"] == "retry").collect();
    assert_eq!(retries[0]["reason"], "status 500: oops");
}

#[tokio::test]
async fn an_upstream_that_stays_down_is_a_fault_of_the_upstream() {
    let cases: [(u16, usize); 3] = [(503, 4), (401, 1), (402, 1)];
    for (status, tries) in cases {
        let said = format!("bad key {KEY}");
        let provider =
            Provider::start(move |_, _| pieces(status, "text/plain", vec![said.clone().into_bytes()])).await;
        let stage = stage(&provider).await;
        assert_eq!(stage.agent(&["bash"]).turn().await.unwrap_err().0, 502);
        let ending = stage.recorder.stopped().await;
        assert_eq!((ending.kind, provider.got().len()), (EndingKind::UpstreamFault, tries));
        let (recording, _, dir) = stage.finish().await;
        let fault = recording.upstream.fault.unwrap();
        assert!(
            fault.contains(&provider.base) && fault.contains(&status.to_string()) && fault.contains("[key]"),
            "{fault}"
        );
        assert_eq!(recording.upstream.statuses[&status.to_string()] as usize, tries);
        assert_eq!((recording.totals.turns, recording.tokens.completeness.as_str()), (0, "none"));
        assert!(!stands_in(dir.path(), KEY));
    }
}

#[tokio::test]
async fn other_errors_pass_to_the_agent_as_they_are() {
    let provider =
        Provider::start(|_, _| pieces(400, "application/json", vec![b"{\"error\":{}}".to_vec()])).await;
    let stage = stage(&provider).await;
    let mut agent = stage.agent(&["bash"]);
    assert_eq!(agent.turn().await.unwrap_err(), (400, "{\"error\":{}}".to_owned()));
    agent.turn().await.unwrap_err();
    let (recording, index, _dir) = stage.finish().await;
    assert_eq!((recording.stop, recording.totals.turns, recording.totals.input_tokens), (None, 0, None));
    assert_eq!(index.records()[1].retry_of, Some(1));
}

#[tokio::test]
async fn a_response_that_breaks_off_breaks_off_for_the_agent_too() {
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
    sender.send(Ok(Bytes::from(frames[..2].concat()))).await.unwrap();
    let response = agent.client.request(agent.request(agent.out.to_bytes())).await.unwrap();
    let mut body = response.into_body();
    body.frame().await.unwrap().unwrap();
    sender.send(Err(std::io::Error::other("gone"))).await.unwrap();
    assert!(body.collect().await.is_err());
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::UpstreamFault);
    let (recording, _, _dir) = stage.finish().await;
    assert_eq!(recording.tokens.completeness, "lower_bound");
    assert!(recording.totals.output_tokens.unwrap() > 0, "what had arrived is counted");
}

#[tokio::test]
async fn a_provider_that_echoes_the_key_is_cut_off_before_it_is_whole() {
    let half = KEY.len() / 2;
    let provider = Provider::start(move |_, _| {
        let pieces_of =
            vec![b"data: ".to_vec(), KEY.as_bytes()[..half].to_vec(), KEY.as_bytes()[half..].to_vec()];
        let mut response = pieces(200, "text/event-stream", pieces_of);
        response.headers_mut().insert("x-echo", KEY.parse().unwrap());
        response
    })
    .await;
    let stage = stage(&provider).await;
    let agent = stage.agent(&["bash"]);
    let response = agent.client.request(agent.request(agent.out.to_bytes())).await.unwrap();
    assert!(response.headers().get("x-echo").is_none());
    let mut passed = Vec::new();
    let mut body = response.into_body();
    while let Some(Ok(frame)) = body.frame().await {
        passed.extend_from_slice(frame.data_ref().unwrap());
    }
    assert!(memchr::memmem::find(&passed, KEY.as_bytes()).is_none());
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::UpstreamFault);
    assert!(!stands_in(stage.finish().await.2.path(), KEY));
}

#[tokio::test]
async fn a_request_in_flight_is_settled_when_the_recorder_is_finished() {
    let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(1);
    let receiver = std::sync::Mutex::new(Some(receiver));
    let provider = Provider::start(move |_, _| {
        let pieces = Pieces(receiver.lock().unwrap().take().unwrap());
        Response::builder().header("content-type", "text/event-stream").body(pieces).unwrap()
    })
    .await;
    let stage = stage(&provider).await;
    let agent = stage.agent(&["bash"]);
    let frames = bench_wire::chat::write_stream(&final_turn(), bench_wire::chat::StreamUsage::Included);
    sender.send(Ok(Bytes::from(frames[..2].concat()))).await.unwrap();
    let response = agent.client.request(agent.request(agent.out.to_bytes())).await.unwrap();
    let mut body = response.into_body();
    body.frame().await.unwrap().unwrap();
    let (recording, index, _dir) = stage.finish().await;
    assert_eq!(index.response(1).unwrap().unwrap(), frames[..2].concat());
    assert_eq!((recording.tokens.completeness.as_str(), recording.totals.turns), ("lower_bound", 1));
    drop(sender);
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

#[tokio::test]
async fn a_record_that_cannot_be_kept_stops_the_run() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let upstream = Arc::new(OpenaiChatUpstream::new(&provider.base, None, AT_ONCE).unwrap());
    let dir = tempfile::tempdir().unwrap();
    let gone = dir.path().join("file");
    std::fs::write(&gone, "").unwrap();
    let error =
        bench_proxy::Recorder::start(loopback(), spec(&gone, upstream)).await.map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("free the disk or mend the permissions"), "{error}");
}

#[tokio::test]
async fn the_preflight_names_url_and_remedy() {
    let provider = Provider::start(|_, _| pieces(404, "text/plain", vec![])).await;
    let there = OpenaiChatUpstream::new(&provider.base, None, AT_ONCE).unwrap();
    assert_eq!(there.preflight().await.unwrap().status, 404, "any answer proves that somebody is there");
    assert!(provider.got()[0].headers.get("authorization").is_none());
    let free = loopback().local_addr().unwrap();
    let nobody = OpenaiChatUpstream::new(&format!("http://{free}/v1"), None, AT_ONCE).unwrap();
    let error = nobody.preflight().await.unwrap_err();
    assert!(matches!(&error, UpstreamError::Unreachable { tries: 3, .. }));
    let text = error.to_string();
    assert!(
        text.contains(&free.to_string()) && text.contains("check the URL") && text.contains("refused"),
        "{text}"
    );
}

#[tokio::test]
async fn a_full_disk_ends_the_attempt_and_the_run() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let upstream = Arc::new(OpenaiChatUpstream::new(&provider.base, None, AT_ONCE).unwrap());
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("requests")).unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join("requests/index.jsonl")).unwrap();
    let recorder = bench_proxy::Recorder::start(loopback(), spec(dir.path(), upstream)).await.unwrap();
    Agent::new(recorder.base_url(), &["bash"]).turn().await.unwrap();
    assert_eq!(recorder.stopped().await.kind, EndingKind::HarnessFault);
    let error = recorder.finish().await.unwrap_err().to_string();
    assert!(error.contains("index.jsonl") && error.contains("free the disk"), "{error}");
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
