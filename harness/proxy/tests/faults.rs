//! Providers that fail in every way of transport and status: mended where nothing had reached the agent, counted, capped.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use bench_core::experiment::RunLimits;
use bench_core::{EndingKind, EndpointKind, Price, PriceCard, SystemClock};
use bench_proxy::{
    EndpointSpec, EndpointUpstream, RequestLimits, RetryPolicy, RoadRule, RunBudget, Spending, Spent,
    Timeouts,
};
use bench_wire::Turn;
use bench_wire::chat::{StreamUsage, write_json, write_stream};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use support::provider::*;
use support::*;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::mpsc;

fn spec_of(provider: &Provider) -> EndpointSpec {
    EndpointSpec {
        kind: EndpointKind::OpenaiChat,
        base_url: provider.base.clone(),
        policy: RetryPolicy { retries: 2, first_wait: Duration::ZERO, longest_wait: Duration::ZERO },
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(30),
            idle: Duration::from_secs(30),
        },
        concurrency: None,
        road: RoadRule::default(),
    }
}

async fn before(spec: EndpointSpec) -> Stage {
    let upstream = EndpointUpstream::open(spec, Some(KEY.into())).unwrap();
    Stage::upstream(Arc::new(upstream), |_| {}).await
}

/// A provider that writes these bytes, one connection each, and closes: what no HTTP library would send.
async fn raw(answers: Vec<Vec<u8>>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"}") {
                stream.read_buf(&mut asked).await.unwrap();
            }
            stream.write_all(&answer).await.unwrap();
        }
    });
    base
}

/// Head and beginning of a body that is longer than what comes.
fn half(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), &body[..body.len() / 2]].concat()
}

fn whole(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A stream of these pieces that ends, or breaks off.
fn stream(pieces: &[&[u8]], ends: bool) -> Vec<u8> {
    let mut answer =
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for piece in pieces {
        answer.extend(format!("{:x}\r\n", piece.len()).bytes());
        answer.extend_from_slice(piece);
        answer.extend_from_slice(b"\r\n");
    }
    if ends {
        answer.extend_from_slice(b"0\r\n\r\n");
    }
    answer
}

/// A response whose body never comes. The sender must live: it is handed out with it.
#[tokio::test]
async fn what_breaks_before_the_agent_saw_any_of_it_is_asked_again() {
    let good = write_json(&final_turn());
    // Hung up, broken off, whole by length but no JSON; then a stream that ends before it begins.
    let base = raw(vec![
        Vec::new(),
        half(&good),
        whole(&good),
        whole(&good[..good.len() / 2]),
        stream(&[], true),
        whole(&good),
    ])
    .await;
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = before(EndpointSpec { base_url: base, ..spec_of(&provider) }).await;
    let mut agent = stage.agent(&["bash"]);
    agent.turn().await.unwrap();
    agent.turn().await.unwrap();
    let (recording, index, dir) = stage.finish().await;
    assert_eq!((index.records().len(), recording.totals.retries, recording.stop), (2, 4, None));
    let retries: Vec<_> = trace(dir.path()).into_iter().filter(|event| event["event"] == "retry").collect();
    for (retry, words) in retries.iter().zip(["no answer", "broke off", "JSON", "before its first event"]) {
        assert!(retry["reason"].as_str().unwrap().contains(words), "{retry}");
    }
    assert!(retries[1]["bytes"].as_u64().unwrap() > 0, "what was thrown away is counted");
    assert_eq!(recording.tokens.completeness, "lower_bound", "a success that was thrown away may be charged");
}

#[tokio::test]
async fn a_silent_provider_is_asked_again_and_then_given_up() {
    let (held, mut holding) = mpsc::unbounded_channel();
    let provider = Provider::start(move |_, _| {
        let (response, sender) = silent();
        held.send(sender).unwrap();
        response
    })
    .await;
    let mut spec = spec_of(&provider);
    spec.timeouts.first_byte = Duration::from_millis(50);
    let stage = before(spec).await;
    let (status, said) = stage.agent(&["bash"]).turn().await.unwrap_err();
    assert_eq!(status, 502);
    assert!(said.contains("stood still") && said.contains("after 2 retries"), "{said}");
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::UpstreamFault);
    drop((stage.finish().await, holding.recv().await));
}

#[tokio::test]
async fn an_attempt_that_ends_while_the_upstream_fails_says_so_and_keeps_the_tries() {
    for answered_later in [false, true] {
        let (held, mut holding) = mpsc::unbounded_channel();
        let provider = Provider::start(move |_, number| match number {
            1 => pieces(429, "application/json", vec![b"{}".to_vec()]),
            2 => {
                let (response, sender) = silent();
                held.send(sender).unwrap();
                response
            }
            _ => plain(&final_turn()),
        })
        .await;
        let stage = before(spec_of(&provider)).await;
        let agent = stage.agent(&["bash"]);
        let mut patient = stage.agent(&["bash"]);
        let asking = tokio::spawn(async move { ask(&agent).await });
        // The second try is under way: the first is known to have failed.
        let _silent = holding.recv().await.unwrap();
        asking.abort();
        let _ = asking.await;
        if answered_later {
            patient.turn().await.unwrap();
        }
        let (recording, _, dir) = stage.finish().await;
        assert_eq!((recording.totals.retries, recording.upstream.statuses["429"]), (1, 1));
        assert_eq!(trace(dir.path()).iter().filter(|event| event["event"] == "retry").count(), 1);
        let failing = recording.failing.as_deref();
        assert_eq!(failing.is_some_and(|why| why.contains("status 429")), !answered_later, "{failing:?}");
        assert_eq!(recording.upstream.fault.as_deref(), failing);
    }
}

