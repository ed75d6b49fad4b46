//! Slots: directories of constant names in which cells run one after the other.
//!
//! The names are part of what an agent sees, hence of token counts, so they must not differ between cells; a slot is
//! held by a lock file outside everything that is visible.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::collect::{CollectCaps, Collected, collect};
use crate::discard::{discard, make_movable};
use crate::owners::{owner_of, take_owner};
use crate::spread::spread;
use crate::template::copy_template;
use crate::untouched::{HandedOver, Passed};
use crate::workspace::{Workspace, WorkspaceError};

/// Slots of one state directory; more cells at once are refused.
pub(crate) const SLOTS: usize = 100;

/// All slots of a state directory.
///
/// ```text
/// <state>/slots/00/{ws,home,tmp}    visible to the cell that holds slot 00
/// <state>/locks/00                  held while the slot is
/// <state>/taken/00                  what was collected from slot 00, until it is the next workspace there
/// <state>/left/00/                  an agent's workspace, for what is untouched in it to serve the next cell
/// <state>/trash/00/                 what earlier cells left in slot 00, on its way out
/// <state>/probe/sibling/answer.txt  must be unreadable in every cell
/// ```
#[derive(Debug, Clone)]
pub struct Slots {
    state_dir: PathBuf,
    handed: Arc<Mutex<HandedOver>>,
}

/// One slot, held until it and its workspaces are dropped.
#[derive(Debug)]
pub struct Slot {
    dir: PathBuf,
    taken: PathBuf,
    left: PathBuf,
    trash: PathBuf,
    handed: Arc<Mutex<HandedOver>>,
    /// What of [`Slot::taken_dir`] was moved there, not copied.
    passed: Option<Passed>,
    owner: Option<u32>,
    lock: Arc<Held>,
}

/// The locks of a slot, until the last is dropped who needs it.
#[derive(Debug)]
pub(crate) struct Held {
    _slot: File,
    _owner: Option<File>,
}

impl Slots {
    /// Prepares a state directory, creating what is missing. Errors name the path that could not be made.
    pub fn open(state_dir: &Path) -> Result<Self, WorkspaceError> {
        let io = |path: &Path| WorkspaceError::io("create", path);
        make_dir(state_dir, 0o755).map_err(io(state_dir))?;
        // The kernel and the agent see the real path; a link in between would make the two differ.
        let state_dir = state_dir.canonicalize().map_err(io(state_dir))?;
        spread(&state_dir);
        for (name, mode) in [
            ("slots", 0o711),
            ("locks", 0o700),
            ("taken", 0o700),
            ("left", 0o700),
            ("trash", 0o700),
            ("probe", 0o700),
            ("probe/sibling", 0o700),
        ] {
            let dir = state_dir.join(name);
            make_dir(&dir, mode).map_err(io(&dir))?;
        }
        let decoy = decoy_in(&state_dir);
        std::fs::write(&decoy, "the answer of another cell\n").map_err(io(&decoy))?;
        let handed = Arc::new(Mutex::new(HandedOver::on(&decoy)));
        Ok(Self { state_dir, handed })
    }

    /// A file that stands where a sibling cell's would: for [`crate::Policy::must_not_read`] of every cell.
    pub fn decoy(&self) -> PathBuf {
        decoy_in(&self.state_dir)
    }

    /// The state directory, links resolved.
    pub fn state_dir(&self) -> &Path {
        &self.state_dir
    }

    /// Holds the first free slot.
    pub fn take(&self) -> Result<Slot, WorkspaceError> {
        for number in 0..SLOTS {
            let name = format!("{number:02}");
            let path = self.state_dir.join("locks").join(&name);
            let lock = File::options().create(true).truncate(false).write(true).open(&path);
            let lock = lock.map_err(WorkspaceError::io("open", &path))?;
            match lock.try_lock() {
                Ok(()) => {
                    let dir = self.state_dir.join("slots").join(&name);
                    let taken = self.state_dir.join("taken").join(&name);
                    let left = self.state_dir.join("left").join(&name);
                    let trash = self.state_dir.join("trash").join(&name);
                    let handed = Arc::clone(&self.handed);
                    let (owner, held) = match rustix::process::geteuid().is_root() {
                        true => take_owner(number as u32).map(|(owner, held)| (Some(owner), Some(held)))?,
                        false => (None, None),
                    };
                    let lock = Arc::new(Held { _slot: lock, _owner: held });
                    return Ok(Slot { dir, taken, left, trash, handed, passed: None, owner, lock });
                }
                Err(std::fs::TryLockError::WouldBlock) => {}
                Err(std::fs::TryLockError::Error(error)) => {
                    return Err(WorkspaceError::io("lock", &path)(error));
                }
            }
        }
        Err(WorkspaceError::NoFreeSlot { state_dir: self.state_dir.clone(), slots: SLOTS })
    }
}

