//! How much a cell has put on the machine's disk, looked at while it runs: no quota is to be had without root or a file
//! system of one's own. Cheap as long as little is written: trees are walked only when the file system has lost room.
//!
//! An agent can hide what it writes: below paths too long for a system call, in directories without rights, in files that
//! have lost their name but are still open. So trees are walked from descriptor to descriptor, open files without a name
//! are counted, and where something could not be looked at, what the file system has lost since the cell began decides.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;

use rustix::fs::{AtFlags, Dir, FileType, MemfdFlags, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::descendants::{descendants, threads};

/// Bytes that workspace, HOME and TMPDIR of a cell may hold together.
pub const DISK_CAP_BYTES: u64 = 2 << 30;

/// Files and directories that they may hold together.
pub const DISK_CAP_ENTRIES: u64 = 200_000;

/// How many directories deep a walk goes: each level may hold a descriptor of the harness.
const DEEPEST: usize = 256;

/// What it says, in words.
pub(crate) const PHRASE: &str =
    "workspace, HOME and TMPDIR: 2 GiB and 200,000 entries together, looked at four times a second";

/// The room of a cell's trees.
#[derive(Debug)]
pub(crate) struct DiskWatch {
    trees: Vec<PathBuf>,
    cap: Room,
    /// What was left when it was last looked at closely, or more.
    seen: Option<Room>,
    /// The most that was ever left.
    most: Option<Room>,
    supervisor: Option<u32>,
}

/// Bytes and entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Room {
    bytes: u64,
    entries: u64,
}

impl Room {
    fn exceeds(self, cap: Self) -> bool {
        self.bytes > cap.bytes || self.entries > cap.entries
    }

    fn most(self, other: Self) -> Self {
        Self { bytes: self.bytes.max(other.bytes), entries: self.entries.max(other.entries) }
    }

    /// What is gone since `self` was free.
    fn lost_until(self, later: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(later.bytes),
            entries: self.entries.saturating_sub(later.entries),
        }
    }
}

/// What was found of a cell's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Held {
    room: Room,
    /// Is there more that could not be looked at?
    hidden: bool,
}

impl DiskWatch {
    /// Of these trees, as the harness sees them.
    pub(crate) fn of(trees: &[PathBuf]) -> Self {
        Self::with_cap(trees, Room { bytes: DISK_CAP_BYTES, entries: DISK_CAP_ENTRIES })
    }

    fn with_cap(trees: &[PathBuf], cap: Room) -> Self {
        let mut watch = Self { trees: trees.to_vec(), cap, seen: None, most: None, supervisor: None };
        watch.seen = watch.free();
        watch.most = watch.seen;
        watch
    }

    /// Open files without a name are looked for among the descendants of this process.
    pub(crate) fn below(mut self, supervisor: u32) -> Self {
        self.supervisor = Some(supervisor);
        self
    }

    /// Do they hold more than they may? To be asked again and again.
    pub(crate) fn is_over(&mut self) -> bool {
        let (Some(before), Some(most), Some(now)) = (self.seen, self.most, self.free()) else { return false };
        let lost = before.lost_until(now);
        if lost.bytes < (self.cap.bytes / 8).max(1) && lost.entries < (self.cap.entries / 8).max(1) {
            // Room that others gave back must not hide what this cell takes.
            self.seen = Some(before.most(now));
            self.most = Some(most.most(now));
            return false;
        }
        self.seen = Some(now);
        self.is_too_much(self.held(), most.lost_until(now))
    }

    /// `lost` = what the file system has lost since the cell began, by whomever.
    fn is_too_much(&self, held: Held, lost: Room) -> bool {
        held.room.exceeds(self.cap) || held.hidden && lost.exceeds(self.cap)
    }

    /// What the file system of the first tree has left; none where it cannot be asked.
    fn free(&self) -> Option<Room> {
        let stat = rustix::fs::statvfs(self.trees.first()?).ok()?;
        Some(Room { bytes: stat.f_bfree.saturating_mul(stat.f_frsize), entries: stat.f_ffree })
    }

