//! Bad input: each is a clear error with the thing, its value and the remedy, a documented exit code, and nothing lost.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::workplace::{Outcome, Workplace, project, skipped, smoke_experiment, walls};

fn refused(change: impl Fn(String) -> String, words: &[&str]) {
    let place = Workplace::new();
    let file = place.file("experiment.toml", &change(smoke_experiment("bad")));
    place.bench(&["run", &file]).exits(2).complains(words);
    assert!(!place.path().join("runs").exists(), "nothing may be begun");
}

#[test]
fn an_unknown_key_has_its_line_and_a_suggestion() {
    refused(|t| t.replace("repeats = 2", "repeat = 2"), &["experiment.toml:3:1", "repeat", "repeats"]);
}

#[test]
fn an_unknown_arm_in_a_contrast_is_named() {
    refused(|t| t.replace("candidate = \"gateway\"", "candidate = \"gatway\""), &["gatway", "gateway"]);
}

#[test]
fn an_unknown_metric_in_a_gate_is_named() {
    refused(
        |t| t.replace("first_request_tokens", "first_request_token"),
        &["first_request_token", "first_request_tokens"],
    );
}

#[test]
fn an_unknown_suite_and_an_unknown_surface_are_named() {
    refused(|t| t.replace("suite = \"smoke\"", "suite = \"smoek\""), &["smoek", "smoke"]);
    refused(|t| t.replace("surface = \"gateway\"", "surface = \"gatway\""), &["gatway", "gateway"]);
}

#[test]
fn a_contrast_that_differs_in_more_than_its_factor_is_refused() {
    refused(
        |t| t.replace("surface = \"gateway\"", "surface = \"gateway\"\nmodel = \"another\""),
        &["contrast.factor", "gateway", "model"],
    );
}

#[test]
fn a_file_that_is_not_there_names_itself_and_the_remedy() {
    let place = Workplace::new();
    place.bench(&["run", "absent.toml"]).exits(2).complains(&["absent.toml", "bench init"]);
}

#[test]
fn a_task_without_a_verifier_is_refused() {
    let place = Workplace::new();
    let canary = "bench-canary-0000-no-verifier";
    place.file(
        "suites/lame/one/task.toml",
        &format!("format-version = 1\ntitle = \"One\"\ntrack = \"default\"\ncanary = \"{canary}\"\n"),
    );
    place.file("suites/lame/one/instruction.md", "Do it.\n");
    place.file("suites/lame/one/workspace/a.txt", "a\n");
    place.file(
        "suites/lame/one/oracle.toml",
        &format!("# {canary}\nformat-version = 1\n[[step]]\nanswer = \"done\"\n"),
    );
    let file = place
        .file("experiment.toml", &smoke_experiment("bad").replace("suite = \"smoke\"", "suite = \"lame\""));
    place.bench(&["run", &file, "--suites", "suites"]).exits(2).complains(&["one", "verify/run.sh"]);
}

fn real_upstream(base_url: &str, key: &str) -> String {
    smoke_experiment("bad")
        .replace("kind = \"oracle\"", &format!("kind = \"openai-chat\"\nbase-url = \"{base_url}\"\n{key}"))
        .replace("suite = \"smoke\"", "suite = \"smoke\"\nmin-isolation = \"L1\"")
}

#[test]
fn a_missing_key_variable_is_named_and_its_remedy() {
    if !walls("a_missing_key_variable_is_named_and_its_remedy") {
        return;
    }
    let place = Workplace::new();
    let file = place
        .file("experiment.toml", &real_upstream("http://127.0.0.1:9/v1", "key-env = \"BENCH_TEST_ABSENT\""));
    place.bench(&["run", &file]).exits(2).complains(&["BENCH_TEST_ABSENT", "export"]);
    assert!(!place.path().join("runs").exists(), "nothing may be begun");
}

#[test]
fn an_unreachable_upstream_is_found_before_the_first_cell() {
    if !walls("an_unreachable_upstream_is_found_before_the_first_cell") {
        return;
    }
    let place = Workplace::new();
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let url = format!("http://127.0.0.1:{port}/v1");
    let file = place.file("experiment.toml", &real_upstream(&url, ""));
    place.bench(&["run", &file, "-o", "run"]).exits(2).complains(&[&url]);
    assert_eq!(fs::read_to_string(place.path().join("run/journal.jsonl")).unwrap_or_default(), "");
}

