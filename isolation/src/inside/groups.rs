//! The control groups of a run: made below this process's own when the first cell starts, lent to one cell after the other,
//! removed with the launcher.
//!
//! What another run left behind (its launcher was killed) is cleared away: a run holds a lock on its directory.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use rustix::process::Pid;

use super::group::{self, Group, write};
use crate::cgroup::{Controller, Delegated, Place, controllers_in, processes_in};
use crate::kernel;

/// What a run's directories are called.
const PREFIX: &str = "bench-";

/// The groups of a run.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    site: Option<Site>,
    idle: Vec<Group>,
    lent: HashMap<Pid, Group>,
    made: u32,
}

/// Where they are made.
#[derive(Debug)]
struct Site {
    tops: Vec<Top>,
    causes: Vec<String>,
}

/// A run's directory in one tree.
#[derive(Debug)]
struct Top {
    place: Place,
    dir: PathBuf,
    controllers: Vec<Controller>,
    /// Set while the harness stands in a group of its own, so that controllers could be passed on.
    moved: Option<Moved>,
    /// Its lock says that the run lives.
    _lock: File,
}

/// Who was moved, and what is to be undone.
#[derive(Debug)]
struct Moved {
    pids: Vec<Pid>,
    passed_on: Vec<Controller>,
}

impl Groups {
    /// A group for the next cell, or why there is none. `harness` = the processes of a run beside its cells.
    pub(crate) fn next(&mut self, harness: &[Pid]) -> Result<Group, String> {
        if let Some(group) = self.idle.pop() {
            return Ok(group);
        }
        let site = self.site.get_or_insert_with(|| Site::make(&Delegated::find(harness)));
        if !site.tops.iter().any(|top| top.place.unified) {
            return Err(site.cause());
        }
        let name = format!("{:02}", self.made);
        self.made += 1;
        let mut group = Group::nowhere();
        for top in &site.tops {
            let site =
                group::Site { top: &top.dir, unified: top.place.unified, controllers: &top.controllers };
            if let Err(cause) = group.add(&site, &name) {
                group.remove();
                return Err(cause);
            }
        }
        Ok(group)
    }

    /// Notes who has one.
    pub(crate) fn lend(&mut self, supervisor: Pid, group: Group) {
        self.lent.insert(supervisor, group);
    }

    /// Takes back what a supervisor had that has ended, to be lent again or removed.
    pub(crate) fn take_back(&mut self, supervisor: Pid) {
        let Some(group) = self.lent.remove(&supervisor) else { return };
        if group.is_as_new() {
            self.idle.push(group);
        } else {
            group.remove();
        }
    }

    /// Removes them all, and puts the harness back where it was.
    pub(crate) fn remove(&mut self) {
        let groups = self.idle.drain(..).chain(self.lent.drain().map(|(_, group)| group));
        groups.for_each(Group::remove);
        for top in self.site.take().into_iter().flat_map(|site| site.tops) {
            top.remove();
        }
    }
}

impl Site {
    /// Why there is none, in one line for every record.
    fn cause(&self) -> String {
        let first = self.causes.first().map_or("no tree of groups is used", String::as_str);
        match self.causes.len() {
            0 | 1 => first.to_owned(),
            more => format!("{first}; and {} more causes, told by `bench doctor`", more - 1),
        }
    }

    fn make(delegated: &Delegated) -> Self {
        let mut site = Self { tops: Vec::new(), causes: delegated.causes.clone() };
        if !delegated.kills() {
            site.causes.push(
                "there is no tree of version 2 to write to, and moving every cell takes too long".to_owned(),
            );
            return site;
        }
        if !kernel::knows_birth_into_groups() {
            site.causes.push("the system call clone3 is refused here".to_owned());
            return site;
        }
        for place in &delegated.places {
            sweep(&place.dir, place.unified);
            match Top::make(place, &mut site.causes) {
                Ok(top) => site.tops.push(top),
                Err(cause) => site.causes.push(cause),
            }
        }
        site
    }
}

