//! Against real adapters and real programs, where this machine has them. A machine without one skips its tests with a
//! line that says so; `.ci/run` installs both.

use super::*;
use crate::start::program_on_path;

const SEED_CASE: &str = "int main(void) {\n    int values[3] = {10, 20, 30};\n    int i = 0;\n    for (i = 0; i < 3; i++) {\n        values[i] += 1;\n    }\n    return values[i];\n}\n";

struct Stage {
    folder: tempfile::TempDir,
    debugger: Debugger,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        let cancel = Cancel::with(&crate::capabilities::Bell::default());
        let debugger = Debugger::in_folder(&here, &cancel, &Marks::default());
        Self { folder, debugger }
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn compile(&self, name: &str, text: &str) {
        self.write(&format!("{name}.c"), text);
        let built = std::process::Command::new("cc")
            .args(["-g", "-O0", "-o", name, &format!("{name}.c")])
            .current_dir(self.folder.path())
            .status();
        assert!(built.unwrap().success());
    }

    fn ask(&self, asked: serde_json::Value) -> Result<String, String> {
        self.debugger.run(&serde_json::from_value(asked).unwrap())
    }

    fn told(&self, asked: serde_json::Value) -> String {
        let question = asked.to_string();
        self.ask(asked).unwrap_or_else(|error| panic!("{question}: {error}"))
    }
}

fn has_lldb() -> bool {
    let names = ["lldb-dap", "lldb-dap-19"];
    let there = names.iter().any(|name| program_on_path(name).is_some()) && program_on_path("cc").is_some();
    if !there {
        eprintln!("skipped: lldb-dap and cc are not on PATH");
    }
    there
}

fn has_debugpy() -> bool {
    let there = program_on_path("python3").is_some_and(|python| {
        let tried = std::process::Command::new(python).args(["-c", "import debugpy"]).output();
        tried.is_ok_and(|tried| tried.status.success())
    });
    if !there {
        eprintln!("skipped: python3 with debugpy is not on PATH");
    }
    there
}

use serde_json::json;

#[test]
fn the_index_behind_the_end_is_seen_before_it_is_read() {
    if !has_lldb() {
        return;
    }
    let stage = Stage::new();
    stage.compile("demo", SEED_CASE);
    let told = stage
        .told(json!({"action": "launch", "program": "demo", "breakpoints": [{"file": "demo.c", "line": 7}]}));
    assert!(told.contains("Stopped (breakpoint") && told.contains("main at demo.c:7"), "{told}");
    assert!(told.contains("> ") && told.contains("return values[i];"), "{told}");
    assert!(told.contains("values: int[3]") && told.contains("i: int = 3"), "{told}");
    assert!(told.contains("{[0]: 11, [1]: 21, [2]: 31}"), "{told}");
    let told = stage.told(json!({"action": "evaluate", "expression": "i"}));
    assert_eq!(told, "3 (int)");
    let over = stage.told(json!({"action": "continue"}));
    assert!(over.contains("The program has ended with code"), "{over}");
    assert!(!stage.debugger.is_alive());
    let refused = stage.ask(json!({"action": "stack_trace"})).unwrap_err();
    assert!(refused.contains("nothing is being debugged"), "{refused}");
}

#[test]
fn every_kind_of_breakpoint_and_look_of_a_compiled_program() {
    if !has_lldb() {
        return;
    }
    let stage = Stage::new();
    stage.compile(
        "steps",
        "#include <stdio.h>\nint total = 0;\nint add(int by) {\n    total += by;\n    return total;\n}\nint main(void) {\n    for (int i = 1; i <= 5; i++) {\n        add(i);\n    }\n    printf(\"total %d\\n\", total);\n    return 0;\n}\n",
    );
    let told = stage.told(json!({"action": "launch", "program": "steps", "breakpoints": [{"file": "steps.c", "line": 4, "condition": "by == 3"}]}));
    assert!(told.contains("add at steps.c:4") && told.contains("by: int = 3"), "{told}");
    assert!(stage.told(json!({"action": "stack_trace"})).contains("#1 main at steps.c:9"));
    assert!(stage.told(json!({"action": "scopes"})).contains("Locals"));
    assert!(stage.told(json!({"action": "threads"})).contains("steps"));
    assert!(stage.told(json!({"action": "modules"})).contains("steps"));
    assert!(stage.told(json!({"action": "disassemble", "count": 4})).lines().count() >= 4);
    assert!(stage.told(json!({"action": "step_over"})).contains("add at steps.c:5"));
    assert_eq!(stage.told(json!({"action": "evaluate", "expression": "total"})), "6 (int)");
    // An expression may change what it looks at: no evaluation is taken to be reading only.
    stage.told(json!({"action": "evaluate", "expression": "total = 100"}));
    assert!(stage.told(json!({"action": "step_out"})).contains("main at steps.c"));
    assert!(stage.told(json!({"action": "set_breakpoint", "function": "add"})).contains("set"));
    stage.told(json!({"action": "remove_breakpoint", "file": "steps.c", "line": 4}));
    let told = stage.told(json!({"action": "continue"}));
    assert!(told.contains("add at steps.c:4") && told.contains("by: int = 4"), "{told}");
    stage.told(json!({"action": "remove_breakpoint", "function": "add"}));
    let info = stage.told(json!({"action": "data_breakpoint_info", "name": "by"}));
    let id = info.split("data_id ").nth(1).unwrap().split(',').next().unwrap().to_owned();
    stage.told(json!({"action": "set_data_breakpoint", "data_id": id}));
    stage.told(json!({"action": "remove_data_breakpoint", "data_id": id}));
    let over = stage.told(json!({"action": "continue"}));
    assert!(over.contains("ended with code 0"), "{over}");
    assert!(over.contains("total 109"), "{over}");
}

