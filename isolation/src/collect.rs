//! Takes what an agent left out of its workspace without following it anywhere.
//!
//! Only regular files and directories are taken, opened beneath the workspace with links refused by the kernel. What
//! is left out is listed with its reason. Names may hold any byte; contents are copied, never shared. Only a file that is
//! known to stand as it was handed over is moved instead ([`crate::untouched`]). Rights that an agent took from its own
//! files are given back, so that a caller without privileges takes what root does.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use crate::untouched::Remains;
use crate::workspace::WorkspaceError;

/// How many directories deep an entry may stand: whoever gets a copy can walk it with a descriptor for each level.
const DEEPEST: usize = 64;

/// How long a relative path may be in bytes: below any directory of ours it is then one that every system call takes.
const LONGEST: usize = 2048;

/// How much is taken at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectCaps {
    /// Files and directories together.
    pub max_entries: u64,
    /// Bytes of all files together.
    pub max_bytes: u64,
}

impl Default for CollectCaps {
    /// 20,000 entries, 256 MiB.
    fn default() -> Self {
        Self { max_entries: 20_000, max_bytes: 256 << 20 }
    }
}

/// What was taken, and what was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Regular files taken.
    pub files: u64,
    /// Directories made, without the root.
    pub dirs: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Those of the files that the agent has not touched.
    pub untouched: BTreeSet<PathBuf>,
    /// What was left out, in order of names.
    pub left_out: Vec<LeftOut>,
}

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Relative to the workspace; may hold any byte.
    pub name: PathBuf,
    /// Why.
    pub why: Why,
}

/// Why something was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// A symbolic link.
    Link,
    /// A fifo, socket or device.
    Special,
    /// A regular file that has another name outside the workspace.
    HardLink,
    /// Not readable: the kernel's answer.
    Unreadable(String),
    /// It stands below too many directories, or its path is too long; a directory is missing with all that is in it.
    TooDeep,
    /// [`CollectCaps::max_entries`] was reached; whatever comes behind is missing too.
    TooMany,
    /// It alone, or with what came before it, exceeds [`CollectCaps::max_bytes`].
    TooLarge,
    /// What tools obey unasked: the task's own stands in its place.
    Configuration,
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Link => f.write_str("a symbolic link"),
            Self::Special => f.write_str("neither a file nor a directory"),
            Self::HardLink => f.write_str("a file that has another name outside the workspace"),
            Self::Unreadable(error) => write!(f, "not readable: {error}"),
            Self::TooDeep => write!(
                f,
                "deeper than {DEEPEST} directories or at a path above {LONGEST} bytes, with all below it"
            ),
            Self::TooMany => f.write_str("too many entries: this and everything behind it"),
            Self::TooLarge => f.write_str("too many bytes"),
            Self::Configuration => f.write_str("configuration that tools obey unasked"),
        }
    }
}

/// See [`crate::Workspace::collect`] and [`crate::Slot::collect`]: `remains` = what may be moved.
pub(crate) fn collect(
    root: &Path,
    dest: &Path,
    caps: &CollectCaps,
    remains: Option<&Remains>,
) -> Result<Collected, WorkspaceError> {
    std::fs::create_dir_all(dest).map_err(WorkspaceError::io("create", dest))?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |path: &Path| {
        rustix::fs::open(path, flags, Mode::empty())
            .map_err(|error| WorkspaceError::io("open", path)(error.into()))
    };
    let (source, target) = (open(root)?, open(dest)?);
    give_back_rights(&source, Mode::RWXU).map_err(WorkspaceError::io("open", root))?;
    let mut collected = Collected::default();
    let found = survey(source.as_fd(), caps, &mut collected);
    let inside = names_inside(&found);
    for entry in &found {
        let relative = &entry.relative;
        let fail = WorkspaceError::io("write", &dest.join(relative));
        if entry.kind.is_dir() {
            rustix::fs::mkdirat(&target, relative, Mode::from_raw_mode(0o755))
                .map_err(|error| fail(error.into()))?;
            collected.dirs += 1;
        } else if inside.get(&entry.inode).copied().unwrap_or(0) < entry.links {
            collected.leave_out(relative, Why::HardLink);
        } else {
            let budget = caps.max_bytes - collected.bytes;
            let fits = entry.size <= budget;
            if fits && remains.is_some_and(|remains| remains.pass(relative, &dest.join(relative))) {
                collected.files += 1;
                collected.bytes += entry.size;
                collected.untouched.insert(relative.clone());
                continue;
            }
            copy_one(source.as_fd(), target.as_fd(), entry, budget, &mut collected).map_err(fail)?;
        }
    }
    collected.left_out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(collected)
}

impl Collected {
    fn leave_out(&mut self, name: &Path, why: Why) {
        self.left_out.push(LeftOut { name: name.to_owned(), why });
    }
}

/// A file or directory that may be taken.
struct Found {
    relative: PathBuf,
    kind: FileType,
    inode: (u64, u64),
    links: u64,
    size: u64,
    executable: bool,
}

