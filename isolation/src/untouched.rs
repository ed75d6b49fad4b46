//! What a cell leaves exactly as it was handed over: it serves the hidden check after the agent, and then the slot's next
//! cell, since making files anew for each of them is dear on a file system that has just deleted as many.
//!
//! The witness is the change time, by the file system's own clock: whatever is done to a file or a directory (contents,
//! mode, owner, names, attributes) moves it, and nobody can set it. Where that clock is too coarse to tell two changes
//! apart, nothing counts as untouched. A file system may offer ways that no witness sees (ext4 swaps the extents of two
//! files), so what is moved is compared with the task's own file as well. Reading leaves no mark that a later cell could find either: the times of what is
//! handed over again are set anew.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};

use crate::collect::open_beneath;
use crate::set_aside::is_configuration;

/// Bytes of two files that are compared at once.
const COMPARED_AT_ONCE: usize = 8 * 1024;

/// Which file it is, and when something was last done to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity {
    inode: (u64, u64),
    changed: (i64, i64),
}

impl Identity {
    pub(crate) fn of(meta: &fs::Metadata) -> Self {
        Self { inode: (meta.dev(), meta.ino()), changed: (meta.ctime(), meta.ctime_nsec()) }
    }

    fn at(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|meta| Self::of(&meta))
    }
}

/// What the cells of a state directory's slots were handed.
#[derive(Debug, Default)]
pub(crate) struct HandedOver {
    /// Can the clock of the file system tell two changes apart that follow at once?
    clock_is_fine: bool,
    /// Homes and tmps, all of them empty.
    empty: HashMap<PathBuf, Identity>,
    /// Workspaces by their path.
    laid: HashMap<PathBuf, Laid>,
}

/// A task's files in a workspace.
#[derive(Debug)]
struct Laid {
    template: PathBuf,
    files: HashMap<PathBuf, Pair>,
}

/// A file of a template and its copy.
#[derive(Debug, Clone, Copy)]
struct Pair {
    source: Identity,
    copy: Identity,
}

/// A file of a template by its relative path, as it was when it was copied.
pub(crate) type Source = (PathBuf, Identity);

/// Files that were moved on from a workspace to the copy for its hidden check.
#[derive(Debug)]
pub(crate) struct Passed {
    template: PathBuf,
    files: Vec<Source>,
}

impl HandedOver {
    /// For a state directory, whose clock is tried on `file`.
    pub(crate) fn on(file: &Path) -> Self {
        Self { clock_is_fine: clock_is_fine(file).unwrap_or(false), ..Self::default() }
    }

    /// Is it empty, and has nothing happened in it?
    pub(crate) fn is_untouched(&self, dir: &Path) -> bool {
        let handed = self.empty.get(dir).filter(|_| self.clock_is_fine);
        handed.is_some_and(|handed| Identity::at(dir) == Some(*handed))
            && fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none())
    }

    /// An empty directory is handed over.
    pub(crate) fn note_empty(&mut self, dir: &Path) {
        match Identity::at(dir) {
            Some(identity) => self.empty.insert(dir.to_owned(), identity),
            None => self.empty.remove(dir),
        };
    }

    /// A workspace with the files of a template is handed over.
    pub(crate) fn note_laid(&mut self, root: &Path, template: &Path, sources: Vec<Source>) {
        let pair = |(relative, source): Source| {
            let copy = Identity::at(&root.join(&relative))?;
            Some((relative, Pair { source, copy }))
        };
        let files = sources.into_iter().filter_map(pair).collect();
        self.laid.insert(root.to_owned(), Laid { template: template.to_owned(), files });
    }

    /// Can anything of this workspace be of use to another cell?
    pub(crate) fn is_laid(&self, root: &Path) -> bool {
        self.clock_is_fine && self.laid.contains_key(root)
    }

    /// What stands in the workspace that was handed over as `root`, whose agent is gone.
    pub(crate) fn left_at(&mut self, root: &Path) -> Option<Remains> {
        let laid = self.laid.remove(root).filter(|_| self.clock_is_fine)?;
        Remains::at(root, laid)
    }

    /// As [`HandedOver::note_laid`], for the files that were passed on to `root`.
    pub(crate) fn note_passed(&mut self, root: &Path, passed: Passed) {
        self.note_laid(root, &passed.template, passed.files);
    }

    /// What stands at `moved` of the workspace that was handed over as `root`, if it came from this template. Whatever is
    /// not taken from it is not to be taken later.
    pub(crate) fn remains(&mut self, root: &Path, template: &Path, moved: &Path) -> Option<Remains> {
        let laid = self.laid.remove(root).filter(|laid| self.clock_is_fine && laid.template == template)?;
        Remains::at(moved, laid)
    }
}

