//! The surfaces shipped in `arms/catalog/surfaces` are as heavy as what they stand for: bare within 15 % of the leanest
//! real agent (pi 1.6.0), the entries within 15 % of those that real extensions were measured with. Counted as they are
//! sent: chat completions, minified.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use bench_agent::first_request;
use bench_core::experiment::ModelSettings;
use bench_core::{ModelExposure, Sha256Hex, Surface};
use serde_json::Value;

const SURFACES: [&str; 23] = [
    "bare",
    "loaded",
    "gateway",
    "entries",
    "explicit",
    "all",
    "headless",
    "search-tail",
    "search-result",
    "devices",
    "native",
    "code-mode",
    "code-eval",
    "code-catalog",
    "code-filesystem",
    "code-sidecar",
    "code-exec",
    "code-mixed",
    "code-servers",
    "bare-servers",
    "lsp",
    "hashline",
    "code-capabilities",
];
const CWD: &str = "/var/lib/bench/0/ws";

fn surface(name: &str) -> Surface {
    let path = format!("{}/../catalog/surfaces/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn body(name: &str) -> Vec<u8> {
    first_request(&surface(name), "m", &ModelSettings::default(), "Do it.", CWD).unwrap()
}

fn request(name: &str) -> Value {
    serde_json::from_slice(&body(name)).unwrap()
}

fn system_text(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap()
}

fn tokens(text: &str) -> usize {
    tiktoken::get_encoding("o200k_base").unwrap().count(text)
}

#[track_caller]
fn assert_near(what: &str, found: usize, model: usize) {
    let ratio = found as f64 / model as f64;
    assert!((0.85..=1.15).contains(&ratio), "{what}: {found} is {ratio:.3} x {model}, beyond 15 %");
}

#[test]
fn bare_is_as_lean_as_the_leanest_real_surface() {
    let bare = request("bare");
    let tools = bare["tools"].to_string();
    assert_near("bytes of tools", tools.len(), 2841);
    assert_near("tokens of tools", tokens(&tools), 609);
    assert_near("bytes of system text", system_text(&bare).len(), 2289);
    assert_near("tokens of system text", tokens(system_text(&bare)), 517);
    for (tool, model) in bare["tools"].as_array().unwrap().iter().zip([684, 543, 1179, 430]) {
        assert_near(&tool["function"]["name"].to_string(), tool.to_string().len(), model);
    }
}

#[test]
fn each_entry_weighs_what_the_measured_ones_do() {
    let entries = request("entries");
    let tools = entries["tools"].as_array().unwrap();
    let models = [
        ("fd", 1358),
        ("rg", 1496),
        ("subagent_spawn", 1650),
        ("workflow", 4700),
        ("bg_start", 1160),
        ("tasks_add", 700),
        ("create_goal", 980),
    ];
    assert_eq!(tools.len(), 4 + models.len());
    for (tool, (name, model)) in tools[4..].iter().zip(models) {
        assert_eq!(tool["function"]["name"], name);
        assert_near(name, tool.to_string().chars().count(), model);
    }
    let added = system_text(&entries).chars().count() - system_text(&request("bare")).chars().count();
    assert_near("guidance of the entries", added, 2400);
}

#[test]
fn the_gateway_costs_one_small_tool() {
    let (bare, gateway) = (request("bare"), request("gateway"));
    let tools = gateway["tools"].as_array().unwrap();
    assert_eq!(tools[..4], bare["tools"].as_array().unwrap()[..]);
    assert_eq!((tools.len(), &tools[4]["function"]["name"]), (5, &Value::from("capabilities")));
    assert_near("gateway", tools[4].to_string().chars().count(), 479);
    let ratio = tokens(&gateway.to_string()) as f64 / tokens(&bare.to_string()) as f64;
    assert!((1.0..1.25).contains(&ratio), "{ratio}");
    let entries = tokens(&request("entries").to_string()) as f64 / tokens(&bare.to_string()) as f64;
    assert!(entries > 2.0, "{entries}");
}

#[test]
fn every_way_of_discovery_is_lean_and_showing_all_is_not() {
    let bare = tokens(&request("bare").to_string()) as f64;
    let ratio = |name: &str| tokens(&request(name).to_string()) as f64 / bare;
    for name in ["gateway", "explicit", "search-tail", "search-result", "devices", "native"] {
        assert!((1.0..1.25).contains(&ratio(name)), "{name}: {}", ratio(name));
    }
    assert!(ratio("all") > ratio("entries") && ratio("headless") < 1.0);
    let headless = request("headless");
    assert_eq!(headless["tools"].as_array().unwrap().len(), 6);
    assert_eq!(system_text(&headless).lines().count(), 4);
    assert_eq!(request("all")["tools"].as_array().unwrap().len(), 34);
}

#[test]
fn an_extension_that_shows_nothing_changes_no_byte() {
    for silent in ["loaded", "explicit"] {
        assert_ne!(surface(silent), surface("bare"));
        assert_eq!(body(silent), body("bare"), "{silent}");
    }
}

#[test]
fn the_working_directory_stands_in_the_request_once_and_nothing_names_the_arm() {
    for name in SURFACES {
        let text = String::from_utf8(body(name)).unwrap();
        assert_eq!(text.matches(CWD).count(), 1, "{name}");
        assert!(text.contains(&format!("Current working directory: {CWD}")), "{name}");
        // Some names are words that any text may hold.
        let is_word = ["gateway", "entries", "all", "native", "explicit", "lsp", "hashline"].contains(&name);
        assert!(is_word || !text.contains(name), "{name}");
    }
}

#[test]
fn settings_are_sent_where_they_are_set_and_nowhere_else() {
    let keys = |settings: &ModelSettings| {
        let body = first_request(&surface("bare"), "m", settings, "Do it.", CWD).unwrap();
        let value: Value = serde_json::from_slice(&body).unwrap();
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys(&ModelSettings::default()), "model messages tools stream stream_options");
    let all = ModelSettings {
        temperature: Some(0.5),
        max_output_tokens: Some(100),
        thinking: Some("low".into()),
        sampling_seed: Some(7),
    };
    assert_eq!(
        keys(&all),
        "model messages tools temperature max_tokens seed reasoning_effort stream stream_options"
    );
}

/// What a surface can show later: the definitions of its deferred tools.
fn behind(name: &str) -> String {
    let deferred = surface(name).tools.into_iter().filter(|tool| tool.model == ModelExposure::Deferred);
    let catalog = concat!(env!("CARGO_MANIFEST_DIR"), "/catalog");
    deferred.map(|tool| std::fs::read_to_string(format!("{catalog}/{}.json", tool.name)).unwrap()).collect()
}

/// A surface's bytes are part of every result made with it: whoever changes them raises its version and this list.
#[test]
fn what_each_version_of_a_surface_shows_is_pinned() {
    let found: Vec<String> = SURFACES
        .into_iter()
        .map(|name| {
            let request = request(name);
            let shown = format!("{}\n{}{}", request["tools"], system_text(&request), behind(name));
            format!("{name} {} {}", surface(name).version, &Sha256Hex::of(shown).as_str()[..16])
        })
        .collect();
    assert_eq!(
        found,
        [
            "bare 1 6a6bb1ceccb8ab55",
            "loaded 1 6a6bb1ceccb8ab55",
            "gateway 2 fa198157f727b7f9",
            "entries 2 a2b30408fde509a5",
            "explicit 2 4a471eaaf7b5624c",
            "all 2 093a10431acba5ed",
            "headless 1 3475ba7f0de22680",
            "search-tail 2 5190d72d6338b075",
            "search-result 2 363f18d49da25111",
            "devices 2 90c901567b0b7163",
            "native 2 b0c4a79ecbcd4c39",
            "code-mode 2 c7ba9cdef80c0b54",
            "code-eval 2 0dfd96531f73345c",
            "code-catalog 1 10215b68f5694a4d",
            "code-filesystem 1 7d313e4eca730c37",
            "code-sidecar 1 8b275e87e98feb5d",
            "code-exec 2 e9ce9c6871332495",
            "code-mixed 2 c1f3c745ebbd08be",
            "code-servers 3 892c79ee213503f1",
            "bare-servers 2 5f75cd296aa4edd7",
            "lsp 1 29a0d21e75f35fef",
            "hashline 1 496e23480b0d60ed",
            "code-capabilities 1 013850940ea425d2",
        ]
    );
}
