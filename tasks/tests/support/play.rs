//! Plays a plan directly, with a shell and file writes, and runs a hidden check: no harness, no agent, no walls.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bench_core::{Action, Plan, Task};
use tempfile::TempDir;

/// A private copy of a task's starting workspace.
pub(crate) struct Playground {
    root: TempDir,
    /// Put before the standard PATH: which shell `sh` is.
    path_prefix: String,
}

/// What one `run` step printed.
pub(crate) struct Ran {
    pub(crate) command: String,
    pub(crate) status: i32,
    pub(crate) output: String,
}

/// What a hidden check said.
pub(crate) struct Said {
    pub(crate) status: Option<i32>,
    /// Standard output.
    pub(crate) output: String,
    /// What it left in its folder for temporary files.
    pub(crate) left: Vec<PathBuf>,
}

impl Playground {
    pub(crate) fn new(task: &Task) -> Self {
        let root = TempDir::new().unwrap();
        for folder in ["home", "tmp", "shell"] {
            fs::create_dir(root.path().join(folder)).unwrap();
        }
        copy(&task.workspace_dir(), &root.path().join("workspace"));
        Self { root, path_prefix: String::new() }
    }

    /// The same with another program as `sh`.
    pub(crate) fn with_shell(mut self, shell: &Path) -> Self {
        let folder = self.root.path().join("shell");
        std::os::unix::fs::symlink(shell, folder.join("sh")).unwrap();
        self.path_prefix = format!("{}:", folder.display());
        self
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.path().join("workspace")
    }

    /// Plays every action in order; an edit must match exactly once and leave the text that the loader foresaw.
    pub(crate) fn play(&self, plan: &Plan) -> Vec<Ran> {
        let mut ran = Vec::new();
        for (index, action) in plan.steps.iter().flat_map(|step| &step.actions).enumerate() {
            match action {
                Action::Run { command } => ran.push(self.run(command)),
                Action::Read { path, .. } => {
                    fs::read_to_string(self.workspace().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
                }
                Action::Write { path, content } => {
                    let path = self.workspace().join(path);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, content).unwrap();
                }
                Action::Edit { path, old, new, whole } => {
                    let file = self.workspace().join(path);
                    let text = fs::read_to_string(&file).unwrap();
                    assert_eq!(text.matches(old.as_str()).count(), 1, "action {index}: {path}: {old:?}");
                    let text = text.replacen(old.as_str(), new, 1);
                    if let Some(whole) = whole {
                        assert_eq!(&text, whole, "action {index}: the loader foresaw another text of {path}");
                    }
                    fs::write(file, text).unwrap();
                }
                Action::Search { .. } | Action::Find { .. } | Action::Answer { .. } => {}
                Action::Use { capability, .. } => panic!("action {index}: only an agent can {capability}"),
            }
        }
        ran
    }

    fn run(&self, command: &str) -> Ran {
        let output = self.shell().arg("-c").arg(command).current_dir(self.workspace()).output().unwrap();
        Ran {
            command: command.to_owned(),
            status: output.status.code().unwrap_or(-1),
            output: shown(&output),
        }
    }

    fn shell(&self) -> Command {
        let mut command = Command::new(if self.path_prefix.is_empty() { "/bin/sh" } else { "/bin/bash" });
        command
            .env_clear()
            .env("PATH", format!("{}/usr/local/bin:/usr/bin:/bin", self.path_prefix))
            .env("HOME", self.root.path().join("home"))
            .env("TMPDIR", self.root.path().join("tmp"))
            .env("LANG", "C.UTF-8");
        command
    }

    /// Runs the hidden check on a copy of the workspace as it is now.
    pub(crate) fn verify(&self, task: &Task) -> Said {
        let copied = TempDir::new().unwrap();
        let (workspace, temporary) = (copied.path().join("workspace"), copied.path().join("tmp"));
        copy(&self.workspace(), &workspace);
        fs::create_dir(&temporary).unwrap();
        let output = self
            .shell()
            .arg(task.verify_dir().join("run.sh"))
            .env("BENCH_VERIFY_DIR", task.verify_dir())
            .env("TMPDIR", &temporary)
            .current_dir(&workspace)
            .output()
            .unwrap();
        let left = fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().path()).collect();
        Said {
            status: output.status.code(),
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            left,
        }
    }
}

fn shown(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
