//! Real agents from npm, behind the same walls and the same recorder. They are installed by `.ci/run`; where they are
//! not, each test names itself as skipped.

use std::path::PathBuf;

use serde_json::Value;

use crate::workplace::{Workplace, project, skipped, walls};

pub(crate) fn agents_dir() -> PathBuf {
    std::env::var_os("BENCH_AGENTS_DIR").map_or_else(|| PathBuf::from("/var/lib/bench/agents"), PathBuf::from)
}

pub(crate) fn installed(test: &str, package: &str) -> bool {
    let found = agents_dir().join(package).is_dir();
    if !found {
        let below = agents_dir();
        skipped(test, &format!("{package} is not installed below {}; .ci/run installs it", below.display()));
    }
    found
}

pub(crate) const PI: &str = "pi/node_modules/@earendil-works/pi-coding-agent";
pub(crate) const CODEX: &str = "codex/node_modules/@openai/codex";
pub(crate) const CLAUDE: &str = "claude/node_modules/@anthropic-ai/claude-code";

#[test]
fn pi_completes_every_default_task_under_both_surfaces() {
    let test = "pi_completes_every_default_task_under_both_surfaces";
    if !installed(test, PI) || !walls(test) {
        return;
    }
    let place = Workplace::new();
    let file = project().join("examples/pi-two-surfaces.toml");
    let mut command = place.command(&["run", file.to_str().unwrap(), "-q", "-o", "run"]);
    command.env("BENCH_AGENTS_DIR", agents_dir());
    let outcome = crate::workplace::Outcome::of(command.output().unwrap()).exits(0);
    assert!(!outcome.stdout.is_empty());
    for record in place.records("run") {
        let cell = format!("{}/{}", record["task"], record["arm"]);
        assert_eq!(record["ending"]["kind"], "completed", "{cell}: {}", record["ending"]);
        assert_eq!(record["verdict"], "passed", "{cell}");
        let (tools, bytes, tokens) = match record["arm"].as_str().unwrap() {
            "four-tools" => (4, 2841, 609),
            _ => (7, 5090, 1109),
        };
        let first = &record["first_request"];
        assert_eq!(first["tools"]["callable"], tools, "{cell}");
        assert_eq!(first["tools"]["bytes"], bytes, "{cell}: the size measured for pi 1.6.0");
        assert_eq!(first["tools"]["tokens"], tokens, "{cell}");
        let through_bash: Vec<&Value> =
            record["oracle"]["substitutions"].as_array().unwrap().iter().collect();
        assert!(through_bash.is_empty(), "{cell}: {through_bash:?}");
    }
}

/// Tools offered, bytes and tokens of their definitions, as measured once for this version, model id and surface.
type Measured = (u64, u64, u64);

/// Runs an example and looks at every cell: played to its end, passed, and the surface of the size that was measured.
fn every_cell_passes(test: &str, package: &str, example: &str, measured: &dyn Fn(&str) -> Measured) {
    if !installed(test, package) || !walls(test) {
        return;
    }
    let place = Workplace::new();
    let file = project().join("examples").join(example);
    let mut command = place.command(&["run", file.to_str().unwrap(), "-q", "-o", "run"]);
    command.env("BENCH_AGENTS_DIR", agents_dir());
    crate::workplace::Outcome::of(command.output().unwrap()).exits(0);
    let records = place.records("run");
    assert!(!records.is_empty());
    for record in records {
        let cell = format!("{}/{}", record["task"], record["arm"]);
        assert_eq!(record["ending"]["kind"], "completed", "{cell}: {}", record["ending"]);
        assert_eq!(record["verdict"], "passed", "{cell}");
        assert_eq!(record["oracle"]["steps_played"], record["oracle"]["steps"], "{cell}");
        let tools = &record["first_request"]["tools"];
        let found = ["callable", "bytes", "tokens"].map(|key| tools[key].as_u64().unwrap());
        let (offered, bytes, tokens) = measured(record["arm"].as_str().unwrap());
        assert_eq!(found, [offered, bytes, tokens], "{cell}");
        let turns = record["turns_series"].as_array().unwrap();
        let broken = |turn: &&Value| !turn["context"]["prefix_broken_in"].is_null();
        assert_eq!(turns.iter().filter(broken).count(), 0, "{cell}: its prefix only grows");
    }
}

