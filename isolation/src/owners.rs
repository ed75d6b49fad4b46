//! Users of cells, where the harness is root: each is held by one cell of the machine at a time.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use crate::workspace::WorkspaceError;

/// As root, the users who own what is in slots, one for each slot that is held on this machine: from a range that no
/// system hands out to accounts. Nobody needs to know them.
pub(crate) const FIRST_OWNER: u32 = 64_000;

/// How many there are: more than the slots of one state directory, since several runs may have one each.
pub(crate) const OWNERS: u32 = 1000;

/// Where root holds them by locks, whatever the state directory: two cells of one user could reach each other.
const OWNERS_DIR: &str = "/run/bench-users";

/// Holds a user whom no other cell of this machine has, the slot's own number first.
pub(crate) fn take_owner(slot: u32) -> Result<(u32, File), WorkspaceError> {
    let dir = Path::new(OWNERS_DIR);
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(WorkspaceError::io("create", dir))?;
    for number in std::iter::once(slot).chain((0..OWNERS).filter(|number| *number != slot)) {
        let owner = FIRST_OWNER + number;
        let path = dir.join(owner.to_string());
        let lock = File::options().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(WorkspaceError::io("open", &path))?;
        match lock.try_lock() {
            Ok(()) => return Ok((owner, lock)),
            Err(std::fs::TryLockError::WouldBlock) => {}
            Err(std::fs::TryLockError::Error(error)) => return Err(WorkspaceError::io("lock", &path)(error)),
        }
    }
    Err(WorkspaceError::NoFreeSlot { state_dir: dir.to_owned(), slots: OWNERS as usize })
}

pub(crate) fn owner_of(path: &Path) -> Option<u32> {
    std::fs::symlink_metadata(path).ok().map(|meta| std::os::unix::fs::MetadataExt::uid(&meta))
}
