//! What a newcomer types first: help, plan, init, doctor, surface, show, verify.

use serde_json::Value;

use crate::workplace::{Workplace, project, smoke_experiment, walls};

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let place = Workplace::new();
    let help = place.bench(&["--help"]).exits(0).stdout;
    for word in [
        "run",
        "plan",
        "surface",
        "report",
        "gate",
        "show",
        "verify",
        "init",
        "schema",
        "doctor",
        "Exit codes",
    ] {
        assert!(help.contains(word), "{word} is missing from\n{help}");
    }
    assert!(!help.contains("sandbox-exec"), "hidden subcommands stay hidden");
}

#[test]
fn init_writes_a_file_that_plan_accepts_and_does_not_overwrite() {
    let place = Workplace::new();
    place.bench(&["init"]).exits(0);
    let plan = place.bench(&["plan", "experiment.toml"]).exits(0).stdout;
    assert!(plan.contains("pre-registration hash"), "{plan}");
    place.bench(&["init"]).exits(2).complains(&["experiment.toml", "--force"]);
}

#[test]
fn plan_prints_the_order_and_what_cannot_be_shown_and_runs_nothing() {
    let place = Workplace::new();
    let plan = place.bench(&["plan"]).exits(0).stdout;
    assert!(plan.contains(" → "), "{plan}");
    assert!(plan.contains("pass rate"), "the pass rate cannot pass by this design:\n{plan}");
    let again = place.bench(&["plan"]).exits(0).stdout;
    assert_eq!(plan, again);
    let json: Value = serde_json::from_str(&place.bench(&["plan", "--json"]).exits(0).stdout).unwrap();
    assert_eq!(json["cells"], json["blocks"].as_array().unwrap().len() * 5);
    assert!(!place.path().join("runs").exists());
}

#[test]
fn doctor_says_what_this_machine_reaches() {
    let place = Workplace::new();
    let text = place.bench(&["doctor"]).exits(0).stdout;
    for word in ["kernel", "isolation", "missing", "tokenizers", "suite", "agent"] {
        assert!(text.contains(word), "{word} is missing from\n{text}");
    }
    let json: Value = serde_json::from_str(&place.bench(&["doctor", "--json"]).exits(0).stdout).unwrap();
    assert!(json["isolation"]["level"].is_string());
}

#[test]
fn the_schema_and_the_reference_page_are_those_of_this_build() {
    let place = Workplace::new();
    let schema = place.bench(&["schema"]).exits(0).stdout;
    let published = std::fs::read_to_string(project().join("docs/reference/experiment.schema.json")).unwrap();
    assert_eq!(schema, published, "renew it: bench schema > docs/reference/experiment.schema.json");
}

#[test]
fn surface_shows_every_arm_with_its_ratio() {
    if !walls("surface_shows_every_arm_with_its_ratio") {
        return;
    }
    let place = Workplace::new();
    let json: Value = serde_json::from_str(&place.bench(&["surface", "--json"]).exits(0).stdout).unwrap();
    let arm =
        |name: &str| json["arms"].as_array().unwrap().iter().find(|a| a["arm"] == name).unwrap().clone();
    assert_eq!(arm("bare")["tools"]["callable"], 4);
    assert_eq!(arm("loaded")["request"]["raw_sha256"], arm("bare")["request"]["raw_sha256"]);
    assert_eq!(arm("gateway")["tools"]["callable"], 5);
    assert_eq!(arm("entries")["tools"]["callable"], 11);
    assert!(arm("gateway")["ratio_to_control"].as_f64().unwrap() <= 1.25);
    assert!(arm("entries")["ratio_to_control"].as_f64().unwrap() > 1.25);
    let names: Vec<Value> =
        arm("bare")["tool"].as_array().unwrap().iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["read", "bash", "edit", "write"]);
    let table = place.bench(&["surface", "--arm", "bare"]).exits(0).stdout;
    assert!(table.contains("bare") && !table.contains("entries"), "{table}");
    place.bench(&["surface", "--arm", "bar"]).exits(2).complains(&["bar", "bare"]);
}