#[test]
fn codex_completes_every_default_task_also_by_code_alone() {
    let test = "codex_completes_every_default_task_also_by_code_alone";
    every_cell_passes(test, CODEX, "codex.toml", &|arm| match arm {
        "default" => (13, 18197, 3871),
        _ => (4, 27893, 6735),
    });
}

#[test]
fn claude_completes_every_default_task_also_bare() {
    let test = "claude_completes_every_default_task_also_bare";
    every_cell_passes(test, CLAUDE, "claude.toml", &|arm| match arm {
        "default" => (12, 47251, 10646),
        _ => (3, 3352, 772),
    });
}

/// One plan through the same agent on every API, and by code alone.
#[test]
fn pi_speaks_four_apis_and_code() {
    let test = "pi_speaks_four_apis_and_code";
    if !installed(test, PI) || !walls(test) {
        return;
    }
    let wires = [
        ("four-tools", "openai-chat"),
        ("four-tools-responses", "openai-responses"),
        ("four-tools-messages", "anthropic-messages"),
        ("four-tools-gemini", "gemini"),
        ("codemode-only", "openai-chat"),
    ];
    let mut text =
        "name = \"apis\"\nrepeats = 2\ntasks = [\"build-order\"]\n[upstream]\nkind = \"oracle\"\n".to_owned();
    for (surface, _) in wires {
        text.push_str(&format!("[[arm]]\nname = \"{surface}\"\nagent = \"pi\"\nsurface = \"{surface}\"\n"));
    }
    let place = Workplace::new();
    let file = place.file("apis.toml", &text);
    let mut command = place.command(&["run", &file, "-q", "-o", "run"]);
    command.env("BENCH_AGENTS_DIR", agents_dir());
    crate::workplace::Outcome::of(command.output().unwrap()).exits(0);
    for record in place.records("run") {
        let arm = record["arm"].as_str().unwrap();
        let wire = wires.iter().find(|(surface, _)| *surface == arm).unwrap().1;
        assert_eq!(record["first_request"]["wire"], wire, "{arm}");
        assert_eq!(record["verdict"], "passed", "{arm}: {}", record["ending"]);
    }
}

/// At the highest level of this machine and at L1: nothing that an agent's own program does counts as wandering.
#[test]
fn real_agents_stay_valid_at_every_level() {
    let agents = [
        ("pi", "four-tools", "default", PI),
        ("codex", "default", "smoke", CODEX),
        ("claude", "default", "smoke", CLAUDE),
    ];
    let test = "real_agents_stay_valid_at_every_level";
    for (agent, surface, suite, package) in agents {
        if !installed(test, package) || !walls(test) {
            continue;
        }
        let place = Workplace::new();
        let highest = place.highest_level();
        let levels = [highest.trim_matches('"'), "L2", "L1"];
        for level in levels.into_iter().filter(|level| *level <= levels[0]) {
            let experiment = format!(
                "name = \"walls\"\nseed = 1\nrepeats = 1\nsuite = \"{suite}\"\nmodel = \"oracle\"\nmin-isolation = \"{level}\"\n\
                 [upstream]\nkind = \"oracle\"\n[[arm]]\nname = \"only\"\nagent = \"{agent}\"\nsurface = \"{surface}\"\n"
            );
            let file = place.file("experiment.toml", &experiment);
            let run = format!("run-{level}");
            if place.path().join(&run).exists() {
                continue;
            }
            let mut command = place.command(&["run", &file, "-q", "-o", &run]);
            command.env("BENCH_AGENTS_DIR", agents_dir());
            crate::workplace::Outcome::of(command.output().unwrap()).exits(0);
            for record in place.records(&run) {
                let cell = format!("{agent}, {} at {level}", record["task"]);
                assert_eq!(record["isolation"]["level"], level, "{cell}");
                assert_eq!(record["ending"]["kind"], "completed", "{cell}: {}", record["ending"]);
                assert_eq!(record["verdict"], "passed", "{cell}");
            }
        }
    }
}
