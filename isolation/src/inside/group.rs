//! The control group of a cell: its first process is born in it, its supervisor freezes, kills and proves it empty.
//!
//! Being born into a group costs next to nothing, and version 2 alone offers it. Moving a process takes the kernel 5 to 20
//! ms of waiting, so what trees of version 1 hold begins when a cell has lived for [`SETTLED`]. [`super::groups`] makes
//! groups and lends them.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::Pid;

use crate::attempt::{Act, Attempt, Target};
use crate::cgroup::{Controller, processes_in};
use crate::gaps::Mechanism;

/// How long a cell lives before it is moved into the groups of version 1 as well.
pub(crate) const SETTLED: Duration = Duration::from_millis(50);

/// Looks over a cell that may fork while it is moved.
const LOOKS: u32 = 64;

/// How long processes that were killed may take to leave.
const PATIENCE: Duration = Duration::from_millis(500);

/// One group: a directory in the tree of version 2, and in each of the others that is used.
#[derive(Debug)]
pub(crate) struct Group {
    parts: Vec<Part>,
    /// Has this process ended who was in it?
    was_ended: Cell<bool>,
}

/// Where a directory of a group is made.
pub(crate) struct Site<'a> {
    /// The run's directory in the tree.
    pub(crate) top: &'a Path,
    /// Is the tree of version 2?
    pub(crate) unified: bool,
    /// What groups there are held to.
    pub(crate) controllers: &'a [Controller],
}

/// A group's directory in one tree.
#[derive(Debug)]
struct Part {
    dir: PathBuf,
    unified: bool,
    controllers: Vec<Controller>,
    /// Of version 2 the directory, else the file that takes processes.
    door: File,
}

/// How often a group was held to a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    /// Processes that were ended for want of memory.
    memory: u64,
    /// Processes that were not started.
    pids: u64,
}

impl Group {
    /// A group without a directory yet.
    pub(crate) fn nowhere() -> Self {
        Self { parts: Vec::new(), was_ended: Cell::new(false) }
    }

    /// Makes the directory of this name and sets the limits of its controllers.
    pub(crate) fn add(&mut self, site: &Site<'_>, name: &str) -> Result<(), String> {
        let Site { top, unified, controllers } = *site;
        let dir = top.join(name);
        let fail = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        std::fs::create_dir(&dir).map_err(|error| fail(&dir, error))?;
        for controller in controllers {
            for (file, text) in controller.settings(unified) {
                write(&dir.join(file), &text).map_err(|error| fail(&dir.join(file), error))?;
            }
            if let Some((file, text)) = controller.wishes(unified) {
                // Machines without swap do not have the file.
                let _ = write(&dir.join(file), &text);
            }
        }
        let opened = match unified {
            true => File::open(&dir),
            false => OpenOptions::new().write(true).open(dir.join("cgroup.procs")),
        };
        let door = opened.map_err(|error| fail(&dir, error))?;
        self.parts.push(Part { dir, unified, controllers: controllers.to_vec(), door });
        Ok(())
    }

