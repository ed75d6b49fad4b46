//! Proof of every shipped task, without any harness: the reference plan passes, the untouched workspace fails, each cheat
//! fails; and the default suite is what the README says it is.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "support/play.rs"]
mod play;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bench_core::{Action, ActionKind, Plan, Task, Track};
use bench_tasks::{Suite, find_suite, load_cheats, load_plan};
use play::{Playground, Ran, Said};

/// More than a read or shell tool of any known agent shows of one output.
const LONG_OUTPUT_LINES: usize = 2_000;
const LONG_OUTPUT_BYTES: usize = 64 << 10;

fn suite(name: &str) -> Suite {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("suites");
    Suite::load(&find_suite(name, &[root]).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

fn both() -> Vec<Task> {
    [suite("default"), suite("smoke")].into_iter().flat_map(|suite| suite.tasks).collect()
}

fn kinds(plan: &Plan) -> Vec<ActionKind> {
    plan.steps.iter().flat_map(|step| &step.actions).map(Action::kind).collect()
}

fn assert_said(said: &Said, status: i32, what: &str) {
    assert_eq!(said.status, Some(status), "{what}:\n{}", said.output);
    assert_eq!(said.left, Vec::<PathBuf>::new(), "{what}: the check left files behind");
    let is_check = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        matches!(words.as_slice(), ["check", _, "passed" | "failed"])
    };
    assert!(said.output.lines().all(is_check), "{what}: only check lines are printed:\n{}", said.output);
    let failed = said.output.lines().filter(|line| line.ends_with(" failed")).count();
    assert_eq!(failed > 0, status == 1, "{what}: exit status and check lines disagree:\n{}", said.output);
    let names: BTreeSet<&str> = said.output.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(names.len(), said.output.lines().count(), "{what}: a check is named twice");
    assert!(!names.is_empty(), "{what}: nothing was checked");
}

#[test]
fn every_reference_plan_passes_under_dash_and_bash() {
    for task in both() {
        let plan = load_plan(&task).unwrap();
        let mut shells = vec![Playground::new(&task)];
        if Path::new("/bin/bash").exists() {
            shells.push(Playground::new(&task).with_shell(Path::new("/bin/bash")));
        }
        for place in shells {
            let ran = place.play(&plan);
            let said = place.verify(&task);
            let log: Vec<&str> = ran.iter().map(|ran| ran.output.as_str()).collect();
            assert_eq!(said.status, Some(0), "{}:\n{}\n{}", task.id, said.output, log.join("\n--\n"));
            assert_said(&said, 0, task.id.as_str());
        }
    }
}

#[test]
fn every_untouched_workspace_fails() {
    for task in both() {
        assert_said(&Playground::new(&task).verify(&task), 1, task.id.as_str());
    }
}

#[test]
fn every_cheat_fails() {
    for task in both() {
        for (name, plan) in load_cheats(&task).unwrap() {
            let place = Playground::new(&task);
            place.play(&plan);
            assert_said(&place.verify(&task), 1, &format!("{}, cheat {name}", task.id));
        }
    }
}

/// The seeds of trouble of real graders, planted after honest work: none may turn a failing workspace into a passing one.
#[test]
fn planted_programs_do_not_help() {
    for task in both() {
        let place = Playground::new(&task);
        let workspace = place.workspace();
        for program in ["sh", "cmp", "grep", "awk", "timeout", "env", "mktemp", "cat"] {
            std::fs::write(workspace.join(program), "#!/bin/sh\nexit 0\n").unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(workspace.join(program), mode).unwrap();
        }
        assert_said(&place.verify(&task), 1, task.id.as_str());
    }
}

#[test]
fn every_script_that_says_only_exit_0_fails() {
    for task in suite("default").tasks {
        let place = Playground::new(&task);
        let command = "find . -type f ! -name '*.txt' ! -name '*.csv' ! -name '*.log' ! -name '*.md' \
                       -exec sh -c 'echo exit 0 > \"$1\"' - {} \\;";
        let answer = Action::Run { command: command.to_owned() };
        place.play(&Plan { steps: vec![bench_core::Step { actions: vec![answer] }], ..Plan::default() });
        assert_said(&place.verify(&task), 1, task.id.as_str());
    }
}

/// Equal play must give equal requests: two plays in two folders print the same bytes.
#[test]
fn commands_print_the_same_every_time() {
    for task in both() {
        let plan = load_plan(&task).unwrap();
        let (one, other) = (Playground::new(&task).play(&plan), Playground::new(&task).play(&plan));
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one.output, other.output, "{}: {}", task.id, one.command);
        }
    }
}

