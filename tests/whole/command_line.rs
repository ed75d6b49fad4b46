//! The command line as people use it: changes for one command, questions before money, files to start from, bundles,
//! cleaning, and what is suggested when something is mistyped.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::provider::{Provider, says};
use crate::workplace::{Workplace, smoke_experiment, walls};

#[test]
fn a_mistyped_word_is_answered_with_the_one_that_was_meant() {
    let place = Workplace::new();
    place.bench(&["rnu"]).exits(2).complains(&["run"]);
    place.bench(&["run", "--jbos", "2"]).exits(2).complains(&["--jobs"]);
    let file = place.file("smoke.toml", &smoke_experiment("smoke"));
    place.bench(&["plan", "smok.toml"]).exits(2).complains(&["did you mean smoke.toml?"]);
    place.bench(&["plan", &file, "--set", "repaets=3"]).exits(2).complains(&["did you mean `repeats`"]);
    place.bench(&["plan", &file, "--set", "arm.gatewy.surface=all"]).exits(2).complains(&["`gateway`"]);
    place.bench(&["plan", &file, "--arm", "gatewy"]).exits(2).complains(&["did you mean `gateway`"]);
    place.bench(&["plan", &file, "--task", "hello-fil"]).exits(2).complains(&["hello-file"]);
}

#[test]
fn a_run_that_is_none_is_named_once_with_where_runs_lie() {
    let place = Workplace::new();
    for args in [
        &["show", "nowhere"][..],
        &["report", "nowhere"],
        &["merge", "nowhere", "-o", "x"],
        &["pack", "nowhere"],
    ] {
        let refused = place.bench(args).exits(2).complains(&["nowhere", "runs/"]);
        assert_eq!(refused.stderr.matches("No such file").count(), 1, "{args:?}: {}", refused.stderr);
    }
    place.bench(&["show", "nowhere", "--why"]).exits(2).complains(&["<CELL>"]);
}

#[test]
fn changes_on_the_command_line_are_part_of_the_run() {
    if !walls("changes_on_the_command_line_are_part_of_the_run") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("smoke.toml", &smoke_experiment("smoke"));
    let args = ["run", &file, "-q", "-o", "run", "--seed", "9", "--task", "hello-file", "--set", "repeats=4"];
    place.bench(&args);
    let lock = place.json("run/lock.json");
    assert_eq!((lock["seed"].as_u64(), lock["repeats"].as_u64()), (Some(9), Some(4)));
    assert_eq!(lock["tasks"], serde_json::json!(["hello-file"]));
    assert!(place.read("run/experiment.toml").contains("--set repeats=4"));
    // The run's own copy is what was run: without any option it is continued by it.
    place.bench(&["run", "run/experiment.toml", "-q", "-o", "run"]).complains(&["nothing to do"]);
    let plan = place.bench(&["plan", &file, "--arm", "bare", "--json"]).exits(0).stdout;
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["blocks"][0]["order"], serde_json::json!(["bare"]));
    assert_eq!(plan["cost"]["paid"], false);
}

#[test]
fn a_run_that_may_cost_money_is_not_started_unasked() {
    if !walls("a_run_that_may_cost_money_is_not_started_unasked") {
        return;
    }
    let place = Workplace::new();
    let provider = Provider::start(|_, _| says("m-1", "Done."));
    let upstream = format!("kind = \"openai-chat\"\nbase-url = \"{}\"\n", provider.base);
    let text = smoke_experiment("paid")
        .replace("kind = \"oracle\"\n", &upstream)
        .replace("model = \"oracle\"", "model = \"m-1\"\nmin-isolation = \"L1\"");
    let price = "[[price]]\nmodel = \"m-*\"\ninput = 2.0\noutput = 20.0\n";
    let file = place.file("x.toml", &format!("{text}\n{price}[limits]\ncost-usd = 0.5\n"));
    let refused = place.bench(&["run", &file, "-q", "-o", "runs/a"]).exits(2);
    refused.complains(&["--yes", "8 cells of a real model, at most $4.00", "no earlier cell"]);
    assert!(provider.got().is_empty(), "nothing was asked");
    assert!(!place.path().join("runs").exists(), "nothing was begun");
    place.bench(&["run", &file, "-q", "-o", "runs/a", "--yes"]);
    let plan = place.bench(&["plan", &file]).exits(0).stdout;
    assert!(plan.contains("about $0.00 by the mean of 8 earlier cells"), "{plan}");
    let free = place.file("free.toml", &text);
    place.bench(&["run", &free, "-q", "-o", "runs/b"]);
    assert_eq!(place.records("runs/b").len(), 8, "an endpoint of this machine without a price costs nothing");
}

