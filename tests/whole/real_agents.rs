//! Real agents from npm, behind the same walls and the same recorder. They are installed by `.ci/run`; where they are
//! not, each test names itself as skipped.

use std::path::PathBuf;

use serde_json::Value;

use crate::workplace::{Workplace, project, walls};

fn agents_dir() -> PathBuf {
    std::env::var_os("BENCH_AGENTS_DIR").map_or_else(|| PathBuf::from("/var/lib/bench/agents"), PathBuf::from)
}

fn installed(test: &str, package: &str) -> bool {
    let found = agents_dir().join(package).is_dir();
    if !found {
        eprintln!(
            "SKIPPED {test}: {package} is not installed below {}; .ci/run installs it",
            agents_dir().display()
        );
    }
    found
}

const PI: &str = "pi/node_modules/@earendil-works/pi-coding-agent";

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
