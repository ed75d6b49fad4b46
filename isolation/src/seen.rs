//! Where a cell's directories stand for the program inside: constant names, the same for every cell of a level.
//!
//! Names enter prompts and token counts, so nothing of a slot, an arm or a repeat may be in them. Without a mount
//! namespace a directory can only be seen where it is.

use std::path::{Path, PathBuf};

use bench_core::IsolationLevel;

/// The workspace, HOME and TMPDIR of a cell that has a mount namespace, in the order of [`crate::Policy::writable`].
const INSIDE: [&str; 3] = ["/workspace", "/home/agent", "/tmp"];

/// Has a cell of this level namespaces of its own?
pub(crate) fn has_namespaces(level: IsolationLevel) -> bool {
    match level {
        IsolationLevel::L0 | IsolationLevel::L1 => false,
        IsolationLevel::L2 | IsolationLevel::L3 => true,
    }
}

/// The directories of a cell as the program inside sees them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The workspace: where the program starts.
    pub root: PathBuf,
    /// For `HOME`.
    pub home: PathBuf,
    /// For `TMPDIR`.
    pub tmp: PathBuf,
}

/// Where the writable directories of a policy stand inside: by place for the first three, unchanged for others.
pub(crate) fn places(level: IsolationLevel, writable: &[PathBuf]) -> Vec<PathBuf> {
    if !has_namespaces(level) {
        return writable.to_vec();
    }
    let inside = |(number, path): (usize, &PathBuf)| INSIDE.get(number).map_or(path.clone(), PathBuf::from);
    writable.iter().enumerate().map(inside).collect()
}

/// A path of the harness as the cell sees it.
pub(crate) fn as_seen(level: IsolationLevel, writable: &[PathBuf], path: &Path) -> PathBuf {
    let places = places(level, writable);
    for (host, inside) in writable.iter().zip(places) {
        if let Ok(rest) = path.strip_prefix(host) {
            return if rest.as_os_str().is_empty() { inside } else { inside.join(rest) };
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_constant_where_there_is_a_mount_namespace() {
        let slot = |name: &str| ["ws", "home", "tmp"].map(|dir| PathBuf::from(format!("/s/{name}/{dir}")));
        for name in ["00", "41"] {
            let writable = slot(name);
            let seen = as_seen(IsolationLevel::L2, &writable, &writable[0].join("a/b"));
            assert_eq!(seen, Path::new("/workspace/a/b"));
            assert_eq!(as_seen(IsolationLevel::L3, &writable, &writable[1]), Path::new("/home/agent"));
            assert_eq!(as_seen(IsolationLevel::L1, &writable, &writable[0]), writable[0]);
        }
        assert_eq!(as_seen(IsolationLevel::L2, &slot("00"), Path::new("/usr/bin")), Path::new("/usr/bin"));
    }
}