#[test]
fn every_kind_of_file_to_start_from_loads_and_names_its_schema() {
    let place = Workplace::new();
    for kind in ["every-key", "surface-only", "four-arm", "ci"] {
        let file = format!("{kind}/x.toml");
        place.bench(&["init", &file, "--kind", kind]).exits(0);
        assert!(place.read(&file).starts_with("#:schema ./experiment.schema.json\n"), "{kind}");
        place.bench(&["plan", &file]).exits(0);
        let schema: Value = place.json(&format!("{kind}/experiment.schema.json"));
        assert_eq!(schema["title"], "bench experiment file");
        place.bench(&["init", &file, "--kind", kind]).exits(2).complains(&["--force"]);
    }
    let smoke = place.bench(&["plan", "four-arm/x-smoke.toml", "--json"]).exits(0).stdout;
    let smoke: Value = serde_json::from_str(&smoke).unwrap();
    assert_eq!(smoke["experiment"], "four-arm-smoke");
    assert!(place.read("four-arm/x-smoke.toml").contains("stage = \"smoke\""));
    assert!(place.read("ci/.github/workflows/bench.yml").contains("bench run ci/x.toml -o run"));
    let agents = place.bench(&["init", "-", "--kind", "real-agents"]).exits(0).stdout;
    assert!(agents.contains("agent = \"pi\""), "{agents}");
}

#[test]
fn doctor_tells_whether_an_experiment_can_be_run_here() {
    let place = Workplace::new();
    let file = place.file("smoke.toml", &smoke_experiment("smoke"));
    let text = place.bench(&["doctor", &file]);
    assert!(text.stdout.contains("this experiment:"), "{}", text.stdout);
    let missing = smoke_experiment("key").replace(
        "kind = \"oracle\"",
        "kind = \"openai-chat\"\nbase-url = \"http://127.0.0.1:9/v1\"\nkey-env = \"BENCH_TEST_ABSENT\"",
    );
    let file = place.file("key.toml", &missing);
    let text = place.bench(&["doctor", &file]).exits(2).stdout;
    assert!(text.contains("BENCH_TEST_ABSENT") && text.contains("export"), "{text}");
    let file = place.file("bad.toml", "name = \"x\"\nsed = 3\n");
    assert!(place.bench(&["doctor", &file]).exits(2).stdout.contains("did you mean `seed`"));
}

#[test]
fn a_bundle_is_redacted_and_a_stranger_recomputes_the_report() {
    if !walls("a_bundle_is_redacted_and_a_stranger_recomputes_the_report") {
        return;
    }
    let place = Workplace::new();
    let text =
        smoke_experiment("packed").replace("seed = 7", "seed = 7 # ask maria, sk-test-abcdefghijklmnop");
    let file = place.file("x.toml", &text);
    place.bench(&["run", &file, "-q", "-o", "mine"]).exits(0);
    let told = place.bench(&["pack", "mine", "--evidence", "--redact", "maria"]).exits(0).stdout;
    assert!(told.contains("mine.tar.gz"), "{told}");
    let stranger = Workplace::new();
    let bundle = place.path().join("mine.tar.gz");
    let unpacked = Command::new("tar").arg("xzf").arg(&bundle).current_dir(stranger.path()).status().unwrap();
    assert!(unpacked.success());
    let experiment = stranger.read("mine/experiment.toml");
    assert!(!experiment.contains("maria") && !experiment.contains("sk-test"), "{experiment}");
    let published = stranger.json("mine/report/analysis.json");
    stranger.bench(&["report", "mine"]).exits(0);
    assert_eq!(stranger.json("mine/report/analysis.json"), published);
    let manifest = stranger.json("mine/MANIFEST.json");
    assert!(manifest["redacted"]["[key]"].as_u64().unwrap() >= 1, "{manifest}");
    let here = place.path().display().to_string();
    assert!(!stranger.read("mine/journal.jsonl").contains(&here), "no path of the machine is left");
}

#[test]
fn cleaning_lists_first_and_removes_only_when_told_to() {
    if !walls("cleaning_lists_first_and_removes_only_when_told_to") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("x.toml", &smoke_experiment("old"));
    place.bench(&["run", &file, "-q", "-o", "runs/old"]).exits(0);
    place.file("runs/notes/keep.txt", "mine\n");
    let list = place.bench(&["clean"]).exits(0).stdout;
    assert!(list.contains("runs/old") && list.contains("nothing was removed"), "{list}");
    place.bench(&["clean", "--evidence"]).exits(2).complains(&["--yes"]);
    place.bench(&["clean", "--evidence", "--yes"]).exits(0);
    assert!(!place.path().join("runs/old/cells").exists());
    place.bench(&["report", "runs/old"]).exits(0);
    place.bench(&["clean", "runs/notes", "--delete", "--yes"]).exits(2).complains(&["no run directory"]);
    place.bench(&["clean", "--delete", "--yes", "--keep", "1"]).exits(0);
    assert!(place.path().join("runs/old").exists(), "the newest is kept");
    place.bench(&["clean", "--delete", "--yes"]).exits(0);
    assert!(!place.path().join("runs/old").exists() && place.path().join("runs/notes/keep.txt").exists());
}