#[tokio::test]
async fn an_agent_that_has_said_all_it_has_to_say_is_answered() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = before(spec_of(&provider)).await;
    let body = stage.agent(&["bash"]).out.to_bytes();
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", stage.recorder.port())).await.unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    stage.finish().await;
}

async fn ask(agent: &Agent) -> Result<Bytes, hyper::Error> {
    let response = agent.client.request(agent.request(agent.out.to_bytes())).await.unwrap();
    response.into_body().collect().await.map(http_body_util::Collected::to_bytes)
}

#[tokio::test]
async fn after_a_break_in_mid_stream_the_agent_may_ask_again() {
    let frames = write_stream(&final_turn(), StreamUsage::Included);
    let answers =
        vec![stream(&[&frames[0]], false), stream(&[&frames[0]], true), whole(&write_json(&final_turn()))];
    let base = raw(answers).await;
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = before(EndpointSpec { base_url: base, ..spec_of(&provider) }).await;
    let mut agent = stage.agent(&["bash"]);
    assert!(ask(&agent).await.is_err(), "broken off for the agent as well");
    assert_eq!(ask(&agent).await.unwrap(), frames[0], "what ended too early ends so for the agent as well");
    agent.turn().await.unwrap();
    let (recording, index, _dir) = stage.finish().await;
    assert_eq!(recording.stop, None, "it was answered in the end");
    let again: Vec<_> = index.records().iter().map(|record| record.retry_of).collect();
    assert_eq!(again, [None, Some(1), Some(2)]);
    assert_eq!(recording.tokens.completeness, "lower_bound", "what the cut answers cost is not known whole");
}

#[tokio::test]
async fn three_broken_answers_in_a_row_end_the_attempt() {
    let frames = write_stream(&final_turn(), StreamUsage::Included);
    let base = raw(vec![stream(&[&frames[0]], false); 3]).await;
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = before(EndpointSpec { base_url: base, ..spec_of(&provider) }).await;
    let agent = stage.agent(&["bash"]);
    for _ in 0..3 {
        ask(&agent).await.unwrap_err();
    }
    assert_eq!(stage.recorder.stopped().await.kind, EndingKind::UpstreamFault);
}

#[tokio::test]
async fn a_model_that_speaks_of_quotas_is_not_asked_again() {
    let said = Turn { text: "429: quota exceeded, service unavailable, retry later".into(), ..final_turn() };
    let provider = Provider::start(move |_, _| plain(&said)).await;
    let stage = before(spec_of(&provider)).await;
    stage.agent(&["bash"]).turn().await.unwrap();
    assert_eq!(provider.got().len(), 1);
    assert_eq!(stage.finish().await.0.totals.retries, 0);
}

#[tokio::test]
async fn the_key_goes_into_the_header_of_its_api() {
    for (kind, header, value) in [
        (EndpointKind::OpenaiChat, "authorization", format!("Bearer {KEY}")),
        (EndpointKind::OpenaiResponses, "authorization", format!("Bearer {KEY}")),
        (EndpointKind::AnthropicMessages, "x-api-key", KEY.to_owned()),
        (EndpointKind::GeminiGenerateContent, "x-goog-api-key", KEY.to_owned()),
    ] {
        let provider = Provider::start(|_, _| plain(&final_turn())).await;
        let stage = before(EndpointSpec { kind, ..spec_of(&provider) }).await;
        let agent = stage.agent(&["bash"]);
        let mut request = agent.request(agent.out.to_bytes());
        request.headers_mut().insert("anthropic-version", "2099-01-01".parse().unwrap());
        assert_eq!(send(&agent.client, request).await.0, 200);
        let got = provider.got().remove(0);
        assert_eq!(got.headers[header], value, "{kind:?}");
        assert_eq!(got.headers["anthropic-version"], "2099-01-01", "the agent's own version stays");
        let carriers = ["authorization", "x-api-key", "x-goog-api-key"];
        assert_eq!(carriers.iter().filter(|name| got.headers.contains_key(**name)).count(), 1);
        let (recording, ..) = stage.finish().await;
        assert_eq!(recording.upstream.kind, kind.word());
    }
}

