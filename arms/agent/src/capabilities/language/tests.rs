//! Against a real server, where this machine has one. A machine without it skips its tests with a line that says so;
//! `.ci/run` installs it.

use serde_json::{Value, json};

use super::*;
use crate::capabilities::Bell;
use crate::start::program_on_path;

struct Stage {
    folder: tempfile::TempDir,
    servers: LanguageServers,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let servers = LanguageServers::in_folder(folder.path(), &Cancel::with(&Bell::default()));
        Self { folder, servers }
    }

    /// Two files that share a name, and a local one that hides it.
    fn of_sources() -> Self {
        let stage = Self::new();
        stage.write("count.h", "int count(int from);\n");
        stage.write("count.c", "#include \"count.h\"\n\nint count(int from) {\n    return from + 1;\n}\n");
        stage.write(
            "main.c",
            "#include \"count.h\"\n\nstatic int twice(int count) {\n    return 2 * count;\n}\n\nint main(void) {\n    return count(twice(1)); // ä\n}\n",
        );
        stage
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn ask(&self, asked: Value) -> Result<String, String> {
        self.servers.run(&serde_json::from_value(asked).unwrap())
    }

    fn told(&self, mut asked: Value) -> String {
        // A loaded machine must not decide.
        asked["timeout"] = json!(120);
        let question = asked.to_string();
        self.ask(asked).unwrap_or_else(|error| panic!("{question}: {error}"))
    }
}

fn has_clangd() -> bool {
    let there = ["clangd", "clangd-19"].iter().any(|name| program_on_path(name).is_some());
    if !there {
        eprintln!("skipped: clangd is not on PATH");
    }
    there
}

#[test]
fn names_are_followed_by_scope_and_not_by_text() {
    if !has_clangd() {
        return;
    }
    let stage = Stage::of_sources();
    let place = json!({"action": "definition", "file": "main.c", "line": 8, "symbol": "count"});
    assert_eq!(stage.told(place), "count.c:3:5: int count(int from) {");
    let all = stage.told(json!({"action": "references", "file": "count.c", "symbol": "count"}));
    assert_eq!(
        all,
        "count.c:3:5: int count(int from) {\ncount.h:1:5: int count(int from);\nmain.c:8:12: return count(twice(1)); // ä"
    );
    let local = stage.told(json!({"action": "references", "file": "main.c", "line": 3, "column": 22}));
    assert_eq!(local, "main.c:3:22: static int twice(int count) {\nmain.c:4:16: return 2 * count;");
    assert!(stage.servers.is_alive());
}

#[test]
fn a_rename_is_shown_before_it_is_made_and_files_are_seen_as_they_are() {
    if !has_clangd() {
        return;
    }
    let stage = Stage::of_sources();
    let before = [stage.text("main.c"), stage.text("count.c"), stage.text("count.h")];
    let mut rename =
        json!({"action": "rename", "file": "main.c", "line": 8, "symbol": "count", "new_name": "next"});
    let shown = stage.told(rename.clone());
    assert!(shown.starts_with("3 lines in 3 files:\n"), "{shown}");
    assert!(
        shown.contains("main.c:8\n-     return count(twice(1)); // ä\n+     return next(twice(1)); // ä\n")
    );
    assert!(shown.ends_with("Nothing has been changed yet. Call again with apply = true to make it."));
    assert_eq!(before, [stage.text("main.c"), stage.text("count.c"), stage.text("count.h")]);
    rename["apply"] = json!(true);
    assert!(stage.told(rename).ends_with("All of it has been made."));
    assert_eq!(stage.text("count.h"), "int next(int from);\n");
    assert!(stage.text("main.c").contains("twice(int count)"), "another thing of the same name stays");
    // Somebody else's change is seen at the next question.
    stage.write("count.c", "int next(int from) {\n    return form;\n}\n");
    let faults = stage.told(json!({"action": "diagnostics", "file": "count.c"}));
    assert!(faults.starts_with("count.c:2:12: error: ") && faults.contains("'form'"), "{faults}");
    assert_eq!(stage.told(json!({"action": "diagnostics", "file": "main.c"})), "No diagnostics.");
    let refused = stage
        .ask(json!({"action": "rename", "file": "main.c", "line": 8, "symbol": "next", "new_name": "7up"}));
    assert!(refused.unwrap_err().starts_with("language server clangd"));
}

#[test]
fn servers_that_are_missing_die_or_never_answer_are_clear_errors_and_leave_nothing_running() {
    let stage = Stage::of_sources();
    stage.write("notes.xyz", "");
    let ask = |server: &str| {
        let asked = json!({"action": "definition", "file": "main.c", "symbol": "main", "server": server, "timeout": 5});
        stage.ask(asked).unwrap_err()
    };
    assert!(ask("no-such-server --stdio").contains("there is no language server \"no-such-server\" here"));
    let died = ask("false");
    assert!(died.starts_with("language server false: it has ended"), "{died}");
    let garbage = ask("yes");
    assert!(garbage.contains("is no header line"), "{garbage}");
    let deaf = ask("sleep 86399");
    assert_eq!(
        deaf,
        "language server sleep: no answer to initialize within the timeout; nothing was changed"
    );
    assert!(!stage.servers.is_alive());
    let left = std::process::Command::new("pgrep").args(["-f", "^[^ ]*sleep 86399"]).output();
    assert_eq!(String::from_utf8(left.unwrap().stdout).unwrap(), "");
    let unknown = stage.ask(json!({"action": "definition", "file": "notes.xyz", "symbol": "x"})).unwrap_err();
    assert!(unknown.contains("no language server is known for files that end in \"xyz\""), "{unknown}");
    let outside = stage.ask(json!({"action": "diagnostics", "file": "/etc/hostname"})).unwrap_err();
    assert!(outside.contains("lies outside the working directory"), "{outside}");
}

#[test]
fn a_server_ends_with_the_conversation() {
    if !has_clangd() {
        return;
    }
    let stage = Stage::of_sources();
    stage.told(json!({"action": "diagnostics", "file": "main.c"}));
    let folder = stage.folder.path().canonicalize().unwrap().display().to_string();
    drop(stage.servers);
    let left = std::process::Command::new("pgrep").args(["-f", &folder]).output();
    assert_eq!(String::from_utf8(left.unwrap().stdout).unwrap(), "");
}
