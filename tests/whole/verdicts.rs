//! Every verdict through the real binary, with the oracle's imperfect profiles.

use crate::workplace::{Workplace, walls};

fn experiment(profile: &str, gate: &str, role: &str) -> String {
    format!(
        r#"name = "verdicts"
seed = 11
repeats = 2
suite = "default"
model = "oracle"

[upstream]
kind = "oracle"

[limits]
turns = 40

[[arm]]
name = "bare"
surface = "bare"

[[arm]]
name = "played"
surface = "bare"
{profile}

[[contrast]]
name = "played-vs-bare"
control = "bare"
candidate = "played"
factor = "oracle-profile"
role = "{role}"

[[gate]]
{gate}
"#
    )
}

fn decided(test: &str, text: &str, code: i32) -> Option<(Workplace, serde_json::Value)> {
    if !walls(test) {
        return None;
    }
    let place = Workplace::new();
    let file = place.file("experiment.toml", text);
    place.bench(&["run", &file, "-q", "-o", "run"]).exits(code);
    let analysis = place.json("run/report/analysis.json");
    Some((place, analysis))
}

#[test]
fn an_arm_that_gives_up_fails_the_pass_rate() {
    let text = experiment(
        "oracle-profile = { kind = \"gives-up\", rate = 1.0 }",
        "metric = \"pass_rate\"\nmargin = 0.10",
        "gate",
    );
    let Some((place, analysis)) = decided("an_arm_that_gives_up_fails_the_pass_rate", &text, 1) else {
        return;
    };
    assert_eq!(analysis["overall"]["decision"], "FAIL");
    let mcnemar = &analysis["contrasts"][0]["mcnemar"];
    assert!(mcnemar["exact_p"].as_f64().unwrap() < 0.001, "{mcnemar}");
    assert!(place.read("run/report/report.md").contains("FAIL"));
}

#[test]
fn an_arm_that_wanders_fails_turns() {
    let text = experiment(
        "oracle-profile = { kind = \"wanders\", rate = 1.0 }",
        "metric = \"turns\"\nlimit = 1.25",
        "gate",
    );
    let Some((_, analysis)) = decided("an_arm_that_wanders_fails_turns", &text, 1) else { return };
    assert_eq!(analysis["overall"]["decision"], "FAIL");
}

#[test]
fn a_design_that_cannot_tell_is_inconclusive_and_says_what_it_would_take() {
    let text = experiment(
        "oracle-profile = { kind = \"wrong-arguments\", rate = 1.0 }",
        "metric = \"pass_rate\"\nmargin = 0.10",
        "gate",
    );
    let Some((place, analysis)) = decided("a_design_that_cannot_tell…", &text, 3) else { return };
    assert_eq!(analysis["overall"]["decision"], "INCONCLUSIVE");
    let gate = &analysis["contrasts"][0]["gates"][0];
    assert!(!gate["reasons"].as_array().unwrap().is_empty());
    assert!(gate["more_tasks_needed"].as_u64().unwrap() > 0, "{gate}");
    place.bench(&["gate", "run", "--inconclusive-as", "pass"]).exits(0);
    place.bench(&["gate", "run", "--inconclusive-as", "fail"]).exits(1);
}

#[test]
fn a_negative_control_that_does_not_fail_makes_the_run_invalid() {
    let text = experiment(
        "oracle-profile = { kind = \"invents-tools\", rate = 0.0 }",
        "metric = \"first_request_tokens\"\nlimit = 1.25",
        "negative-control",
    );
    let Some((_, analysis)) = decided("a_negative_control_that_does_not_fail…", &text, 4) else { return };
    assert_eq!(analysis["overall"]["decision"], "INVALID_RUN");
}

#[test]
fn a_turn_budget_ends_a_cell_and_its_costs_are_censored() {
    let text = experiment(
        "oracle-profile = { kind = \"wanders\", rate = 1.0 }",
        "metric = \"first_request_tokens\"\nlimit = 1.25",
        "gate",
    )
    .replace("turns = 40", "turns = 3");
    let Some((place, _)) = decided("a_turn_budget_ends_a_cell…", &text, 0) else { return };
    let records = place.records("run");
    for record in &records {
        assert_eq!(record["ending"]["kind"], "turn_budget", "{}: {}", record["cell"], record["ending"]);
    }
    assert!(records.iter().all(|r| r["metrics"]["turns"] == 3));
    assert!(records[0]["censored"].as_array().unwrap().iter().any(|m| m == "turns"));
}