    /// Into which the first process is to be born.
    pub(crate) fn birthplace(&self) -> Option<BorrowedFd<'_>> {
        self.parts.iter().find(|part| part.unified).map(|part| part.door.as_fd())
    }

    /// Moves everybody who is in the tree of version 2 into the others; false while somebody new is not there yet.
    fn settle(&self) -> bool {
        let Some(home) = self.parts.iter().find(|part| part.unified) else { return true };
        let others: Vec<&Part> = self.parts.iter().filter(|part| !part.unified).collect();
        for _ in 0..LOOKS {
            let mut complete = true;
            let inhabitants = processes_in(&home.dir);
            for part in &others {
                let there: HashSet<Pid> = processes_in(&part.dir).into_iter().collect();
                for pid in inhabitants.iter().filter(|pid| !there.contains(pid)) {
                    complete = false;
                    // One that has ended since needs no place.
                    let _ = (&part.door).write_all(pid.to_string().as_bytes());
                }
            }
            if complete {
                return true;
            }
        }
        false
    }

    /// Stops every process of it and ends them all in one step of the kernel, where it can. True = nobody was in it.
    pub(crate) fn end(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        self.was_ended.set(true);
        for part in self.parts.iter().filter(|part| part.unified) {
            // Frozen first: nothing is written any more while the others die. A kernel without one of the files (both came
            // with versions older than Landlock's) leaves it to the walk over the tree.
            for file in ["cgroup.freeze", "cgroup.kill"] {
                let _ = write(&part.dir.join(file), "1");
            }
        }
        false
    }

    /// May another cell be born into it, as far as this process knows? See [`Group::is_as_new`].
    pub(crate) fn serves_again(&self) -> bool {
        !self.was_ended.get()
    }

    /// Can it be lent again? One that was killed cannot: some kernels kill whoever is born into it later as well.
    pub(crate) fn is_as_new(&self) -> bool {
        let was_ended = |part: &Part| {
            std::fs::read_to_string(part.dir.join("cgroup.freeze")).is_ok_and(|text| text.trim() == "1")
        };
        self.is_empty() && !self.parts.iter().any(was_ended)
    }

    /// Does the kernel say that nobody is in it? What cannot be read is not empty.
    pub(crate) fn is_empty(&self) -> bool {
        let read = |path: PathBuf| std::fs::read_to_string(path).ok();
        // Whoever is in one part is in all of them; the tree of version 2 keeps count.
        if let Some(part) = self.parts.iter().find(|part| part.unified) {
            let text = read(part.dir.join("cgroup.events"));
            return text.is_some_and(|text| value(&text, "populated") == Some(0));
        }
        self.parts
            .iter()
            .all(|part| read(part.dir.join("cgroup.procs")).is_some_and(|text| text.trim().is_empty()))
    }

    /// How often it was held to a limit so far; it may have been lent before.
    pub(crate) fn hits(&self) -> Hits {
        let mut hits = Hits::default();
        for part in &self.parts {
            let count = |file: &str, name: &str| {
                let text = std::fs::read_to_string(part.dir.join(file)).unwrap_or_default();
                value(&text, name).unwrap_or(0)
            };
            for controller in &part.controllers {
                match (controller, part.unified) {
                    (Controller::Memory, true) => hits.memory += count("memory.events", "oom_kill"),
                    (Controller::Memory, false) => hits.memory += count("memory.oom_control", "oom_kill"),
                    (Controller::Pids, true | false) => hits.pids += count("pids.events", "max"),
                    (Controller::Cpu, true | false) => {}
                }
            }
        }
        hits
    }

    /// The walls that it is.
    pub(crate) fn mechanisms(&self) -> Vec<Mechanism> {
        let limits =
            self.parts.iter().flat_map(|part| &part.controllers).map(|controller| match controller {
                Controller::Memory => Mechanism::GroupMemory,
                Controller::Pids => Mechanism::GroupProcesses,
                Controller::Cpu => Mechanism::GroupCpu,
            });
        limits.chain(self.parts.iter().any(|part| part.unified).then_some(Mechanism::GroupKill)).collect()
    }

    /// In words.
    pub(crate) fn phrase(&self) -> String {
        let limits = |unified: bool| {
            let parts = self.parts.iter().filter(move |part| part.unified == unified);
            parts.flat_map(|part| &part.controllers).map(|one| one.phrase()).collect::<Vec<_>>()
        };
        let at_once = [vec!["freeze, kill and proof of its end"], limits(true)].concat().join(", ");
        match limits(false).join(", ") {
            none if none.is_empty() => format!("control group: {at_once}"),
            later => format!("control group: {at_once}; from its {} ms on: {later}", SETTLED.as_millis()),
        }
    }

    /// The kernel wakes whoever waits when the last process has left.
    fn wait_until_empty(&self) {
        let Some(part) = self.parts.iter().find(|part| part.unified) else { return };
        let Ok(events) = File::open(part.dir.join("cgroup.events")) else { return };
        let deadline = Instant::now() + PATIENCE;
        while !self.is_empty() && Instant::now() < deadline {
            let mut fds = [PollFd::new(&events, PollFlags::PRI)];
            let left = deadline.saturating_duration_since(Instant::now());
            let _ = rustix::event::poll(&mut fds, Timespec::try_from(left).ok().as_ref());
        }
    }

    /// Takes it away, with whoever is in it. What resists is left to the sweep of a later run.
    pub(crate) fn remove(self) {
        if !self.parts.is_empty() && !self.is_empty() {
            self.end();
            self.wait_until_empty();
        }
        for part in self.parts {
            let _ = std::fs::remove_dir(part.dir);
        }
    }
}

/// When a cell is to be moved into the groups of version 1.
#[derive(Debug)]
pub(crate) struct Settling<'a> {
    group: Option<&'a Group>,
    due: Option<Instant>,
}

impl<'a> Settling<'a> {
    /// Of a cell that has just started.
    pub(crate) fn of(group: Option<&'a Group>) -> Self {
        let waits = group.is_some_and(|group| group.parts.iter().any(|part| !part.unified));
        Self { group, due: waits.then(|| Instant::now() + SETTLED) }
    }

    /// How long to wait for something else, of `left`.
    pub(crate) fn wait(&self, left: Duration) -> Duration {
        self.due.map_or(left, |due| left.min(due.saturating_duration_since(Instant::now())))
    }

    /// Moves it when it is time; what could not be done is tried again.
    pub(crate) fn turn(&mut self) {
        if let (Some(group), Some(due)) = (self.group, self.due)
            && Instant::now() >= due
        {
            self.due = if group.settle() { None } else { Some(Instant::now() + SETTLED) };
        }
    }
}

