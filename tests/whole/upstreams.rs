//! Real upstreams through the real binary: the canary, outages, caps of the run, costs, and keys that are stored nowhere.

use std::path::Path;

use crate::provider::{Provider, Said, fails, says};
use crate::workplace::{Outcome, Workplace, smoke_experiment, walls};

const KEY: &str = "test-key-0001";

/// The smoke experiment before a provider.
fn experiment(provider: &Provider, more: &str) -> String {
    let upstream =
        format!("kind = \"openai-chat\"\nbase-url = \"{}\"\nkey-env = \"TEST_KEY\"\n", provider.base);
    let text = smoke_experiment("real").replace("kind = \"oracle\"\n", &upstream);
    format!("min-isolation = \"L1\"\n{}\n{more}", text.replace("model = \"oracle\"", "model = \"m-1\""))
}

fn run(place: &Workplace, file: &str, key: &str, more: &[&str]) -> Outcome {
    let mut args = vec!["run", file, "-q", "-o", "run", "--events", "events.jsonl"];
    args.push("--yes");
    args.extend(more);
    Outcome::of(place.command(&args).env("TEST_KEY", key).output().unwrap())
}

fn records(place: &Workplace) -> Vec<serde_json::Value> {
    if place.path().join("run/journal.jsonl").exists() { place.records("run") } else { Vec::new() }
}

fn is_canary(body: &serde_json::Value) -> bool {
    body.to_string().contains("Answer with the single word ready")
}

