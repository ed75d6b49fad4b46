//! Directories far from one another. ext4 looks, for each new file, at every inode of the region that was deleted in the last
//! minutes: a run that fills its evidence where workspaces are emptied pays for that at each file.

use std::path::Path;

use rustix::fs::{IFlags, Mode, OFlags};

/// Asks the file system (ext4 knows the wish, to others it is nothing) for a region of its own for each directory that is
/// made in this one from now on.
pub fn spread(dir: &Path) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if let Ok(dir) = rustix::fs::open(dir, flags, Mode::empty())
        && let Ok(flags) = rustix::fs::ioctl_getflags(&dir)
    {
        let _ = rustix::fs::ioctl_setflags(&dir, flags | IFlags::TOPDIR);
    }
}
