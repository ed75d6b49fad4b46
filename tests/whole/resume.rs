//! Killed at fifty seeded points and started again by the same command: every cell is settled once, and the report is
//! that of an uninterrupted run but for its time fields.
//!
//! The kernel kills at an exact byte: RLIMIT_FSIZE ends the process by SIGXFSZ in the middle of a write to a file beyond
//! the limit. A padded `--events` file makes that write an event of our choice (between verdict and append among them);
//! without padding it is the journal itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt as _;

use serde_json::Value;

use crate::workplace::{Outcome, Workplace, smoke_experiment, walls};

/// The events file is made larger than any other file of the run, so that it alone meets the limit.
pub(crate) const PADDING: usize = 4 << 20;

pub(crate) fn killed_at(place: &Workplace, args: &[&str], limit: u64) -> Outcome {
    let mut command = place.command(args);
    // SAFETY: setrlimit is async-signal-safe and touches only the child's own limits.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
            let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            let failed = libc::setrlimit(libc::RLIMIT_FSIZE, &limit) != 0
                || libc::setrlimit(libc::RLIMIT_CORE, &none) != 0;
            if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        });
    }
    Outcome::of(command.output().unwrap())
}

/// analysis.json without its provenance and what is measured in milliseconds.
pub(crate) fn timeless(mut analysis: Value) -> Value {
    analysis.as_object_mut().unwrap().remove("provenance");
    drop_times(&mut analysis);
    analysis
}

fn drop_times(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !key.ends_with("_ms"));
            map.values_mut().for_each(drop_times);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[track_caller]
fn every_cell_settled_once(place: &Workplace, run: &str, cells: usize) {
    let mut settled: BTreeMap<String, u32> = BTreeMap::new();
    for record in place.records(run) {
        if record["ending"]["kind"] != "interrupted" {
            let cell = format!("{}/{}/{}", record["task"], record["repeat"], record["arm"]);
            *settled.entry(cell).or_default() += 1;
        }
    }
    assert_eq!(settled.len(), cells);
    assert!(settled.values().all(|&times| times == 1), "{settled:?}");
}

#[test]
fn fifty_kills_lose_nothing_and_settle_nothing_twice() {
    if !walls("fifty_kills_lose_nothing_and_settle_nothing_twice") {
        return;
    }
    let reference = Workplace::new();
    let file = reference.file("smoke.toml", &smoke_experiment("smoke"));
    let events = reference.path().join("events.jsonl");
    reference.bench(&["run", &file, "-q", "-o", "run", "--events", events.to_str().unwrap()]).exits(0);
    let expected = timeless(reference.json("run/report/analysis.json"));
    let cells = reference.records("run").len();
    let journal_bytes = fs::metadata(reference.path().join("run/journal.jsonl")).unwrap().len();
    let events_bytes = fs::metadata(&events).unwrap().len();

    let mut draw = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        draw
    };
    let mut killed = 0;
    for point in 0..50 {
        // The same state directory for all: its path stands in prompts, and so in token counts.
        let run = format!("run-{point}");
        let events = reference.path().join(format!("events-{point}.jsonl"));
        let outcome = if point % 5 == 4 {
            // Inside a journal write: the journal is the largest file once it holds a few records.
            let limit = journal_bytes / 2 + next() % (journal_bytes / 2 - 1);
            killed_at(&reference, &["run", &file, "-q", "-o", &run], limit)
        } else {
            fs::write(&events, vec![b'\n'; PADDING]).unwrap();
            let limit = PADDING as u64 + next() % (events_bytes - 1);
            killed_at(
                &reference,
                &["run", &file, "-q", "-o", &run, "--events", events.to_str().unwrap()],
                limit,
            )
        };
        killed += u32::from(outcome.code.is_none());
        reference.bench(&["run", &file, "-q", "-o", &run]).exits(0);
        every_cell_settled_once(&reference, &run, cells);
        let resumed = timeless(reference.json(&format!("{run}/report/analysis.json")));
        assert_eq!(first_difference(&expected, &resumed, ""), None, "point {point} changed the report");
    }
    assert!(killed >= 45, "only {killed} of 50 runs were really killed");
}

/// Where two values differ first, as a path with both values.
pub(crate) fn first_difference(one: &Value, other: &Value, path: &str) -> Option<String> {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(key, value)| first_difference(value, &b[key], &format!("{path}.{key}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            (0..a.len()).find_map(|index| first_difference(&a[index], &b[index], &format!("{path}[{index}]")))
        }
        (a, b) if a == b => None,
        (a, b) => Some(format!("{path}: {a} and {b}")),
    }
}

#[test]
fn what_a_killed_attempt_spent_stays_in_the_provenance() {
    if !walls("what_a_killed_attempt_spent_stays_in_the_provenance") {
        return;
    }
    let reference = Workplace::new();
    let file = reference.file("smoke.toml", &smoke_experiment("smoke"));
    let events = reference.path().join("events.jsonl");
    reference.bench(&["run", &file, "-q", "-o", "run", "--events", events.to_str().unwrap()]).exits(0);
    let text = fs::read_to_string(&events).unwrap();
    // The write of the first "verified" event is cut: the agent has spent, the record is not yet there.
    let before = text.find("\"event\":\"verified\"").unwrap() as u64;
    let place = Workplace::new();
    let file = place.file("smoke.toml", &smoke_experiment("smoke"));
    let padded = place.path().join("events.jsonl");
    fs::write(&padded, vec![b'\n'; PADDING]).unwrap();
    let outcome = killed_at(
        &place,
        &["run", &file, "-q", "-o", "run", "--events", padded.to_str().unwrap()],
        PADDING as u64 + before,
    );
    assert_eq!(outcome.code, None, "{outcome:?}");
    place.bench(&["run", &file, "-q", "-o", "run"]).exits(0);
    let records = place.records("run");
    let cut: Vec<&Value> = records.iter().filter(|r| r["ending"]["kind"] == "interrupted").collect();
    assert_eq!(cut.len(), 1);
    assert!(cut[0]["metrics"]["total_tokens"].as_u64().unwrap() > 0);
    let spent = &place.json("run/report/analysis.json")["provenance"]["spent_by_interrupted"];
    assert_eq!(spent["total_tokens"], cut[0]["metrics"]["total_tokens"]);
}

#[test]
fn a_finished_run_says_so_and_exits_by_its_verdict() {
    if !walls("a_finished_run_says_so_and_exits_by_its_verdict") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("smoke.toml", &smoke_experiment("smoke"));
    place.bench(&["run", &file, "-q"]).exits(0);
    place.bench(&["run", &file, "-q"]).exits(0).complains(&["nothing to do"]);
    assert_eq!(fs::read_dir(place.path().join("runs")).unwrap().count(), 1);
    place.bench(&["run", &file, "-q", "--new"]).exits(0);
    assert_eq!(fs::read_dir(place.path().join("runs")).unwrap().count(), 2);
}

#[test]
fn a_changed_experiment_is_not_continued_and_the_changed_field_is_named() {
    if !walls("a_changed_experiment_is_not_continued_and_the_changed_field_is_named") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("smoke.toml", &smoke_experiment("smoke"));
    place.bench(&["run", &file, "-q", "-o", "run"]).exits(0);
    place.file("smoke.toml", &smoke_experiment("smoke").replace("seed = 7", "seed = 8"));
    place.bench(&["run", &file, "-q", "-o", "run"]).exits(2).complains(&["seed: was 7, now 8", "-o"]);
}
