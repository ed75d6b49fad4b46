//! Throws away a tree that an agent has shaped: nested too deep for a path, without rights, or full of links.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::workspace::WorkspaceError;

/// Distinguishes entries of the trash that one process makes.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Moves `path` into the directory `trash`, then deletes everything there that this process moved. A path that does
/// not exist is fine. Both must be on one file system, and nobody may be changing the tree any more.
pub(crate) fn discard(path: &Path, trash: &Path) -> Result<(), WorkspaceError> {
    let fail = WorkspaceError::io("throw away", path);
    let trash = match open_dir(rustix::fs::CWD, trash.as_os_str()) {
        Ok(trash) => trash,
        Err(error) => return Err(fail(error)),
    };
    let name = fresh_name();
    match rustix::fs::renameat(rustix::fs::CWD, path, &trash, &name) {
        Ok(()) => delete(trash.as_fd(), name).map_err(fail),
        Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(fail(error.into())),
    }
}

/// Deletes a directory of the trash. Each subdirectory is first moved up into the trash itself, so neither the depth
/// of the tree nor the length of its paths matters, and only two descriptors are open at any time.
fn delete(trash: BorrowedFd<'_>, name: OsString) -> io::Result<()> {
    let mut waiting = vec![name];
    while let Some(name) = waiting.pop() {
        // The agent may have taken the rights from its own directories.
        rustix::fs::chmodat(trash, &name, Mode::RWXU, AtFlags::empty())?;
        let dir = open_dir(trash, &name)?;
        for (entry, is_dir) in entries(&dir)? {
            if is_dir {
                let moved = fresh_name();
                rustix::fs::chmodat(&dir, &entry, Mode::RWXU, AtFlags::empty())?;
                rustix::fs::renameat(&dir, &entry, trash, &moved)?;
                waiting.push(moved);
            } else {
                rustix::fs::unlinkat(&dir, &entry, AtFlags::empty())?;
            }
        }
        drop(dir);
        rustix::fs::unlinkat(trash, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

fn entries(dir: &OwnedFd) -> io::Result<Vec<(OsString, bool)>> {
    let mut found = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let mut kind = entry.file_type();
        if kind == FileType::Unknown {
            // Some file systems do not say it in the listing.
            let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            kind = FileType::from_raw_mode(stat.st_mode);
        }
        found.push((name.to_owned(), kind.is_dir()));
    }
    Ok(found)
}

fn open_dir(parent: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(parent, name, flags, Mode::empty())?)
}

fn fresh_name() -> OsString {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{number}", std::process::id()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_tree_deeper_than_any_path_goes_and_what_it_links_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (trash, outside) = (dir.path().join("trash"), dir.path().join("outside"));
        for made in [&trash, &outside, &dir.path().join("tree")] {
            std::fs::create_dir(made).unwrap();
        }
        std::fs::write(outside.join("kept"), "x").unwrap();
        let mut at = open_dir(rustix::fs::CWD, dir.path().join("tree").as_os_str()).unwrap();
        std::os::unix::fs::symlink(&outside, dir.path().join("tree/link")).unwrap();
        // 40 levels of 200 bytes: 8000 bytes of path, twice what the kernel takes in one call.
        for _ in 0..40 {
            let name = OsString::from("d".repeat(200));
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            at = open_dir(&at, &name).unwrap();
        }
        let locked = dir.path().join("tree/locked");
        std::fs::create_dir_all(locked.join("below")).unwrap();
        std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o000)).unwrap();
        discard(&dir.path().join("tree"), &trash).unwrap();
        assert!(!dir.path().join("tree").exists());
        assert_eq!(std::fs::read_dir(&trash).unwrap().count(), 0);
        assert!(outside.join("kept").exists());
        discard(&dir.path().join("tree"), &trash).unwrap();
    }
}