    /// What the cell holds: blocks really taken, so that a file of holes counts as little. Links are not followed.
    fn held(&self) -> Held {
        let mut held = Held::default();
        self.count_trees(&mut held);
        if let Some(supervisor) = self.supervisor.filter(|_| !held.room.exceeds(self.cap)) {
            count_nameless(supervisor, &mut held);
        }
        held
    }

    /// Stops early when the cap is passed.
    fn count_trees(&self, held: &mut Held) {
        let mut waiting: Vec<Waiting> = self.trees.iter().map(Waiting::root).collect();
        while let Some(dir) = waiting.pop() {
            let entries = dir.open().and_then(|fd| Ok((Dir::read_from(&fd)?, Rc::new(fd))));
            let (entries, fd) = match entries {
                Ok(opened) => opened,
                // Gone since it was listed, or something else stands in its place.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(_) => {
                    held.hidden = true;
                    continue;
                }
            };
            for entry in entries.flatten() {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                let Ok(stat) = rustix::fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
                held.room.entries += 1;
                held.room.bytes = held.room.bytes.saturating_add(bytes_of(&stat));
                if FileType::from_raw_mode(stat.st_mode).is_dir() {
                    if dir.depth < DEEPEST {
                        waiting.push(dir.child(&fd, name));
                    } else {
                        held.hidden = true;
                    }
                }
                if held.room.exceeds(self.cap) {
                    return;
                }
            }
        }
    }
}

/// A directory still to be listed.
struct Waiting {
    parent: Option<Rc<OwnedFd>>,
    name: OsString,
    depth: usize,
}

impl Waiting {
    fn root(path: &PathBuf) -> Self {
        Self { parent: None, name: path.into(), depth: 0 }
    }

    fn child(&self, parent: &Rc<OwnedFd>, name: &OsStr) -> Self {
        Self { parent: Some(Rc::clone(parent)), name: name.to_owned(), depth: self.depth + 1 }
    }

    fn open(&self) -> rustix::io::Result<OwnedFd> {
        let parent: BorrowedFd<'_> = self.parent.as_deref().map_or(rustix::fs::CWD, AsFd::as_fd);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(parent, &self.name, flags, Mode::empty())
    }
}

fn bytes_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512)
}

