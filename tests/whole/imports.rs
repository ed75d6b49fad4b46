//! Outcomes from elsewhere through the real binary: p values, verdicts, baselines, power. Needs no walls.

use std::path::Path;

use crate::workplace::Workplace;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/import").join(name);
    path.to_str().unwrap().to_owned()
}

fn imported(place: &Workplace, name: &str) -> serde_json::Value {
    let run = format!("runs/{name}");
    place.bench(&["import", &example(&format!("{name}.csv")), "--control", "control", "-o", &run]).exits(0);
    place.json(&format!("{run}/report/analysis.json"))
}

#[test]
fn published_pairs_give_their_published_p() {
    let place = Workplace::new();
    for (name, p) in [
        ("seed-9-against-2", 0.0654296875),
        ("pairs-12-to-7", 0.359283447265625),
        ("pairs-17-to-4", 0.007197380065917969),
        ("pairs-19-to-4", 0.002599477767944336),
        ("pairs-17-to-7", 0.06391465663909912),
        ("pairs-13-to-5", 0.09625244140625),
        ("pairs-15-to-13", 0.8505540192127228),
    ] {
        let analysis = imported(&place, name);
        let found = analysis["contrasts"][0]["mcnemar"]["exact_p"].as_f64().unwrap();
        assert!((found - p).abs() < 1e-12, "{name}: {found}");
        assert_eq!(analysis["exploratory"]["yes"], true, "{name}: rules after the data");
    }
    place.bench(&["gate", "runs/seed-9-against-2"]).exits(1);
    place.bench(&["gate", "runs/pairs-12-to-7"]).exits(3);
    place.bench(&["gate", "runs/pairs-12-to-7", "--inconclusive-as", "pass"]).exits(0);
}

#[test]
fn a_thin_baseline_is_collecting_and_decides_nothing() {
    let place = Workplace::new();
    imported(&place, "pairs-12-to-7");
    for run in 0..3 {
        let name = format!("again-{run}");
        place.bench(&["import", &example("pairs-12-to-7.csv"), "--control", "control", "-o", &name]).exits(0);
        let outcome = place.bench(&["gate", &name, "--against", "base.json", "--add"]);
        assert!(outcome.stdout.contains("collecting"), "{}", outcome.stdout);
        outcome.exits(3);
    }
    let judged = place.bench(&["gate", "runs/pairs-12-to-7", "--against", "base.json"]);
    assert!(!judged.stdout.contains("collecting"), "{}", judged.stdout);
    judged.exits(0);
}

#[test]
fn tokens_of_another_basis_and_walls_of_another_machine_are_refused() {
    let place = Workplace::new();
    let csv = |tokens: u32| {
        let mut text = "task,arm,outcome,total_tokens,wall_ms\n".to_owned();
        for task in 0..6 {
            text += &format!(
                "t{task},a,passed,{},10\nt{task},b,passed,{},10\n",
                tokens + task,
                tokens + 2 * task
            );
        }
        text
    };
    for (run, tokens) in [("one", 1000), ("two", 2000)] {
        let file = place.file(&format!("{run}.csv"), &csv(tokens));
        place.bench(&["import", &file, "-o", run]).exits(0);
    }
    let same = place.bench(&["gate", "two", "--against", "one"]);
    assert!(!same.stdout.contains("refused"), "{}", same.stdout);
    same.exits(1);
    let journal = place.read("one/journal.jsonl");
    let elsewhere = journal.replace("\"host_id\":\"imported\"", "\"host_id\":\"elsewhere\"");
    place.file("one/journal.jsonl", &elsewhere.replace("\"basis\":\"imported\"", "\"basis\":\"json\""));
    let other = place.bench(&["gate", "two", "--against", "one"]);
    assert!(
        other.stdout.contains("wall_ms is refused") && other.stdout.contains("tokens are refused"),
        "{}",
        other.stdout
    );
    place.bench(&["compare", "one", "two"]).exits(0);
}

