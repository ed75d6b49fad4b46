//! Throws away a tree that an agent has shaped: nested too deep for a path, without rights, or full of links.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use std::os::fd::{AsFd, OwnedFd};

use crate::workspace::WorkspaceError;

/// Moves `path` into the directory `trash` and empties that, with whatever an interrupted call has left there. A path
/// that does not exist is fine. Both must be on one file system, and nobody else may be using either.
pub(crate) fn discard(path: &Path, trash: &Path) -> Result<(), WorkspaceError> {
    let fail = WorkspaceError::io("throw away", path);
    Trash::open(trash)
        .and_then(|mut trash| {
            let moved = trash.fresh_name();
            match make_movable(path)
                .and_then(|()| rustix::fs::renameat(rustix::fs::CWD, path, &trash.dir, &moved))
            {
                Ok(()) => trash.waiting.push(moved),
                Err(rustix::io::Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
            trash.empty()
        })
        .map_err(fail)
}

/// Lets its owner move a directory of ours to another place: that changes the directory itself, and the agent may have taken
/// the rights from its own.
pub(crate) fn make_movable(dir: &Path) -> rustix::io::Result<()> {
    let stat = rustix::fs::statat(rustix::fs::CWD, dir, AtFlags::SYMLINK_NOFOLLOW)?;
    let is_barred = !Mode::from_raw_mode(stat.st_mode).contains(Mode::RWXU);
    if is_barred && FileType::from_raw_mode(stat.st_mode).is_dir() {
        rustix::fs::chmod(dir, Mode::RWXU)?;
    }
    Ok(())
}

/// A directory whose entries, named by numbers, wait to be deleted.
struct Trash {
    dir: OwnedFd,
    waiting: Vec<OsString>,
    next: u64,
}

impl Trash {
    fn open(path: &Path) -> io::Result<Self> {
        let dir = open_dir(rustix::fs::CWD, path.as_os_str())?;
        let waiting: Vec<OsString> = entries(&dir)?.into_iter().map(|(name, _)| name).collect();
        let numbers = waiting.iter().filter_map(|name| name.to_str()?.parse::<u64>().ok());
        let next = numbers.max().map_or(0, |last| last + 1);
        Ok(Self { dir, waiting, next })
    }

    fn fresh_name(&mut self) -> OsString {
        self.next += 1;
        (self.next - 1).to_string().into()
    }

    /// Deletes everything. Each subdirectory is first moved up into the trash itself, so neither the depth of the tree
    /// nor the length of its paths matters, and only two descriptors are open at any time.
    fn empty(&mut self) -> io::Result<()> {
        while let Some(name) = self.waiting.pop() {
            // The agent may have taken the rights from its own directories.
            rustix::fs::chmodat(&self.dir, &name, Mode::RWXU, AtFlags::empty())?;
            let dir = open_dir(&self.dir, &name)?;
            for (entry, is_dir) in entries(&dir)? {
                if is_dir {
                    let moved = self.fresh_name();
                    rustix::fs::chmodat(&dir, &entry, Mode::RWXU, AtFlags::empty())?;
                    rustix::fs::renameat(&dir, &entry, &self.dir, &moved)?;
                    self.waiting.push(moved);
                } else {
                    rustix::fs::unlinkat(&dir, &entry, AtFlags::empty())?;
                }
            }
            drop(dir);
            rustix::fs::unlinkat(&self.dir, &name, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }
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
        // What a killed harness was just deleting.
        std::fs::create_dir_all(trash.join("7/left")).unwrap();
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
