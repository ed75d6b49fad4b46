//! From what a caller wrote to where it leads: relative to its own directories, inside its own root, links followed.
//!
//! The quick way is one `openat2` inside the caller's root, which refuses the magic links of `/proc` (they would lead
//! to *this* process). What that cannot answer is walked step by step, with `/proc/self` meaning the caller.

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

/// Links followed before a path counts as going round in circles.
const MOST_LINKS: u32 = 40;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Links resolved as far as it exists.
    pub(super) path: PathBuf,
    /// Does it exist?
    pub(super) found: bool,
}

/// Pipes, sockets and files in memory alone have a description where a path would stand: they are the caller's own.
fn names_a_file(link: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    link.is_absolute() && !link.as_os_str().as_bytes().starts_with(b"/memfd:")
}

/// The directories of a waiting process.
pub(super) struct View {
    pid: u32,
    root: OwnedFd,
}

impl View {
    /// `None` = the process cannot be looked at, or is gone.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, format!("/proc/{pid}/root"), flags, Mode::empty()).ok()?;
        Some(Self { pid, root })
    }

    /// What one of its descriptors names; `AT_FDCWD` = its working directory.
    pub(super) fn descriptor(&self, fd: i32) -> Option<PathBuf> {
        let link = match fd {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.pid),
            fd => format!("/proc/{}/fd/{fd}", self.pid),
        };
        std::fs::read_link(link).ok().filter(|path| names_a_file(path))
    }

    /// Where `path` leads from the directory that `fd` names.
    pub(super) fn resolve(&self, fd: i32, path: &Path, follow: bool) -> Option<Place> {
        let absolute = match path.is_absolute() {
            true => path.to_owned(),
            false => self.descriptor(fd)?.join(path),
        };
        Some(self.quick(&absolute, follow).unwrap_or_else(|| self.walk(&absolute, follow)))
    }

    fn quick(&self, path: &Path, follow: bool) -> Option<Place> {
        // Under /proc, `self` would mean this process.
        if path.starts_with("/proc") {
            return None;
        }
        let mut flags = OFlags::PATH | OFlags::CLOEXEC;
        if !follow {
            flags |= OFlags::NOFOLLOW;
        }
        let resolving = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        let fd = rustix::fs::openat2(&self.root, path, flags, Mode::empty(), resolving).ok()?;
        let real = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok()?;
        // A link into /proc needs the longer way as well.
        (!real.starts_with("/proc")).then_some(Place { path: real, found: true })
    }

    fn walk(&self, path: &Path, follow: bool) -> Place {
        let mut left: Vec<OsString> = parts(path);
        let mut at = PathBuf::from("/");
        let mut links = 0;
        let mut found = true;
        while let Some(part) = left.pop() {
            if part == ".." {
                at.pop();
                continue;
            }
            at.push(&part);
            if !found || (left.is_empty() && !follow && self.magic(&at).is_none()) {
                found = found && self.exists(&at);
                continue;
            }
            match self.link(&at) {
                Ok(Some(target)) if links < MOST_LINKS => {
                    links += 1;
                    at.pop();
                    if target.is_absolute() {
                        at = PathBuf::from("/");
                    }
                    left.extend(parts(&target));
                }
                Ok(_) => {}
                Err(()) => found = false,
            }
        }
        Place { path: at, found }
    }

    /// The link at a path whose directories are resolved already; `Err` = nothing is there.
    fn link(&self, at: &Path) -> Result<Option<PathBuf>, ()> {
        if let Some(target) = self.magic(at) {
            return target.map(Some).ok_or(());
        }
        if stays(at) {
            return Ok(None);
        }
        let relative = at.strip_prefix("/").unwrap_or(at);
        match rustix::fs::readlinkat(&self.root, relative, Vec::new()) {
            Ok(target) => {
                use std::os::unix::ffi::OsStringExt;
                Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes()))))
            }
            Err(rustix::io::Errno::INVAL) => Ok(None),
            Err(_) => Err(()),
        }
    }

    /// A magic link of the caller itself: `Some(None)` where it is one that cannot be read.
    fn magic(&self, at: &Path) -> Option<Option<PathBuf>> {
        let rest = self.within_own_proc(at)?;
        let names: Vec<&str> = rest.iter().filter_map(|name| name.to_str()).collect();
        match names.as_slice() {
            ["root"] => Some(Some(PathBuf::from("/"))),
            ["cwd"] | ["exe"] | ["fd", _] => {
                let link = format!("/proc/{}/{}", self.pid, names.join("/"));
                // Pipes and sockets name no path.
                Some(std::fs::read_link(link).ok().filter(|path| names_a_file(path)))
            }
            _ => None,
        }
    }

    /// What stands behind `/proc/self/`, `/proc/thread-self/`, `/proc/<its own id>/` and their `task/<n>/`.
    fn within_own_proc<'a>(&self, at: &'a Path) -> Option<&'a Path> {
        let below = at.strip_prefix("/proc").ok()?;
        let mut parts = below.components();
        let owner = parts.next()?.as_os_str().to_str()?;
        if !["self", "thread-self"].contains(&owner) && owner.parse() != Ok(self.pid) {
            return None;
        }
        let rest = parts.as_path();
        let mut deeper = rest.components();
        match deeper.next()?.as_os_str().to_str() {
            Some("task") if deeper.next().is_some() => Some(deeper.as_path()),
            _ => Some(rest),
        }
    }

    fn exists(&self, at: &Path) -> bool {
        if stays(at) {
            return true;
        }
        let relative = at.strip_prefix("/").unwrap_or(at);
        if relative.as_os_str().is_empty() {
            return true;
        }
        rustix::fs::statat(&self.root, relative, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}

/// Links of `/proc` that mean whoever reads them, and must not be read here.
fn stays(at: &Path) -> bool {
    ["/proc/self", "/proc/thread-self"].iter().any(|own| at.starts_with(own))
}

/// The components in reverse, `.` and `/` left out.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_where_the_kernel_would_lead_them() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir_all(at("ws/sub")).unwrap();
        std::fs::create_dir_all(at("outside")).unwrap();
        std::fs::write(at("outside/answer"), "42").unwrap();
        let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, at(name)).unwrap();
        link("../outside", "ws/out");
        link("out/answer", "ws/chain");
        link("/proc/self/root", "ws/root");
        link("/proc/self/cwd", "ws/here");
        link("circle", "ws/circle");
        let view = View::of(std::process::id()).unwrap();
        let resolve = |path: &str, follow| {
            let path = if path.starts_with('/') { PathBuf::from(path) } else { at(path) };
            view.resolve(libc::AT_FDCWD, &path, follow).unwrap()
        };
        let answer = Place { path: at("outside/answer"), found: true };
        assert_eq!(resolve("ws/sub/../out/answer", true), answer);
        assert_eq!(resolve("ws/chain", true), answer);
        assert_eq!(resolve("ws/chain", false), Place { path: at("ws/chain"), found: true });
        let through = format!("ws/root{}", at("outside/answer").display());
        assert_eq!(resolve(&through, true), answer, "a link to the magic root");
        let through = format!("/proc/self/root{}", at("outside/answer").display());
        assert_eq!(resolve(&through, true), answer);
        let cwd = std::env::current_dir().unwrap();
        assert_eq!(resolve("ws/here/Cargo.toml", true).path, cwd.join("Cargo.toml"));
        assert_eq!(
            resolve("/proc/thread-self/cwd/none", true),
            Place { path: cwd.join("none"), found: false }
        );
        assert!(!resolve("ws/none/../x", true).found);
        assert_eq!(resolve("ws/out/none", true), Place { path: at("outside/none"), found: false });
        assert!(resolve("ws/circle", true).path.starts_with(at("ws")));
        assert_eq!(resolve("/proc/self/status", true).path, PathBuf::from("/proc/self/status"));
        assert_eq!(resolve("/proc/1/environ", true).path, PathBuf::from("/proc/1/environ"));
    }

    #[test]
    fn a_relative_path_starts_at_the_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        std::fs::write(real.join("file"), "").unwrap();
        let fd = std::fs::File::open(&real).unwrap();
        let view = View::of(std::process::id()).unwrap();
        let place = view.resolve(fd.as_raw_fd(), Path::new("file"), true).unwrap();
        assert_eq!(place, Place { path: real.join("file"), found: true });
        assert_eq!(view.resolve(9999, Path::new("file"), true), None);
    }
}