#[tokio::test]
async fn no_more_requests_are_in_flight_than_the_endpoint_is_to_bear() {
    let (held, mut holding) = mpsc::unbounded_channel();
    let provider = Provider::start(move |_, _| {
        let (response, sender) = silent();
        held.send(sender).unwrap();
        response
    })
    .await;
    let stage = before(EndpointSpec { concurrency: Some(1), ..spec_of(&provider) }).await;
    let agents: Vec<_> = (0..3)
        .map(|_| {
            let mut agent = stage.agent(&["bash"]);
            tokio::spawn(async move { agent.turn().await.unwrap() })
        })
        .collect();
    let body = write_json(&final_turn());
    for asked in 1..=3 {
        let sender = holding.recv().await.unwrap();
        assert_eq!(provider.got().len(), asked, "the next is asked when the one before is over");
        sender.send(Ok(Bytes::from(body.clone()))).await.unwrap();
    }
    for agent in agents {
        agent.await.unwrap();
    }
}

fn prices() -> Arc<PriceCard> {
    let price = Price {
        model: "test-*".into(),
        input: 10.0,
        cached_input: Some(1.0),
        cache_write: None,
        output: 100.0,
    };
    Arc::new(PriceCard { prices: vec![price] })
}

#[tokio::test]
async fn an_attempt_costs_what_the_card_says_and_an_unpriced_model_an_unknown_amount() {
    let provider = Provider::start(|_, number| match number % 2 {
        1 => streamed(&calling_turn()),
        _ => plain(&final_turn()),
    })
    .await;
    let run = |prices| {
        let upstream = EndpointUpstream::open(spec_of(&provider), None).unwrap();
        async move {
            let spending = Spending { prices, run: None };
            let stage = Stage::upstream(Arc::new(upstream), |spec| spec.spending = spending).await;
            stage.agent(&["bash"]).run(|_, _| "out".into()).await.unwrap();
            stage.finish().await.0.cost_usd
        }
    };
    // Twice: 40 uncached at 10, 60 cached at 1, 10 output at 100, per million.
    assert_eq!(run(prices()).await, Some(2.0 * (400.0 + 60.0 + 1000.0) / 1e6));
    let other = Price { model: "other".into(), ..prices().prices[0].clone() };
    assert_eq!(run(Arc::new(PriceCard { prices: vec![other] })).await, None);
    assert_eq!(run(Arc::default()).await, None);
}

#[tokio::test]
async fn caps_in_dollars_and_caps_of_the_run_are_checked_before_a_request_is_let_in() {
    let provider = Provider::start(|_, _| plain(&calling_turn())).await;
    let staged = |limits: RequestLimits, run: Option<Arc<RunBudget>>| {
        let upstream = EndpointUpstream::open(spec_of(&provider), None).unwrap();
        async move {
            Stage::upstream(Arc::new(upstream), |spec| {
                spec.limits = limits;
                spec.spending = Spending { prices: prices(), run };
            })
            .await
        }
    };
    // One answered request costs 0.00146.
    let cap = RequestLimits { cost_usd: Some(0.0015), ..RequestLimits::default() };
    let stage = staged(cap, None).await;
    let mut agent = stage.agent(&["bash"]);
    agent.turn().await.unwrap();
    assert_eq!(agent.turn().await.unwrap_err().0, 429);
    let ending = stage.recorder.stopped().await;
    assert_eq!((ending.kind, ending.limit.unwrap().name), (EndingKind::CostBudget, "cost-usd".to_owned()));

    let limits = RunLimits { requests: Some(3), ..RunLimits::default() };
    let before = Spent { requests: 1, ..Spent::default() };
    let budget = Arc::new(RunBudget::new(limits, before, Arc::new(SystemClock::default())));
    let (one, other) = (
        staged(RequestLimits::default(), Some(budget.clone())).await,
        staged(RequestLimits::default(), Some(budget)).await,
    );
    one.agent(&["bash"]).turn().await.unwrap();
    other.agent(&["bash"]).turn().await.unwrap();
    let asked = provider.got().len();
    assert_eq!(one.agent(&["bash"]).turn().await.unwrap_err().0, 429);
    assert_eq!(provider.got().len(), asked, "it never reached the provider");
    let ending = one.recorder.stopped().await;
    assert_eq!(
        (ending.kind, ending.limit.unwrap().name),
        (EndingKind::Interrupted, "run-limits.requests".to_owned())
    );
}

#[tokio::test]
async fn a_credential_dies_with_its_attempt() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let gone = before(spec_of(&provider)).await;
    let mut agent = gone.agent(&["bash"]);
    agent.turn().await.unwrap();
    let base = gone.recorder.base_url();
    gone.finish().await;
    assert!(
        agent.client.request(agent.request(agent.out.to_bytes())).await.is_err(),
        "nobody listens at {base}"
    );
    // The next attempt's recorder knows only its own.
    let upstream = EndpointUpstream::open(spec_of(&provider), None).unwrap();
    let next =
        Stage::upstream(Arc::new(upstream), |spec| spec.credential = "attempt-token-0002".into()).await;
    let asked = provider.got().len();
    assert_eq!(next.agent(&["bash"]).turn().await.unwrap_err().0, 401);
    assert_eq!(provider.got().len(), asked);
}
