//! A walk over files that is the same on every machine: sorted by name, with the ignore files of the project and none of
//! the user's own. Those of the folders above count too, since a search may begin below the project's top; behind the
//! walls they end at the workspace.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

use super::place;

/// Where a walk begins.
#[derive(Debug)]
pub(super) struct Root {
    full: PathBuf,
    /// As the model wrote it, without `./`; empty for the working directory.
    written: String,
}

impl Root {
    /// The folder or file that a call names, the working directory if it names none.
    pub(super) fn of(workspace: &Path, path: Option<&str>) -> Result<Self, String> {
        let path = path.unwrap_or(".");
        let full = place::resolve(workspace, path);
        std::fs::metadata(&full).map_err(|error| place::fault(path, &error))?;
        let mut written = path.trim_end_matches('/');
        while let Some(rest) = written.strip_prefix("./") {
            written = rest.trim_start_matches('/');
        }
        let written = if written == "." { "" } else { written };
        let written = if written.is_empty() && path.starts_with('/') { "/" } else { written };
        Ok(Self { full, written: written.to_owned() })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.full
    }

    /// Is it a folder?
    pub(super) fn is_folder(&self) -> bool {
        self.full.is_dir()
    }

    /// A walk that begins here; the caller adds its own conditions.
    pub(super) fn walk(&self, hidden: bool) -> WalkBuilder {
        let mut builder = WalkBuilder::new(&self.full);
        builder
            .hidden(!hidden)
            .git_global(false)
            .git_exclude(false)
            .require_git(false)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            // Even where hidden entries are asked for, the repository's own store is never what is meant.
            .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
        builder
    }

    /// The path of a found entry, spelled from where the model stands.
    pub(super) fn spelled(&self, entry: &DirEntry) -> String {
        let below = entry.path().strip_prefix(&self.full).unwrap_or(entry.path()).to_string_lossy();
        match (self.written.as_str(), below.as_ref()) {
            (written, "") => written.to_owned(),
            ("", below) => below.to_owned(),
            ("/", below) => format!("/{below}"),
            (written, below) => format!("{written}/{below}"),
        }
    }

    /// The path of a found entry below the root, for globs.
    pub(super) fn below<'a>(&self, entry: &'a DirEntry) -> &'a Path {
        entry.path().strip_prefix(&self.full).unwrap_or(entry.path())
    }
}