impl Slot {
    /// Throws away what the slot held and makes an empty workspace, or one with a copy of `template` in it.
    ///
    /// Regular files, directories, their exec bits and links that stay inside are copied; anything else is refused by
    /// name. A workspace made before from the same slot is gone afterwards.
    pub fn fresh(&mut self, template: Option<&Path>) -> Result<Workspace, WorkspaceError> {
        self.passed = None;
        self.clear()?;
        let workspace = self.workspace();
        make_dir(workspace.root(), 0o700).map_err(WorkspaceError::io("create", workspace.root()))?;
        let workspace = match template {
            None => self.hand_over(workspace)?,
            Some(template) => self.lay_out(template, workspace)?,
        };
        discard(&self.left, &self.trash)?;
        Ok(workspace)
    }

    fn lay_out(&self, template: &Path, workspace: Workspace) -> Result<Workspace, WorkspaceError> {
        let root = workspace.root().to_owned();
        let remains = self.handed().remains(&root, template, &self.left);
        let sources = copy_template(template, &root, remains.as_ref())?;
        let workspace = self.hand_over(workspace)?;
        self.handed().note_laid(&root, template, sources);
        Ok(workspace)
    }

    /// Collects what the agent left in this slot's workspace into [`Slot::taken_dir`], which nobody but the harness enters.
    /// To be called when every process of the cell has ended. Files that it has not touched are moved, the rest is copied.
    pub fn collect(
        &mut self,
        workspace: &Workspace,
        caps: &CollectCaps,
    ) -> Result<Collected, WorkspaceError> {
        make_dir(&self.trash, 0o700).map_err(WorkspaceError::io("create", &self.trash))?;
        discard(&self.taken, &self.trash)?;
        let remains = self.handed().left_at(workspace.root());
        let collected = collect(workspace.root(), &self.taken, caps, remains.as_ref())?;
        self.passed = remains.map(|remains| remains.passed(&collected.untouched));
        Ok(collected)
    }

    /// Where [`Slot::collect`] puts what it takes.
    pub fn taken_dir(&self) -> &Path {
        &self.taken
    }

    /// As [`Slot::fresh`], with what stands in [`Slot::taken_dir`] as the workspace: it is moved there, which spares a file
    /// system a second copy.
    pub fn fresh_of_taken(&mut self) -> Result<Workspace, WorkspaceError> {
        self.clear()?;
        let workspace = self.workspace();
        let root = workspace.root();
        std::fs::rename(&self.taken, root).map_err(WorkspaceError::io("create", root))?;
        set_mode(root, 0o700).map_err(WorkspaceError::io("set the mode of", root))?;
        let root = root.to_owned();
        let workspace = self.hand_over(workspace)?;
        if let Some(passed) = self.passed.take() {
            self.handed().note_passed(&root, passed);
        }
        Ok(workspace)
    }

    /// Everything away but a home or a tmp in which nothing happened, and a workspace of which something may serve again.
    fn clear(&self) -> Result<(), WorkspaceError> {
        for (dir, mode) in [(&self.trash, 0o700), (&self.dir, 0o711)] {
            make_dir(dir, mode).map_err(WorkspaceError::io("create", dir))?;
        }
        let handed = self.handed();
        let root = self.dir.join("ws");
        if handed.is_laid(&root) && root.is_dir() && !self.left.exists() {
            make_movable(&root)
                .map_err(std::io::Error::from)
                .and_then(|()| std::fs::rename(&root, &self.left))
                .map_err(WorkspaceError::io("put aside", &root))?;
        }
        discard(&root, &self.trash)?;
        for name in ["home", "tmp"] {
            let dir = self.dir.join(name);
            if !handed.is_untouched(&dir) {
                discard(&dir, &self.trash)?;
                make_dir(&dir, 0o700).map_err(WorkspaceError::io("create", &dir))?;
            }
        }
        Ok(())
    }

