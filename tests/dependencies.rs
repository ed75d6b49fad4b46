//! What comes in from outside keeps to `deny.toml`: licences and sources, asked of cargo itself, so that it holds where
//! `cargo deny` is not installed.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn rules() -> toml::Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deny.toml");
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

fn words(rules: &toml::Table, section: &str, key: &str) -> Vec<String> {
    let listed = rules[section][key].as_array().unwrap();
    listed.iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

/// Every package of the lock file that is built on this system.
fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// May a package of this licence come in? An expression of `AND` over `OR` or the other way round, one level of brackets; `/` is
/// an old way to write `OR`.
fn allowed(expression: &str, allow: &[String]) -> bool {
    let expression = expression.replace('/', " OR ");
    let holds = |part: &str| allow.iter().any(|licence| licence == part.trim());
    let mut outside = String::new();
    let mut rest = expression.as_str();
    // A bracket is replaced by what it comes to.
    while let Some((before, inner, after)) = rest
        .split_once('(')
        .and_then(|(before, tail)| tail.split_once(')').map(|(inner, after)| (before, inner, after)))
    {
        outside.push_str(before);
        outside.push_str(if allowed(inner, allow) { &allow[0] } else { "refused" });
        rest = after;
    }
    outside.push_str(rest);
    outside.split(" OR ").any(|choice| choice.split(" AND ").all(holds))
}

#[test]
fn every_licence_is_one_that_the_policy_allows() {
    let allow = words(&rules(), "licenses", "allow");
    let refused: Vec<String> = packages()
        .iter()
        .filter(|package| !allowed(package["license"].as_str().unwrap_or("none named"), &allow))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}; another crate, or a reason in deny.toml");
}

#[test]
fn every_source_is_one_that_the_policy_allows() {
    let registries: Vec<String> = words(&rules(), "sources", "allow-registry");
    let banned: Vec<String> = rules()["bans"]["deny"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["crate"].as_str().unwrap().to_owned())
        .collect();
    for package in packages() {
        let known = match package["source"].as_str() {
            None => true,
            Some(source) => registries.iter().any(|registry| source == format!("registry+{registry}")),
        };
        assert!(known, "{} comes from {}", package["name"], package["source"]);
        let name = package["name"].as_str().unwrap();
        assert!(!banned.iter().any(|crate_| crate_ == name), "{name} is banned; deny.toml says why");
    }
}

#[test]
fn an_expression_is_read_as_it_is_meant() {
    let allow = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned);
    for good in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/Unlicense",
        "(MIT OR GPL-2.0-only) AND Unicode-3.0",
        "MIT AND Apache-2.0",
    ] {
        assert!(allowed(good, &allow), "{good}");
    }
    for bad in
        ["GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR AGPL-3.0) AND MIT", "none named", "MIT WITH something"]
    {
        assert!(!allowed(bad, &allow), "{bad}");
    }
}
