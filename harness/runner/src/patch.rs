//! `workspace.patch`: what the agent changed, as a unified diff a person can read. Evidence only; nothing is graded by it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Text above this many bytes is named as changed, not shown.
const SHOWN_BYTES: usize = 256 * 1024;

/// Unified diff between the starting workspace and what was collected. `untouched` = files that need not be looked into.
pub(crate) fn workspace_patch(
    before: &Path,
    after: &Path,
    untouched: &BTreeSet<PathBuf>,
) -> std::io::Result<String> {
    let mut names = BTreeSet::new();
    list(before, &mut names)?;
    list(after, &mut names)?;
    let mut patch = String::new();
    for name in names.difference(untouched) {
        let (old, new) = (read(&before.join(name))?, read(&after.join(name))?);
        if old == new {
            continue;
        }
        let shown = name.to_string_lossy();
        match (as_text(&old), as_text(&new)) {
            (Some(old), Some(new)) => {
                let diff = similar::TextDiff::from_lines(old, new);
                let header = (format!("a/{shown}"), format!("b/{shown}"));
                let _ = write!(patch, "{}", diff.unified_diff().header(&header.0, &header.1));
            }
            (None, _) | (_, None) => {
                let _ = writeln!(patch, "Binary or large file changed: {shown}");
            }
        }
    }
    Ok(patch)
}

/// Empty for a file that is not there: a new file diffs against nothing.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    match fs::read(path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn as_text(bytes: &[u8]) -> Option<&str> {
    (bytes.len() <= SHOWN_BYTES).then(|| std::str::from_utf8(bytes).ok()).flatten()
}

/// Names of all files below `root`; one directory is open at a time, however deep the tree.
fn list(root: &Path, names: &mut BTreeSet<PathBuf>) -> std::io::Result<()> {
    let mut waiting = vec![root.to_owned()];
    while let Some(dir) = waiting.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                waiting.push(entry.path());
            } else if kind.is_file()
                && let Ok(name) = entry.path().strip_prefix(root)
            {
                names.insert(name.to_owned());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_changed_and_removed_files_are_shown_and_equal_ones_are_not() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (dir, name, text) in [
            (&a, "same", "x\n"),
            (&b, "same", "x\n"),
            (&a, "changed", "one\n"),
            (&b, "changed", "two\n"),
            (&a, "gone", "g\n"),
            (&b, "new", "n\n"),
        ] {
            fs::write(dir.path().join(name), text).unwrap();
        }
        let patch = workspace_patch(a.path(), b.path(), &BTreeSet::new()).unwrap();
        for expected in ["-one", "+two", "-g", "+n", "--- a/gone", "+++ b/new"] {
            assert!(patch.contains(expected), "{expected} missing from\n{patch}");
        }
        assert!(!patch.contains("same"));
    }
}