/// A workspace that a cell has left.
pub(crate) struct Remains {
    dir: OwnedFd,
    template: PathBuf,
    files: HashMap<PathBuf, Pair>,
}

impl Remains {
    fn at(dir: &Path, laid: Laid) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = rustix::fs::open(dir, flags, Mode::empty()).ok()?;
        Some(Self { dir, template: laid.template, files: laid.files })
    }

    /// Moves a file to `target` if it stands as it was handed over. False = make a copy.
    ///
    /// What tools obey unasked is not moved: the hidden check gets the task's own of it in any case.
    pub(crate) fn pass(&self, relative: &Path, target: &Path) -> bool {
        let plain = !relative.iter().any(is_configuration);
        let pair = self.files.get(relative).filter(|_| plain);
        pair.is_some_and(|pair| self.moved(relative, pair.copy, target).unwrap_or(false))
    }

    /// To be noted where they were passed on to.
    pub(crate) fn passed(&self, files: &BTreeSet<PathBuf>) -> Passed {
        let source = |file: &PathBuf| Some((file.clone(), self.files.get(file)?.source));
        Passed { template: self.template.clone(), files: files.iter().filter_map(source).collect() }
    }

    /// Moves a file of the template to `target`, if neither it nor the copy has been touched. False = make a copy.
    pub(crate) fn give(&self, relative: &Path, source: &fs::Metadata, target: &Path) -> bool {
        let pair = self.files.get(relative).filter(|pair| pair.source == Identity::of(source));
        pair.is_some_and(|pair| self.moved(relative, pair.copy, target).unwrap_or(false))
    }

    fn moved(&self, relative: &Path, copy: Identity, target: &Path) -> io::Result<bool> {
        let parent = relative.parent().filter(|parent| !parent.as_os_str().is_empty());
        let name = relative.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        // The agent may have put a link in the place of a directory.
        let below = parent
            .map(|parent| open_beneath(&self.dir, parent, OFlags::PATH | OFlags::DIRECTORY))
            .transpose()?;
        let dir = below.as_ref().unwrap_or(&self.dir);
        let stat = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let found = Identity {
            inode: (stat.st_dev, stat.st_ino),
            changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(-1)),
        };
        if found != copy || !same_content(dir, name, &self.template.join(relative))? {
            return Ok(false);
        }
        rustix::fs::renameat(dir, name, CWD, target)?;
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let times = Timestamps { last_access: now, last_modification: now };
        if let Err(error) = rustix::fs::utimensat(CWD, target, &times, AtFlags::SYMLINK_NOFOLLOW) {
            fs::remove_file(target)?;
            return Err(error.into());
        }
        Ok(true)
    }
}

/// Do a file below `dir`, which is no link, and another one hold the same bytes?
fn same_content(dir: &OwnedFd, name: &OsStr, other: &Path) -> io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let (mut ours, mut theirs) =
        (fs::File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?), fs::File::open(other)?);
    let (mut one, mut two) = ([0; COMPARED_AT_ONCE], [0; COMPARED_AT_ONCE]);
    loop {
        let count = ours.read(&mut one)?;
        if count == 0 {
            return Ok(theirs.read(&mut two[..1])? == 0);
        }
        match theirs.read_exact(&mut two[..count]) {
            Ok(()) if one[..count] == two[..count] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Tried, not asked: do changes that follow one another at once differ in their times? One that is told by a clock of
/// ticks would pass eight times in a row only by eight ticks in as many microseconds.
fn clock_is_fine(file: &Path) -> io::Result<bool> {
    let change = |mode: u32| -> io::Result<(i64, i64)> {
        fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(mode))?;
        let meta = fs::symlink_metadata(file)?;
        Ok((meta.ctime(), meta.ctime_nsec()))
    };
    let mut last = change(0o600)?;
    for _ in 0..8 {
        let next = change(0o600)?;
        if next == last {
            return Ok(false);
        }
        last = next;
    }
    Ok(true)
}