/// Walks the tree, parents before children and names in order, so that caps cut the same entries on every machine.
fn survey(root: BorrowedFd<'_>, caps: &CollectCaps, collected: &mut Collected) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(dir) = waiting.pop() {
        let names = match names_of(root, &dir) {
            Ok(names) => names,
            Err(error) => {
                collected.leave_out(&dir, Why::Unreadable(error.to_string()));
                continue;
            }
        };
        let mut below = Vec::new();
        for name in names {
            let relative = dir.join(name);
            if found.len() as u64 >= caps.max_entries {
                collected.leave_out(&relative, Why::TooMany);
                return found;
            }
            match look_at(root, &relative) {
                Ok(entry) => {
                    if entry.kind.is_dir() {
                        below.push(relative);
                    }
                    found.push(entry);
                }
                Err(why) => collected.leave_out(&relative, why),
            }
        }
        // Last in, first out: reversed, the walk goes on with the first name.
        waiting.extend(below.into_iter().rev());
    }
    found
}

fn look_at(root: BorrowedFd<'_>, relative: &Path) -> Result<Found, Why> {
    if is_too_deep(relative) {
        return Err(Why::TooDeep);
    }
    let fd = open_beneath(root, relative, OFlags::PATH | OFlags::NOFOLLOW)
        .map_err(|error| Why::Unreadable(error.to_string()))?;
    let stat: Stat = rustix::fs::fstat(&fd).map_err(|error| Why::Unreadable(error.to_string()))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if kind.is_symlink() {
        return Err(Why::Link);
    }
    if !kind.is_dir() && !kind.is_file() {
        return Err(Why::Special);
    }
    if kind.is_dir() {
        give_back_rights(&fd, Mode::RWXU).map_err(|error| Why::Unreadable(error.to_string()))?;
    }
    Ok(Found {
        relative: relative.to_owned(),
        kind,
        inode: (stat.st_dev, stat.st_ino),
        links: if kind.is_dir() { 0 } else { u64::from(stat.st_nlink as u32) },
        size: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
        executable: stat.st_mode & 0o111 != 0,
    })
}

/// Would it be left out as [`Why::TooDeep`]?
pub(crate) fn is_too_deep(relative: &Path) -> bool {
    relative.as_os_str().len() > LONGEST || relative.iter().count() > DEEPEST
}

/// The owner's rights that are needed to take it; root needs none, and changes none.
fn give_back_rights(fd: &OwnedFd, needed: Mode) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mode = Mode::from_raw_mode(rustix::fs::fstat(fd)?.st_mode);
    if mode.contains(needed) {
        return Ok(());
    }
    // A descriptor that only names a file cannot be changed by; its entry in /proc can.
    Ok(rustix::fs::chmod(format!("/proc/self/fd/{}", fd.as_raw_fd()), mode | needed)?)
}

fn names_inside(found: &[Found]) -> HashMap<(u64, u64), u64> {
    let mut names = HashMap::new();
    for entry in found.iter().filter(|entry| entry.kind.is_file()) {
        *names.entry(entry.inode).or_insert(0) += 1;
    }
    names
}

fn names_of(root: BorrowedFd<'_>, dir: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let path = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let fd = open_beneath(root, path, OFlags::RDONLY | OFlags::DIRECTORY)?;
    let mut names = Vec::new();
    for entry in Dir::new(fd)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Opens beneath the root, through no link at all. `O_PATH | O_NOFOLLOW` opens a last link itself, to be looked at.
pub(crate) fn open_beneath(root: impl AsFd, relative: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(root, relative, flags | OFlags::CLOEXEC, Mode::empty(), resolve)?)
}

fn open_to_read(root: BorrowedFd<'_>, relative: &Path) -> io::Result<OwnedFd> {
    let open = || open_beneath(root, relative, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let named = open_beneath(root, relative, OFlags::PATH | OFlags::NOFOLLOW)?;
            give_back_rights(&named, Mode::RUSR)?;
            open()
        }
        opened => opened,
    }
}

fn copy_one(
    source: BorrowedFd<'_>,
    target: BorrowedFd<'_>,
    entry: &Found,
    budget: u64,
    collected: &mut Collected,
) -> io::Result<()> {
    let relative = &entry.relative;
    if entry.size > budget {
        collected.leave_out(relative, Why::TooLarge);
        return Ok(());
    }
    let from = match open_to_read(source, relative) {
        Ok(from) => from,
        Err(error) => {
            collected.leave_out(relative, Why::Unreadable(error.to_string()));
            return Ok(());
        }
    };
    let mode = Mode::from_raw_mode(if entry.executable { 0o755 } else { 0o644 });
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let to = match rustix::fs::openat(target, relative, flags, mode) {
        Ok(to) => to,
        Err(Errno::NAMETOOLONG) => {
            collected.leave_out(relative, Why::Unreadable(Errno::NAMETOOLONG.to_string()));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    // The exec bit must survive the harness's umask.
    rustix::fs::fchmod(&to, mode)?;
    let copied = io::copy(&mut File::from(from).take(entry.size), &mut File::from(to))?;
    collected.files += 1;
    collected.bytes += copied;
    Ok(())
}
