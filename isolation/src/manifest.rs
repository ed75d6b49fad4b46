//! Directories that no cell may change, before and after: what changed is tampering, whoever did it and however.
//!
//! Size, inode, times, mode and owner, never content: ten thousand files take some 20 ms. Reads leave no trace here; they
//! are the other watchers' business. Meant for short lists (a task's directory, the decoys), not for trees that the
//! harness itself writes while cells run.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::attempt::{Act, Attempt, Target};

/// Entries that a manifest holds at most.
const MOST_ENTRIES: usize = 50_000;

/// What stood in some directories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    entries: BTreeMap<PathBuf, Mark>,
}

/// Why there is no manifest.
#[derive(Debug, thiserror::Error)]
pub enum NoManifest {
    /// Something could not be looked at.
    #[error("cannot look at {}: {source}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// More than a manifest is meant for.
    #[error("more than {MOST_ENTRIES} entries below {}: name smaller directories", path.display())]
    TooMany {
        /// Where the bound was reached.
        path: PathBuf,
    },
}

/// What changes with every change: the inode's change time cannot be set by anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    inode: u64,
    size: u64,
    mode: u32,
    owner: (u32, u32),
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Mark {
    fn of(meta: &std::fs::Metadata) -> Self {
        Self {
            inode: meta.ino(),
            size: meta.size(),
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl Manifest {
    /// Looks at files and whole trees; links are not followed. What does not exist is remembered as absent.
    pub fn of(paths: &[PathBuf]) -> Result<Self, NoManifest> {
        let mut entries = BTreeMap::new();
        let mut left: Vec<PathBuf> = paths.to_vec();
        while let Some(path) = left.pop() {
            let io = |source| NoManifest::Io { path: path.clone(), source };
            let meta = match std::fs::symlink_metadata(&path) {
                Ok(meta) => meta,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => return Err(io(error)),
            };
            if meta.is_dir() {
                for entry in std::fs::read_dir(&path).map_err(io)? {
                    left.push(entry.map_err(io)?.path());
                }
            }
            if entries.len() >= MOST_ENTRIES {
                return Err(NoManifest::TooMany { path });
            }
            entries.insert(path, Mark::of(&meta));
        }
        Ok(Self { entries })
    }

    /// What is different later, as attempts that went through.
    pub fn changes(&self, later: &Self) -> Vec<Attempt> {
        let gone_or_changed = self.entries.iter().filter_map(|(path, mark)| match later.entries.get(path) {
            None => Some(tampering("removed", path)),
            Some(now) if now != mark => Some(tampering("changed", path)),
            Some(_) => None,
        });
        let new = later.entries.keys().filter(|path| !self.entries.contains_key(*path));
        gone_or_changed.chain(new.map(|path| tampering("created", path))).collect()
    }
}

fn tampering(what: &str, path: &Path) -> Attempt {
    Attempt {
        act: Act::Write,
        operation: format!("tampering.{what}"),
        target: Target::Path(path.to_owned()),
        process: String::new(),
        denied: false,
        found: Some(true),
        count: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_seen_and_reading_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("task")).unwrap();
        for name in ["task/kept", "task/removed", "task/forged"] {
            std::fs::write(at(name), "1234").unwrap();
        }
        let protected = [at("task"), at("absent")];
        let before = Manifest::of(&protected).unwrap();
        std::fs::read(at("task/kept")).unwrap();
        assert_eq!(before.changes(&Manifest::of(&protected).unwrap()), vec![]);

        std::fs::remove_file(at("task/removed")).unwrap();
        std::fs::write(at("absent"), "").unwrap();
        // Same size, and the time put back: the change time tells.
        let time = std::fs::metadata(at("task/forged")).unwrap().modified().unwrap();
        std::fs::write(at("task/forged"), "4321").unwrap();
        std::fs::File::options().write(true).open(at("task/forged")).unwrap().set_modified(time).unwrap();
        let changes = before.changes(&Manifest::of(&protected).unwrap());
        let seen: Vec<(String, PathBuf)> = changes
            .iter()
            .map(|a| {
                (a.operation.clone(), a.target.path().unwrap().strip_prefix(dir.path()).unwrap().to_owned())
            })
            .filter(|(_, path)| path != Path::new("task"))
            .collect();
        assert!(seen.contains(&("tampering.removed".into(), "task/removed".into())), "{seen:?}");
        assert!(seen.contains(&("tampering.changed".into(), "task/forged".into())), "{seen:?}");
        assert!(seen.contains(&("tampering.created".into(), "absent".into())), "{seen:?}");
        assert_eq!(seen.len(), 3, "{seen:?}");
        assert!(changes.iter().all(|change| !change.denied));
    }
}
