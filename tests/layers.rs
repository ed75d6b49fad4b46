//! The arrows between the rooms: which crate may depend on which. A new arrow fails here until ARCHITECTURE.md and this
//! table are changed on purpose.

#![allow(clippy::unwrap_used, reason = "a test may panic wherever it stands")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Crate, its folder, and what it may depend on.
const ARROWS: &[(&str, &str, &[&str])] = &[
    (
        "bench",
        "harness/bench",
        &[
            "runner",
            "reports",
            "trajectory",
            "record",
            "config",
            "isolation",
            "arms",
            "tasks",
            "proxy",
            "agent",
            "core",
        ],
    ),
    ("runner", "harness/runner", &["proxy", "isolation", "arms", "tasks", "record", "core"]),
    ("proxy", "harness/proxy", &["tokens", "wire", "record", "core"]),
    ("tokens", "harness/tokens", &["wire"]),
    ("agent", "arms/agent", &["code", "wire", "core"]),
    ("reports", "reports", &["trajectory", "stats", "record", "core"]),
    ("trajectory", "reports/trajectory", &["wire", "record", "core"]),
    ("tasks", "tasks", &["isolation", "core"]),
    ("arms", "arms", &["core"]),
    ("config", "harness/config", &["core"]),
    ("record", "harness/record", &["core"]),
    ("isolation", "isolation", &["core"]),
    ("code", "arms/code", &[]),
    ("wire", "harness/wire", &[]),
    ("core", "harness/core", &[]),
    ("stats", "reports/stats", &[]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Names of our crates in the `[dependencies]` table of a manifest.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.trim();
        } else if matches!(section, "[dependencies]" | "[build-dependencies]")
            && let Some(name) = line.strip_prefix("bench-")
        {
            found.push(name.split(['.', ' ', '=']).next().unwrap().to_owned());
        }
    }
    found
}

#[test]
fn no_crate_depends_on_more_than_the_house_allows() {
    let mut surplus = Vec::new();
    for (name, folder, allowed) in ARROWS {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        for dependency in dependencies(&manifest) {
            if !allowed.contains(&dependency.as_str()) {
                surplus.push(format!("{name} -> {dependency}"));
            }
        }
    }
    assert!(surplus.is_empty(), "new arrows: {}; see ARCHITECTURE.md, \"Arrows\"", surplus.join(", "));
}

#[test]
fn every_member_is_in_the_table_and_takes_the_workspace_lints() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let members = workspace.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
    let listed: BTreeMap<&str, &str> = ARROWS.iter().map(|(name, folder, _)| (*folder, *name)).collect();
    for member in members.split(',').map(|m| m.trim().trim_matches('"')).filter(|m| !m.is_empty()) {
        assert!(listed.contains_key(member), "{member} is missing from the table of arrows");
        let manifest = fs::read_to_string(root().join(member).join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lints]\nworkspace = true"), "{member} does not take the workspace lints");
    }
}

#[test]
fn the_table_stands_in_the_architecture_page() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (name, _, allowed) in ARROWS {
        let line = match allowed.is_empty() {
            true => format!("{name} -> nothing of ours"),
            false => format!("{name} -> {}", allowed.join(" ")),
        };
        assert!(page.contains(&line), "ARCHITECTURE.md does not say: {line}");
    }
}

#[test]
fn no_file_has_a_name_that_says_nothing() {
    let mut found = Vec::new();
    walk(&root(), &mut |path| {
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        let vague = ["util", "utils", "helper", "helpers", "common", "manager", "handler", "types", "misc"];
        if path.extension().is_some_and(|e| e == "rs") && vague.contains(&stem) {
            found.push(path.display().to_string());
        }
    });
    assert!(found.is_empty(), "names that say nothing: {found:?}");
}

fn walk(dir: &Path, visit: &mut impl FnMut(&Path)) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if path.is_dir() && !matches!(name, "target" | ".git" | "runs" | "node_modules") {
            walk(&path, visit);
        } else if path.is_file() {
            visit(&path);
        }
    }
}
