//! Code mode through the whole: agent, worker, wire, recorder and oracle, behind the walls.

use serde_json::Value;

use crate::workplace::{Workplace, walls};

const CANARY: &str = "bench-canary-71b4-code-mode-test";
/// Every shape that can batch, with the turns that a plan of one step and an answer takes on it: one for the script, one for
/// the answer, and one for each look at declarations before.
const SHAPES: [(&str, u64); 6] = [
    ("code-eval", 2),
    ("code-catalog", 3),
    ("code-filesystem", 3),
    ("code-sidecar", 2),
    ("code-exec", 2),
    ("code-mixed", 2),
];

fn place_with(steps: &str) -> Workplace {
    let place = Workplace::new();
    let dir = "suites/ten/look";
    place.file(
        &format!("{dir}/task.toml"),
        &format!("format-version = 1\ntitle = \"Look\"\ncanary = \"{CANARY}\"\n"),
    );
    place.file(&format!("{dir}/instruction.md"), "Read all ten files.\n");
    for number in 0..10 {
        place.file(&format!("{dir}/workspace/f{number}.txt"), &format!("content {number}\n"));
    }
    place.file(&format!("{dir}/verify/run.sh"), &format!("# {CANARY}\n[ -f f0.txt ]\n"));
    place.file(&format!("{dir}/oracle.toml"), &format!("# {CANARY}\nformat-version = 1\n{steps}"));
    place
}

fn experiment(surfaces: &[&str]) -> String {
    let arm = |surface: &&str| {
        format!(
            "[[arm]]\nname = \"{surface}\"\nsurface = \"{surface}\"\ncapabilities = {{ parallel-tool-calls = false }}\n"
        )
    };
    let arms: String = surfaces.iter().map(arm).collect();
    format!("name = \"ten\"\nrepeats = 1\nsuite = \"ten\"\n{arms}")
}

fn of_arm<'r>(records: &'r [Value], arm: &str) -> &'r Value {
    records.iter().find(|record| record["arm"] == arm).unwrap()
}

#[test]
fn ten_look_ups_cost_ten_turns_on_bare_and_one_in_every_shape() {
    if !walls("ten_look_ups_cost_ten_turns_on_bare_and_one_in_every_shape") {
        return;
    }
    let reads: Vec<String> = (0..10).map(|n| format!("{{ read = \"f{n}.txt\" }}")).collect();
    let steps = format!("[[step]]\ntogether = [{}]\n[[step]]\nanswer = \"Read.\"\n", reads.join(", "));
    let place = place_with(&steps);
    let mut surfaces = vec!["bare"];
    surfaces.extend(SHAPES.iter().map(|(surface, _)| *surface));
    place.file("ten.toml", &experiment(&surfaces));
    place.bench(&["run", "ten.toml", "-q", "-o", "run", "--suites", "suites"]).exits(0);
    let records = place.records("run");
    assert_eq!(of_arm(&records, "bare")["metrics"]["turns"], 11);
    for (surface, turns) in SHAPES {
        let record = of_arm(&records, surface);
        assert_eq!(record["verdict"], "passed", "{surface}: {}", record["ending"]);
        let metrics = &record["metrics"];
        assert_eq!(metrics["turns"], turns, "{surface}");
        assert_eq!(metrics["nested_tool_calls"], 10, "{surface}");
        assert_eq!(metrics["concurrent_nested_calls"], 10, "{surface}");
        assert_eq!((&metrics["scripts"], &metrics["script_errors"]), (&1.into(), &0.into()), "{surface}");
        let stdout = place.read(&format!("run/{}/stdout", record["dir"].as_str().unwrap()));
        let script = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let script = script.into_iter().find(|event| event["event"] == "script").unwrap();
        let calls = script["calls"].as_array().unwrap();
        assert!(calls.iter().all(|call| call["tool"] == "read" && call["beside_others"] == true), "{script}");
    }
}

#[test]
fn first_requests_grow_by_what_is_shown() {
    let place = Workplace::new();
    let surfaces = ["bare", "code-mode", "code-servers", "bare-servers"];
    let arm = |surface: &&str| format!("[[arm]]\nname = \"{surface}\"\nsurface = \"{surface}\"\n");
    let arms: String = surfaces.iter().map(arm).collect();
    place.file("sizes.toml", &format!("name = \"sizes\"\nrepeats = 1\nsuite = \"default\"\n{arms}"));
    let shown = place.bench(&["surface", "sizes.toml", "--json"]).exits(0);
    let value: Value = serde_json::from_str(&shown.stdout).unwrap();
    let bytes = |arm: &str| -> f64 {
        let found = value["arms"].as_array().unwrap().iter().find(|a| a["arm"] == arm).unwrap();
        found["body"]["bytes"].as_f64().unwrap()
    };
    let bare = bytes("bare");
    assert!(bytes("code-mode") > bare, "code mode costs more where little hides behind it");
    let shown = bytes("bare-servers") / bare;
    assert!((3.6..4.8).contains(&shown), "40 further tools shown, about fourfold: × {shown}");
    let grown = bytes("code-servers") / bytes("code-mode");
    assert!(grown < 1.1, "40 further tools behind code: × {grown}");
}
