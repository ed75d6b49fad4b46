//! An endpoint that speaks OpenAI chat completions, reached over HTTP: what it gets, what is kept, what happens when it
//! dies. The endpoint is a thread of the test; the agent, the recorder and the walls are the real ones.

use std::fs;
use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::workplace::{Outcome, Workplace, smoke_experiment, walls};

/// What the endpoint was sent: headers as text, and the body.
struct Seen {
    head: String,
    body: Value,
}

/// Answers every chat request with a final answer and usage, or with this status once it is another than 200.
fn endpoint(status: u16) -> (String, Receiver<Seen>) {
    endpoint_until(status, usize::MAX)
}

/// The same, as another provider after this many chat requests.
fn endpoint_until(status: u16, changes_after: usize) -> (String, Receiver<Seen>) {
    let chats = Arc::new(AtomicUsize::new(0));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let (sender, chats) = (sender.clone(), Arc::clone(&chats));
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut writer = stream;
                while let Some((head, body)) = read_request(&mut reader) {
                    let chat = head.starts_with("POST /v1/chat/completions");
                    let (status, text) = if chat {
                        let first = chats.fetch_add(1, Ordering::Relaxed) < changes_after;
                        (status, answer(if first { "fp_1" } else { "fp_2" }))
                    } else {
                        (200, "{\"data\":[]}".to_owned())
                    };
                    if chat {
                        let _ = sender.send(Seen { head, body: serde_json::from_slice(&body).unwrap() });
                    }
                    let reply = format!(
                        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nretry-after: 0\r\ncontent-length: {}\r\n\r\n{text}",
                        text.len()
                    );
                    if writer.write_all(reply.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (url, receiver)
}

fn read_request(reader: &mut impl std::io::BufRead) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn answer(fingerprint: &str) -> String {
    json!({
        "id": "x", "object": "chat.completion", "created": 0, "model": "real-model-1", "system_fingerprint": fingerprint,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "I give up."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 7, "total_tokens": 1007, "prompt_tokens_details": {"cached_tokens": 400}}
    })
    .to_string()
}

fn experiment(url: &str) -> String {
    smoke_experiment("real")
        .replace(
            "kind = \"oracle\"",
            &format!("kind = \"openai-chat\"\nbase-url = \"{url}\"\nkey-env = \"TEST_ENDPOINT_KEY\""),
        )
        .replace("suite = \"smoke\"", "suite = \"smoke\"\nmin-isolation = \"L1\"")
        .replace("model = \"oracle\"", "model = \"real-model\"")
        + "\n[settings]\ntemperature = 0.5\nmax-output-tokens = 321\n"
}

fn run(place: &Workplace, file: &str, key: &str) -> Outcome {
    let mut command = place.command(&["run", file, "-q", "-o", "run"]);
    Outcome::of(command.env("TEST_ENDPOINT_KEY", key).output().unwrap())
}

#[test]
fn the_key_goes_out_and_is_kept_nowhere_and_usage_is_the_providers() {
    if !walls("the_key_goes_out_and_is_kept_nowhere…") {
        return;
    }
    let (url, seen) = endpoint(200);
    let place = Workplace::new();
    let file = place.file("experiment.toml", &experiment(&url));
    let key = format!("sk-{}-{}", "proj", "A1b2C3d4E5f6G7h8");
    let outcome = run(&place, &file, &key).exits(0);
    assert!(!outcome.stdout.contains(&key) && !outcome.stderr.contains(&key));

    let requests: Vec<Seen> = seen.try_iter().collect();
    assert!(requests.len() >= 8, "{} requests", requests.len());
    for request in &requests {
        assert!(request.head.contains(&format!("Bearer {key}")), "{}", request.head);
        assert!(!request.head.contains("bench-cell-"), "the dummy stays inside:\n{}", request.head);
        assert_eq!(request.body["temperature"], 0.5, "settings are checked in the recorded bytes");
        assert_eq!(request.body["model"], "real-model");
    }
    let records = place.records("run");
    let record = &records[0];
    assert_eq!(record["ending"]["kind"], "completed");
    assert_eq!(record["verdict"], "failed", "the hidden check has spoken about an untouched workspace");
    assert_eq!(record["tokens"]["basis"], "provider");
    assert_eq!(record["metrics"]["input_tokens"], 1000);
    assert_eq!(record["metrics"]["cached_input_tokens"], 400);
    assert_eq!(record["metrics"]["total_tokens"], 1007);
    assert_eq!(record["upstream"]["models_answered"], json!(["real-model-1"]));
    assert_eq!(record["upstream"]["fingerprint"], "fp_1");
    assert_eq!(record["oracle"], Value::Null);
    let mut files = 0;
    no_file_holds(&place.path().join("run"), &key, &mut files);
    assert!(files > 20, "{files} files looked at");
}

fn no_file_holds(dir: &Path, key: &str, files: &mut u32) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            no_file_holds(&path, key, files);
        } else {
            *files += 1;
            let bytes = fs::read(&path).unwrap();
            assert!(
                !bytes.windows(key.len()).any(|w| w == key.as_bytes()),
                "{} holds the key",
                path.display()
            );
        }
    }
}

#[test]
fn a_change_of_the_provider_splits_the_run_and_no_part_passes_it() {
    if !walls("a_change_of_the_provider_splits_the_run_and_no_part_passes_it") {
        return;
    }
    // Each cell gives up in its first turn, so four cells are four requests: two blocks.
    let (url, _seen) = endpoint_until(200, 4);
    let place = Workplace::new();
    let file = place.file("experiment.toml", &experiment(&url).replace("limit = 1.25", "limit = 100.0"));
    let mut command = place.command(&["run", &file, "-q", "-o", "run", "--no-canary"]);
    let outcome = Outcome::of(command.env("TEST_ENDPOINT_KEY", "sk-test").output().unwrap());
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    let printed = place.bench(&["report", "run", "--json"]).exits(0);
    let analysis: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!(analysis["overall"]["reasons"], json!(["provider_changed"]));
    let parts = analysis["segments"].as_array().unwrap();
    let prints: Vec<&Value> = parts.iter().map(|part| &part["fingerprints"][0]).collect();
    assert_eq!((prints, &parts[0]["blocks"]), (vec![&json!("fp_1"), &json!("fp_2")], &json!(2)));
    let report = fs::read_to_string(place.path().join("run/report/report.md")).unwrap();
    assert!(report.contains("- fp_1, 2 blocks"), "{report}");
}

#[test]
fn a_dead_provider_is_its_own_ending_and_leaves_no_valid_cell() {
    if !walls("a_dead_provider_is_its_own_ending_and_leaves_no_valid_cell") {
        return;
    }
    let (url, _seen) = endpoint(500);
    let place = Workplace::new();
    let file = place.file("experiment.toml", &experiment(&url).replace("repeats = 2", "repeats = 1"));
    let outcome = run(&place, &file, "sk-test");
    assert!(matches!(outcome.code, Some(4 | 7)), "{outcome:?}");
    let records = place.records("run");
    assert!(records.iter().all(|r| r["ending"]["kind"] == "upstream_fault"), "{}", records[0]["ending"]);
    assert!(records.iter().all(|r| r["ending"]["blame"] == "provider"));
    assert!(records.iter().all(|r| r["verdict"] == Value::Null), "no outcome is not a failure");
}