/// Adds the files that processes below `supervisor` hold open though they have no name (any more), each once. Memory that
/// looks like a file is not on the disk.
fn count_nameless(supervisor: u32, held: &mut Held) {
    let memory = rustix::fs::memfd_create("", MemfdFlags::CLOEXEC).and_then(rustix::fs::fstat);
    let memory = memory.map_or(None, |stat| Some(stat.st_dev));
    let mut found: HashMap<(u64, u64), u64> = HashMap::new();
    // Threads may have parted with each other's descriptors.
    for (pid, thread) in
        descendants(supervisor).into_iter().flat_map(|pid| threads(pid).map(move |thread| (pid, thread)))
    {
        let dir = format!("/proc/{pid}/task/{thread}/fd");
        let descriptors = match std::fs::read_dir(&dir) {
            Ok(descriptors) => descriptors,
            Err(error) => {
                // Who has ended holds nothing.
                held.hidden |= error.kind() == std::io::ErrorKind::PermissionDenied;
                continue;
            }
        };
        for descriptor in descriptors.flatten() {
            let Ok(stat) = rustix::fs::stat(descriptor.path()) else { continue };
            let on_disk = FileType::from_raw_mode(stat.st_mode).is_file() && Some(stat.st_dev) != memory;
            if on_disk && stat.st_nlink == 0 {
                found.insert((stat.st_dev, stat.st_ino), bytes_of(&stat));
            }
        }
    }
    held.room.entries += found.len() as u64;
    held.room.bytes = found.values().fold(held.room.bytes, |all, bytes| all.saturating_add(*bytes));
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: u64 = 4 << 20;

    fn watch(dir: &std::path::Path) -> DiskWatch {
        DiskWatch::with_cap(&[dir.to_owned()], Room { bytes: CAP, entries: 1000 })
    }

    fn held(dir: &std::path::Path) -> Room {
        watch(dir).held().room
    }

    #[test]
    fn bytes_and_entries_are_counted_and_holes_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(dir.path().join("sparse")).unwrap();
        file.set_len(1 << 30).unwrap();
        assert!(held(dir.path()).bytes < 1 << 16, "{:?}", held(dir.path()));
        std::fs::create_dir(dir.path().join("d")).unwrap();
        for number in 0..1500 {
            std::fs::write(dir.path().join(format!("d/{number}")), "").unwrap();
        }
        assert!(held(dir.path()).entries > 1000);
        let full = tempfile::tempdir().unwrap();
        std::fs::write(full.path().join("f"), vec![1; 6 << 20]).unwrap();
        assert!(held(full.path()).bytes > CAP);
    }

    #[test]
    fn a_file_below_a_path_too_long_for_a_call_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        let trash = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        std::fs::create_dir(&top).unwrap();
        let mut at = Waiting::root(&top).open().unwrap();
        for _ in 0..40 {
            let name = "d".repeat(200);
            rustix::fs::mkdirat(&at, &name, Mode::RWXU).unwrap();
            at = rustix::fs::openat(&at, &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
        }
        let file =
            rustix::fs::openat(&at, "f", OFlags::WRONLY | OFlags::CREATE, Mode::RUSR | Mode::WUSR).unwrap();
        std::io::Write::write_all(&mut std::fs::File::from(file), &vec![1; 6 << 20]).unwrap();
        let held = watch(dir.path()).held();
        assert!(held.room.bytes > CAP && !held.hidden, "{held:?}");
        crate::discard::discard(&top, trash.path()).unwrap();
    }

    #[test]
    fn deeper_than_a_walk_goes_is_hidden_not_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let deep = |levels: usize| dir.path().join(vec!["d"; levels].join("/"));
        std::fs::create_dir_all(deep(DEEPEST)).unwrap();
        assert!(!watch(dir.path()).held().hidden);
        std::fs::create_dir_all(deep(DEEPEST + 1)).unwrap();
        assert!(watch(dir.path()).held().hidden);
    }

    #[test]
    fn what_is_hidden_is_judged_by_what_the_file_system_has_lost() {
        let dir = tempfile::tempdir().unwrap();
        let watch = watch(dir.path());
        let room = |bytes: u64| Room { bytes, entries: 0 };
        let held = |bytes: u64, hidden: bool| Held { room: room(bytes), hidden };
        assert!(!watch.is_too_much(held(CAP, true), room(CAP)));
        assert!(watch.is_too_much(held(0, true), room(CAP + 1)));
        assert!(!watch.is_too_much(held(CAP, false), room(u64::MAX)), "others may have taken it");
        assert!(watch.is_too_much(held(CAP + 1, false), room(0)));
    }

    #[test]
    fn an_open_file_without_a_name_is_counted_and_memory_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let nameless = tempfile::tempfile_in(dir.path()).unwrap();
        std::io::Write::write_all(&mut &nameless, &vec![1; 6 << 20]).unwrap();
        let memory = rustix::fs::memfd_create("m", MemfdFlags::CLOEXEC).unwrap();
        std::io::Write::write_all(&mut std::fs::File::from(memory.try_clone().unwrap()), &vec![1; 16 << 20])
            .unwrap();
        let mut child = std::process::Command::new("/bin/cat")
            .stdin(std::process::Stdio::piped())
            .stdout(nameless.try_clone().unwrap())
            .stderr(memory)
            .spawn()
            .unwrap();
        let held = watch(dir.path()).below(std::process::id()).held();
        assert!((6 << 20..10 << 20).contains(&held.room.bytes), "{held:?}");
        assert_eq!(watch(dir.path()).held().room.bytes, 0, "nobody is asked for it");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
