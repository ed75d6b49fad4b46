//! What a broken task is told: file, line, column and key where there are any, the value, and the remedy.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::fs;
use std::path::Path;

use bench_core::{Action, Task};
use bench_tasks::{Suite, find_suite, list_suites, load_cheats, load_plan, missing_programs};
use tempfile::TempDir;

const CANARY: &str = "canary-of-the-test-0123456789";

/// A suite `made` with the one task `job`, which is in order.
fn good() -> TempDir {
    let dir = TempDir::new().unwrap();
    let files = [
        ("task.toml", format!("format-version = 1\ntitle = \"A job\"\ncanary = \"{CANARY}\"\n")),
        ("instruction.md", "Put a second line into notes.txt.\n".to_owned()),
        ("workspace/notes.txt", "one\n".to_owned()),
        ("verify/run.sh", format!("# {CANARY}\necho 'check notes passed'\n")),
        ("oracle.toml", plan("[[step]]\nanswer = \"done\"\n")),
    ];
    for (name, text) in files {
        put(&dir, name, &text);
    }
    dir
}

fn plan(steps: &str) -> String {
    format!("# {CANARY}\nformat-version = 1\n{steps}")
}

fn put(dir: &TempDir, name: &str, text: &str) {
    let path = dir.path().join("made/job").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn remove(dir: &TempDir, name: &str) {
    fs::remove_file(dir.path().join("made/job").join(name)).unwrap();
}

fn load(dir: &TempDir) -> Task {
    Suite::load(&dir.path().join("made")).unwrap_or_else(|error| panic!("{error}")).tasks.remove(0)
}

/// The error of loading, with the temporary folder's name left out.
fn refused(dir: &TempDir) -> String {
    let error = Suite::load(&dir.path().join("made")).expect_err("the task was accepted");
    error.to_string().replace(&format!("{}/", dir.path().display()), "")
}

fn refused_plan(steps: &str) -> String {
    let dir = good();
    put(&dir, "oracle.toml", &plan(steps));
    refused(&dir)
}

#[test]
fn a_task_in_order_loads() {
    let dir = good();
    put(&dir, "cheats/lie.toml", &plan("[[step]]\nanswer = \"done, I say\"\n"));
    let task = load(&dir);
    assert_eq!((task.id.as_str(), task.cluster.as_str(), task.title.as_str()), ("job", "job", "A job"));
    assert_eq!(load_plan(&task).unwrap().steps.len(), 1);
    assert_eq!(load_cheats(&task).unwrap().into_keys().collect::<Vec<_>>(), ["lie"]);
}

#[test]
fn missing_parts_are_named_together() {
    let dir = good();
    remove(&dir, "verify/run.sh");
    remove(&dir, "instruction.md");
    remove(&dir, "oracle.toml");
    remove(&dir, "workspace/notes.txt");
    insta::assert_snapshot!(refused(&dir));
}

#[test]
fn task_file_mistakes() {
    let dir = good();
    let text = format!(
        "format-version = 2\ntitle = \"\"\ntrack = \"defualt\"\ncluster = \" \"\nrequires = [\"git\", \"/bin/python3\"]\ncanary = \"{CANARY}\"\n"
    );
    put(&dir, "task.toml", &text);
    insta::assert_snapshot!(refused(&dir));
}

#[test]
fn unknown_keys_of_the_task_file() {
    let dir = good();
    put(&dir, "task.toml", "format-version = 1\ntitel = \"x\"\nrequire = []\ncanary = \"short\"\n");
    insta::assert_snapshot!(refused(&dir));
}

#[test]
fn a_short_canary() {
    let dir = good();
    put(&dir, "task.toml", "format-version = 1\ntitle = \"x\"\ncanary = \"short\"\n");
    assert!(
        refused(&dir).contains("task.toml:3:10: canary: `short` may occur by chance"),
        "{}",
        refused(&dir)
    );
}

#[test]
fn the_canary_stands_in_hidden_files_and_nowhere_else() {
    let dir = good();
    put(&dir, "verify/run.sh", "exit 0\n");
    put(&dir, "verify/expected.txt", "one\n");
    put(&dir, "cheats/lie.toml", "format-version = 1\n[[step]]\nanswer = \"done\"\n");
    put(&dir, "workspace/notes.txt", CANARY);
    put(&dir, "instruction.md", &format!("Do it. {CANARY}"));
    put(&dir, "oracle/text.txt", CANARY);
    insta::assert_snapshot!(refused(&dir));
}

#[test]
fn a_plan_does_not_say_the_canary() {
    insta::assert_snapshot!(refused_plan(&format!("[[step]]\nanswer = \"{CANARY}\"\n")));
}

#[test]
fn an_empty_plan() {
    insta::assert_snapshot!(refused_plan(""));
}

#[test]
fn answers_in_the_wrong_place() {
    insta::assert_snapshot!(refused_plan("[[step]]\nanswer = \"early\"\n[[step]]\nrun = \"true\"\n"));
}

#[test]
fn steps_of_no_shape() {
    insta::assert_snapshot!(refused_plan(
        r#"
[[step]]
run = "true"
read = "notes.txt"
[[step]]
limit = 3
[[step]]
run = "true"
offset = 1
[[step]]
read = "notes.txt"
offset = 0
[[step]]
write = { path = "a" }
[[step]]
run = " "
[[step]]
answer = "done"
"#
    ));
}

#[test]
fn unknown_keys_of_a_plan() {
    insta::assert_snapshot!(refused_plan(
        "[[step]]\nrum = \"true\"\n[[step]]\nedit = { path = \"notes.txt\", old = \"one\", new = \"two\", knew = \"x\" }\n[[step]]\nanswer = \"done\"\n"
    ));
}

#[test]
fn edits_that_cannot_be_played() {
    insta::assert_snapshot!(refused_plan(
        r#"
[[step]]
edit = { path = "notes.txt", old = "two", new = "three" }
[[step]]
edit = { path = "none.txt", old = "two", new = "three" }
[[step]]
edit = { path = "notes.txt", old = "one", new = "one" }
[[step]]
write = { path = "notes.txt", content = "a a" }
[[step]]
edit = { path = "./notes.txt", old = "a", new = "b" }
[[step]]
answer = "done"
"#
    ));
}

#[test]
fn paths_that_leave_the_workspace() {
    insta::assert_snapshot!(refused_plan(
        r#"
[[step]]
read = "/etc/passwd"
[[step]]
write = { path = "a/../../b", content = "" }
[[step]]
write = { path = "a", content-file = "verify/run.sh" }
[[step]]
search = { pattern = "x", path = "~" }
[[step]]
answer = "done"
"#
    ));
}

#[test]
fn together_that_is_not_independent() {
    insta::assert_snapshot!(refused_plan(
        r#"
[[step]]
together = [{ edit = { path = "notes.txt", old = "one", new = "two" } }, { run = "cat notes.txt" }]
[[step]]
together = [{ read = "notes.txt" }]
[[step]]
together = [{ read = "notes.txt" }, { answer = "done" }]
[[step]]
answer = "done"
"#
    ));
}

#[test]
fn links_are_refused() {
    let dir = good();
    std::os::unix::fs::symlink("/etc", dir.path().join("made/job/workspace/etc")).unwrap();
    insta::assert_snapshot!(refused(&dir));
}

#[test]
fn two_tasks_with_one_canary() {
    let dir = good();
    let other = dir.path().join("made/other");
    fs::create_dir_all(&other).unwrap();
    for name in ["task.toml", "instruction.md", "workspace/notes.txt", "verify/run.sh", "oracle.toml"] {
        fs::create_dir_all(other.join(name).parent().unwrap()).unwrap();
        fs::copy(dir.path().join("made/job").join(name), other.join(name)).unwrap();
    }
    insta::assert_snapshot!(refused(&dir));
}

#[test]
fn an_unknown_suite_names_the_known_ones() {
    let dir = good();
    let error = find_suite("maed", &[dir.path().to_owned()]).unwrap_err().to_string();
    insta::assert_snapshot!(error.replace(&dir.path().display().to_string(), "SUITES"));
    assert_eq!(list_suites(&[dir.path().to_owned()]).len(), 1);
    assert!(Suite::load(Path::new("/nowhere/made")).unwrap_err().to_string().starts_with("/nowhere/made: "));
}

#[test]
fn the_whole_text_after_an_edit_follows_the_plan() {
    let dir = good();
    let steps = r#"
[[step]]
edit = { path = "notes.txt", old = "one", new = "two" }
[[step]]
edit = { path = "./notes.txt", old = "two", new = "three" }
[[step]]
run = "echo x > made.txt"
[[step]]
edit = { path = "made.txt", old = "x", new = "y" }
[[step]]
write = { path = "made.txt", content-file = "oracle/text.txt" }
[[step]]
edit = { path = "made.txt", old = "played", new = "edited" }
[[step]]
answer = "done"
"#;
    put(&dir, "oracle.toml", &plan(steps));
    put(&dir, "oracle/text.txt", "played\n");
    let plan = load_plan(&load(&dir)).unwrap();
    let wholes: Vec<Option<&str>> = plan
        .steps
        .iter()
        .flat_map(|step| &step.actions)
        .filter_map(|action| match action {
            Action::Edit { whole, .. } => Some(whole.as_deref()),
            Action::Run { .. }
            | Action::Read { .. }
            | Action::Write { .. }
            | Action::Search { .. }
            | Action::Find { .. }
            | Action::Use { .. }
            | Action::Answer { .. } => None,
        })
        .collect();
    assert_eq!(wholes, [Some("two\n"), Some("three\n"), None, Some("edited\n")]);
}

#[test]
fn the_digest_covers_every_file_its_name_and_its_executable_bit() {
    let dir = good();
    let before = load(&dir).sha256;
    let changed = |change: &dyn Fn(&TempDir)| {
        let dir = good();
        change(&dir);
        load(&dir).sha256
    };
    let script = "made/job/verify/run.sh";
    let mode = |dir: &TempDir, mode: u32| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(dir.path().join(script), mode).unwrap();
    };
    assert_eq!(before, changed(&|_| {}), "the folder's own place does not matter");
    assert_eq!(before, changed(&|dir| mode(dir, 0o600)), "a checkout does not keep these bits");
    assert_ne!(before, changed(&|dir| mode(dir, 0o755)));
    assert_ne!(before, changed(&|dir| put(dir, "workspace/notes.txt", "One\n")));
    assert_ne!(before, changed(&|dir| put(dir, "workspace/more.txt", "")));
    assert_ne!(before, changed(&|dir| put(dir, "verify/more.txt", CANARY)));
}

#[test]
fn missing_programs_are_looked_for_on_the_given_path() {
    let dir = good();
    let text = format!(
        "format-version = 1\ntitle = \"x\"\nrequires = [\"sh\", \"no-such-program\"]\ncanary = \"{CANARY}\"\n"
    );
    put(&dir, "task.toml", &text);
    let task = load(&dir);
    assert_eq!(missing_programs(&task, "/usr/bin:/bin"), ["no-such-program"]);
    assert_eq!(missing_programs(&task, "/nowhere"), ["sh", "no-such-program"]);
}
