//! Slots: directories of constant names in which cells run one after the other.
//!
//! The names are part of what an agent sees, hence of token counts, so they must not differ between cells; a slot is
//! held by a lock file outside everything that is visible.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::discard::discard;
use crate::template::copy_template;
use crate::workspace::{Workspace, WorkspaceError};

/// Slots of one state directory; more cells at once are refused.
const SLOTS: usize = 100;

/// As root, the user who owns what is in slot 00, and so on: one for each slot, from a range that no system hands out
/// to accounts. Nobody needs to know them.
const FIRST_OWNER: u32 = 64_000;

/// All slots of a state directory.
///
/// ```text
/// <state>/slots/00/{ws,home,tmp}    visible to the cell that holds slot 00
/// <state>/locks/00                  held while the slot is
/// <state>/trash/00/                 what earlier cells left in slot 00, on its way out
/// <state>/probe/sibling/answer.txt  must be unreadable in every cell
/// ```
#[derive(Debug, Clone)]
pub struct Slots {
    state_dir: PathBuf,
}

/// One slot, held until it and its workspaces are dropped.
#[derive(Debug)]
pub struct Slot {
    dir: PathBuf,
    trash: PathBuf,
    owner: Option<u32>,
    lock: Arc<File>,
}

impl Slots {
    /// Prepares a state directory, creating what is missing. Errors name the path that could not be made.
    pub fn open(state_dir: &Path) -> Result<Self, WorkspaceError> {
        let io = |path: &Path| WorkspaceError::io("create", path);
        make_dir(state_dir, 0o755).map_err(io(state_dir))?;
        // The kernel and the agent see the real path; a link in between would make the two differ.
        let state_dir = state_dir.canonicalize().map_err(io(state_dir))?;
        for (name, mode) in
            [("slots", 0o711), ("locks", 0o700), ("trash", 0o700), ("probe", 0o700), ("probe/sibling", 0o700)]
        {
            let dir = state_dir.join(name);
            make_dir(&dir, mode).map_err(io(&dir))?;
        }
        let slots = Self { state_dir };
        let decoy = slots.decoy();
        std::fs::write(&decoy, "the answer of another cell\n").map_err(io(&decoy))?;
        Ok(slots)
    }

    /// A file that stands where a sibling cell's would: for [`crate::Policy::must_not_read`] of every cell.
    pub fn decoy(&self) -> PathBuf {
        self.state_dir.join("probe/sibling/answer.txt")
    }

    /// The state directory, links resolved.
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// Holds the first free slot.
    pub fn take(&self) -> Result<Slot, WorkspaceError> {
        for number in 0..SLOTS {
            let name = format!("{number:02}");
            let path = self.state_dir.join("locks").join(&name);
            let lock = File::options().create(true).truncate(false).write(true).open(&path);
            let lock = lock.map_err(WorkspaceError::io("open", &path))?;
            match lock.try_lock() {
                Ok(()) => {
                    let dir = self.state_dir.join("slots").join(&name);
                    let trash = self.state_dir.join("trash").join(&name);
                    let root = rustix::process::geteuid().is_root();
                    let owner = root.then_some(FIRST_OWNER + number as u32);
                    return Ok(Slot { dir, trash, owner, lock: Arc::new(lock) });
                }
                Err(std::fs::TryLockError::WouldBlock) => {}
                Err(std::fs::TryLockError::Error(error)) => {
                    return Err(WorkspaceError::io("lock", &path)(error));
                }
            }
        }
        Err(WorkspaceError::NoFreeSlot { state_dir: self.state_dir.clone(), slots: SLOTS })
    }
}

impl Slot {
    /// Throws away what the slot held and makes an empty workspace, or one with a copy of `template` in it.
    ///
    /// Regular files, directories, their exec bits and links that stay inside are copied; anything else is refused by
    /// name. A workspace made before from the same slot is gone afterwards.
    pub fn fresh(&mut self, template: Option<&Path>) -> Result<Workspace, WorkspaceError> {
        make_dir(&self.trash, 0o700).map_err(WorkspaceError::io("create", &self.trash))?;
        discard(&self.dir, &self.trash)?;
        make_dir(&self.dir, 0o711).map_err(WorkspaceError::io("create", &self.dir))?;
        for name in ["ws", "home", "tmp"] {
            let dir = self.dir.join(name);
            make_dir(&dir, 0o700).map_err(WorkspaceError::io("create", &dir))?;
        }
        let workspace = Workspace::new(self.dir.clone(), self.owner, Arc::clone(&self.lock));
        if let Some(template) = template {
            copy_template(template, workspace.root())?;
        }
        workspace.hand_over_all()?;
        Ok(workspace)
    }
}

/// Creates a directory with this mode whatever the umask; one that exists stays as it is.
fn make_dir(path: &Path, mode: u32) -> std::io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(mode).create(path)?;
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_held_one_by_one_and_come_back_with_the_last_holder() {
        let dir = tempfile::tempdir().unwrap();
        let slots = Slots::open(dir.path()).unwrap();
        let mut first = slots.take().unwrap();
        let second = Slots::open(dir.path()).unwrap().take().unwrap();
        assert!(first.dir.ends_with("slots/00") && second.dir.ends_with("slots/01"));
        let workspace = first.fresh(None).unwrap();
        drop(first);
        assert!(slots.take().unwrap().dir.ends_with("slots/02"), "a workspace still holds slot 00");
        drop(workspace);
        assert!(slots.take().unwrap().dir.ends_with("slots/00"));
    }

    #[test]
    fn a_hundred_at_once_get_a_slot_each_and_the_next_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let template = dir.path().join("template");
        std::fs::create_dir_all(template.join("src")).unwrap();
        std::fs::write(template.join("src/lib.rs"), "pub fn f() {}").unwrap();
        let state = dir.path().join("state");
        let made: Vec<(Slot, Workspace)> = std::thread::scope(|scope| {
            let one = || {
                // Each opens the directory itself, as separate harnesses would.
                let mut slot = Slots::open(&state).unwrap().take().unwrap();
                let workspace = slot.fresh(Some(&template)).unwrap();
                (slot, workspace)
            };
            let threads: Vec<_> = (0..SLOTS).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let roots: std::collections::BTreeSet<&Path> = made.iter().map(|(_, w)| w.root()).collect();
        assert_eq!(roots.len(), SLOTS);
        for root in roots {
            assert_eq!(std::fs::read_to_string(root.join("src/lib.rs")).unwrap(), "pub fn f() {}");
        }
        let error = Slots::open(&state).unwrap().take().unwrap_err();
        assert!(matches!(error, WorkspaceError::NoFreeSlot { slots: SLOTS, .. }), "{error}");
    }

    #[test]
    fn nothing_of_an_earlier_cell_stays() {
        let dir = tempfile::tempdir().unwrap();
        let slots = Slots::open(dir.path()).unwrap();
        let mut slot = slots.take().unwrap();
        let old = slot.fresh(None).unwrap();
        for place in [old.root(), old.home(), old.tmp()] {
            std::fs::create_dir_all(place.join("deep/er")).unwrap();
            std::fs::write(place.join("deep/er/marker"), "x").unwrap();
        }
        let new = slot.fresh(None).unwrap();
        for place in [new.root(), new.home(), new.tmp()] {
            assert_eq!(std::fs::read_dir(place).unwrap().count(), 0, "{}", place.display());
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(place).unwrap().permissions());
            assert_eq!(mode & 0o7777, 0o700);
        }
        assert_eq!(std::fs::read_dir(dir.path().join("trash/00")).unwrap().count(), 0);
    }
}