    fn handed(&self) -> MutexGuard<'_, HandedOver> {
        self.handed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn workspace(&self) -> Workspace {
        Workspace::new(self.dir.clone(), self.owner, Arc::clone(&self.lock))
    }

    fn hand_over(&self, workspace: Workspace) -> Result<Workspace, WorkspaceError> {
        let mut handed = self.handed();
        let is_his = |dir: &Path| self.owner.is_none_or(|owner| owner_of(dir) == Some(owner));
        let [home, tmp] =
            [workspace.home(), workspace.tmp()].map(|dir| handed.is_untouched(dir) && is_his(dir));
        workspace.hand_over_all([true, !home, !tmp])?;
        handed.note_empty(workspace.home());
        handed.note_empty(workspace.tmp());
        Ok(workspace)
    }
}

fn decoy_in(state_dir: &Path) -> PathBuf {
    state_dir.join("probe/sibling/answer.txt")
}

fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// Creates a directory with this mode whatever the umask; one that exists stays as it is.
fn make_dir(path: &Path, mode: u32) -> std::io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(mode).create(path)?;
    set_mode(path, mode)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn slots_are_held_one_by_one_and_come_back_with_the_last_holder() {
        let dir = tempfile::tempdir().unwrap();
        let slots = Slots::open(dir.path()).unwrap();
        let mut first = slots.take().unwrap();
        let second = Slots::open(dir.path()).unwrap().take().unwrap();
        assert!(first.dir.ends_with("slots/00") && second.dir.ends_with("slots/01"));
        let workspace = first.fresh(None).unwrap();
        drop(first);
        assert!(slots.take().unwrap().dir.ends_with("slots/02"), "a workspace still holds slot 00");
        drop(workspace);
        assert!(slots.take().unwrap().dir.ends_with("slots/00"));
    }

    #[test]
    fn no_two_slots_of_a_machine_have_one_user() {
        let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let slots = dirs.each_ref().map(|dir| Slots::open(dir.path()).unwrap().take().unwrap());
        let mut owners: Vec<_> = slots.iter().filter_map(|slot| slot.owner).collect();
        assert_eq!(owners.len(), if rustix::process::geteuid().is_root() { 2 } else { 0 });
        owners.dedup();
        assert_ne!(owners.len(), 1);
    }

    #[test]
    fn a_hundred_at_once_get_a_slot_each_and_the_next_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let template = dir.path().join("template");
        std::fs::create_dir_all(template.join("src")).unwrap();
        std::fs::write(template.join("src/lib.rs"), "pub fn f() {}").unwrap();
        let state = dir.path().join("state");
        let made: Vec<(Slot, Workspace)> = std::thread::scope(|scope| {
            let one = || {
                // Each opens the directory itself, as separate harnesses would.
                let mut slot = Slots::open(&state).unwrap().take().unwrap();
                let workspace = slot.fresh(Some(&template)).unwrap();
                (slot, workspace)
            };
            let threads: Vec<_> = (0..SLOTS).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let roots: std::collections::BTreeSet<&Path> = made.iter().map(|(_, w)| w.root()).collect();
        assert_eq!(roots.len(), SLOTS);
        for root in roots {
            assert_eq!(std::fs::read_to_string(root.join("src/lib.rs")).unwrap(), "pub fn f() {}");
        }
        let error = Slots::open(&state).unwrap().take().unwrap_err();
        assert!(matches!(error, WorkspaceError::NoFreeSlot { slots: SLOTS, .. }), "{error}");
    }

    #[test]
    fn only_a_home_in_which_nothing_happened_is_handed_over_again() {
        let dir = tempfile::tempdir().unwrap();
        let slots = Slots::open(dir.path()).unwrap();
        let inode = |path: &Path| std::fs::metadata(path).unwrap().ino();
        let first = slots.take().unwrap().fresh(None).unwrap();
        let (home, tmp) = (first.home().to_owned(), first.tmp().to_owned());
        let (at_home, at_tmp) = (inode(&home), inode(&tmp));
        // Created and gone again: it is empty and looks as before, but something has happened in it.
        std::fs::write(tmp.join("passing"), "x").unwrap();
        std::fs::remove_file(tmp.join("passing")).unwrap();
        let held = std::fs::File::open(&tmp).unwrap();
        drop(first);
        let second = slots.take().unwrap().fresh(None).unwrap();
        assert_eq!((second.home(), inode(&home)), (home.as_path(), at_home));
        assert_ne!(inode(&tmp), at_tmp);
        drop((held, second));
        // Rights that were changed and put back count as well.
        set_mode(&home, 0o777).unwrap();
        set_mode(&home, 0o700).unwrap();
        let held = std::fs::File::open(&home).unwrap();
        let _third = slots.take().unwrap().fresh(None).unwrap();
        assert_ne!(inode(&home), at_home);
        drop(held);
    }

    #[test]
    fn what_was_collected_becomes_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let slots = Slots::open(dir.path()).unwrap();
        let mut slot = slots.take().unwrap();
        let workspace = slot.fresh(None).unwrap();
        std::fs::write(workspace.root().join("left"), "x").unwrap();
        std::fs::write(workspace.home().join("kept back"), "x").unwrap();
        slot.collect(&workspace, &CollectCaps::default()).unwrap();
        let taken = slot.taken_dir().to_owned();
        let copy = slot.fresh_of_taken().unwrap();
        assert_eq!(std::fs::read_to_string(copy.root().join("left")).unwrap(), "x");
        assert_eq!(std::fs::read_dir(copy.home()).unwrap().count(), 0);
        assert!(!taken.exists());
    }

    #[test]
    fn nothing_of_an_earlier_cell_stays() {
        let dir = tempfile::tempdir().unwrap();
        let slots = Slots::open(dir.path()).unwrap();
        let mut slot = slots.take().unwrap();
        let old = slot.fresh(None).unwrap();
        for place in [old.root(), old.home(), old.tmp()] {
            std::fs::create_dir_all(place.join("deep/er")).unwrap();
            std::fs::write(place.join("deep/er/marker"), "x").unwrap();
        }
        let new = slot.fresh(None).unwrap();
        for place in [new.root(), new.home(), new.tmp()] {
            assert_eq!(std::fs::read_dir(place).unwrap().count(), 0, "{}", place.display());
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(place).unwrap().permissions());
            assert_eq!(mode & 0o7777, 0o700);
        }
        assert_eq!(std::fs::read_dir(dir.path().join("trash/00")).unwrap().count(), 0);
    }

    /// Every regular file of a workspace by name: its inode and its text.
    fn files(root: &Path) -> BTreeMap<String, (u64, String)> {
        let mut found = BTreeMap::new();
        for name in ["kept", "edited", "restored", "opened", "moved/kept", "sub/kept", "sub/linked"] {
            let path = root.join(name);
            let inode = std::fs::symlink_metadata(&path).unwrap().ino();
            found.insert(name.to_owned(), (inode, std::fs::read_to_string(path).unwrap()));
        }
        found
    }

    fn template(dir: &Path) -> PathBuf {
        let template = dir.join("template");
        for name in ["kept", "edited", "restored", "opened", "moved/kept", "sub/kept", "sub/linked"] {
            let path = template.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        template
    }

    #[test]
    fn files_that_a_cell_left_alone_serve_the_next_one_and_all_others_are_copied_anew() {
        let dir = tempfile::tempdir().unwrap();
        let template = template(dir.path());
        let slots = Slots::open(&dir.path().join("state")).unwrap();
        let mut slot = slots.take().unwrap();
        let first = slot.fresh(Some(&template)).unwrap();
        let root = first.root().to_owned();
        let before = files(&root);
        // Held, so that no number is given out twice.
        let _held: Vec<File> = before.keys().map(|name| File::open(root.join(name)).unwrap()).collect();
        std::fs::write(root.join("edited"), "other").unwrap();
        std::fs::write(root.join("restored"), "other").unwrap();
        std::fs::write(root.join("restored"), "restored").unwrap();
        set_mode(&root.join("opened"), 0o666).unwrap();
        set_mode(&root.join("opened"), 0o644).unwrap();
        std::fs::write(root.join("made"), "x").unwrap();
        std::fs::hard_link(root.join("sub/linked"), first.home().join("link")).unwrap();
        // A link in the place of a directory leads to a file that nobody has touched.
        std::fs::rename(root.join("moved"), root.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink("elsewhere", root.join("moved")).unwrap();
        slot.collect(&first, &CollectCaps::default()).unwrap();
        drop(slot.fresh_of_taken().unwrap());
        let modified = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
        std::fs::write(dir.path().join("began"), "").unwrap();
        let second = slot.fresh(Some(&template)).unwrap();
        let after = files(second.root());
        let expected = |name: &String, (_, text): &(u64, String)| (name.clone(), text.clone());
        let texts: BTreeMap<_, _> = after.iter().map(|(name, file)| expected(name, file)).collect();
        assert!(texts.iter().all(|(name, text)| name == text), "{texts:?}");
        assert!(!second.root().join("made").exists() && !dir.path().join("state/left/00").exists());
        let same: Vec<&str> =
            before.iter().filter(|(name, file)| after[*name].0 == file.0).map(|(name, _)| &**name).collect();
        assert_eq!(same, ["kept", "sub/kept"]);
        // The clock of such times may be one of ticks.
        let tick = std::time::Duration::from_millis(20);
        let shown = modified(&second.root().join("kept")) + tick;
        assert!(shown >= modified(&dir.path().join("began")), "the time of an earlier cell shows");
    }

    #[test]
    fn the_hidden_check_gets_untouched_files_themselves_and_copies_of_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let template = template(dir.path());
        std::fs::write(template.join("conftest.py"), "").unwrap();
        let slots = Slots::open(&dir.path().join("state")).unwrap();
        let mut slot = slots.take().unwrap();
        let workspace = slot.fresh(Some(&template)).unwrap();
        let root = workspace.root().to_owned();
        let inodes = || {
            ["kept", "sub/kept", "edited", "conftest.py"]
                .map(|name| std::fs::symlink_metadata(root.join(name)).unwrap().ino())
        };
        let before = inodes();
        std::fs::write(root.join("edited"), "other").unwrap();
        // Held, so that no number is given out twice.
        let _held = ["edited", "conftest.py"].map(|name| File::open(root.join(name)).unwrap());
        let collected = slot.collect(&workspace, &CollectCaps::default()).unwrap();
        let untouched: Vec<&str> = collected.untouched.iter().filter_map(|name| name.to_str()).collect();
        assert_eq!(untouched, ["kept", "moved/kept", "opened", "restored", "sub/kept", "sub/linked"]);
        assert_eq!((collected.files, collected.bytes), (8, 51));
        let _copy = slot.fresh_of_taken().unwrap();
        let after = inodes();
        assert_eq!(before[..2], after[..2]);
        assert!(before[2] != after[2] && before[3] != after[3], "{before:?} {after:?}");
        // What the check changes is not handed on.
        std::fs::write(root.join("sub/kept"), "by the check").unwrap();
        let _next = slot.fresh(Some(&template)).unwrap();
        assert_eq!(inodes()[0], before[0]);
        assert_eq!(std::fs::read_to_string(root.join("sub/kept")).unwrap(), "sub/kept");
    }

    #[test]
    fn files_that_are_moved_count_against_the_caps() {
        let dir = tempfile::tempdir().unwrap();
        let template = template(dir.path());
        let slots = Slots::open(&dir.path().join("state")).unwrap();
        let mut slot = slots.take().unwrap();
        let workspace = slot.fresh(Some(&template)).unwrap();
        let caps = CollectCaps { max_bytes: 10, ..CollectCaps::default() };
        let collected = slot.collect(&workspace, &caps).unwrap();
        assert_eq!((collected.files, collected.bytes, collected.left_out.len()), (2, 10, 5));
    }

    #[test]
    fn nothing_is_handed_on_to_another_task_or_from_a_template_that_changed() {
        let dir = tempfile::tempdir().unwrap();
        let one = template(dir.path());
        let other = dir.path().join("other");
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("kept"), "of the other").unwrap();
        let slots = Slots::open(&dir.path().join("state")).unwrap();
        let mut slot = slots.take().unwrap();
        drop(slot.fresh(Some(&one)).unwrap());
        let text = |workspace: &Workspace| std::fs::read_to_string(workspace.root().join("kept")).unwrap();
        assert_eq!(text(&slot.fresh(Some(&other)).unwrap()), "of the other");
        assert_eq!(text(&slot.fresh(Some(&one)).unwrap()), "kept");
        std::fs::write(one.join("kept"), "newer").unwrap();
        assert_eq!(text(&slot.fresh(Some(&one)).unwrap()), "newer");
    }
}
