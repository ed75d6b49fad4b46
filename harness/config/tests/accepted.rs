//! Files that are accepted: the embedded ones, the examples, defaults, and what each key means.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "support/catalogue.rs"]
mod catalogue;

use std::path::Path;

use bench_config::{DEFAULT, Loaded, TEMPLATE, load, schema};
use bench_core::experiment::ProfileKind;
use bench_core::{
    ContrastRole, Endpoint, EndpointKind, Factor, IsolationLevel, Limits, Margin, Metric, TaskSelection,
    Upstream,
};
use catalogue::catalogue;
use serde_json::Value;

const SMALLEST: &str = "name = \"x\"\n[[arm]]\nname = \"a\"\nsurface = \"bare\"\n";

fn accepted(text: &str) -> Loaded {
    load(text, Path::new("x.toml"), &catalogue()).unwrap_or_else(|error| panic!("{error}\n---\n{text}"))
}

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_default_experiment_is_the_four_arm_ablation() {
    let loaded = accepted(DEFAULT);
    assert_eq!(loaded.warnings, Vec::<String>::new());
    let experiment = loaded.experiment;
    assert_eq!(experiment.name.as_str(), "four-arm-ablation");
    assert_eq!(experiment.repeats, 2);
    let arms: Vec<&str> = experiment.arms.iter().map(|arm| arm.surface.as_str()).collect();
    assert_eq!(arms, ["bare", "loaded", "gateway", "entries", "code-mode"]);
    let gated = |metric| {
        let gate = experiment.gates.iter().find(|gate| gate.metric == metric).unwrap();
        assert_eq!(gate.margin, Margin::RatioAtMost { limit: 1.25 });
        gate.contrasts.len()
    };
    assert_eq!(gated(Metric::FirstRequestTokens), 4);
    assert_eq!(gated(Metric::TotalTokens), 4);
    assert_eq!(gated(Metric::Turns), 3);
    assert_eq!(gated(Metric::ToolCalls), 3);
    let control = experiment.contrasts.iter().find(|c| c.role == ContrastRole::NegativeControl).unwrap();
    assert_eq!(control.candidate.as_str(), "entries");
}

#[test]
fn the_four_arm_example_is_the_default_byte_for_byte() {
    assert_eq!(example("four-arm.toml"), DEFAULT);
}

#[test]
fn every_example_loads_without_a_warning_and_says_its_exit_code() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".toml") {
            continue;
        }
        let text = example(&name);
        assert_eq!(accepted(&text).warnings, Vec::<String>::new(), "{name}");
        assert!(text.starts_with("# ") && text.contains("\n# Exit code: "), "{name} lacks its header");
        seen += 1;
    }
    assert!(seen >= 4, "only {seen} examples were found");
}

#[test]
fn the_template_loads_and_shows_every_key() {
    assert_eq!(accepted(TEMPLATE).warnings, Vec::<String>::new());
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let tables = schema["$defs"].as_object().unwrap().values().chain([&schema]);
    for key in tables.flat_map(|table| table["properties"].as_object().unwrap().keys()) {
        let shown = [format!("{key} = "), format!("[{key}]"), format!("[arm.{key}]")];
        assert!(shown.iter().any(|form| TEMPLATE.contains(form)), "the template does not show `{key}`");
    }
}

#[test]
fn what_is_not_written_has_the_documented_default() {
    let experiment = accepted(SMALLEST).experiment;
    assert_eq!(experiment.seed, 1);
    assert_eq!(experiment.repeats, 2);
    assert_eq!(experiment.suite.as_str(), "default");
    assert_eq!(experiment.tasks, TaskSelection::All);
    assert_eq!(experiment.tokenizer, "o200k_base");
    assert_eq!(experiment.upstream, Upstream::Oracle);
    assert_eq!(experiment.min_isolation, IsolationLevel::L1);
    assert_eq!(experiment.recorder_port, None);
    assert_eq!(experiment.limits, Limits::default());
    assert_eq!(experiment.rules, bench_core::experiment::Rules::default());
    assert_eq!(experiment.arms[0].agent.as_str(), "reference");
    assert_eq!(experiment.arms[0].model, "oracle");
    assert_eq!(experiment.arms[0].profile.kind, ProfileKind::Perfect);
}

