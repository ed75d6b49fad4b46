//! What runs beside a conversation, through the whole: agents of a workflow, a command in the background, a debugger. All of
//! it stands on one time line, and every request agrees with the lifecycle table.

use crate::workplace::{Workplace, walls};

const EXPERIMENT: &str = r#"name = "beside"
seed = 1
repeats = 2
suite = "orchestration"
tasks = ["settle-limits", "long-build", "wild-write"]
tokenizer = "o200k_base"

[upstream]
kind = "oracle"

[[arm]]
name = "all"
surface = "all"

[[arm]]
name = "code"
surface = "code-capabilities"
"#;

/// Lanes of the time line that `bench show` draws.
fn lanes(place: &Workplace, cell: &str) -> Vec<String> {
    let shown = place.bench(&["show", "run", cell]).exits(0).stdout;
    let line = shown.split("time line: ").nth(1).unwrap_or_else(|| panic!("{cell} has none:\n{shown}"));
    line.lines().skip(1).map(|lane| lane.split("  |").next().unwrap().trim().to_owned()).collect()
}

#[test]
fn parent_children_background_and_debugger_stand_on_one_time_line() {
    if !walls("parent_children_background_and_debugger_stand_on_one_time_line") {
        return;
    }
    let place = Workplace::new();
    place.file("x.toml", EXPERIMENT);
    place.bench(&["run", "x.toml", "-q", "-o", "run"]).exits(0);
    for record in place.records("run") {
        assert_eq!(record["verdict"], "passed", "{record}");
        assert_eq!(record["lifecycle"], serde_json::json!([]), "{record}");
    }
    for arm in ["all", "code"] {
        let cell = |task: &str| format!("{task}/r01/{arm}");
        let workflow = lanes(&place, &cell("settle-limits"));
        assert_eq!(workflow[0], "main agent");
        for name in ["workflow wf-1", "step wf-1.summary", "agent wf-1.settle.0", "agent wf-1.settle.3"] {
            assert!(workflow.iter().any(|lane| lane == name), "{name} is missing: {workflow:?}");
        }
        assert_eq!(lanes(&place, &cell("long-build")), ["main agent", "background bg-1"]);
        let page = place.read("run/report/traces/long-build/r01.html");
        assert!(page.contains("on one line: main agent, background bg-1"));
        // The two tasks of the debugger are skipped where it, or a compiler, is not installed.
        if place.path().join(format!("run/cells/wild-write/r01/{arm}")).is_dir() {
            assert_eq!(lanes(&place, &cell("wild-write")), ["main agent", "debugger main"]);
        }
    }
}