impl Hits {
    /// What came on top of `earlier`, as attempts: a limit that was met belongs into the record.
    pub(crate) fn since(self, earlier: Self) -> Vec<Attempt> {
        let attempt = |operation: &str, what: &str, count: u64| Attempt {
            act: Act::Call,
            operation: operation.to_owned(),
            target: Target::Own(what.to_owned()),
            process: String::new(),
            denied: true,
            found: None,
            count,
        };
        let memory = self.memory.saturating_sub(earlier.memory);
        let pids = self.pids.saturating_sub(earlier.pids);
        let ended = (memory > 0).then(|| attempt("limit.memory", "a process of the cell was ended", memory));
        let refused = (pids > 0).then(|| attempt("limit.processes", "a process was not started", pids));
        ended.into_iter().chain(refused).collect()
    }
}

/// Files of control groups take one write.
pub(super) fn write(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// The number behind a name, in a file of `name number` lines.
fn value(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(top: &Path, unified: bool, controllers: &[Controller]) -> Part {
        let procs = File::create(top.join("cgroup.procs")).unwrap();
        Part { dir: top.to_owned(), unified, controllers: controllers.to_vec(), door: procs }
    }

    fn group(top: &Path, controllers: &[Controller]) -> Group {
        Group { parts: vec![part(top, true, controllers)], ..Group::nowhere() }
    }

    #[test]
    fn it_is_frozen_before_it_is_killed_and_empty_only_when_the_kernel_says_so() {
        let dir = tempfile::tempdir().unwrap();
        for file in ["cgroup.freeze", "cgroup.kill", "cgroup.events"] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let group = group(dir.path(), &[]);
        let events = |text: &str| std::fs::write(dir.path().join("cgroup.events"), text).unwrap();
        assert!(!group.is_empty(), "a file that says nothing proves nothing");
        events("populated 1\nfrozen 0\n");
        assert!(!group.is_empty());
        assert!(group.serves_again() && !group.end() && !group.serves_again());
        events("populated 0\nfrozen 1\n");
        assert!(group.is_empty());
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!((read("cgroup.freeze").as_str(), read("cgroup.kill").as_str()), ("1", "1"));
        assert!(!group.is_as_new(), "what was killed is not lent again");
        std::fs::write(dir.path().join("cgroup.freeze"), "0\n").unwrap();
        assert!(group.is_as_new());
        std::fs::remove_file(dir.path().join("cgroup.events")).unwrap();
        assert!(!group.is_empty());
    }

    #[test]
    fn everybody_is_moved_into_the_groups_of_version_1_once_it_is_time() {
        let (home, old) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let parts = vec![part(home.path(), true, &[]), part(old.path(), false, &[Controller::Memory])];
        std::fs::write(home.path().join("cgroup.procs"), "17\n").unwrap();
        let group = Group { parts, ..Group::nowhere() };
        let mut settling = Settling::of(Some(&group));
        settling.turn();
        let moved = || std::fs::read_to_string(old.path().join("cgroup.procs")).unwrap();
        assert_eq!(moved(), "", "a short cell is not moved");
        assert!(settling.wait(Duration::from_secs(9)) <= SETTLED);
        settling.due = Some(Instant::now());
        settling.turn();
        assert_eq!((moved().as_str(), settling.due.is_none()), ("17", true));
        assert!(group.phrase().ends_with("from its 50 ms on: memory 4 GiB"), "{}", group.phrase());
        let unified_alone =
            Group { parts: vec![part(home.path(), true, &Controller::ALL)], ..Group::nowhere() };
        assert_eq!(Settling::of(Some(&unified_alone)).wait(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn limits_that_were_met_are_told_once() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("memory.events"), "low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
            .unwrap();
        std::fs::write(dir.path().join("pids.events"), "max 7\n").unwrap();
        let group = group(dir.path(), &Controller::ALL);
        let hits = group.hits();
        assert_eq!(hits, Hits { memory: 2, pids: 7 });
        assert_eq!(hits.since(hits), []);
        let told = hits.since(Hits { memory: 2, pids: 4 });
        assert_eq!((told.len(), told[0].count, told[0].operation.as_str()), (1, 3, "limit.processes"));
        assert!(group.mechanisms().contains(&Mechanism::GroupMemory));
    }

    #[test]
    fn a_limit_that_cannot_be_set_is_no_limit() {
        let dir = tempfile::tempdir().unwrap();
        let mut group = Group::nowhere();
        // A plain directory has no files of the kernel's.
        let site = Site { top: dir.path(), unified: true, controllers: &[Controller::Memory] };
        let error = group.add(&site, "00").unwrap_err();
        assert!(error.contains("memory.max"), "{error}");
        assert_eq!(group.mechanisms(), []);
    }
}
