//! Compressed bodies: forwarded as they came, read for accounting, refused where they cannot be read.

#![allow(clippy::unwrap_used, reason = "a test panics where it must not go on")]

mod support;

use std::io::Read as _;

use bench_core::EndingKind;
use bench_wire::chat::{StreamUsage, write_stream};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use support::provider::*;
use support::*;

fn encoded(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let level = flate2::Compression::fast();
    match name {
        "gzip" => flate2::read::GzEncoder::new(bytes, level).read_to_end(&mut out).unwrap(),
        "deflate" => flate2::read::ZlibEncoder::new(bytes, level).read_to_end(&mut out).unwrap(),
        "br" => brotli::CompressorReader::new(bytes, 4096, 5, 20).read_to_end(&mut out).unwrap(),
        "zstd" => zstd::stream::read::Encoder::new(bytes, 3).unwrap().read_to_end(&mut out).unwrap(),
        other => panic!("{other}"),
    };
    out
}

fn coded_request(agent: &Agent, name: &str, body: Vec<u8>) -> Request<Full<Bytes>> {
    let mut request = agent.request(body);
    request.headers_mut().insert("content-encoding", name.parse().unwrap());
    request.headers_mut().insert("accept-encoding", "zstd,gzip".parse().unwrap());
    request
}

#[tokio::test]
async fn compressed_bodies_are_measured_and_forwarded_untouched() {
    for name in ["gzip", "deflate", "br", "zstd"] {
        let provider = Provider::start(move |_, _| {
            let whole = encoded(name, &write_stream(&final_turn(), StreamUsage::Included).concat());
            let halves = whole.chunks(whole.len() / 2 + 1).map(<[u8]>::to_vec).collect();
            let mut response = pieces(200, "text/event-stream", halves);
            response.headers_mut().insert("content-encoding", name.parse().unwrap());
            response
        })
        .await;
        let stage = stage(&provider).await;
        let agent = stage.agent(&["bash"]);
        let plain_body = agent.out.to_bytes();
        let body = encoded(name, &plain_body);
        let (status, headers, answer) = send(&agent.client, coded_request(&agent, name, body.clone())).await;
        assert_eq!((status, headers["content-encoding"].to_str().unwrap()), (200, name));
        let got = provider.got();
        assert_eq!(got[0].body, body, "{name}: the provider gets the agent's bytes");
        assert_eq!(got[0].headers["content-encoding"], name);
        assert_eq!(got[0].headers["accept-encoding"], "zstd,gzip");
        let (recording, index, _dir) = stage.finish().await;
        assert_eq!(index.body(1).unwrap(), body);
        assert_eq!(index.response(1).unwrap().unwrap(), answer);
        assert_eq!(index.records()[0].encoding.as_deref(), Some(name));
        let first = recording.first_request.unwrap();
        assert_eq!((first.tools.callable, first.body_bytes), (1, plain_body.len() as u64), "{name}");
        assert_eq!(recording.tokens.basis, "provider", "{name}");
        assert_eq!(recording.totals.input_tokens, Some(100), "{name}");
    }
}

#[tokio::test]
async fn two_lines_of_codings_are_one_list() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = stage(&provider).await;
    let agent = stage.agent(&["bash"]);
    let body = encoded("gzip", &encoded("zstd", &agent.out.to_bytes()));
    let mut request = coded_request(&agent, "zstd", body);
    request.headers_mut().append("content-encoding", "gzip".parse().unwrap());
    let (status, _, _) = send(&agent.client, request).await;
    assert_eq!((status, provider.got().len()), (200, 1));
    assert_eq!(stage.finish().await.0.first_request.unwrap().tools.callable, 1);
}

#[tokio::test]
async fn a_body_that_is_not_what_its_header_says_or_unfolds_without_end_is_refused() {
    let provider = Provider::start(|_, _| plain(&final_turn())).await;
    let stage = stage(&provider).await;
    let agent = stage.agent(&["bash"]);
    let bomb = encoded("zstd", &vec![0; 70 << 20]);
    assert!(bomb.len() < 100_000);
    assert_eq!(send(&agent.client, coded_request(&agent, "zstd", bomb)).await.0, 413);
    assert_eq!(send(&agent.client, coded_request(&agent, "gzip", b"{}".to_vec())).await.0, 400);
    let (status, _, said) = send(&agent.client, coded_request(&agent, "compress", b"{}".to_vec())).await;
    assert_eq!(status, 415);
    assert!(String::from_utf8_lossy(&said).contains("gzip, deflate, br, zstd can"));
    assert!(provider.got().is_empty());
}

#[tokio::test]
async fn a_canary_or_a_key_is_found_inside_a_compressed_body() {
    let provider = Provider::start(|_, _| {
        let mut response = pieces(200, "application/json", vec![encoded("gzip", KEY.as_bytes())]);
        response.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
        response
    })
    .await;
    let echoed = stage(&provider).await;
    let agent = echoed.agent(&["bash"]);
    let _ = agent.client.request(agent.request(agent.out.to_bytes())).await;
    assert_eq!(echoed.recorder.stopped().await.kind, EndingKind::UpstreamFault);
    let leaking = stage(&provider).await;
    let agent = leaking.agent(&["bash"]);
    let body = encoded("br", b"{\"messages\":[{\"role\":\"user\",\"content\":\"canary-5f1e\"}]}");
    assert_eq!(send(&agent.client, coded_request(&agent, "br", body)).await.0, 403);
    assert_eq!(leaking.recorder.stopped().await.kind, EndingKind::CanarySeen);
}
