//! Does a cell's own user get to a path? As root each slot has a user of its own, to whom a directory of mode 0700 above
//! a checkout (`/root`, what `mktemp -d` makes) is a wall that nobody meant.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::template::copy_template;
use crate::workspace::WorkspaceError;

const SEARCHED_BY_ALL: u32 = 0o001;
const READ_BY_ALL: u32 = 0o004;

/// The topmost directory on the way to `path` that lets a cell's own user not through. None where there is none, and
/// where cells run as who runs the harness.
pub fn barred_on_the_way(path: &Path) -> Option<PathBuf> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut way: Vec<&Path> = real.ancestors().skip(1).collect();
    way.reverse();
    way.into_iter().find(|dir| lacks(dir, SEARCHED_BY_ALL)).map(Path::to_owned)
}

/// A copy of `dir` below the state directory for the case that a cell's own user does not get to it or to something in
/// it; None where everything is within reach. `digest` names what the directory holds: one copy serves every run.
pub fn within_reach(dir: &Path, state_dir: &Path, digest: &str) -> Result<Option<PathBuf>, WorkspaceError> {
    if !rustix::process::geteuid().is_root() || (barred_on_the_way(dir).is_none() && open_throughout(dir)) {
        return Ok(None);
    }
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    let place = state_dir.join("suites").join(digest);
    let copy = place.join(name);
    if copy.is_dir() {
        return Ok(Some(copy));
    }
    // Under a name of its own first: a copy that was cut short must not be taken for a whole one.
    let begun = state_dir.join("suites").join(format!("{digest}.{}", std::process::id()));
    for made in [state_dir, &state_dir.join("suites"), &begun, &begun.join(name)] {
        fs::create_dir_all(made).map_err(WorkspaceError::io("create", made))?;
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(made, open).map_err(WorkspaceError::io("set the mode of", made))?;
    }
    copy_template(dir, &begun.join(name), None)?;
    match fs::rename(&begun, &place) {
        Ok(()) => Ok(Some(copy)),
        // Another run was faster with the same copy.
        Err(_) if copy.is_dir() => {
            fs::remove_dir_all(&begun).map_err(WorkspaceError::io("remove", &begun))?;
            Ok(Some(copy))
        }
        Err(error) => Err(WorkspaceError::io("create", &place)(error)),
    }
}

fn open_throughout(dir: &Path) -> bool {
    if lacks(dir, SEARCHED_BY_ALL | READ_BY_ALL) {
        return false;
    }
    let Ok(entries) = fs::read_dir(dir) else { return false };
    entries.flatten().all(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => open_throughout(&entry.path()),
        Ok(kind) if kind.is_symlink() => true,
        Ok(_) => !lacks(&entry.path(), READ_BY_ALL),
        Err(_) => false,
    })
}

fn lacks(path: &Path, bits: u32) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & bits != bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_open_stays_and_what_is_barred_is_copied_once() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: only root's cells have users of their own");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        mode(dir.path(), 0o755);
        let (suite, state) = (dir.path().join("above/suite"), dir.path().join("state"));
        fs::create_dir_all(suite.join("task")).unwrap();
        fs::write(suite.join("task/run.sh"), "exit 0\n").unwrap();
        for open in [&dir.path().join("above"), &suite, &suite.join("task")] {
            mode(open, 0o755);
        }
        mode(&suite.join("task/run.sh"), 0o644);
        assert_eq!(barred_on_the_way(&suite), None);
        assert_eq!(within_reach(&suite, &state, "d1").unwrap(), None);
        assert!(!state.exists());

        mode(&suite.join("task/run.sh"), 0o600);
        let copy = within_reach(&suite, &state, "d1").unwrap().unwrap();
        assert_eq!(copy, state.join("suites/d1/suite"));
        assert!(open_throughout(&copy) && barred_on_the_way(&copy.join("task")).is_none());

        mode(&suite.join("task/run.sh"), 0o644);
        mode(&dir.path().join("above"), 0o700);
        assert_eq!(barred_on_the_way(&suite), Some(dir.path().join("above")));
        assert_eq!(within_reach(&suite, &state, "d1").unwrap(), Some(copy));
    }
}