#[test]
fn the_default_suite_is_ordinary_work_in_plain_shell() {
    let suite = suite("default");
    assert!(suite.tasks.len() >= 6);
    assert_eq!(suite.tasks.len() % 2, 0, "an even number balances which arm of a pair goes first");
    let mut ran: Vec<Ran> = Vec::new();
    let mut together = 0;
    for task in &suite.tasks {
        assert_eq!(task.track, Track::Default, "{}", task.id);
        assert_eq!(task.requires, Vec::<String>::new(), "{}", task.id);
        let words = task.instruction.split_whitespace().count();
        assert!((60..=200).contains(&words), "{}: instruction of {words} words", task.id);
        let plan = load_plan(task).unwrap();
        assert!((6..=12).contains(&plan.steps.len()), "{}: {} steps", task.id, plan.steps.len());
        let kinds = kinds(&plan);
        for kind in [ActionKind::Run, ActionKind::Read, ActionKind::Edit] {
            assert!(kinds.contains(&kind), "{}: no {} step", task.id, kind.word());
        }
        assert!(!kinds.contains(&ActionKind::Search) && !kinds.contains(&ActionKind::Find), "{}", task.id);
        assert!(load_cheats(task).unwrap().len() >= 2, "{}: too few cheats", task.id);
        together += plan.steps.iter().filter(|step| step.actions.len() > 1).count();
        let of_task = Playground::new(task).play(&plan);
        let first = of_task.iter().position(|ran| ran.status != 0);
        assert!(first.is_some(), "{}: nothing fails before the work is done", task.id);
        ran.extend(of_task);
    }
    assert!(together >= 1);
    let long =
        |ran: &&Ran| ran.output.lines().count() > LONG_OUTPUT_LINES && ran.output.len() > LONG_OUTPUT_BYTES;
    assert_eq!(ran.iter().filter(long).count(), 1, "exactly one command prints more than any tool shows");
    let written =
        suite.tasks.iter().filter(|task| kinds(&load_plan(task).unwrap()).contains(&ActionKind::Write));
    assert!(written.count() >= 2);
}

/// Shell, coreutils, grep, sed and awk are what the suite may count on; these are the usual ones beyond.
#[test]
fn nothing_beyond_shell_and_coreutils_is_called() {
    const BEYOND: [&str; 12] =
        ["bash", "bc", "cmp", "diff", "find", "git", "jq", "make", "perl", "python", "python3", "xargs"];
    let words = |text: &str| -> Vec<String> {
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        code.flat_map(|line| line.split(|c| !is_word(c))).map(str::to_owned).collect()
    };
    for task in both() {
        let mut texts = vec![std::fs::read_to_string(task.verify_dir().join("run.sh")).unwrap()];
        let plans = load_cheats(&task).unwrap().into_values().chain([load_plan(&task).unwrap()]);
        for action in plans.flat_map(|plan| plan.steps).flat_map(|step| step.actions) {
            match action {
                Action::Run { command } => texts.push(command),
                Action::Write { path, content } if path.ends_with(".sh") => texts.push(content),
                Action::Read { path, .. } if path.ends_with(".sh") => {
                    texts.extend(std::fs::read_to_string(task.workspace_dir().join(path)));
                }
                Action::Read { .. }
                | Action::Write { .. }
                | Action::Edit { .. }
                | Action::Search { .. }
                | Action::Find { .. }
                | Action::Use { .. }
                | Action::Answer { .. } => {}
            }
        }
        let test = task.workspace_dir().join("tests/run.sh");
        texts.extend(std::fs::read_to_string(test));
        for word in texts.iter().flat_map(|text| words(text)) {
            assert!(!BEYOND.contains(&word.as_str()), "{}: {word}", task.id);
        }
    }
}

#[test]
fn no_two_instructions_and_no_two_starting_texts_are_alike() {
    let suite = suite("default");
    let instructions: BTreeSet<&str> = suite.tasks.iter().map(|task| task.instruction.as_str()).collect();
    assert_eq!(instructions.len(), suite.tasks.len());
    let clusters: BTreeSet<&str> = suite.tasks.iter().map(|task| task.cluster.as_str()).collect();
    assert_eq!(clusters.len(), suite.tasks.len(), "each task stands for itself");
}