/// Writing a default down must change nothing: so the defaults in schema and page are those of the code.
#[test]
fn the_defaults_of_the_schema_are_those_of_the_code() {
    let smallest = accepted(SMALLEST).experiment;
    let schema: Value = serde_json::from_str(&schema()).unwrap();
    let with_default = |table: &Value| -> Vec<(String, Value)> {
        let properties = table["properties"].as_object().unwrap();
        properties.iter().filter_map(|(key, p)| Some((key.clone(), p.get("default")?.clone()))).collect()
    };
    let mut checked = 0;
    for (key, default) in with_default(&schema).into_iter().filter(|(_, default)| !default.is_array()) {
        assert_eq!(accepted(&format!("{key} = {default}\n{SMALLEST}")).experiment, smallest, "{key}");
        checked += 1;
    }
    for (table, name) in [("limits", "LimitsFile"), ("rules", "RulesFile"), ("upstream", "UpstreamFile")] {
        for (key, default) in with_default(&schema["$defs"][name]) {
            let text = format!("{SMALLEST}[{table}]\n{key} = {default}\n");
            assert_eq!(accepted(&text).experiment, smallest, "{table}.{key}");
            checked += 1;
        }
    }
    assert!(checked >= 14, "only {checked} defaults were checked");
}

#[test]
fn an_arm_replaces_single_settings_and_the_model() {
    let text = r#"
name = "x"
model = "m1"
[settings]
temperature = 0
max-output-tokens = 100
[[arm]]
name = "a"
surface = "bare"
[[arm]]
name = "b"
surface = "bare"
model = "m2"
[arm.settings]
temperature = 0.7
"#;
    let arms = accepted(text).experiment.arms;
    assert_eq!((arms[0].model.as_str(), arms[1].model.as_str()), ("m1", "m2"));
    assert_eq!((arms[0].settings.temperature, arms[1].settings.temperature), (Some(0.0), Some(0.7)));
    assert_eq!(arms[1].settings.max_output_tokens, Some(100));
}

#[test]
fn a_real_upstream_asks_for_stronger_walls() {
    let upstream =
        "[upstream]\nkind = \"openai-chat\"\nbase-url = \"http://127.0.0.1:8080/v1\"\nkey-env = \"MY_KEY\"\n";
    let text = format!("model = \"m\"\n{SMALLEST}{upstream}");
    let experiment = accepted(&text).experiment;
    assert_eq!(experiment.min_isolation, IsolationLevel::L2);
    let base_url = "http://127.0.0.1:8080/v1".to_owned();
    let expected = Endpoint {
        kind: EndpointKind::OpenaiChat,
        base_url,
        key_env: Some("MY_KEY".to_owned()),
        concurrency: None,
        ca_file: None,
        first_byte_ms: None,
        idle_ms: None,
    };
    assert_eq!(experiment.upstream, Upstream::Endpoint(expected));

    let lower = accepted(&format!("min-isolation = \"L1\"\n{text}"));
    assert_eq!(lower.experiment.min_isolation, IsolationLevel::L1);
    assert_eq!(lower.warnings.len(), 1, "a lower level is taken, but said");
}

#[test]
fn outside_access_is_invalid_unless_it_is_written_that_it_is_only_counted() {
    use bench_core::experiment::OnOutsideAccess;
    let rule = |text: &str| accepted(text).experiment.rules.on_outside_access;
    assert_eq!(rule(SMALLEST), OnOutsideAccess::Invalid);
    assert_eq!(rule(&format!("on-outside-access = \"count\"\n{SMALLEST}")), OnOutsideAccess::Count);
}

#[test]
fn an_odd_number_of_repeats_is_a_warning() {
    let loaded = accepted(&format!("repeats = 3\n{SMALLEST}"));
    insta::assert_snapshot!(loaded.warnings.join("\n"), @"x.toml:1:11: repeats: 3 repeats are an odd number: the order of two arms cannot be balanced within a task; 4 can");
}

#[test]
fn another_agent_may_bring_its_own_surface() {
    let text = r#"
name = "x"
[[arm]]
name = "a"
surface = "bare"
[[arm]]
name = "b"
agent = "command"
command = ["my-agent"]
[[contrast]]
name = "b-vs-a"
control = "a"
candidate = "b"
factor = "agent"
"#;
    let experiment = accepted(text).experiment;
    assert_eq!(experiment.contrasts[0].factor, Factor::Agent);
    assert_eq!(
        experiment.arms[1].surface.as_str(),
        "own",
        "the only surface of an agent need not be written"
    );
}

#[test]
fn a_runtime_takes_the_arm_s_script() {
    let text = "name = \"x\"\n[[arm]]\nname = \"a\"\nagent = \"python\"\ncommand = [\"-m\", \"my_agent\"]\n";
    assert_eq!(accepted(text).experiment.arms[0].command, ["-m", "my_agent"]);
}

#[test]
fn a_gate_without_contrasts_hangs_on_all_that_are_not_merely_reported() {
    let text = DEFAULT.replace("role = \"negative-control\"", "role = \"reported\"");
    let experiment = accepted(&text).experiment;
    let names: Vec<&str> = experiment.gates[0].contrasts.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["gateway-vs-bare", "loaded-vs-bare", "code-mode-vs-entries"]);
}
