//! `bench run` without a file: the four-arm ablation, end to end.

use serde_json::Value;

use crate::workplace::{Workplace, project, walls};

fn contrast<'a>(analysis: &'a Value, name: &str) -> &'a Value {
    analysis["contrasts"].as_array().unwrap().iter().find(|c| c["name"] == name).unwrap()
}

fn gate<'a>(contrast: &'a Value, metric: &str) -> &'a Value {
    contrast["gates"].as_array().unwrap().iter().find(|g| g["metric"] == metric).unwrap()
}

#[test]
fn the_default_experiment_ends_green_and_says_what_it_does_not_show() {
    if !walls("the_default_experiment_ends_green_and_says_what_it_does_not_show") {
        return;
    }
    let place = Workplace::new();
    let outcome = place.bench(&["run", "-o", "run"]).exits(0);
    assert!(outcome.stdout.contains("PASS"), "{}", outcome.stdout);

    let analysis = place.json("run/report/analysis.json");
    assert_eq!(analysis["overall"]["decision"], "PASS");
    for name in ["gateway-vs-bare", "loaded-vs-bare"] {
        for metric in ["first_request_tokens", "total_tokens", "turns", "tool_calls"] {
            assert_eq!(gate(contrast(&analysis, name), metric)["decision"], "PASS", "{name} {metric}");
        }
    }
    let control = contrast(&analysis, "entries-vs-bare");
    assert_eq!(control["role"], "negative-control");
    assert_eq!(gate(control, "first_request_tokens")["decision"], "FAIL");

    let code = contrast(&analysis, "code-mode-vs-entries");
    for metric in ["first_request_tokens", "total_tokens", "turns", "tool_calls"] {
        assert_eq!(gate(code, metric)["decision"], "PASS", "{metric}");
    }

    let first = &contrast(&analysis, "loaded-vs-bare")["metrics"]["first_request_tokens"];
    assert_eq!(first["gmr"], 1.0, "the extension is present and shows nothing");
    assert!(
        contrast(&analysis, "gateway-vs-bare")["metrics"]["first_request_tokens"]["gmr"].as_f64()
            < Some(1.25)
    );
    assert!(control["metrics"]["first_request_tokens"]["gmr"].as_f64() > Some(1.25));

    let arms = place.json("run/lock.json")["arms"].clone();
    assert!(arms.as_array().unwrap().iter().all(|arm| arm["tools_sha256"].is_string()), "{arms}");
    assert_eq!(arms[0]["tools_sha256"], arms[1]["tools_sha256"], "bare and loaded show the same tools");

    let report = place.read("run/report/report.md");
    for words in ["pass rate", "wall ms", "not gated", "oracle", "negative control"] {
        assert!(report.to_lowercase().contains(words), "{words:?} is missing from\n{report}");
    }
}

#[test]
fn every_cell_of_the_default_experiment_passes_its_hidden_check_and_plays_by_the_tool_of_its_kind() {
    if !walls("every_cell_of_the_default_experiment_passes…") {
        return;
    }
    let place = Workplace::new();
    place.bench(&["run", "-q", "-o", "run"]).exits(0);
    let records = place.records("run");
    assert!(records.len() >= 6 * 4 * 2, "{} cells", records.len());
    for record in &records {
        let cell = format!("{}/r{}/{}", record["task"], record["repeat"], record["arm"]);
        assert_eq!(record["ending"]["kind"], "completed", "{cell}: {}", record["ending"]);
        assert_eq!(record["verdict"], "passed", "{cell}");
        assert_eq!(record["oracle"]["substitutions"], serde_json::json!([]), "{cell}");
        read_edit_and_write_go_through_their_own_tools(&place, record);
        assert_eq!(record["isolation"]["quiescent"], true, "{cell}");
        assert_eq!(record["metrics"]["cost_usd"], Value::Null, "unpriced is not free");
    }
    let first_requests: std::collections::BTreeSet<String> = records
        .iter()
        .filter(|r| r["arm"] == "bare" && r["task"] == records[0]["task"])
        .map(|r| r["first_request"]["raw_sha256"].to_string())
        .collect();
    assert_eq!(first_requests.len(), 1, "repeats of one arm on one task send the same first request");
}

/// From the trace, not from what the oracle says of itself.
#[track_caller]
fn read_edit_and_write_go_through_their_own_tools(place: &Workplace, record: &Value) {
    let trace = place.read(&format!("run/{}/trace.jsonl", record["dir"].as_str().unwrap()));
    let mut steps = 0;
    for event in trace.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let action = event["action"].as_str().unwrap_or_default();
        if event["event"] == "oracle_step" && matches!(action, "read" | "edit" | "write") {
            let tool = if record["arm"] == "code-mode" { "eval" } else { action };
            assert_eq!(event["tool"], tool, "{}: {event}", record["dir"]);
            steps += 1;
        }
    }
    assert!(steps > 0, "{}: a plan that neither reads nor changes a file", record["dir"]);
}

#[test]
fn the_red_gate_of_the_examples_is_red() {
    if !walls("the_red_gate_of_the_examples_is_red") {
        return;
    }
    let place = Workplace::new();
    let file = project().join("examples/red-gate.toml");
    let outcome = place.bench(&["run", file.to_str().unwrap(), "-o", "run", "-q"]).exits(1);
    assert!(outcome.stdout.contains("FAIL"));
    assert!(outcome.stdout.contains("first request"));
    assert!(place.read("run/report/report.md").contains("1.25"));
}

#[test]
fn report_and_gate_say_the_same_from_the_journal_alone() {
    if !walls("report_and_gate_say_the_same_from_the_journal_alone") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("smoke.toml", &crate::workplace::smoke_experiment("smoke"));
    let run = place.bench(&["run", &file, "-q", "-o", "run"]).exits(0);
    let analysis = place.read("run/report/analysis.json");
    std::fs::remove_dir_all(place.path().join("run/report")).unwrap();
    std::fs::remove_dir_all(place.path().join("run/cells")).unwrap();
    let gate = place.bench(&["gate", "run"]).exits(0);
    assert_eq!(run.stdout, gate.stdout);
    assert_eq!(place.read("run/report/analysis.json"), analysis);
}
