//! Where the harness keeps what belongs to no run: slots, locks, the probes' decoy.

use std::path::{Path, PathBuf};

/// No place for the state directory can be derived.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no place for the state directory: neither XDG_STATE_HOME nor HOME is an absolute path; set one, or name a directory"
)]
pub struct NoStateDir;

/// The default state directory: `/var/lib/bench` for root, else `$XDG_STATE_HOME/bench` or `~/.local/state/bench`.
/// The environment comes as arguments; nothing is created.
pub fn default_state_dir(xdg_state_home: Option<&Path>, home: Option<&Path>) -> Result<PathBuf, NoStateDir> {
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from("/var/lib/bench"));
    }
    below_home(xdg_state_home, home)
}

fn below_home(xdg_state_home: Option<&Path>, home: Option<&Path>) -> Result<PathBuf, NoStateDir> {
    // The XDG specification says to ignore paths that are not absolute.
    let absolute = |path: Option<&Path>| path.filter(|path| path.is_absolute()).map(Path::to_owned);
    absolute(xdg_state_home)
        .or_else(|| absolute(home).map(|home| home.join(".local/state")))
        .map(|base| base.join("bench"))
        .ok_or(NoStateDir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_directories_are_passed_over() {
        let (xdg, home) = (Path::new("/x"), Path::new("/home/u"));
        assert_eq!(below_home(Some(xdg), Some(home)), Ok("/x/bench".into()));
        assert_eq!(below_home(Some(Path::new("x")), Some(home)), Ok("/home/u/.local/state/bench".into()));
        assert_eq!(below_home(None, Some(Path::new("u"))), Err(NoStateDir));
    }
}
