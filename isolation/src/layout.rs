//! What a cell with a mount namespace of its own sees: the plan of its root directory, made before anything is mounted.
//!
//! Everything not named here is absent. Names that agents look for are there as empty directories which Landlock does
//! not list ("decoys"): where nothing is, an attempt would end in "no such file" and leave no trace in the kernel.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use bench_core::IsolationLevel;

use crate::seen;
use crate::spec::Policy;
use crate::system_paths;

/// Empty directories at names that agents look for.
pub(crate) const DECOYS: &[&str] = &[
    "/verifier",
    "/tests",
    "/reference",
    "/solution",
    "/calibration",
    "/private/var/folders",
    "/root",
    "/var/tmp",
];

/// Directories of the root file system that the program may write in.
const SCRATCH: &[&str] = &["/tmp", "/dev/shm"];

/// Devices beyond which no cell needs any.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Files that say the same in every cell, whatever the host's say.
const OWN_FILES: &[(&str, &str)] = &[
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n"),
    ("/etc/group", "root:x:0:\nagent:x:1000:\n"),
    ("/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    ("/etc/resolv.conf", ""),
    ("/etc/hostname", "cell\n"),
];

/// What may be done with something that is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Read and execute.
    Read,
    /// Read, write, execute.
    Write,
    /// Read and write one device.
    Device,
}

/// One thing of the host, mounted in the cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bind {
    /// Where it is.
    pub(crate) from: PathBuf,
    /// Where it stands inside.
    pub(crate) at: PathBuf,
    /// For what.
    pub(crate) usage: Use,
}

/// The system's part of every root, looked up once by the launcher.
#[derive(Debug, Default)]
pub(crate) struct SystemView {
    links: Vec<(PathBuf, PathBuf)>,
    trees: Vec<PathBuf>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl SystemView {
    /// Reads what this machine has of the system's list: trees are mounted, links made again, files of /etc copied.
    pub(crate) fn read() -> Self {
        let mut view = Self::default();
        for path in system_paths::readable().filter(|path| path != Path::new("/proc")) {
            let Ok(meta) = path.symlink_metadata() else { continue };
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            let below_a_tree = |path: &Path| view.trees.iter().any(|tree| path.starts_with(tree));
            if meta.is_symlink() && below_a_tree(&real) && real.is_dir() {
                view.links.push((path, real));
            } else if real.is_dir() {
                view.trees.push(path);
            } else if !OWN_FILES.iter().any(|(own, _)| path == Path::new(own))
                && let Ok(text) = std::fs::read(&path)
            {
                view.files.push((path, text));
            }
        }
        view.files
            .extend(OWN_FILES.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())));
        view
    }
}

/// The plan of one cell's root.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    /// Directories, parents first.
    pub(crate) dirs: Vec<PathBuf>,
    /// Directories that anybody inside may write in.
    pub(crate) scratch: &'static [&'static str],
    /// Symbolic links: name, target.
    pub(crate) links: &'a [(PathBuf, PathBuf)],
    /// Files: name, content.
    pub(crate) files: &'a [(PathBuf, Vec<u8>)],
    /// Mounts.
    pub(crate) binds: Vec<Bind>,
}

/// A policy that cannot be laid out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} cannot be shown inside the cell: {why}", .path.display())]
pub(crate) struct NoPlace {
    pub(crate) path: PathBuf,
    pub(crate) why: &'static str,
}

impl<'a> Layout<'a> {
    /// Lays a policy out. `hidden` are directories of the harness that stand inside as decoys.
    pub(crate) fn of(system: &'a SystemView, policy: &Policy, hidden: &[PathBuf]) -> Result<Self, NoPlace> {
        let bind = |path: &PathBuf, usage| Bind { from: path.clone(), at: path.clone(), usage };
        let mut binds: Vec<Bind> = system.trees.iter().map(|tree| bind(tree, Use::Read)).collect();
        for path in &policy.readable {
            refuse_too_much(path)?;
            if !binds.iter().any(|bind| path.starts_with(&bind.at)) {
                binds.push(bind(path, Use::Read));
            }
        }
        let inside = seen::places(IsolationLevel::L2, &policy.writable);
        for (from, at) in policy.writable.iter().zip(inside) {
            if !SCRATCH.iter().any(|scratch| at == Path::new(scratch)) {
                binds.push(Bind { from: from.clone(), at, usage: Use::Write });
            }
        }
        binds.extend(DEVICES.iter().map(|device| bind(&PathBuf::from(device), Use::Device)));
        let mut dirs = BTreeSet::new();
        let decoys = DECOYS.iter().map(PathBuf::from).chain(hidden.iter().cloned());
        let granted = ["/etc", "/proc", "/dev", "/run"].iter().chain(SCRATCH).map(Path::new);
        let granted: Vec<&Path> = granted.chain(binds.iter().map(|bind| bind.at.as_path())).collect();
        let decoys = decoys.filter(|path| !granted.iter().any(|granted| path.starts_with(granted)));
        for dir in ["/proc", "/dev", "/run", "/etc"].iter().chain(SCRATCH).map(PathBuf::from).chain(decoys) {
            with_parents(&dir, &mut dirs);
        }
        for path in system.links.iter().map(|(at, _)| at).chain(system.files.iter().map(|(at, _)| at)) {
            with_parents(path.parent().unwrap_or(path), &mut dirs);
        }
        for bind in &binds {
            with_parents(bind.at.parent().unwrap_or(&bind.at), &mut dirs);
        }
        Ok(Self {
            dirs: dirs.into_iter().collect(),
            scratch: SCRATCH,
            links: &system.links,
            files: &system.files,
            binds,
        })
    }