#[test]
fn a_harbor_job_becomes_a_run() {
    let place = Workplace::new();
    for (job, agent, reward) in [("job-a", "alpha", 1.0), ("job-b", "beta", 0.0)] {
        for task in ["one", "two"] {
            place.file(
                &format!("{job}/{task}__x/result.json"),
                &format!(
                    r#"{{"task_name":"{task}","agent_info":{{"name":"{agent}"}},
                    "agent_result":{{"n_input_tokens":100,"n_output_tokens":10,"cost_usd":0.5}},
                    "verifier_result":{{"rewards":{{"reward":{reward}}}}}}}"#
                ),
            );
        }
    }
    place.bench(&["import", "job-a", "job-b", "-o", "run"]).exits(0);
    let analysis = place.json("run/report/analysis.json");
    assert_eq!(analysis["contrasts"][0]["pairs"]["control_only"], 2);
    assert_eq!(analysis["arms"][0]["reliability"]["cost_usd_per_pass"], 0.5);
    // Nothing passed: cost per pass has no value, and no zero.
    assert!(analysis["arms"][1]["reliability"]["cost_usd_per_pass"].is_null());
}

#[test]
fn an_import_names_what_it_cannot_read() {
    let place = Workplace::new();
    for (text, words) in [
        ("task,arm,outcome,tokens\nt,a,passed,1\n", "unknown column `tokens`"),
        ("task,arm\nt,a\n", "no column `outcome`"),
        ("task,arm,outcome\nt,a,maybe\n", "outcome \"maybe\""),
        ("task,arm,outcome\nt,a,passed\nt,a,failed\n", "stands twice"),
        ("task,arm,outcome,turns\nt,a,passed,x\n", "turns is no number"),
        ("task,arm,outcome,turns\nt,a,passed,1e30\n", "is no count; write a whole number"),
        ("task,arm,outcome,wall_ms\nt,a,passed,-1\n", "wall_ms = -1 is below zero"),
        ("task,arm,outcome,repeat\nt,a,passed,4000000000\n", "repeat 4000000000 is beyond 10000"),
        ("task,arm,outcome,cluster\nt,a,passed,x\nt,b,passed,y\n", "task t has another cluster"),
    ] {
        let file = place.file("x.csv", text);
        let outcome = place.bench(&["import", &file, "-o", "run"]);
        assert!(outcome.stderr.contains(words), "{words}: {}", outcome.stderr);
        outcome.exits(2);
        assert!(!place.path().join("run").exists(), "{words}: a refused import leaves nothing behind");
    }
}

#[test]
fn tasks_of_a_harbor_job_that_would_become_one_are_refused() {
    let place = Workplace::new();
    for (trial, task) in [("x", "org/Fix_bug"), ("y", "org/fix-bug")] {
        place.file(
            &format!("job/{trial}/result.json"),
            &format!(
                r#"{{"task_name":"{task}","agent_info":{{"name":"a"}},"verifier_result":{{"rewards":{{"reward":1}}}}}}"#
            ),
        );
    }
    let outcome = place.bench(&["import", "job", "-o", "run"]);
    assert!(outcome.stderr.contains("would both be called org-fix-bug"), "{}", outcome.stderr);
    outcome.exits(2);
}

#[test]
fn power_and_calibration_answer() {
    let place = Workplace::new();
    let table = place.bench(&["power", "--tasks", "30", "--sd", "0.25"]);
    assert!(table.stdout.contains("true ratio 1.10: PASS  86.2 %, tasks for 80 %: 26"), "{}", table.stdout);
    table.exits(0);
    imported(&place, "seed-9-against-2");
    let swapped = place.bench(&["calibrate", "runs/seed-9-against-2", "--draws", "100"]);
    assert!(swapped.stdout.contains("100 random relabellings"), "{}", swapped.stdout);
    swapped.exits(0);
    place.bench(&["power", "--run", "runs/seed-9-against-2"]).exits(2);
}
