//! The directories of one cell: what the agent may change, its HOME and its TMPDIR.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bench_core::{IsolationLevel, PlacedFile};

use crate::collect::{CollectCaps, Collected, collect};
use crate::seen::{self, Seen};
use crate::slot::Held;

/// A workspace, its HOME or its slot could not be made, filled or read.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// A system call failed.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        source: std::io::Error,
    },
    /// Something that must not be in a cell.
    #[error("{} is refused: {why}", .path.display())]
    Refused {
        /// What.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// Every slot is held.
    #[error("all {slots} slots of {} are held by running cells; wait, or name another state directory", .state_dir.display())]
    NoFreeSlot {
        /// The state directory.
        state_dir: PathBuf,
        /// How many slots it has.
        slots: usize,
    },
}

impl WorkspaceError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl Fn(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path: path.clone(), source }
    }
}

/// One cell's directories. Holds the slot until it is dropped.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    home: PathBuf,
    tmp: PathBuf,
    owner: Option<u32>,
    _lock: Arc<Held>,
}

impl Workspace {
    pub(crate) fn new(slot: PathBuf, owner: Option<u32>, lock: Arc<Held>) -> Self {
        Self { root: slot.join("ws"), home: slot.join("home"), tmp: slot.join("tmp"), owner, _lock: lock }
    }

    /// The workspace itself: where the agent starts.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// For `HOME`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// For `TMPDIR`.
    pub fn tmp(&self) -> &Path {
        &self.tmp
    }

    /// All three, workspace first: for [`crate::Policy::writable`].
    pub fn writable(&self) -> Vec<PathBuf> {
        vec![self.root.clone(), self.home.clone(), self.tmp.clone()]
    }

    /// The three as the program inside sees them in a cell of this level.
    pub fn seen(&self, level: IsolationLevel) -> Seen {
        let writable = self.writable();
        let seen = |path: &Path| seen::as_seen(level, &writable, path);
        Seen { root: seen(&self.root), home: seen(&self.home), tmp: seen(&self.tmp) }
    }

    /// Gives a path to the cell's user, where that is not the caller.
    fn hand_over(&self, path: &Path) -> Result<(), WorkspaceError> {
        match self.owner {
            None => Ok(()),
            Some(owner) => std::os::unix::fs::lchown(path, Some(owner), Some(owner))
                .map_err(WorkspaceError::io("give away", path)),
        }
    }

    /// Hands over what is in those of the three directories that are `new`, and each of them last.
    pub(crate) fn hand_over_all(&self, new: [bool; 3]) -> Result<(), WorkspaceError> {
        if self.owner.is_none() {
            return Ok(());
        }
        let all = self.writable().into_iter().zip(new);
        let mut waiting: Vec<PathBuf> = all.filter_map(|(dir, new)| new.then_some(dir)).collect();
        while let Some(dir) = waiting.pop() {
            for entry in std::fs::read_dir(&dir).map_err(WorkspaceError::io("list", &dir))? {
                let entry = entry.map_err(WorkspaceError::io("list", &dir))?;
                if entry.file_type().map_err(WorkspaceError::io("look at", &dir))?.is_dir() {
                    waiting.push(entry.path());
                } else {
                    self.hand_over(&entry.path())?;
                }
            }
            self.hand_over(&dir)?;
        }
        Ok(())
    }

    /// Puts a file into HOME, readable for the agent alone. A path that leaves HOME, or exists already, is refused.
    pub fn place(&self, file: &PlacedFile) -> Result<(), WorkspaceError> {
        let relative = Path::new(&file.path);
        let path = self.home.join(relative);
        let normal = relative.components().all(|part| matches!(part, Component::Normal(_)));
        if !normal || relative.file_name().is_none() {
            let why = "a placed file's path must be relative and without `.` and `..`".to_owned();
            return Err(WorkspaceError::Refused { path, why });
        }
        let parents: Vec<&Path> = path.ancestors().skip(1).take_while(|dir| *dir != self.home).collect();
        for parent in parents.into_iter().rev() {
            match std::fs::DirBuilder::new().mode(0o700).create(parent) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => {
                    made.map_err(WorkspaceError::io("create", parent))?;
                    self.hand_over(parent)?;
                }
            }
        }
        let mut placed = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(WorkspaceError::io("create", &path))?;
        placed.write_all(file.text.as_bytes()).map_err(WorkspaceError::io("write", &path))?;
        self.hand_over(&path)
    }

    /// Copies what the agent left in the workspace into `dest`, which must not exist yet or be empty. To be called
    /// when every process of the cell has ended.
    pub fn collect(&self, dest: &Path, caps: &CollectCaps) -> Result<Collected, WorkspaceError> {
        collect(&self.root, dest, caps, None)
    }
}
