//! One run on several machines: three shards, one of them killed and started again, merge into the analysis of one machine.

use std::fs;

use serde_json::Value;

use crate::resume::{PADDING, first_difference, killed_at, timeless};
use crate::workplace::{Workplace, smoke_experiment, walls};

/// Six blocks: two tasks in three repeats.
fn experiment() -> String {
    smoke_experiment("sharded").replace("repeats = 2", "repeats = 3")
}

#[test]
fn three_shards_one_killed_and_resumed_merge_into_the_analysis_of_one_machine() {
    if !walls("three_shards_one_killed_and_resumed_merge_into_the_analysis_of_one_machine") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("x.toml", &experiment());
    place.bench(&["run", &file, "-q", "-o", "whole"]);
    let expected = timeless(place.json("whole/report/analysis.json"));

    for shard in ["1/3", "3/3"] {
        let dir = format!("shard-{}", &shard[..1]);
        place.bench(&["run", &file, "-q", "--shard", shard, "-o", &dir]).exits(0);
    }
    let events = place.path().join("events.jsonl");
    fs::write(&events, vec![b'\n'; PADDING]).unwrap();
    let args = ["run", &file, "-q", "--shard", "2/3", "-o", "shard-2", "--events", events.to_str().unwrap()];
    let killed = killed_at(&place, &args, PADDING as u64 + 700);
    assert_eq!(killed.code, None, "it should have been killed: {killed:?}");
    place.bench(&["run", &file, "-q", "--shard", "2/3", "-o", "shard-2"]).exits(0).complains(&["shard 2/3"]);
    assert_eq!(place.json("shard-2/lock.json")["shard"]["index"], 2);
    place.bench(&["report", "shard-2"]).exits(0);
    let part = place.json("shard-2/report/analysis.json");
    assert_eq!(part["exploratory"]["yes"], false, "the lock of a shard is sealed as that of the whole");

    let merged = place.bench(&["merge", "shard-3", "shard-1", "shard-2", "-o", "merged"]).exits(0);
    assert!(merged.stdout.contains("3 shards, 12 of 12 cells settled"), "{}", merged.stdout);
    let gate = place.bench(&["gate", "merged"]);
    let found = timeless(place.json("merged/report/analysis.json"));
    assert_eq!(first_difference(&expected, &found, ""), None);
    assert_eq!(gate.code, place.bench(&["gate", "whole", "-q"]).code);
    // Nothing is left to do, and a trace of every shard can be opened.
    place.bench(&["run", &file, "-q", "-o", "merged"]).complains(&["nothing to do"]);
    for record in place.records("merged") {
        assert!(place.path().join("merged").join(record["dir"].as_str().unwrap()).is_dir());
    }
}

#[test]
fn shards_of_different_runs_are_refused_with_the_field_that_differs() {
    if !walls("shards_of_different_runs_are_refused_with_the_field_that_differs") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("x.toml", &experiment());
    place.bench(&["run", &file, "-q", "--shard", "1/2", "-o", "a"]).exits(0);
    place.bench(&["run", &file, "-q", "--shard", "2/2", "--seed", "8", "-o", "b"]).exits(0);
    place.bench(&["merge", "a", "b", "-o", "m"]).exits(2).complains(&["locks differ", "seed: was 7, now 8"]);
    place.bench(&["merge", "a", "a", "-o", "m"]).exits(2).complains(&["a is named twice"]);
    let half = place.bench(&["merge", "a", "-o", "again"]).exits(0).stdout;
    assert!(half.contains("6 of 12 cells settled") && half.contains("bench run FILE -o again"), "{half}");
    place.bench(&["merge", "a", "again", "-o", "m"]).exits(2).complains(&["was done in a and in again"]);
    assert!(!place.path().join("m").exists(), "nothing is left of a refused merge");
    // Half of a run is no run: what is missing can be run afterwards, and its shard is no continuation of the whole.
    place.bench(&["run", &file, "-q", "-o", "a"]).exits(2).complains(&["shard: was 1/2, now all of it"]);
    place.bench(&["run", &file, "-q", "-o", "again"]);
    assert_eq!(place.records("again").len(), 12);
}

#[test]
fn a_harness_of_another_version_ran_no_shard_of_this_run() {
    if !walls("a_harness_of_another_version_ran_no_shard_of_this_run") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("x.toml", &experiment());
    for shard in ["1/2", "2/2"] {
        place.bench(&["run", &file, "-q", "--shard", shard, "-o", &shard[..1]]).exits(0);
    }
    let mut lock: Value = place.json("2/lock.json");
    lock["harness"]["version"] = "0.0.1".into();
    place.file("2/lock.json", &lock.to_string());
    place.bench(&["merge", "1", "2", "-o", "m"]).exits(2).complains(&["harness", "0.0.1"]);
}
