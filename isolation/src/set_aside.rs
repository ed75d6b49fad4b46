//! Files that tools execute or obey without being asked: in the copy that the hidden check works on they are those of the
//! task, never those of the agent. Measured: a `.cargo/config.toml` made `cargo test` of a panicking test exit with 0.
//!
//! What a task wants from the agent among them it names itself. Shadows of modules and programs (`json.py`, `bin/grep`)
//! have no name by which they could be told from work: docs/formats/task.md says how a check keeps clear of them.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::collect::{LeftOut, Why};
use crate::workspace::WorkspaceError;

/// Names of files and whole directories, at any depth. A leading `*` stands for any beginning.
pub const CONFIGURATION: &[&str] = &[
    // Executed by git, even by `git status`.
    ".git",
    ".gitconfig",
    ".gitattributes",
    ".gitmodules",
    // Executed by python and pytest.
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    "__pycache__",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "pyvenv.cfg",
    // Executed or obeyed by cargo and rustup.
    ".cargo",
    "rust-toolchain",
    "rust-toolchain.toml",
    "target",
    // Found by node and npm from below.
    "node_modules",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnp.cjs",
    ".pnp.loader.mjs",
    ".pnpmfile.cjs",
    ".mocharc.js",
    ".mocharc.cjs",
    ".mocharc.json",
    // Read by shells and by what starts programs.
    ".env",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshenv",
];

/// Takes the agent's configuration out of a copy of its workspace and puts the task's own in its place. `kept` are names
/// of the list that the check sees as the agent left them. Returns what was taken out.
pub fn set_aside(copy: &Path, pristine: &Path, kept: &[String]) -> Result<Vec<LeftOut>, WorkspaceError> {
    let is_ours = |name: &OsStr| is_configuration(name) && !kept.iter().any(|kept| name == OsStr::new(kept));
    let mut taken = Vec::new();
    for relative in topmost(copy, &is_ours).map_err(WorkspaceError::io("look through", copy))? {
        let path = copy.join(&relative);
        if same(&path, &pristine.join(&relative)) {
            continue;
        }
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(WorkspaceError::io("remove", &path))?;
        taken.push(LeftOut { name: relative, why: Why::Configuration });
    }
    for relative in topmost(pristine, &is_ours).map_err(WorkspaceError::io("look through", pristine))? {
        let (from, to) = (pristine.join(&relative), copy.join(&relative));
        match put_back(&from, &to) {
            Ok(()) => {}
            // The agent has put a file where its directory was: there is nothing left that would obey it.
            Err(error) if matches!(error.kind(), ErrorKind::NotADirectory | ErrorKind::AlreadyExists) => {}
            Err(error) => return Err(WorkspaceError::io("copy", &from)(error)),
        }
    }
    Ok(taken)
}

/// Is this name on the list?
pub fn is_configuration(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    CONFIGURATION.iter().any(|listed| match listed.strip_prefix('*') {
        Some(end) => name.ends_with(end.as_bytes()),
        None => name == listed.as_bytes(),
    })
}

/// Paths of a tree whose last name is wanted, without those below another one; links are not followed.
fn topmost(root: &Path, wanted: &dyn Fn(&OsStr) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(root.join(&dir))? {
            let entry = entry?;
            let relative = dir.join(entry.file_name());
            if wanted(&entry.file_name()) {
                found.push(relative);
            } else if entry.file_type()?.is_dir() {
                waiting.push(relative);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn same(one: &Path, other: &Path) -> bool {
    one.is_file() && other.is_file() && matches!((fs::read(one), fs::read(other)), (Ok(a), Ok(b)) if a == b)
}

fn put_back(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            put_back(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::copy(from, to).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_agent_s_configuration_goes_and_the_task_s_own_comes_back() {
        let dir = tempfile::tempdir().unwrap();
        let (copy, pristine) = (dir.path().join("copy"), dir.path().join("pristine"));
        for (name, text) in
            [("conftest.py", "ours"), ("sub/pytest.ini", "ours"), (".npmrc", "ours"), ("a.py", "a")]
        {
            write(pristine.join(name), text);
        }
        let left = [
            ("conftest.py", "theirs"),
            ("sub/conftest.py", "theirs"),
            ("deep/er/.cargo/config.toml", "theirs"),
            ("x.pth", "theirs"),
            (".npmrc", "ours"),
            ("target/debug/test", "theirs"),
            ("a.py", "work"),
            ("kept/tox.ini", "theirs"),
        ];
        for (name, text) in left {
            write(copy.join(name), text);
        }
        let taken = set_aside(&copy, &pristine, &["tox.ini".to_owned()]).unwrap();
        let taken: Vec<&str> = taken.iter().map(|left| left.name.to_str().unwrap()).collect();
        assert_eq!(taken, ["conftest.py", "deep/er/.cargo", "sub/conftest.py", "target", "x.pth"]);
        let read = |name: &str| fs::read_to_string(copy.join(name)).ok();
        assert_eq!(read("conftest.py").as_deref(), Some("ours"));
        assert_eq!(read("sub/pytest.ini").as_deref(), Some("ours"), "what was deleted is back");
        assert_eq!(read("a.py").as_deref(), Some("work"));
        assert_eq!(read("kept/tox.ini").as_deref(), Some("theirs"));
    }

    #[test]
    fn a_file_in_the_place_of_a_directory_is_no_fault() {
        let dir = tempfile::tempdir().unwrap();
        let (copy, pristine) = (dir.path().join("copy"), dir.path().join("pristine"));
        write(pristine.join("sub/conftest.py"), "ours");
        write(copy.join("sub"), "a file");
        assert_eq!(set_aside(&copy, &pristine, &[]).unwrap(), []);
    }
}