#[test]
fn a_level_that_is_not_reached_here_is_refused_with_what_is_missing() {
    let place = Workplace::new();
    let doctor: serde_json::Value =
        serde_json::from_str(&place.bench(&["doctor", "--json"]).exits(0).stdout).unwrap();
    if doctor["isolation"]["level"] == "L3" {
        skipped("a_level_that_is_not_reached_here…", "this machine reaches L3");
        return;
    }
    let text = smoke_experiment("bad").replace("seed = 7", "seed = 7\nmin-isolation = \"L3\"");
    let file = place.file("experiment.toml", &text);
    place.bench(&["run", &file]).exits(5).complains(&["L3", "missing"]);
    assert!(!place.path().join("runs").exists(), "nothing may be begun");
}

#[test]
fn a_port_in_use_is_named() {
    if !walls("a_port_in_use_is_named") {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let place = Workplace::new();
    let text = smoke_experiment("bad").replace("seed = 7", &format!("seed = 7\nrecorder-port = {port}"));
    let file = place.file("experiment.toml", &text);
    place.bench(&["run", &file]).exits(2).complains(&[&port.to_string(), "recorder-port"]);
}

#[test]
fn a_run_directory_that_cannot_be_written_is_named() {
    if !walls("a_run_directory_that_cannot_be_written_is_named") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("experiment.toml", &smoke_experiment("bad"));
    place
        .bench(&["run", &file, "-o", "/sys/kernel/bench-run"])
        .exits(2)
        .complains(&["/sys/kernel/bench-run", "-o"]);
    let taken = place.file("a-file", "not a directory\n");
    place.bench(&["run", &file, "-o", &taken]).exits(2).complains(&["a-file"]);
    assert_eq!(place.read("a-file"), "not a directory\n");
}

#[test]
fn a_second_process_on_the_same_run_directory_is_refused() {
    if !walls("a_second_process_on_the_same_run_directory_is_refused") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("experiment.toml", &smoke_experiment("held"));
    fs::create_dir(place.path().join("run")).unwrap();
    let held = fs::File::create(place.path().join("run/.held")).unwrap();
    held.lock().unwrap();
    place.bench(&["run", &file, "-o", "run"]).exits(7).complains(&["run", "in use", "--new"]);
    drop(held);
    place.bench(&["run", &file, "-o", "run", "-q"]).exits(0);
}

#[test]
fn a_suite_below_a_readable_system_path_is_refused() {
    if !walls("a_suite_below_a_readable_system_path_is_refused") {
        return;
    }
    // Only root may put a directory there; anybody else has nothing to refuse.
    let Ok(dir) = tempfile::tempdir_in("/usr/share") else { return };
    let place = Workplace::new();
    let file = place.file("experiment.toml", &smoke_experiment("exposed"));
    let run = dir.path().join("run");
    place.bench(&["run", &file, "-o", run.to_str().unwrap()]).exits(2).complains(&["readable"]);
}

/// As root a cell has a user of its own, to whom a directory of mode 0700 above a checkout is a wall.
#[test]
fn a_checkout_that_lets_only_its_owner_through_works_and_such_a_state_directory_is_named() {
    if !walls("a_checkout_that_lets_only_its_owner_through…") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("experiment.toml", &smoke_experiment("closed"));
    let suites = place.path().join("closed/suites");
    fs::create_dir_all(&suites).unwrap();
    let smoke = project().join("tasks/suites/smoke");
    assert!(Command::new("cp").arg("-r").args([&smoke, &suites]).status().unwrap().success());
    fs::set_permissions(place.path().join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    place.bench(&["run", &file, "-q", "-o", "run", "--suites", "closed/suites"]).exits(0);
    assert!(place.records("run").iter().all(|record| record["ending"]["kind"] == "completed"));
    let barred = place
        .command(&["run", &file, "-q", "-o", "barred"])
        .env("BENCH_STATE_DIR", place.path().join("closed/state"))
        .output();
    let barred = Outcome::of(barred.unwrap());
    if bench_isolation::effective_uid() == 0 {
        barred.exits(2).complains(&["closed", "--state-dir", "chmod"]);
        assert!(!place.path().join("barred").exists(), "nothing may be begun");
    } else {
        barred.exits(0);
    }
}

#[test]
fn a_damaged_journal_is_not_overwritten() {
    if !walls("a_damaged_journal_is_not_overwritten") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("experiment.toml", &smoke_experiment("damaged"));
    place.bench(&["run", &file, "-o", "run", "-q"]).exits(0);
    let damaged = place.read("run/journal.jsonl").replacen("{\"format_version\"", "{\"format_version", 1);
    fs::write(place.path().join("run/journal.jsonl"), &damaged).unwrap();
    place.bench(&["gate", "run"]).exits(7).complains(&["journal", "line 1"]);
    assert_eq!(place.read("run/journal.jsonl"), damaged);
}
