//! The order test: what happens in a run, in words, from the one event stream.

use serde_json::Value;

use crate::workplace::{Workplace, walls};

/// One task whose verifier and agent are given.
fn small_suite(place: &Workplace, verifier: &str) {
    let canary = "bench-canary-0000-order-test";
    let dir = "suites/small/one";
    place.file(
        &format!("{dir}/task.toml"),
        &format!("format-version = 1\ntitle = \"One\"\ntrack = \"default\"\ncanary = \"{canary}\"\n"),
    );
    place.file(&format!("{dir}/instruction.md"), "Write done.\n");
    place.file(&format!("{dir}/workspace/a.txt"), "a\n");
    place.file(&format!("{dir}/verify/run.sh"), &format!("# {canary}\n{verifier}\n"));
    place.file(
        &format!("{dir}/oracle.toml"),
        &format!("# {canary}\nformat-version = 1\n[[step]]\nwrite = {{ path = \"done.txt\", content = \"done\\n\" }}\n[[step]]\nanswer = \"done\"\n"),
    );
}

fn one_arm(agent: &str) -> String {
    format!(
        "name = \"order\"\nseed = 1\nrepeats = 1\nsuite = \"small\"\nmodel = \"oracle\"\n[upstream]\nkind = \"oracle\"\n[[arm]]\nname = \"only\"\n{agent}\n"
    )
}

/// Runs it and returns the events as words.
fn words(place: &Workplace, experiment: &str, code: i32) -> Vec<String> {
    let file = place.file("experiment.toml", experiment);
    place
        .bench(&["run", &file, "-q", "-o", "run", "--suites", "suites", "--events", "events.jsonl"])
        .exits(code);
    place
        .read("events.jsonl")
        .lines()
        .map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            let name = event["event"].as_str().unwrap();
            match (event["ending"].as_str(), event["passed"].as_bool()) {
                (Some(ending), Some(passed)) => format!("{name} {ending} {passed}"),
                (Some(ending), None) => format!("{name} {ending}"),
                (None, Some(passed)) => format!("{name} {passed}"),
                (None, None) => name.to_owned(),
            }
        })
        .collect()
}

#[test]
fn a_cell_that_goes_well() {
    if !walls("a_cell_that_goes_well") {
        return;
    }
    let place = Workplace::new();
    small_suite(&place, "test -f done.txt");
    assert_eq!(
        words(&place, &one_arm("surface = \"bare\""), 0),
        [
            "run_started",
            "attempt_started",
            "agent_starting",
            "agent_ended completed",
            "verified true",
            "appending",
            "settled completed true",
            "run_ended",
        ]
    );
}

#[test]
fn an_agent_that_never_asks_the_model_counts_as_failed_and_is_not_verified() {
    if !walls("an_agent_that_never_asks_the_model…") {
        return;
    }
    let place = Workplace::new();
    small_suite(&place, "exit 0");
    let agent =
        "agent = \"command\"\nsurface = \"as-is\"\ncommand = [\"/bin/sh\", \"-c\", \"touch done.txt\"]";
    assert_eq!(
        words(&place, &one_arm(agent), 0),
        [
            "run_started",
            "attempt_started",
            "agent_starting",
            "agent_ended no_model_call",
            "appending",
            "settled no_model_call false",
            "run_ended",
        ]
    );
}

#[test]
fn a_verifier_that_cannot_speak_repeats_its_block_once() {
    if !walls("a_verifier_that_cannot_speak_repeats_its_block_once") {
        return;
    }
    let place = Workplace::new();
    small_suite(&place, "exit 3");
    let seen = words(&place, &one_arm("surface = \"bare\""), 4);
    let settled: Vec<&String> =
        seen.iter().filter(|w| w.starts_with("settled") || w.starts_with("block")).collect();
    assert_eq!(settled, ["settled harness_fault", "block_repeated harness_fault", "settled harness_fault"]);
    let blame: Vec<Value> = place.records("run").iter().map(|r| r["ending"]["blame"].clone()).collect();
    assert_eq!(blame, ["verifier", "verifier"]);
}

#[test]
fn the_wall_limit_ends_the_agent_and_what_it_left_is_still_judged() {
    if !walls("the_wall_limit_ends_the_agent_and_what_it_left_is_still_judged") {
        return;
    }
    let place = Workplace::new();
    small_suite(&place, "test -f done.txt");
    let agent = "agent = \"command\"\nsurface = \"as-is\"\ncommand = [\"/bin/sh\", \"-c\", \"touch done.txt; trap '' TERM; (setsid sleep 1000 &) ; sleep 1000\"]\n[limits]\nwall-ms = 300";
    let seen = words(&place, &one_arm(agent), 0);
    assert!(seen.contains(&"settled timeout true".to_owned()), "{seen:?}");
    let record = &place.records("run")[0];
    assert_eq!(record["ending"]["limit"]["name"], "wall-ms");
    assert_eq!(record["isolation"]["quiescent"], true);
    assert!(record["censored"].as_array().unwrap().iter().any(|m| m == "wall_ms"));
}

#[test]
fn the_verifier_is_not_fooled_by_a_pre_written_verdict() {
    if !walls("the_verifier_is_not_fooled_by_a_pre_written_verdict") {
        return;
    }
    let place = Workplace::new();
    small_suite(&place, "test -f done.txt");
    place.file(
        "suites/small/one/oracle.toml",
        "# bench-canary-0000-order-test\nformat-version = 1\n[[step]]\nrun = \"mkdir -p verify; printf 'exit 0\\n' > verify/run.sh; printf 'check all passed\\n' > verdict; mkdir -p bin; printf '#!/bin/sh\\nexit 0\\n' > bin/test; chmod +x bin/test\"\n[[step]]\nanswer = \"done\"\n",
    );
    let seen = words(&place, &one_arm("surface = \"bare\""), 0);
    assert!(seen.contains(&"settled completed false".to_owned()), "{seen:?}");
}