    /// What Landlock is to grant inside, and for what.
    pub(crate) fn grants(&self) -> Vec<(PathBuf, Use)> {
        let own = [("/etc", Use::Read), ("/proc", Use::Read), ("/dev", Use::Read), ("/run", Use::Read)];
        let scratch = SCRATCH.iter().map(|dir| (PathBuf::from(dir), Use::Write));
        let binds = self.binds.iter().map(|bind| (bind.at.clone(), bind.usage));
        own.map(|(dir, usage)| (PathBuf::from(dir), usage)).into_iter().chain(scratch).chain(binds).collect()
    }
}

/// A tree that would show everything, or stand in the place of what the cell has of its own.
fn refuse_too_much(path: &Path) -> Result<(), NoPlace> {
    let refuse = |why| Err(NoPlace { path: path.to_owned(), why });
    let normal = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !path.is_absolute() || !normal {
        return refuse("its path must be absolute and without `.` and `..`");
    }
    let own = ["/workspace", "/home/agent", "/tmp", "/proc", "/dev/shm", "/etc/passwd", "/run"];
    if own.iter().any(|own| Path::new(own).starts_with(path)) {
        return refuse(
            "it would show everything, or hide what the cell has of its own; name a directory below it",
        );
    }
    Ok(())
}

fn with_parents(path: &Path, dirs: &mut BTreeSet<PathBuf>) {
    dirs.extend(path.ancestors().filter(|dir| dir.parent().is_some()).map(Path::to_owned));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(readable: &[&str]) -> Policy {
        Policy {
            readable: readable.iter().map(PathBuf::from).collect(),
            writable: ["/s/00/ws", "/s/00/home", "/s/00/tmp"].map(PathBuf::from).to_vec(),
            ..Policy::default()
        }
    }

    #[test]
    fn a_cell_sees_constant_names_decoys_and_nothing_of_its_slot() {
        let system = SystemView::read();
        let layout = Layout::of(&system, &policy(&["/opt/node"]), &["/s".into()]).unwrap();
        let at: Vec<&Path> = layout.binds.iter().map(|bind| bind.at.as_path()).collect();
        for path in ["/usr", "/workspace", "/home/agent", "/opt/node", "/dev/null"] {
            assert!(at.contains(&Path::new(path)), "{path} in {at:?}");
        }
        assert!(!at.iter().any(|path| path.starts_with("/s") || *path == Path::new("/tmp")));
        for decoy in DECOYS.iter().chain(&["/s"]).map(Path::new) {
            assert!(layout.dirs.iter().any(|dir| dir == decoy), "{}", decoy.display());
            assert!(!layout.grants().iter().any(|(path, _)| decoy.starts_with(path)), "{}", decoy.display());
        }
        let parents_first = layout.dirs.iter().enumerate().all(|(number, dir)| {
            dir.parent().is_none_or(|p| p == Path::new("/") || layout.dirs[..number].iter().any(|d| d == p))
        });
        assert!(parents_first);
    }

    #[test]
    fn what_would_show_everything_is_refused() {
        let system = SystemView::default();
        for path in ["/", "/home", "/etc", "/opt/../etc", "opt", "/dev"] {
            assert!(Layout::of(&system, &policy(&[path]), &[]).is_err(), "{path}");
        }
        assert!(Layout::of(&system, &policy(&["/home/agent-tools", "/opt"]), &[]).is_ok());
    }
}
