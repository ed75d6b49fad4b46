//! Every way of discovery carries a plan that searches, through the whole: agent, wire, recorder and oracle. And a
//! question to the user is answered by the task's script and counted.

use serde_json::Value;

use crate::workplace::{Workplace, project, walls};

const CANARY: &str = "bench-canary-9c3b-discovery-test";

fn suite(place: &Workplace) {
    let dir = "suites/looking/look";
    let ask = "[[ask]]\nwhen = \"which colour\"\nanswer = \"Blue.\"\n";
    place.file(
        &format!("{dir}/task.toml"),
        &format!("format-version = 1\ntitle = \"Look\"\ncanary = \"{CANARY}\"\n{ask}"),
    );
    place.file(&format!("{dir}/instruction.md"), "Find the file that holds the needle.\n");
    place.file(&format!("{dir}/workspace/src/a.txt"), "needle\n");
    place.file(&format!("{dir}/verify/run.sh"), &format!("# {CANARY}\n[ -f src/a.txt ]\n"));
    let steps = "[[step]]\nfind = { pattern = \"*.txt\", path = \".\" }\n[[step]]\nsearch = { pattern = \"needle\", path = \".\" }\n[[step]]\nanswer = \"It is src/a.txt.\"\n";
    place.file(&format!("{dir}/oracle.toml"), &format!("# {CANARY}\nformat-version = 1\n{steps}"));
}

fn calls(record: &Value) -> String {
    let turns = record["turns_series"].as_array().unwrap().iter();
    let calls = turns.flat_map(|turn| turn["calls"].as_array().unwrap());
    calls.map(|call| call.as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_way_of_discovery_finds_the_tools_that_a_plan_needs() {
    if !walls("every_way_of_discovery_finds_the_tools_that_a_plan_needs") {
        return;
    }
    let place = Workplace::new();
    suite(&place);
    let example = std::fs::read_to_string(project().join("examples/all-surfaces.toml")).unwrap();
    let arms = example.split("[[contrast]]").next().unwrap();
    let arms = arms.replace("\"default\"", "\"looking\"").replace("repeats = 2", "repeats = 1");
    place.file("all.toml", &arms);
    place.bench(&["run", "all.toml", "-q", "-o", "run", "--suites", "suites"]).exits(0);
    let mut found: Vec<String> = place
        .records("run")
        .iter()
        .map(|record| {
            assert_eq!(record["verdict"], "passed", "{}", record["arm"]);
            let (arm, metrics) = (record["arm"].as_str().unwrap(), &record["metrics"]);
            format!("{arm}: {}; {} missed", calls(record), metrics["never_discovered"])
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            "all: fd rg; 0 missed",
            "bare: bash bash; 0 missed",
            "devices: write write; 0 missed",
            "entries: fd rg; 0 missed",
            "explicit: bash bash; 2 missed",
            "gateway: capabilities fd rg; 0 missed",
            "hashline: bash bash; 0 missed",
            "headless: glob grep; 0 missed",
            "loaded: bash bash; 0 missed",
            "lsp: bash bash; 0 missed",
            "native-messages: tool_search fd tool_search rg; 0 missed",
            "native-responses: tool_search fd tool_search rg; 0 missed",
            "native: capabilities fd rg; 0 missed",
            "search-result: tool_search tool_call tool_search tool_call; 0 missed",
            "search-tail: tool_search fd tool_search rg; 0 missed",
        ]
    );
}

#[test]
fn a_question_to_the_user_is_answered_by_the_script_and_counted() {
    if !walls("a_question_to_the_user_is_answered_by_the_script_and_counted") {
        return;
    }
    let place = Workplace::new();
    suite(&place);
    let script = r#"u=${BENCH_BASE_URL#http://}; b='{"question":"Which colour is it?"}'; exec 3<>/dev/tcp/${u%%:*}/$(echo ${u#*:} | cut -d/ -f1); printf 'POST /v1/human HTTP/1.1\r\nhost: x\r\nauthorization: Bearer %s\r\ncontent-length: %s\r\nconnection: close\r\n\r\n%s' "$BENCH_API_KEY" ${#b} "$b" >&3; cat <&3"#;
    let script = toml_text(script);
    place.file(
        "ask.toml",
        &format!(
            "name = \"ask\"\nrepeats = 1\nsuite = \"looking\"\n[[arm]]\nname = \"only\"\nagent = \"command\"\nsurface = \"as-is\"\ncommand = [\"/bin/bash\", \"-c\", {script}]\n"
        ),
    );
    place.bench(&["run", "ask.toml", "-q", "-o", "run", "--suites", "suites"]);
    assert!(place.read("run/cells/look/r01/only/attempt-1/stdout").contains("Blue."));
    let record = &place.records("run")[0];
    assert_eq!(record["metrics"]["human_steps"], 1, "{record}");
}

/// A text as TOML writes it; what JSON writes fits.
fn toml_text(text: &str) -> String {
    Value::from(text).to_string()
}

/// What an imperfect model does at worst, through every surface: each cell ends as the profile says, and no request shows a
/// tool too much or too few.
#[test]
fn every_surface_stands_every_imperfect_profile() {
    if !walls("every_surface_stands_every_imperfect_profile") {
        return;
    }
    let place = Workplace::new();
    suite(&place);
    let example = std::fs::read_to_string(project().join("examples/all-surfaces.toml")).unwrap();
    let arms = example.split("[[contrast]]").next().unwrap();
    let (head, arms) = arms.split_once("[[arm]]\n").unwrap();
    let mut text = head.replace("\"default\"", "\"looking\"").replace("repeats = 2", "repeats = 1");
    for arm in arms.split("[[arm]]\n") {
        for profile in ["wanders", "gives-up", "wrong-arguments", "invents-tools", "never-discovers"] {
            let arm = arm.replacen("\"\n", &format!(".{profile}\"\n"), 1);
            text.push_str(&format!(
                "[[arm]]\n{arm}oracle-profile = {{ kind = \"{profile}\", rate = 1.0 }}\n"
            ));
        }
    }
    place.file("imperfect.toml", &text);
    place.bench(&["run", "imperfect.toml", "-q", "-o", "run", "--suites", "suites"]).exits(0);
    let records = place.records("run");
    assert_eq!(records.len(), 15 * 5);
    for record in records {
        let arm = record["arm"].as_str().unwrap();
        assert_eq!(record["ending"]["kind"], "completed", "{arm}: {record}");
        assert_eq!(record["verdict"], "passed", "{arm}");
        assert_eq!(record["lifecycle"], Value::Array(Vec::new()), "{arm}");
        let errors = record["metrics"]["tool_errors"].as_u64().unwrap();
        let refused = arm.ends_with("wrong-arguments") || arm.ends_with("invents-tools");
        assert_eq!(errors, u64::from(refused), "{arm}");
        let searches = record["metrics"]["discovery_calls"].as_u64().unwrap();
        assert!(searches == 0 || !arm.ends_with("never-discovers"), "{arm}: {searches}");
    }
}