/// What the endpoint says, the exit code, and a word of the complaint.
type Case = (fn() -> Said, i32, &'static str);

#[test]
fn the_canary_finds_what_would_make_every_cell_worthless_before_any_is_paid() {
    if !walls("the_canary_finds_what_would_make_every_cell_worthless_before_any_is_paid") {
        return;
    }
    let silent = || {
        let (status, headers, body) = says("m-1", "ready");
        let mut body: serde_json::Value = serde_json::from_str(&body).unwrap();
        body.as_object_mut().unwrap().remove("usage");
        (status, headers, body.to_string())
    };
    let cases: [Case; 4] = [
        (|| says("another", "ready"), 2, "`m-1` was asked for and `another` answered"),
        (|| (404, String::new(), "{\"error\":{\"message\":\"no such model\"}}".to_owned()), 2, "status 404"),
        (|| fails(503), 7, "the upstream failed"),
        (|| (401, String::new(), "{}".to_owned()), 7, "401"),
    ];
    for (answer, code, words) in cases {
        let place = Workplace::new();
        let provider = Provider::start(move |_, _| answer());
        let file = place.file("x.toml", &experiment(&provider, ""));
        run(&place, &file, KEY, &[]).exits(code).complains(&["canary: arm `bare`", words]);
        assert!(provider.got().iter().all(|got| is_canary(&got.body)), "nothing but the canary was sent");
        assert_eq!(records(&place).len(), 0);
    }
    let place = Workplace::new();
    let provider = Provider::start(move |_, _| silent());
    let file = place.file("x.toml", &experiment(&provider, ""));
    run(&place, &file, KEY, &[]).exits(2).complains(&["did not say what was used", "--no-canary"]);
    run(&place, &file, KEY, &["--no-canary"]);
    assert_eq!(records(&place).len(), 8, "skipped when asked to");
}

#[test]
fn a_run_after_a_good_canary_has_costs_and_one_canary_per_arm() {
    if !walls("a_run_after_a_good_canary_has_costs_and_one_canary_per_arm") {
        return;
    }
    let place = Workplace::new();
    let provider = Provider::start(|_, _| says("m-1-2026", "Done."));
    let price = "[[price]]\nmodel = \"m-*\"\ninput = 2.0\noutput = 20.0\n";
    let file = place.file("x.toml", &experiment(&provider, price));
    run(&place, &file, KEY, &[]);
    let canaries = provider.got().iter().filter(|got| is_canary(&got.body)).count();
    assert_eq!((canaries, records(&place).len()), (2, 8));
    let lock = place.json("run/lock.json");
    for record in records(&place) {
        assert_eq!(record["metrics"]["cost_usd"], 0.0004, "100 at 2 and 10 at 20 per million");
        assert_eq!(record["price_card_sha256"], lock["price_card_sha256"]);
        assert!(record["price_card_sha256"].is_string());
    }
    let unpriced = Workplace::new();
    let file = unpriced.file("x.toml", &experiment(&provider, ""));
    run(&unpriced, &file, KEY, &[]);
    assert!(records(&unpriced).iter().all(|record| record["metrics"]["cost_usd"].is_null()));
}

#[test]
fn an_outage_stops_the_run_and_the_same_command_loses_no_block() {
    if !walls("an_outage_stops_the_run_and_the_same_command_loses_no_block") {
        return;
    }
    let place = Workplace::new();
    // Well for the canary (2) and one cell, down for the next three attempts (4 tries each), well again.
    let provider = Provider::start(|_, number| match number {
        1..=3 => says("m-1", "Done."),
        4..=15 => fails(503),
        _ => says("m-1", "Done."),
    });
    let file = place.file("x.toml", &experiment(&provider, ""));
    run(&place, &file, KEY, &[]).exits(7).complains(&["several attempts in a row", "same command"]);
    let kinds: Vec<_> =
        records(&place).iter().map(|r| r["ending"]["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["completed", "upstream_fault", "upstream_fault", "upstream_fault"]);
    let paid = provider.got().len();
    assert_eq!(paid, 15, "nothing further was asked");
    run(&place, &file, KEY, &["--no-canary"]);
    // Every block has a whole last round: the outage spent no second chance.
    let all = records(&place);
    for block in ["fix-greeting/r01", "fix-greeting/r02", "hello-file/r01", "hello-file/r02"] {
        let of_block: Vec<_> = all.iter().filter(|record| record["block"] == block).collect();
        let last = of_block.iter().map(|record| record["round"].as_u64().unwrap()).max().unwrap();
        let settled: Vec<_> = of_block.iter().filter(|record| record["round"] == last).collect();
        assert_eq!(settled.len(), 2, "{block}");
        assert!(settled.iter().all(|record| record["ending"]["kind"] == "completed"), "{block}");
    }
}

#[test]
fn an_agent_that_was_only_refused_is_told_from_one_that_never_asked() {
    if !walls("an_agent_that_was_only_refused_is_told_from_one_that_never_asked") {
        return;
    }
    for (status, kind, blame) in [(404, "upstream_fault", "operator"), (400, "agent_error", "arm")] {
        let place = Workplace::new();
        let provider = Provider::start(move |_, _| (status, String::new(), "{}".to_owned()));
        let file = place.file("x.toml", &experiment(&provider, ""));
        run(&place, &file, KEY, &["--no-canary"]);
        let ending = records(&place)[0]["ending"].clone();
        assert_eq!(
            (ending["kind"].as_str(), ending["blame"].as_str()),
            (Some(kind), Some(blame)),
            "{ending:#}"
        );
        assert!(ending["detail"].as_str().unwrap().contains(&format!("{status} (")), "{ending:#}");
    }
}

#[test]
fn what_was_spent_on_answers_that_say_nothing_counts_when_the_run_goes_on() {
    if !walls("what_was_spent_on_answers_that_say_nothing_counts_when_the_run_goes_on") {
        return;
    }
    let place = Workplace::new();
    let provider = Provider::start(|_, _| {
        let (status, headers, body) = says("m-1", "Done.");
        let mut body: serde_json::Value = serde_json::from_str(&body).unwrap();
        body.as_object_mut().unwrap().remove("usage");
        (status, headers, body.to_string())
    });
    // A dollar a token: one request is more than the cap.
    let more =
        "[run-limits]\ncost-usd = 1.0\n[[price]]\nmodel = \"*\"\ninput = 1000000.0\noutput = 1000000.0\n";
    let file =
        place.file("x.toml", &experiment(&provider, &more.replace("1.0\n[[price", "100000.0\n[[price")));
    run(&place, &file, KEY, &["--no-canary", "-j", "1"]);
    let asked = provider.got().len();
    assert!(asked > 0 && records(&place)[0]["metrics"]["cost_usd"].is_null(), "{:#}", records(&place)[0]);
    let spent: f64 = records(&place).iter().filter_map(|r| r["charged"]["cost_usd"].as_f64()).sum();
    assert!(spent > 1.0, "{spent}");
}

#[test]
fn a_cap_on_the_run_stops_it_and_raised_lets_it_go_on() {
    if !walls("a_cap_on_the_run_stops_it_and_raised_lets_it_go_on") {
        return;
    }
    let place = Workplace::new();
    let provider = Provider::start(|_, _| says("m-1", "Done."));
    let file = place.file("x.toml", &experiment(&provider, "[run-limits]\nrequests = 3\n"));
    run(&place, &file, KEY, &["--no-canary", "-j", "4"])
        .exits(7)
        .complains(&["run-limits.requests", "raise it"]);
    assert_eq!(
        provider.got().len(),
        3,
        "checked before a request is let through, with four blocks in flight"
    );
    run(&place, &file, KEY, &["--no-canary"]).exits(7);
    assert_eq!(provider.got().len(), 3, "what earlier commands spent counts");
    place.file("x.toml", &experiment(&provider, "[run-limits]\nrequests = 300\n"));
    run(&place, &file, KEY, &["--no-canary"]);
    let completed = records(&place).iter().filter(|r| r["ending"]["kind"] == "completed").count();
    assert!(completed >= 8, "{completed}");
    let unpriced = place.file("y.toml", &experiment(&provider, "[run-limits]\ncost-usd = 1.0\n"));
    place
        .bench(&["run", &unpriced, "-q", "-o", "y"])
        .exits(2)
        .complains(&["run-limits.cost-usd", "[[price]]"]);
}

/// Shapes of real keys, made of a pattern here and now: no file of the project holds one.
fn key_shapes() -> Vec<String> {
    let letters = |length: usize, salt: usize| -> String {
        let alphabet = b"aB3dE5gH7jK9mN2pQ4rS6tU8vW0xYz";
        (0..length).map(|at| alphabet[(at * 7 + salt * 11 + at / 3) % alphabet.len()] as char).collect()
    };
    let join =
        |parts: [&str; 2], length: usize, salt: usize| format!("{}{}", parts.concat(), letters(length, salt));
    vec![
        join(["sk", "-"], 48, 1),
        join(["sk-", "proj-"], 120, 2),
        join(["sk-ant", "-api03-"], 95, 3),
        join(["AI", "za"], 35, 4),
        join(["AK", "IA"], 16, 5).to_uppercase(),
        join(["gh", "p_"], 36, 6),
        join(["github", "_pat_"], 82, 7),
        join(["xa", "i-"], 80, 8),
        join(["gs", "k_"], 52, 9),
        join(["h", "f_"], 34, 10),
        format!("{}.{}.{}", join(["ey", "J"], 33, 11), join(["ey", "J"], 60, 12), letters(43, 13)),
        letters(32, 14).to_lowercase(),
        format!("{}+/{}==", letters(40, 15), letters(40, 16)),
    ]
}

/// Files below that hold the text.
fn holders(dir: &Path, text: &[u8], found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            holders(&path, text, found);
        } else if std::fs::read(&path).unwrap().windows(text.len()).any(|window| window == text) {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn no_key_of_any_shape_is_stored_even_if_the_provider_repeats_it() {
    if !walls("no_key_of_any_shape_is_stored_even_if_the_provider_repeats_it") {
        return;
    }
    for key in key_shapes() {
        let echo = |got: &crate::provider::Got| -> String {
            let line = got.head.lines().find(|line| line.to_ascii_lowercase().starts_with("authorization:"));
            line.and_then(|line| line.split_once("Bearer ")).map(|(_, key)| key.to_owned()).unwrap()
        };
        // Refused with the key in the words, answered with the key in a header, answered with the key in the text.
        let provider = Provider::start(move |got, number| match number {
            1 => (500, "retry-after: 0\r\n".into(), format!("{{\"error\":\"bad key {}\"}}", echo(got))),
            2 => {
                let (status, _, body) = says("m-1", "Done.");
                (status, format!("x-echo: {}\r\n", echo(got)), body)
            }
            3 => says("m-1", &format!("your key is {}", echo(got))),
            _ => (401, String::new(), format!("{{\"error\":\"key {} is wrong\"}}", echo(got))),
        });
        let place = Workplace::new();
        let text = experiment(&provider, "").replace("repeats = 2", "repeats = 1\ntasks = [\"hello-file\"]");
        let file = place.file("x.toml", &text);
        let outcome = run(&place, &file, &key, &["--no-canary"]);
        assert_eq!(&provider.got()[0].head.contains(&key), &true, "the key did go out");
        let mut found = Vec::new();
        // Half of it is as good as a key to whoever guesses the rest.
        for part in [&key[..], &key[..key.len() * 2 / 3]] {
            holders(place.path(), part.as_bytes(), &mut found);
            assert_eq!(found, Vec::<String>::new());
            assert!(!outcome.stderr.contains(part) && !outcome.stdout.contains(part));
        }
    }
}

#[test]
fn a_surface_that_grows_fails_the_check_without_a_run() {
    if !walls("a_surface_that_grows_fails_the_check_without_a_run") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("x.toml", &smoke_experiment("x"));
    place
        .bench(&["surface", &file, "--check", "surface.lock"])
        .exits(2)
        .complains(&["surface.lock", "--write"]);
    place.bench(&["surface", &file, "--check", "surface.lock", "--write"]).exits(0);
    let same = place.bench(&["surface", &file, "--check", "surface.lock"]).exits(0);
    assert!(same.stdout.contains("ok     bare"), "{}", same.stdout);
    let entries = smoke_experiment("x").replace("surface = \"gateway\"", "surface = \"entries\"");
    let file = place.file("y.toml", &entries);
    let grown = place.bench(&["surface", &file, "--check", "surface.lock", "--max-ratio", "1.25"]).exits(1);
    assert!(grown.stdout.contains("GROWN  gateway") && grown.stdout.contains("  + "), "{}", grown.stdout);
    place.bench(&["surface", &file, "--check", "surface.lock", "--max-ratio", "9"]).exits(0);
    let shown = place.bench(&["surface", &file, "--against", "surface.lock"]).exits(0);
    assert!(
        shown.stdout.contains("no difference in size") && shown.stdout.contains("  + "),
        "{}",
        shown.stdout
    );
    let arms = place.bench(&["surface", &file, "--diff", "bare", "gateway"]).exits(0);
    assert!(arms.stdout.starts_with("bare -> gateway\n"), "{}", arms.stdout);
}

#[test]
fn the_tools_of_an_mcp_server_are_listed_with_what_they_would_add() {
    let place = Workplace::new();
    // Two pages, a log line between, a notification that must not be taken for an answer.
    let tool = |name: &str| {
        format!("{{\"name\":\"{name}\",\"description\":\"Reads.\",\"inputSchema\":{{\"type\":\"object\"}}}}")
    };
    let script = format!(
        "read -r _; echo starting; echo '{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"protocolVersion\":\"2025-06-18\"}}}}'\n\
         read -r _; read -r _; echo '{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{}}}}'\n\
         echo '{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{\"tools\":[{}],\"nextCursor\":\"b\"}}}}'\n\
         read -r _; echo '{{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{\"tools\":[{}]}}}}'\n",
        tool("one"),
        tool("two")
    );
    let server = format!("sh {}", place.file("server.sh", &script));
    let shown = place.bench(&["surface", "--mcp", &server, "--json"]).exits(0);
    let value: serde_json::Value = serde_json::from_str(&shown.stdout).unwrap();
    let server = &value["servers"][0];
    assert_eq!((&server["tool"][0]["name"], &server["tool"][1]["name"]), (&"one".into(), &"two".into()));
    let definition = "{\"type\":\"function\",\"function\":{\"name\":\"one\",\"description\":\"Reads.\",\"parameters\":{\"type\":\"object\"}}}";
    assert_eq!(server["tool"][0]["bytes"], definition.len());
    assert_eq!(server["tools"]["entries"], 2);
    place.bench(&["surface", "--mcp", "true"]).exits(2).complains(&["--mcp", "must speak MCP"]);
}
