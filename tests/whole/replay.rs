//! A recorded run is replayed without whoever answered it: the same analysis, and a named field where a request drifts.

use serde_json::Value;

use crate::workplace::{Workplace, smoke_experiment, walls};

/// The smoke experiment, answered by the recorded run.
fn replayed(name: &str, run: &str) -> String {
    let oracle = "kind = \"oracle\"";
    smoke_experiment(name).replace(oracle, &format!("kind = \"replay\"\nrun = \"{run}\""))
}

/// Everything of a record that a report may compare: numbers, verdicts, the surface.
fn gist(record: &Value) -> Value {
    let mut metrics = record["metrics"].clone();
    metrics.as_object_mut().unwrap().retain(|key, _| !key.ends_with("_ms"));
    serde_json::json!({
        "cell": [record["block"], record["arm"]], "ending": record["ending"]["kind"], "verdict": record["verdict"],
        "metrics": metrics, "tools": record["tools"], "tokens": record["tokens"], "usage": record["provider_usage"],
        "transcript": record["transcript_sha256"],
    })
}

#[test]
fn a_recorded_run_is_replayed_to_the_same_analysis() {
    if !walls("a_recorded_run_is_replayed_to_the_same_analysis") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("one.toml", &smoke_experiment("one"));
    place.bench(&["run", &file, "-q", "-o", "recorded"]).exits(0);
    let again = place.file("again.toml", &replayed("one", "recorded"));
    place.bench(&["run", &again, "-q", "-o", "replayed"]).exits(0);
    let (was, is) = (place.records("recorded"), place.records("replayed"));
    assert_eq!(was.len(), is.len());
    for (was, is) in was.iter().zip(&is) {
        assert!(gist(was) == gist(is), "{} under {}", was["block"], was["arm"]);
        assert_eq!(is["upstream"]["kind"], "replay");
    }
    // Seen from another state directory the same requests hold other paths, which is no drift.
    let mut command = place.command(&["run", &again, "-q", "-o", "elsewhere"]);
    let output = command.env("BENCH_STATE_DIR", place.path().join("other/state")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(place.records("elsewhere").iter().all(|record| record["ending"]["kind"] == "completed"));
}

#[test]
fn a_request_that_drifts_is_named_and_no_arm_gets_anothers_answer() {
    if !walls("a_request_that_drifts_is_named_and_no_arm_gets_anothers_answer") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("one.toml", &smoke_experiment("one"));
    place.bench(&["run", &file, "-q", "-o", "recorded"]).exits(0);
    // The arm keeps its name and shows another surface: the other arm's recorded answers would fit, and are not given.
    let text = replayed("one", "recorded").replacen("surface = \"bare\"", "surface = \"gateway\"", 1);
    let text = text.replace("factor = \"surface\"", "factor = \"none\"");
    let drifted = place.file("drifted.toml", &text);
    place.bench(&["run", &drifted, "-q", "-o", "replayed"]).exits(4);
    let of_bare: Vec<Value> =
        place.records("replayed").into_iter().filter(|record| record["arm"] == "bare").collect();
    assert!(!of_bare.is_empty());
    for record in of_bare {
        assert_eq!(record["ending"]["kind"], "replay_drift", "{record}");
        let detail = record["ending"]["detail"].as_str().unwrap();
        assert!(detail.starts_with("request 1 differs in "), "{detail}");
    }
}

#[test]
fn what_was_not_recorded_is_refused_before_anything_runs() {
    let place = Workplace::new();
    let file = place.file("x.toml", &replayed("x", "nowhere"));
    place.bench(&["run", &file, "-q"]).exits(2).complains(&["nowhere", "`run` in [upstream]"]);
    if !walls("what_was_not_recorded_is_refused_before_anything_runs") {
        return;
    }
    let few = smoke_experiment("few").replace("repeats = 2", "repeats = 1");
    let file = place.file("few.toml", &few);
    let _ = place.bench(&["run", &file, "-q", "-o", "recorded"]);
    let more = place.file("more.toml", &replayed("more", "recorded"));
    place.bench(&["run", &more, "-q", "-o", "out"]).exits(2).complains(&["no answers for", "r02"]);
    assert!(!place.path().join("out/journal.jsonl").exists());
}