impl Top {
    fn make(place: &Place, causes: &mut Vec<String>) -> Result<Self, String> {
        let fail = |error: std::io::Error| format!("{}: {error}", place.dir.display());
        let dir = fresh_dir(&place.dir).map_err(fail)?;
        let lock = File::open(&dir).map_err(fail)?;
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| fail(error.into()))?;
        let (place, controllers) = (place.clone(), place.controllers.clone());
        let mut top = Self { place, dir, controllers, moved: None, _lock: lock };
        if top.place.unified && !top.controllers.is_empty() {
            top.controllers = top.pass_on(causes);
        }
        Ok(top)
    }

    /// Passes controllers on to the groups of cells; answers those that arrived.
    fn pass_on(&mut self, causes: &mut Vec<String>) -> Vec<Controller> {
        let there = controllers_in(&self.place.dir.join("cgroup.subtree_control"));
        let wanted: Vec<Controller> =
            self.place.controllers.iter().copied().filter(|one| !there.contains(one)).collect();
        if !wanted.is_empty() {
            match self.move_out() {
                Ok(pids) => {
                    let passed_on = switch(&self.place.dir, '+', &wanted);
                    self.moved = Some(Moved { pids, passed_on });
                }
                Err(cause) => causes.push(cause),
            }
        }
        switch(&self.dir, '+', &self.place.controllers);
        let arrived = controllers_in(&self.dir.join("cgroup.subtree_control"));
        let absent = self.place.controllers.iter().filter(|one| !arrived.contains(one));
        causes.extend(
            absent.map(|one| format!("{}: {} is not passed on", self.place.dir.display(), one.word())),
        );
        arrived
    }

    /// A group that passes controllers on holds no process: moves the harness, which is alone in it
    /// ([`Delegated::find`]), into one of its own.
    fn move_out(&self) -> Result<Vec<Pid>, String> {
        let pids = processes_in(&self.place.dir);
        let own = self.dir.join("harness");
        let fail = |error: std::io::Error| format!("{}: {error}", own.display());
        std::fs::create_dir(&own).map_err(fail)?;
        for pid in &pids {
            write(&own.join("cgroup.procs"), &pid.to_string()).map_err(fail)?;
        }
        Ok(pids)
    }

    fn remove(self) {
        if let Some(moved) = &self.moved {
            switch(&self.dir, '-', &self.controllers);
            switch(&self.place.dir, '-', &moved.passed_on);
            for pid in &moved.pids {
                // One that has ended since needs no place.
                let _ = write(&self.place.dir.join("cgroup.procs"), &pid.to_string());
            }
            let _ = std::fs::remove_dir(self.dir.join("harness"));
        }
        let _ = std::fs::remove_dir(&self.dir);
    }
}

/// A directory of our own that did not exist.
fn fresh_dir(below: &Path) -> std::io::Result<PathBuf> {
    let pid = std::process::id();
    let mut attempt = 0;
    loop {
        let dir = below.join(format!("{PREFIX}{pid}-{attempt}"));
        match std::fs::create_dir(&dir) {
            Ok(()) => return Ok(dir),
            // The same number, in another pid namespace.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 16 => attempt += 1,
            Err(error) => return Err(error),
        }
    }
}

/// Removes what runs left behind whose launcher is gone.
fn sweep(below: &Path, unified: bool) {
    let entries = std::fs::read_dir(below).into_iter().flatten().flatten();
    let left =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)));
    for dir in left.map(|entry| entry.path()).filter(|dir| dir.is_dir()) {
        let Ok(lock) = File::open(&dir) else { continue };
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        for group in std::fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if group.is_dir() {
                if unified {
                    let _ = write(&group.join("cgroup.kill"), "1");
                }
                let _ = std::fs::remove_dir(group);
            }
        }
        let _ = std::fs::remove_dir(dir);
    }
}

/// Switches controllers on (`+`) or off (`-`) for the groups below; answers those for which the kernel said yes.
fn switch(dir: &Path, sign: char, controllers: &[Controller]) -> Vec<Controller> {
    let file = dir.join("cgroup.subtree_control");
    let done = |one: &Controller| write(&file, &format!("{sign}{}", one.word())).is_ok();
    controllers.iter().copied().filter(done).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(dir: &Path, controllers: &[Controller]) -> Place {
        for (name, text) in [("cgroup.procs", ""), ("cgroup.subtree_control", "")] {
            std::fs::write(dir.join(name), text).unwrap();
        }
        Place { dir: dir.to_owned(), unified: true, controllers: controllers.to_vec() }
    }

    #[test]
    fn a_group_of_our_own_alone_passes_its_controllers_on_and_is_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let place = place(dir.path(), &[Controller::Memory]);
        std::fs::write(dir.path().join("cgroup.procs"), "17\n").unwrap();
        let own = dir.path().join(format!("{PREFIX}{}-0", std::process::id()));
        let mut causes = Vec::new();
        // The kernel would make the files below; here the move has nowhere to go, and says so.
        let top = Top::make(&place, &mut causes).unwrap();
        assert_eq!(top.dir, own);
        assert!(causes[0].contains("harness"), "{causes:?}");
        let moved = Moved { pids: vec![Pid::from_raw(17).unwrap()], passed_on: vec![Controller::Memory] };
        Top { moved: Some(moved), ..top }.remove();
        assert_eq!(std::fs::read_to_string(dir.path().join("cgroup.subtree_control")).unwrap(), "-memory");
        assert!(!own.exists());
    }

    #[test]
    fn what_a_killed_launcher_left_is_removed_and_what_a_living_one_has_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (left, held, other) =
            (dir.path().join("bench-1-0"), dir.path().join("bench-2-0"), dir.path().join("system.slice"));
        for group in [left.join("00"), held.join("00"), other.clone()] {
            std::fs::create_dir_all(group).unwrap();
        }
        let lock = File::open(&held).unwrap();
        rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        sweep(dir.path(), true);
        assert!(!left.exists() && held.join("00").exists() && other.exists());
    }
}
