//! Copies a task's starting workspace, and refuses what could not be the same for every cell.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use crate::collect::is_too_deep;
use crate::untouched::{Identity, Remains, Source};
use crate::workspace::WorkspaceError;

/// Copies the tree `from` into the directory `to`, which exists and is empty; what `remains` of an earlier copy and was
/// not touched is moved there instead. Returns the regular files.
///
/// Modes are the same on every machine: 0755 for directories and executables, 0644 for the rest, whatever the umask of
/// the checkout was, since an agent sees them in `ls -l`.
pub(crate) fn copy_template(
    from: &Path,
    to: &Path,
    remains: Option<&Remains>,
) -> Result<Vec<Source>, WorkspaceError> {
    let mut sources = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(relative) = waiting.pop() {
        let source = from.join(&relative);
        let listing = fs::read_dir(&source).map_err(WorkspaceError::io("list", &source))?;
        for entry in listing {
            let entry = entry.map_err(WorkspaceError::io("list", &source))?;
            let relative = relative.join(entry.file_name());
            match copy_entry(from, to, &relative, remains)? {
                Copied::Directory => waiting.push(relative),
                Copied::Link => {}
                Copied::File(source) => sources.push((relative, source)),
            }
        }
    }
    Ok(sources)
}

enum Copied {
    Directory,
    Link,
    File(Identity),
}

fn copy_entry(
    from: &Path,
    to: &Path,
    relative: &Path,
    remains: Option<&Remains>,
) -> Result<Copied, WorkspaceError> {
    let (source, target) = (from.join(relative), to.join(relative));
    if is_too_deep(relative) {
        let why = "it would be left out of what a check sees, being too deep or its path too long; \
                   stay within 64 directories and 2,048 bytes"
            .to_owned();
        return Err(WorkspaceError::Refused { path: source, why });
    }
    let meta = fs::symlink_metadata(&source).map_err(WorkspaceError::io("look at", &source))?;
    if meta.is_dir() {
        fs::create_dir(&target).map_err(WorkspaceError::io("create", &target))?;
        set_mode(&target, 0o755)?;
        return Ok(Copied::Directory);
    }
    if meta.is_symlink() {
        let link = fs::read_link(&source).map_err(WorkspaceError::io("read", &source))?;
        if !stays_inside(relative, &link) {
            let why = format!(
                "the link to {} leaves the workspace; use a relative one that stays inside",
                link.display()
            );
            return Err(WorkspaceError::Refused { path: source, why });
        }
        std::os::unix::fs::symlink(&link, &target).map_err(WorkspaceError::io("create", &target))?;
        return Ok(Copied::Link);
    }
    if !meta.is_file() {
        let why = "only files, directories and links can stand in a workspace".to_owned();
        return Err(WorkspaceError::Refused { path: source, why });
    }
    if !remains.is_some_and(|remains| remains.give(relative, &meta, &target)) {
        let executable = meta.permissions().mode() & 0o111 != 0;
        copy_file(&source, &target, if executable { 0o755 } else { 0o644 })?;
    }
    Ok(Copied::File(Identity::of(&meta)))
}

fn copy_file(source: &Path, target: &Path, mode: u32) -> Result<(), WorkspaceError> {
    let mut reader = fs::File::open(source).map_err(WorkspaceError::io("open", source))?;
    let mut options = fs::File::options();
    let mut writer = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(target)
        .map_err(WorkspaceError::io("create", target))?;
    std::io::copy(&mut reader, &mut writer).map_err(WorkspaceError::io("write", target))?;
    set_mode(target, mode)
}

fn set_mode(path: &Path, mode: u32) -> Result<(), WorkspaceError> {
    fs::set_permissions(path, PermissionsExt::from_mode(mode))
        .map_err(WorkspaceError::io("set the mode of", path))
}

/// Does the link at `at` (relative to the root) stay below the root? Only leading `..` are taken, no more than the
/// link is deep: behind a name, `..` may mean another directory than it seems, when that name is a link itself.
fn stays_inside(at: &Path, link: &Path) -> bool {
    let depth = at.components().count() - 1;
    let climbs = link.components().take_while(|part| *part == Component::ParentDir).count();
    climbs <= depth
        && link.components().skip(climbs).all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_are_known_by_their_text() {
        for (at, link, inside) in [
            ("a", "b", true),
            ("d/a", "../b/c", true),
            ("a", "./b", true),
            ("a", "../b", false),
            ("d/a", "../../b", false),
            ("a", "/etc/passwd", false),
            ("a", "b/../../c", false),
            ("d/a", "x/../../c", false),
        ] {
            assert_eq!(stays_inside(Path::new(at), Path::new(link)), inside, "{at} -> {link}");
        }
    }

    #[test]
    fn modes_are_the_same_whatever_the_checkout_had() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::create_dir(&to).unwrap();
        for (name, mode) in [("run", 0o700), ("sub/text", 0o664)] {
            fs::write(from.join(name), name).unwrap();
            set_mode(&from.join(name), mode).unwrap();
        }
        std::os::unix::fs::symlink("sub/text", from.join("link")).unwrap();
        copy_template(&from, &to, None).unwrap();
        let mode = |name: &str| fs::metadata(to.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!([mode("run"), mode("sub"), mode("sub/text")], [0o755, 0o755, 0o644]);
        assert_eq!(fs::read_to_string(to.join("link")).unwrap(), "sub/text");
    }

    #[test]
    fn a_link_out_and_a_fifo_are_refused_by_name() {
        for name in ["out", "fifo"] {
            let dir = tempfile::tempdir().unwrap();
            let (from, to) = (dir.path().join("from"), dir.path().join("to"));
            fs::create_dir(&from).unwrap();
            fs::create_dir(&to).unwrap();
            match name {
                "out" => std::os::unix::fs::symlink("/etc/passwd", from.join(name)).unwrap(),
                _ => rustix::fs::mkfifoat(rustix::fs::CWD, from.join(name), rustix::fs::Mode::RWXU).unwrap(),
            }
            let error = copy_template(&from, &to, None).unwrap_err().to_string();
            assert!(error.contains(&format!("/from/{name}")), "{error}");
        }
    }
}
