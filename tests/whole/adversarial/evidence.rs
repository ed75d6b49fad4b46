//! Rows 37, 38 and 51: the evidence itself under attack, and machines that have less.

use super::{Field, fields, not_run};
use crate::workplace::walls;

#[test]
fn row_37_a_flood_of_attempts_is_counted_or_said_to_be_incomplete() {
    for field in fields("row 37") {
        let field = field.with_try().with_wall_ms(60_000);
        let attempts = [
            ("one-name", "./try flood /verifier 50000; touch done; exit 0"),
            ("many-names", "for i in {1..3000}; do : < /verifier/$i; done 2>/dev/null; touch done; exit 0"),
        ];
        let cells = field.play(&attempts);
        for cell in cells.values() {
            cell.had_no_effect(&field);
            // At L3 names that do not exist inside leave no record: `missing` says so.
            if field.level() != "L1" && (cell.hears_opens() || cell.name == "one-name") {
                assert!(
                    ["outside_access", "evidence_incomplete"].contains(&cell.ending()),
                    "{}: {}",
                    cell.name,
                    cell.ending()
                );
            }
        }
        let one = &cells["one-name"];
        if one.is_heard() && field.level() != "L1" {
            let times = one.record["metrics"]["outside_accesses"].as_u64().unwrap();
            assert_eq!(times, 50_000, "{:#}", one.record["isolation"]["events"]);
        }
        field.play_one("for i in {1..3000}; do : < a.txt; done; touch done; exit 0").is_valid();
    }
}

#[test]
fn row_38_the_one_who_listens_cannot_be_silenced() {
    for field in fields("row 38") {
        let field = field.with_try();
        let attempts = [
            (
                "kill",
                "for p in 1 $PPID; do kill -9 $p; kill -STOP $p; done; ls /verifier; touch done; exit 0",
            ),
            ("descriptors", "./try exhaust /verifier/x; ls /verifier; touch done; exit 0"),
            (
                "dead-callers",
                "for i in {1..200}; do (ls /verifier & kill -9 $!) ; done >/dev/null 2>&1; ls /verifier; touch done; exit 0",
            ),
        ];
        let cells = field.play(&attempts);
        for cell in cells.values() {
            cell.had_no_effect(&field);
            if field.level() != "L1" {
                assert!(
                    ["outside_access", "evidence_incomplete"].contains(&cell.ending()),
                    "{}: {}",
                    cell.name,
                    cell.ending()
                );
            }
        }
        field.play_one("for i in {10..200}; do eval \"exec $i<a.txt\"; done; touch done; exit 0").is_valid();
    }
}

#[test]
fn row_51_machines_that_have_less() {
    if !walls("row 51") {
        return;
    }
    // No Landlock, no namespaces: tests of their own (`without_landlock.rs`). Older kernels are emulated in the pure tests
    // of the policy (isolation/src/walls.rs, gaps.rs), since no filter can make this one answer as they do.
    let field = Field::at_the_highest_level();
    let place = field.place();
    field.prepare(&[("one", "touch done; exit 0")]);
    let text = place.read("experiment.toml");
    let level = field.level();
    if level != "L3" {
        let above = text.replace(&format!("min-isolation = \"{level}\""), "min-isolation = \"L3\"");
        place.file("above.toml", &above);
        let refused = place.bench(&["run", "above.toml", "-q", "-o", "above", "--suites", "suites"]).exits(5);
        refused.complains(&["L3 is required", level]);
        assert!(!place.path().join("above/journal.jsonl").exists());
    }
    let below = text.replace(&format!("min-isolation = \"{level}\""), "min-isolation = \"L0\"");
    place.file("below.toml", &below);
    let refused = place.bench(&["run", "below.toml", "-q", "-o", "below", "--suites", "suites"]);
    assert_ne!(refused.code, Some(0), "no cell runs without walls unasked: {refused:?}");
    not_run(51, "a container needs a container engine");
    for field in fields("row 51") {
        field.play_one("touch done; exit 0").is_valid();
    }
}

/// Rows 17 and 34: a task's file that changes while a cell runs, whoever changed it.
#[test]
fn a_task_that_changes_under_a_running_cell_ends_it() {
    for field in fields("tampering") {
        field.prepare(&[("one", "sleep 2; touch done; exit 0")]);
        let mut command =
            field.place().command(&["run", "experiment.toml", "-q", "-o", "run", "--suites", "suites"]);
        let child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // The attempt's directory is made once the files have been looked at.
        while !field.place().path().join("run/cells/one/r01/only/attempt-1").exists() {
            std::thread::yield_now();
        }
        field.place().file("suites/adverse/one/verify/planted", "# bench-canary-77aa-adverse-one\n");
        let outcome = crate::workplace::Outcome::of(child.wait_with_output().unwrap());
        let cells = field.cells(1, &outcome);
        assert_eq!(cells["one"].ending(), "outside_access", "{:#}", cells["one"].record["ending"]);
        let told = cells["one"].outside().iter().any(|event| event["operation"] == "tampering.created");
        assert!(told, "{:#}", cells["one"].record["isolation"]["events"]);
        field.play_one("sleep 0.1; touch done; exit 0").is_valid();
    }
}