#[test]
fn python_stops_on_a_condition_and_shows_what_it_holds() {
    if !has_debugpy() {
        return;
    }
    let stage = Stage::new();
    stage.write(
        "mean.py",
        "def mean(numbers):\n    total = 0\n    for number in numbers:\n        total += number\n    return total / len(numbers)\n\nprint(mean([1, 2, 6]))\n",
    );
    let told = stage.told(json!({"action": "launch", "program": "mean.py", "breakpoints": [{"file": "mean.py", "line": 4, "condition": "number == 6"}]}));
    assert!(told.contains("mean at mean.py:4") && told.contains("total: int = 3"), "{told}");
    assert!(stage.told(json!({"action": "evaluate", "expression": "numbers[-1]"})).starts_with('6'));
    assert!(stage.told(json!({"action": "step_over"})).contains("mean at mean.py:3"));
    assert!(
        stage
            .ask(json!({"action": "disassemble", "reference": "0x0"}))
            .unwrap_err()
            .contains("cannot do this")
    );
    let over = stage.told(json!({"action": "continue"}));
    assert!(over.contains("ended with code 0") && over.contains("3.0"), "{over}");
}

#[test]
fn a_program_that_never_stops_is_paused_and_ended_with_all_it_forked() {
    if !has_lldb() {
        return;
    }
    let stage = Stage::new();
    stage.compile(
        "forks",
        "#include <unistd.h>\n#include <stdio.h>\nint main(void) {\n    if (fork() == 0) { setsid(); for (;;) pause(); }\n    for (;;) usleep(1000);\n}\n",
    );
    assert!(stage.told(json!({"action": "launch", "program": "forks"})).contains("It runs."));
    let held = stage.ask(json!({"action": "launch", "program": "forks"})).unwrap_err();
    assert!(held.contains("end it with terminate first"), "{held}");
    let told = stage.told(json!({"action": "pause"}));
    assert!(told.contains("Stopped ("), "{told}");
    stage.told(json!({"action": "continue", "timeout": 5}));
    assert!(stage.told(json!({"action": "terminate"})).contains("Ended main."));
    let left = std::process::Command::new("pgrep")
        .args(["-f", &format!("{}/forks", stage.folder.path().canonicalize().unwrap().display())])
        .output();
    assert_eq!(String::from_utf8(left.unwrap().stdout).unwrap(), "");
}

#[test]
fn a_program_that_dies_is_told_and_the_next_one_can_be_launched() {
    if !has_lldb() {
        return;
    }
    let stage = Stage::new();
    stage.compile(
        "dies",
        "#include <signal.h>\n#include <stddef.h>\nint main(int argc, char **argv) {\n    if (argc > 1) raise(SIGKILL);\n    int *nothing = NULL;\n    return *nothing;\n}\n",
    );
    let start = json!([{"file": "dies.c", "line": 4}]);
    stage.told(json!({"action": "launch", "program": "dies", "breakpoints": start}));
    let told = stage.told(json!({"action": "continue"}));
    assert!(told.contains("Stopped (exception") && told.contains("main at dies.c:6"), "{told}");
    let over = stage.told(json!({"action": "continue"}));
    assert!(over.contains("The program has ended"), "{over}");
    assert!(!stage.debugger.is_alive());
    stage.told(json!({"action": "launch", "program": "dies", "args": ["now"], "breakpoints": start}));
    let killed = stage.told(json!({"action": "continue"}));
    assert!(killed.contains("The program has ended"), "{killed}");
    assert!(stage.ask(json!({"action": "stack_trace"})).unwrap_err().contains("nothing is being debugged"));
}

#[test]
fn adapters_that_are_missing_die_or_never_answer_are_clear_errors() {
    let stage = Stage::new();
    stage.write("demo", "");
    let ask = |adapter: &str| {
        stage
            .ask(json!({"action": "launch", "program": "demo", "adapter": adapter, "timeout": 5}))
            .unwrap_err()
    };
    assert!(ask("no-such-adapter").contains("there is no debug adapter"));
    let died = ask("sh -c exit");
    assert!(died.contains("debug adapter sh: the debug adapter has ended"), "{died}");
    let garbage = ask("yes");
    assert!(garbage.contains("is no header line"), "{garbage}");
    let deaf = ask("sleep 86400");
    assert!(
        deaf.contains("no answer to initialize within the timeout") && deaf.contains("may still"),
        "{deaf}"
    );
    assert!(!stage.debugger.is_alive());
    let none = stage.ask(json!({"action": "launch", "program": "nothing"})).unwrap_err();
    assert_eq!(none, "nothing: there is no such file to launch");
}

#[test]
fn a_session_that_nobody_uses_is_ended() {
    if !has_lldb() {
        return;
    }
    let mut stage = Stage::new();
    stage.compile("demo", SEED_CASE);
    let cancel = Cancel::with(&crate::capabilities::Bell::default());
    let here = stage.folder.path().canonicalize().unwrap();
    stage.debugger = Debugger::with_idle(&here, &cancel, &Marks::default(), Duration::ZERO);
    stage.told(json!({"action": "launch", "program": "demo", "stop_on_entry": true}));
    // The watcher takes the lock between two calls; how soon is the system's business.
    let mut said = String::new();
    while !said.contains("nobody had used it") {
        said = stage.told(json!({"action": "sessions"}));
        std::thread::yield_now();
    }
}
