//! One run, one directory, one documented tree (docs/formats/run-directory.md).

use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use bench_core::Cell;

/// A run directory that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("run directory {path}: {source}; {remedy}")]
pub struct RunDirError {
    /// The directory.
    pub path: PathBuf,
    /// Why.
    pub source: std::io::Error,
    /// What to do.
    pub remedy: &'static str,
}

/// Where a new one cannot be made.
const ELSEWHERE: &str = "choose another place with -o DIR, or mend its permissions";

/// Where there is none to read.
const WHICH: &str = "name one that `bench run` made; without another name they lie below runs/";

/// A run directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir {
    root: PathBuf,
}

/// Where the evidence of an attempt lies, relative to the run directory.
pub fn attempt_dir(cell: &Cell, attempt: u32) -> String {
    format!("cells/{}/r{:02}/{}/attempt-{attempt}", cell.task, cell.repeat, cell.arm)
}

impl RunDir {
    /// Makes it with mode 0700, parents included; one that exists is taken as it is.
    pub fn create(root: &Path) -> Result<Self, RunDirError> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(root).map_err(|source| RunDirError {
            path: root.to_owned(),
            source,
            remedy: ELSEWHERE,
        })?;
        Ok(Self { root: root.to_owned() })
    }

    /// Opens one that exists.
    pub fn open(root: &Path) -> Result<Self, RunDirError> {
        let error = |source| RunDirError { path: root.to_owned(), source, remedy: WHICH };
        if !fs::metadata(root).map_err(error)?.is_dir() {
            return Err(error(std::io::ErrorKind::NotADirectory.into()));
        }
        Ok(Self { root: root.to_owned() })
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// The experiment file as given.
    pub fn experiment(&self) -> PathBuf {
        self.root.join("experiment.toml")
    }
    /// The lock.
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock.json")
    }
    /// The journal.
    pub fn journal(&self) -> PathBuf {
        self.root.join("journal.jsonl")
    }
    /// Reports.
    pub fn report(&self) -> PathBuf {
        self.root.join("report")
    }
    /// Evidence of an attempt.
    pub fn attempt(&self, cell: &Cell, attempt: u32) -> PathBuf {
        self.root.join(attempt_dir(cell, attempt))
    }
}
