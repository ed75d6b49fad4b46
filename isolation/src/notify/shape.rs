//! How each trapped call names what it is about: pure data, and the reading of flags.

use crate::attempt::Act;

/// Where a call keeps a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Argument with the directory's descriptor; none = the working directory.
    pub(super) dir: Option<u8>,
    /// Argument with the path's address; none = the descriptor itself is meant.
    pub(super) path: Option<u8>,
    /// Is a link in the last component followed?
    pub(super) follow: bool,
}

/// What a call does, and to which paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) act: Act,
    pub(super) places: Vec<Place>,
}

const NOFOLLOW: u64 = libc::AT_SYMLINK_NOFOLLOW as u64;

/// `None` = not a call about paths. `how` reads the flags that `openat2` keeps in memory.
pub(super) fn shape(name: &str, a: &[u64; 6], how: impl FnOnce() -> Option<u64>) -> Option<Shape> {
    let one = |act, dir, path, follow| Some(Shape { act, places: vec![Place { dir, path, follow }] });
    let fd = |act| one(act, Some(0), None, true);
    let at = |act, flags: u64| one(act, Some(0), Some(1), flags & NOFOLLOW == 0);
    let plain = |act| one(act, None, Some(0), true);
    let itself = |act| one(act, None, Some(0), false);
    match name {
        "open" => opened(a[1]).and_then(|(act, follow)| one(act, None, Some(0), follow)),
        "openat" => opened(a[2]).and_then(|(act, follow)| one(act, Some(0), Some(1), follow)),
        "openat2" => {
            let (act, follow) = how().and_then(opened).unwrap_or((Act::Write, true));
            one(act, Some(0), Some(1), follow)
        }
        "creat" | "chmod" | "chown" | "utime" | "utimes" | "truncate" | "setxattr" | "removexattr" => {
            plain(Act::Write)
        }
        "lchown" | "lsetxattr" | "lremovexattr" | "unlink" | "rmdir" | "mkdir" | "mknod" => {
            itself(Act::Write)
        }
        "fchmod" | "fchown" | "fsetxattr" | "fremovexattr" => fd(Act::Write),
        "fchmodat" => at(Act::Write, 0),
        "fchmodat2" | "utimensat" => at(Act::Write, a[3]),
        "futimesat" => at(Act::Write, 0),
        "fchownat" => at(Act::Write, a[4]),
        "setxattrat" | "removexattrat" => at(Act::Write, a[2]),
        "file_setattr" => at(Act::Write, a[4]),
        "mkdirat" | "mknodat" | "unlinkat" => at(Act::Write, NOFOLLOW),
        "inotify_add_watch" => one(Act::Look, None, Some(1), true),
        "execve" => plain(Act::Execute),
        "execveat" => at(Act::Execute, a[4]),
        "rename" => both(Act::Write, [(None, 0), (None, 1)]),
        "renameat" | "renameat2" => both(Act::Write, [(Some(0), 1), (Some(2), 3)]),
        "link" => both(Act::Write, [(None, 0), (None, 1)]),
        "linkat" => both(Act::Write, [(Some(0), 1), (Some(2), 3)]),
        // What a new link says is text; what it leads to is seen when somebody follows it.
        "symlink" => one(Act::Write, None, Some(1), false),
        "symlinkat" => one(Act::Write, Some(1), Some(2), false),
        "stat" | "access" | "chdir" | "statfs" | "getxattr" | "listxattr" => plain(Act::Look),
        "lstat" | "readlink" | "lgetxattr" | "llistxattr" => itself(Act::Look),
        "newfstatat" | "faccessat2" => at(Act::Look, a[3]),
        "statx" | "getxattrat" | "listxattrat" => at(Act::Look, a[2]),
        "faccessat" => at(Act::Look, 0),
        "readlinkat" => at(Act::Look, NOFOLLOW),
        "name_to_handle_at" => at(Act::Look, 0),
        "fchdir" => fd(Act::Look),
        _ => None,
    }
}

fn both(act: Act, places: [(Option<u8>, u8); 2]) -> Option<Shape> {
    let places = places.map(|(dir, path)| Place { dir, path: Some(path), follow: false });
    Some(Shape { act, places: places.to_vec() })
}

/// The act of an open and whether it follows a last link.
fn opened(flags: u64) -> Option<(Act, bool)> {
    let flags = flags as i32;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY
        || flags & (libc::O_CREAT | libc::O_TRUNC) != 0
        || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let act = match () {
        () if flags & libc::O_PATH != 0 => Act::Look,
        () if writes => Act::Write,
        () => Act::Read,
    };
    Some((act, flags & libc::O_NOFOLLOW == 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seccomp::{CallData, Debugger, Filter, FilterOptions, Ipc, NotifySet, Outcome, Refusals};

    #[test]
    fn every_trapped_call_has_a_shape() {
        let options = FilterOptions {
            notify: NotifySet::Stat,
            debugger: Debugger::Refused,
            refusals: Refusals::Silent,
            ipc: Ipc::Shared,
        };
        let filter = Filter::build(&options).unwrap();
        for number in 0..600 {
            let Some(name) = crate::seccomp::call_name(number) else { continue };
            let architecture = crate::seccomp::ARCHITECTURE.unwrap();
            let call = CallData { number, architecture, arguments: [0; 6] };
            let addressed = ["connect", "bind"].contains(&name);
            if filter.outcome(&call) == Outcome::Notify && !addressed {
                assert!(shape(name, &[0; 6], || Some(0)).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn flags_decide_between_looking_reading_and_writing() {
        let act = |flags: i32| shape("openat", &[0, 0, flags as u64, 0, 0, 0], || None).unwrap().act;
        assert_eq!(act(libc::O_RDONLY | libc::O_CLOEXEC), Act::Read);
        assert_eq!(act(libc::O_RDONLY | libc::O_DIRECTORY), Act::Read);
        assert_eq!(act(libc::O_PATH), Act::Look);
        for writing in [libc::O_WRONLY, libc::O_RDWR, libc::O_CREAT, libc::O_TRUNC, libc::O_TMPFILE] {
            assert_eq!(act(writing), Act::Write, "{writing:o}");
        }
    }
}