/// What a page of instructions around every list of tools makes of the ratios: by the prompt as DeepSeek renders it.
#[test]
fn rendered_prompts_keep_discovery_lean_too() {
    if !walls("rendered_prompts_keep_discovery_lean_too") {
        return;
    }
    let place = Workplace::new();
    let surfaces = ["bare", "gateway", "search-tail", "native", "entries", "all"];
    let arms: String =
        surfaces.iter().map(|name| format!("[[arm]]\nname = \"{name}\"\nsurface = \"{name}\"\n")).collect();
    let head =
        "name = \"rendered\"\nsuite = \"smoke\"\nmodel = \"deepseek-v4\"\n[upstream]\nkind = \"oracle\"\n";
    place.file("rendered.toml", &format!("{head}{arms}"));
    let shown = place.bench(&["surface", "rendered.toml", "--json"]).exits(0).stdout;
    let json: Value = serde_json::from_str(&shown).unwrap();
    let prompt = |name: &str| {
        let arm = json["arms"].as_array().unwrap().iter().find(|a| a["arm"] == name).unwrap();
        assert_eq!(arm["prompt"]["basis"], "rendered", "{name}");
        arm["prompt"]["tokens"].as_f64().unwrap()
    };
    let ratio = |name: &str| prompt(name) / prompt("bare");
    for lean in ["gateway", "search-tail", "native"] {
        assert!((1.0..=1.25).contains(&ratio(lean)), "{lean}: {}", ratio(lean));
    }
    for heavy in ["entries", "all"] {
        assert!(ratio(heavy) > 2.0, "{heavy}: {}", ratio(heavy));
    }
}

#[test]
fn show_prints_a_run_a_cell_and_a_request_byte_for_byte() {
    if !walls("show_prints_a_run_a_cell_and_a_request_byte_for_byte") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("smoke.toml", &smoke_experiment("smoke"));
    place.bench(&["run", &file, "-q", "-o", "run"]).exits(0);
    let record = &place.records("run")[0];
    let cell = format!(
        "{}/r{:02}/{}",
        record["task"].as_str().unwrap(),
        record["repeat"].as_u64().unwrap(),
        record["arm"].as_str().unwrap()
    );
    assert!(place.bench(&["show", "run"]).exits(0).stdout.contains(&cell));
    assert!(place.bench(&["show", "run", &cell, "--why"]).exits(0).stdout.contains("completed"));
    let raw = place.command(&["show", "run", &cell, "--request", "1", "--raw"]).output().unwrap().stdout;
    assert_eq!(record["first_request"]["body_bytes"], raw.len());
    let body: Value = serde_json::from_slice(&raw).unwrap();
    assert_eq!(body["model"], record["first_request"]["model"]);
    place.bench(&["show", "run", "no/such/cell"]).exits(2).complains(&["no/such/cell", "task/r01/arm"]);
    place.bench(&["show", "run", &cell, "--request", "99"]).exits(2).complains(&["99"]);
}

#[test]
fn verify_proves_every_task_of_the_suites_shipped_here() {
    if !walls("verify_proves_every_task_of_the_suites_shipped_here") {
        return;
    }
    let place = Workplace::new();
    for suite in ["default", "smoke"] {
        let text = place.bench(&["verify", suite]).exits(0).stdout;
        assert!(
            text.contains("reference plan passes") && text.contains("untouched workspace fails"),
            "{text}"
        );
        assert!(!text.contains("BROKEN"), "{text}");
    }
}

#[test]
fn verify_finds_a_verifier_that_accepts_anything() {
    if !walls("verify_finds_a_verifier_that_accepts_anything") {
        return;
    }
    let place = Workplace::new();
    let canary = "bench-canary-0000-accepts-anything";
    place.file(
        "suites/lame/one/task.toml",
        &format!("format-version = 1\ntitle = \"One\"\ntrack = \"default\"\ncanary = \"{canary}\"\n"),
    );
    place.file("suites/lame/one/instruction.md", "Do it.\n");
    place.file("suites/lame/one/workspace/a.txt", "a\n");
    place.file("suites/lame/one/verify/run.sh", &format!("# {canary}\nexit 0\n"));
    place.file(
        "suites/lame/one/oracle.toml",
        &format!("# {canary}\nformat-version = 1\n[[step]]\nanswer = \"done\"\n"),
    );
    let outcome = place.bench(&["verify", "lame", "--suites", "suites"]).exits(1);
    assert!(outcome.stdout.contains("BROKEN one: untouched workspace fails"), "{}", outcome.stdout);
}
