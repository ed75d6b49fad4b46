//! Builds a cell's root directory in a mount namespace of its own, and moves into it for good.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change,
    move_mount, open_tree, unmount,
};

use crate::kernel;
use crate::layout::{Bind, Layout, Use};
use crate::message::Refusal;

const WALL: &str = "mount namespace";

/// Exists on every machine; covered only in this namespace, and only until its root has moved.
const STAGING: &str = "/usr";

/// Everything that a cell writes outside its workspace and HOME lies in memory: /tmp, /dev/shm, and no more than this.
const SCRATCH_OPTIONS: &std::ffi::CStr = c"size=1g,nr_inodes=200k,mode=0755";

/// What [`SCRATCH_OPTIONS`] says, in words.
pub(crate) const SCRATCH_PHRASE: &str =
    "/tmp and /dev/shm: own, in memory, 1 GiB and 200,000 entries at most";

/// Replaces this process's view of the file system. Must be the init of a pid namespace, for /proc.
pub(crate) fn enter(layout: &Layout<'_>) -> Result<(), Refusal> {
    let fail = |step: &'static str| {
        move |error: rustix::io::Errno| Refusal::no_wall(WALL, format!("{step}: {error}"))
    };
    mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)
        .map_err(fail("make mounts private"))?;
    // Before anything is covered: a source may lie below any path.
    let trees = layout.binds.iter().map(detached).collect::<Result<Vec<_>, _>>()?;
    let old_mask = rustix::process::umask(Mode::empty());
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", STAGING, "tmpfs", flags, SCRATCH_OPTIONS).map_err(fail("mount the root"))?;
    rustix::process::chdir(STAGING).map_err(fail("enter the root"))?;
    furnish(layout).map_err(|(path, error)| {
        Refusal::no_wall(WALL, format!("make {} in the root: {error}", path.display()))
    })?;
    for (bind, tree) in layout.binds.iter().zip(&trees) {
        attach(bind, tree)?;
    }
    let quiet = flags | MountFlags::NOEXEC;
    mount("proc", "proc", "proc", quiet, c"hidepid=2").map_err(fail("mount /proc"))?;
    rustix::process::pivot_root(".", ".").map_err(fail("move the root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(fail("take the host's root away"))?;
    rustix::process::chdir("/").map_err(fail("enter the new root"))?;
    rustix::process::umask(old_mask);
    Ok(())
}

fn detached(bind: &Bind) -> Result<OwnedFd, Refusal> {
    let step = |step: &str, error: &dyn std::fmt::Display| {
        Refusal::setup(format!("{step} {} into the cell", bind.from.display()), error)
    };
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, &bind.from, flags).map_err(|error| step("take", &error))?;
    let mut attributes = libc::MOUNT_ATTR_NOSUID;
    match bind.usage {
        Use::Read => attributes |= libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_RDONLY,
        Use::Write => attributes |= libc::MOUNT_ATTR_NODEV,
        Use::Device => attributes |= libc::MOUNT_ATTR_NOEXEC,
    }
    kernel::add_mount_attributes(tree.as_fd(), attributes).map_err(|error| step("limit", &error))?;
    Ok(tree)
}

/// Directories, links and files of the root itself, relative to it.
fn furnish<'a>(layout: &'a Layout<'_>) -> Result<(), (&'a Path, rustix::io::Errno)> {
    for dir in &layout.dirs {
        rustix::fs::mkdirat(CWD, below(dir), Mode::from_raw_mode(0o755))
            .map_err(|error| (dir.as_path(), error))?;
    }
    for dir in layout.scratch.iter().map(Path::new) {
        rustix::fs::chmod(below(dir), Mode::from_raw_mode(0o1777)).map_err(|error| (dir, error))?;
    }
    for (at, target) in layout.links {
        rustix::fs::symlinkat(target, CWD, below(at)).map_err(|error| (at.as_path(), error))?;
    }
    for (target, name) in
        [("/proc/self/fd", "dev/fd"), ("fd/0", "dev/stdin"), ("fd/1", "dev/stdout"), ("fd/2", "dev/stderr")]
    {
        rustix::fs::symlinkat(target, CWD, name).map_err(|error| (Path::new(name), error))?;
    }
    for (at, text) in layout.files {
        write(below(at), text).map_err(|error| (at.as_path(), error))?;
    }
    Ok(())
}

fn write(path: &Path, text: &[u8]) -> rustix::io::Result<()> {
    let fd = created(path)?;
    let mut rest = text;
    while !rest.is_empty() {
        rest = &rest[rustix::io::write(&fd, rest)?..];
    }
    Ok(())
}

fn created(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))
}

fn below(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

fn attach(bind: &Bind, tree: &OwnedFd) -> Result<(), Refusal> {
    let at = below(&bind.at);
    let fail = |error: rustix::io::Errno| {
        Refusal::no_wall(WALL, format!("mount {} inside: {error}", bind.at.display()))
    };
    let stat = rustix::fs::statat(tree, "", AtFlags::EMPTY_PATH).map_err(fail)?;
    let made = if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir() {
        rustix::fs::mkdirat(CWD, at, Mode::from_raw_mode(0o755))
    } else {
        created(at).map(drop)
    };
    match made {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(fail(error)),
    }
    move_mount(tree, "", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH).map_err(fail)
}