#[test]
fn a_smoke_run_of_the_real_binary_never_passes() {
    let text = experiment(
        "oracle-profile = { kind = \"invents-tools\", rate = 0.0 }",
        "metric = \"first_request_tokens\"\nlimit = 1.25",
        "gate",
    )
    .replace("seed = 11", "seed = 11\nstage = \"smoke\"");
    let Some((_, analysis)) = decided("a_smoke_run_of_the_real_binary_never_passes", &text, 3) else {
        return;
    };
    assert_eq!(analysis["contrasts"][0]["gates"][0]["reasons"][0], "smoke_stage");
}

#[test]
fn a_run_that_was_stopped_before_its_first_block_has_no_data() {
    if !walls("a_run_that_was_stopped_before_its_first_block_has_no_data") {
        return;
    }
    let text = experiment("", "metric = \"turns\"\nlimit = 1.25", "gate")
        .replace("factor = \"oracle-profile\"", "factor = \"none\"")
        .replace("[limits]", "[run-limits]\nrequests = 1\n\n[limits]");
    let place = Workplace::new();
    let file = place.file("experiment.toml", &text);
    place.bench(&["run", &file, "-q", "-o", "run"]).exits(7);
    place.bench(&["gate", "run"]).exits(4);
    assert_eq!(place.json("run/report/analysis.json")["overall"]["decision"], "NO_DATA");
}

#[test]
fn a_plan_says_what_it_is_expected_to_spend() {
    let text = experiment("", "metric = \"turns\"\nlimit = 1.25", "gate")
        .replace("factor = \"oracle-profile\"", "factor = \"none\"")
        .replace("[limits]", "[[price]]\nmodel = \"oracle\"\ninput = 1.0\noutput = 10.0\n\n[limits]");
    let Some((place, _)) = decided("a_plan_says_what_it_is_expected_to_spend", &text, 0) else { return };
    let spent: f64 = place.records("run").iter().map(|r| r["metrics"]["cost_usd"].as_f64().unwrap()).sum();
    let of = |text: &str, like: &[&str]| -> serde_json::Value {
        let file = place.file("plan.toml", text);
        let output = place.bench(&[&["plan", &file, "--json"], like].concat()).exits(0);
        serde_json::from_str(&output.stdout).unwrap()
    };
    let twice = text.replace("repeats = 2", "repeats = 4");
    let expected = of(&twice, &["--like", "run"])["expected"]["cost_usd"].as_f64().unwrap();
    assert!((expected / spent - 2.0).abs() < 1e-3, "{expected} for twice the cells that cost {spent}");
    assert!(of(&twice, &[])["expected"]["cost_usd"].is_null(), "nothing is guessed");
    let unpriced = twice.replace("model = \"oracle\"\ninput", "model = \"other\"\ninput");
    assert!(of(&unpriced, &["--like", "run"])["expected"]["cost_usd"].is_null(), "unknown is not free");
}

#[test]
fn rules_that_were_edited_in_the_lock_make_the_run_exploratory() {
    let text = experiment(
        "oracle-profile = { kind = \"invents-tools\", rate = 0.0 }",
        "metric = \"first_request_tokens\"\nlimit = 1.25",
        "gate",
    );
    let name = "rules_that_were_edited_in_the_lock_make_the_run_exploratory";
    let Some((place, analysis)) = decided(name, &text, 0) else { return };
    assert_eq!(analysis["exploratory"]["yes"], false);
    let lock = place.read("run/lock.json").replace("1.25", "1.75");
    place.file("run/lock.json", &lock);
    place.bench(&["gate", "run"]).exits(0);
    let edited = &place.json("run/report/analysis.json")["exploratory"];
    assert_eq!(edited["yes"], true, "{edited}");
    assert!(edited["why"].as_str().unwrap().contains("pre-registration hash"), "{edited}");
}
