//! A task's folder as a list of files: what stands where, what is hidden, and the digest over all of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bench_core::{Problem, Sha256Hex};

/// Who may see a file of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// The agent: `instruction.md` and `workspace/`.
    Shown,
    /// Nobody in the cell, and the canary must stand in it: `oracle.toml`, `cheats/`, `verify/`.
    Hidden,
    /// Nobody in the cell, but its text is written into the workspace by the plan, so the canary must not stand in it:
    /// `oracle/`.
    Played,
    /// Nobody in the cell: `task.toml` (where the canary is declared) and whatever authors keep beside it.
    Apart,
}

/// One file of a task.
pub(crate) struct TaskEntry {
    /// Relative to the task's folder, with `/`.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    executable: bool,
}

impl TaskEntry {
    pub(crate) fn visibility(&self) -> Visibility {
        match self.name.split('/').next().unwrap_or_default() {
            "instruction.md" | "workspace" => Visibility::Shown,
            "oracle.toml" | "oracle-capability.toml" | "cheats" | "verify" => Visibility::Hidden,
            "oracle" => Visibility::Played,
            _ => Visibility::Apart,
        }
    }

    pub(crate) fn contains(&self, text: &str) -> bool {
        !text.is_empty() && self.bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

/// Every file of a task in the order of names. Links and special files are refused: a copy of a workspace must be the
/// workspace, and nothing in it may lead out.
pub(crate) fn read(dir: &Path) -> Result<Vec<TaskEntry>, Vec<Problem>> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    descend(dir, "", &mut found, &mut problems);
    found.sort_by(|one, other| one.name.cmp(&other.name));
    if problems.is_empty() { Ok(found) } else { Err(problems) }
}

fn descend(dir: &Path, prefix: &str, found: &mut Vec<TaskEntry>, problems: &mut Vec<Problem>) {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) => {
            return problems.push(Problem::of_file(dir, format!("the folder cannot be read: {error}")));
        }
    };
    for entry in entries {
        match entry {
            Ok(entry) => take(&entry.path(), prefix, found, problems),
            Err(error) => problems.push(Problem::of_file(dir, format!("the folder cannot be read: {error}"))),
        }
    }
}

fn take(path: &Path, prefix: &str, found: &mut Vec<TaskEntry>, problems: &mut Vec<Problem>) {
    let Some(last) = path.file_name().and_then(|name| name.to_str()) else {
        return problems.push(Problem::of_file(path, "the file's name is not UTF-8: rename it"));
    };
    let name = format!("{prefix}{last}");
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) => return problems.push(Problem::of_file(path, format!("cannot be looked at: {error}"))),
    };
    if meta.is_dir() {
        return descend(path, &format!("{name}/"), found, problems);
    }
    if !meta.is_file() {
        let message = "is a link or special file, and a task holds only plain files: put a copy in its place";
        return problems.push(Problem::of_file(path, message));
    }
    match fs::read(path) {
        Ok(bytes) => {
            let executable = meta.permissions().mode() & 0o111 != 0;
            found.push(TaskEntry { name, bytes, executable });
        }
        Err(error) => problems.push(Problem::of_file(path, format!("cannot be read: {error}"))),
    }
}

/// Digest over names, executable bits and contents. Other permission bits are left out: a checkout does not keep them.
pub(crate) fn digest(entries: &[TaskEntry]) -> Sha256Hex {
    let names: Vec<String> = entries
        .iter()
        .map(|entry| format!("{} {}", if entry.executable { "x" } else { "-" }, entry.name))
        .collect();
    Sha256Hex::of_parts(
        names.iter().map(String::as_str).zip(entries.iter().map(|entry| entry.bytes.as_slice())),
    )
}

/// What is wrong with the places of the canary.
pub(crate) fn canary_problems(dir: &Path, entries: &[TaskEntry], canary: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for entry in entries {
        let text = std::str::from_utf8(&entry.bytes).is_ok();
        let message = match (entry.visibility(), entry.contains(canary)) {
            (Visibility::Hidden, false) if text => format!(
                "the canary `{canary}` is missing: every hidden file must contain it, so that a leak can be seen; add it as a comment line"
            ),
            (Visibility::Shown, true) => format!(
                "the canary `{canary}` stands in a file that the agent may see, so that every cell would look like a leak: remove it"
            ),
            (Visibility::Played, true) => format!(
                "the canary `{canary}` stands in a text that the plan writes, so that the plan would look like a leak: remove it"
            ),
            (Visibility::Hidden | Visibility::Shown | Visibility::Played | Visibility::Apart, _) => continue,
        };
        problems.push(Problem::of_file(&dir.join(&entry.name), message));
    }
    problems
}