#[test]
fn a_run_of_another_process_is_followed_to_its_end() {
    if !walls("a_run_of_another_process_is_followed_to_its_end") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("x.toml", &smoke_experiment("watched"));
    // A reader of the events holds the run in its first cell until it is let go.
    let events = place.path().join("events");
    let made = Command::new("mkfifo").arg(&events).status().unwrap();
    assert!(made.success());
    let mut run = place
        .command(&["run", &file, "-q", "-o", "run", "--events", events.to_str().unwrap()])
        .spawn()
        .unwrap();
    let mut reader = std::io::BufReader::new(fs::File::open(&events).unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    let listed = place.bench(&["show", "run"]).exits(0);
    listed.complains(&["in progress", "--follow"]);
    let follower = place
        .command(&["show", "run", "--follow"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
    assert!(run.wait().unwrap().success());
    let followed = crate::workplace::Outcome::of(follower.wait_with_output().unwrap()).exits(0);
    assert!(followed.stdout.contains("PASS"), "{followed:?}");
}

#[test]
fn nothing_an_agent_wrote_is_obeyed_by_a_terminal() {
    if !walls("nothing_an_agent_wrote_is_obeyed_by_a_terminal") {
        return;
    }
    let place = Workplace::new();
    let nasty = "printf '\\033[2J\\302\\233gone\\377\\r'; exit 3";
    let text = smoke_experiment("nasty")
        .replace(
            "name = \"gateway\"\nsurface = \"gateway\"",
            &format!("name = \"gateway\"\nagent = \"command\"\ncommand = [\"/bin/sh\", \"-c\", {nasty:?}]"),
        )
        .replace("factor = \"surface\"", "factor = \"agent\"");
    let file = place.file("x.toml", &text);
    let run = place.bench(&["run", &file, "-o", "run"]);
    let cell = "hello-file/r01/gateway";
    for args in [
        &["show", "run", cell][..],
        &["show", "run", cell, "--why"],
        &["show", "run", cell, "--json"],
        &["show", "run"],
    ] {
        let shown = place.bench(args).exits(0);
        let bad = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!shown.stdout.chars().any(bad) && !shown.stderr.chars().any(bad), "{args:?}: {shown:?}");
    }
    assert!(!run.stderr.contains('\x1b') && !run.stdout.contains('\x1b'), "{run:?}");
}

#[test]
fn a_new_task_holds_before_it_is_changed() {
    if !walls("a_new_task_holds_before_it_is_changed") {
        return;
    }
    let place = Workplace::new();
    place.bench(&["task", "new", "first"]).exits(2).complains(&["SUITE/TASK"]);
    place.bench(&["task", "new", "mine/First one"]).exits(2).complains(&["First one"]);
    for task in ["mine/first", "mine/second"] {
        place.bench(&["task", "new", task]).exits(0);
    }
    place.bench(&["task", "new", "mine/first"]).exits(2).complains(&["exists"]);
    let canary = |task: &str| place.read(&format!("tasks/suites/mine/{task}/oracle.toml"));
    assert_ne!(canary("first"), canary("second"), "a canary is of one task");
    let checked = place.bench(&["verify", "mine"]).exits(0).stdout;
    assert!(!checked.contains("BROKEN") && checked.contains("empty-file"), "{checked}");
}

#[test]
fn agents_are_listed_checked_and_installed_by_the_lines_that_are_shown() {
    let place = Workplace::new();
    let agents = |args: &[&str]| {
        let mut command = place.command(args);
        command.env("BENCH_AGENTS_DIR", place.path().join("agents")).env("npm_config_offline", "true");
        crate::workplace::Outcome::of(command.output().unwrap())
    };
    let listed = agents(&["agents"]).exits(0).stdout;
    assert!(
        listed.lines().any(|line| line.starts_with("pi ") && line.ends_with("not installed")),
        "{listed}"
    );
    assert!(
        listed.lines().any(|line| line.starts_with("reference ") && line.ends_with("built in")),
        "{listed}"
    );
    agents(&["agents", "check", "reference"]).exits(0);
    agents(&["agents", "check", "pi"]).exits(2).complains(&["bench agents install pi"]);
    agents(&["agents", "check", "claud"]).exits(2).complains(&["did you mean claude?"]);
    let asked = agents(&["agents", "install", "pi"]).exits(2);
    asked.complains(&["--yes", "npm install --prefix", "pi-coding-agent@"]);
    assert!(!place.path().join("agents").exists(), "nothing was run unasked");
    let rows: Value = serde_json::from_str(&agents(&["agents", "--json"]).exits(0).stdout).unwrap();
    let pi = rows["agents"].as_array().unwrap().iter().find(|row| row["name"] == "pi").unwrap();
    assert_eq!(pi["usable"], false);
    assert!(!pi["install"].as_array().unwrap().is_empty());
}
