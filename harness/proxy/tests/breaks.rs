//! The recorder before a provider on loopback: answers that fail or break off, and records that cannot be kept.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

mod support;

use std::sync::Arc;

use bench_core::EndingKind;
use bench_proxy::{EndpointUpstream, UpstreamError};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Response;
use support::provider::*;
use support::*;
use tokio::sync::mpsc;

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
    let (recording, _, _dir) = stage.finish().await;
    assert_eq!(recording.stop.unwrap().kind, EndingKind::UpstreamFault, "it was never answered whole");
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
async fn a_record_that_cannot_be_kept_stops_the_run() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let upstream = Arc::new(EndpointUpstream::new(&provider.base, None, AT_ONCE).unwrap());
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
    let there = EndpointUpstream::new(&provider.base, None, AT_ONCE).unwrap();
    assert_eq!(there.preflight().await.unwrap().status, 404, "any answer proves that somebody is there");
    assert!(provider.got()[0].headers.get("authorization").is_none());
    let free = loopback().local_addr().unwrap();
    let nobody = EndpointUpstream::new(&format!("http://{free}/v1"), None, AT_ONCE).unwrap();
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
    let upstream = Arc::new(EndpointUpstream::new(&provider.base, None, AT_ONCE).unwrap());
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
async fn an_error_within_a_stream_is_the_provider_s_and_what_it_stated_before_is_counted() {
    let provider = Provider::start(|_, _| {
        let half = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"half of it\"}}],\
                    \"usage\":{\"prompt_tokens\":70,\"completion_tokens\":3}}\n\n";
        let error = "data: {\"error\":{\"message\":\"overloaded\",\"code\":502}}\n\n";
        pieces(200, "text/event-stream", vec![half.into(), error.into()])
    })
    .await;
    let stage = stage(&provider).await;
    let agent = stage.agent(&["bash"]);
    let (status, _, _) = send(&agent.client, agent.request(agent.out.to_bytes())).await;
    assert_eq!(status, 200, "it passes as it came");
    let (recording, index, _dir) = stage.finish().await;
    let stop = recording.stop.unwrap();
    assert_eq!((stop.kind, stop.detail.unwrap().contains("overloaded")), (EndingKind::UpstreamFault, true));
    assert_eq!(index.records()[0].usage.as_ref().unwrap().input_tokens, Some(70));
    assert_eq!(
        (recording.totals.output_tokens, recording.tokens.completeness.as_str()),
        (Some(3), "lower_bound")
    );
}

#[tokio::test]
async fn of_a_key_in_an_error_s_words_not_even_the_beginning_is_kept() {
    for cut in [10, KEY.len()] {
        let said = format!("{}bad key {KEY}", "x".repeat(280));
        let at = said.len() - KEY.len() + cut;
        let (head, rest) = (said.as_bytes()[..at].to_vec(), said.as_bytes()[at..].to_vec());
        let provider =
            Provider::start(move |_, _| pieces(401, "text/plain", vec![head.clone(), rest.clone()])).await;
        let stage = stage(&provider).await;
        stage.agent(&["bash"]).turn().await.unwrap_err();
        let (recording, _, dir) = stage.finish().await;
        assert!(recording.stop.unwrap().detail.unwrap().contains("bad key"));
        assert!(!stands_in(dir.path(), &KEY[..10]), "cut at {cut}");
    }
}
