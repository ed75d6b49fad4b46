//! Refuses a run whose hidden files lie where every cell may read, before anything starts.
//!
//! Landlock only adds rights: below a readable directory nothing can be hidden again.

use std::path::{Path, PathBuf};

use crate::spec::Policy;
use crate::system_paths::granted_system_paths;

/// A path that must stay hidden and would be readable in the cell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} would be readable inside the cell, because {} is; move it to a directory outside", .path.display(), .granted.display())]
pub struct Exposed {
    /// What must stay hidden.
    pub path: PathBuf,
    /// The granted path that shows it, or a part of it.
    pub granted: PathBuf,
}

/// Checks that none of `paths` lies in, or holds, anything that a cell under `policy` may read. Links are resolved.
pub fn refuse_exposed(paths: &[PathBuf], policy: &Policy) -> Result<(), Exposed> {
    let mut granted = granted_system_paths();
    granted.extend(policy.readable.iter().chain(&policy.writable).map(|path| resolved(path)));
    for path in paths {
        let real = resolved(path);
        if let Some(granted) = granted.iter().find(|g| real.starts_with(g) || g.starts_with(&real)) {
            return Err(Exposed { path: path.clone(), granted: granted.clone() });
        }
    }
    Ok(())
}

/// The path with links resolved; of a path that does not exist yet, as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            // Joining an empty rest would add a slash that `==` and messages do not expect.
            return if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_below_usr_is_refused_and_so_is_one_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("suite");
        std::os::unix::fs::symlink("/usr/share", &link).unwrap();
        let none = Policy::default();
        for path in ["/usr/src/bench/tasks".into(), link] {
            let error = refuse_exposed(&[path], &none).unwrap_err();
            assert_eq!(error.granted, Path::new("/usr"), "{error}");
        }
        assert_eq!(refuse_exposed(&[dir.path().join("tasks")], &none), Ok(()));
    }

    #[test]
    fn a_grant_inside_what_must_stay_hidden_is_refused_too() {
        let dir = tempfile::tempdir().unwrap();
        let policy = Policy { readable: vec![dir.path().join("suite/tools")], ..Policy::default() };
        assert!(refuse_exposed(&[dir.path().join("suite")], &policy).is_err());
        assert!(refuse_exposed(&[dir.path().join("suite2")], &policy).is_ok());
    }
}
