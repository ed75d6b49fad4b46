//! The control group of a cell: entered by its first process, frozen, killed and proven empty by its supervisor.
//!
//! [`super::groups`] makes groups and lends them.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::attempt::{Act, Attempt, Target};
use crate::cgroup::Controller;
use crate::gaps::Mechanism;
use crate::message::Refusal;

/// How long processes that were killed may take to leave.
const PATIENCE: Duration = Duration::from_millis(500);

/// One group: a directory in each tree that is used.
#[derive(Debug)]
pub(crate) struct Group {
    parts: Vec<Part>,
}

/// A group's directory in one tree.
#[derive(Debug)]
struct Part {
    dir: PathBuf,
    unified: bool,
    controllers: Vec<Controller>,
    /// Opened by the launcher, whose right to move processes it carries.
    procs: File,
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
        Self { parts: Vec::new() }
    }

    /// Makes the directory of this name below `top` and sets the limits of these controllers.
    pub(crate) fn add(
        &mut self,
        top: &Path,
        name: &str,
        unified: bool,
        controllers: &[Controller],
    ) -> Result<(), String> {
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
        let procs = dir.join("cgroup.procs");
        let opened = OpenOptions::new().write(true).open(&procs).map_err(|error| fail(&procs, error))?;
        self.parts.push(Part { dir, unified, controllers: controllers.to_vec(), procs: opened });
        Ok(())
    }

    /// Puts the calling process into it, and so whatever that starts.
    pub(crate) fn enter(&self) -> Result<(), Refusal> {
        self.parts.iter().try_for_each(|part| {
            (&part.procs).write_all(b"0").map_err(|error| {
                Refusal::no_wall("control group", format!("{}: {error}", part.dir.display()))
            })
        })
    }

    /// Stops every process of it and ends them all in one step of the kernel, where it can; else nothing happens.
    pub(crate) fn end(&self) {
        for part in self.parts.iter().filter(|part| part.unified) {
            // Frozen first: nothing is written any more while the others die. A kernel without one of the files (both came
            // with versions older than Landlock's) leaves it to the walk over the tree.
            for file in ["cgroup.freeze", "cgroup.kill"] {
                let _ = write(&part.dir.join(file), "1");
            }
        }
    }

    /// Lets it be used again.
    pub(crate) fn thaw(&self) {
        for part in self.parts.iter().filter(|part| part.unified) {
            let _ = write(&part.dir.join("cgroup.freeze"), "0");
        }
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
        let limits = self.parts.iter().flat_map(|part| &part.controllers).map(|one| one.phrase());
        let end = self.parts.iter().any(|part| part.unified).then_some("freeze, kill and proof of its end");
        let all: Vec<&str> = limits.chain(end).collect();
        format!("control group: {}", all.join(", "))
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

    /// A directory with the files that the kernel would put into a group made there.
    fn made_by_a_kernel(top: &Path, name: &str, files: &[&str]) {
        std::fs::create_dir_all(top.join(name)).unwrap();
        for file in files {
            std::fs::write(top.join(name).join(file), "").unwrap();
        }
    }

    fn part(top: &Path, unified: bool, controllers: &[Controller]) -> Group {
        let procs = File::create(top.join("cgroup.procs")).unwrap();
        let part = Part { dir: top.to_owned(), unified, controllers: controllers.to_vec(), procs };
        Group { parts: vec![part] }
    }

    #[test]
    fn it_is_frozen_before_it_is_killed_and_empty_only_when_the_kernel_says_so() {
        let dir = tempfile::tempdir().unwrap();
        made_by_a_kernel(dir.path(), "", &["cgroup.freeze", "cgroup.kill", "cgroup.events"]);
        let group = part(dir.path(), true, &[]);
        let events = |text: &str| std::fs::write(dir.path().join("cgroup.events"), text).unwrap();
        assert!(!group.is_empty(), "a file that says nothing proves nothing");
        events("populated 1\nfrozen 0\n");
        assert!(!group.is_empty());
        group.end();
        events("populated 0\nfrozen 1\n");
        assert!(group.is_empty());
        group.thaw();
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        // Of a real file of the kernel; here the last write remains.
        assert_eq!((read("cgroup.freeze").as_str(), read("cgroup.kill").as_str()), ("0", "1"));
        std::fs::remove_file(dir.path().join("cgroup.events")).unwrap();
        assert!(!group.is_empty());
    }

    #[test]
    fn a_process_enters_by_its_own_word() {
        let dir = tempfile::tempdir().unwrap();
        part(dir.path(), false, &[Controller::Pids]).enter().unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("cgroup.procs")).unwrap(), "0");
    }

    #[test]
    fn limits_that_were_met_are_told_once() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("memory.events"), "low 0\noom 3\noom_kill 2\noom_group_kill 0\n")
            .unwrap();
        std::fs::write(dir.path().join("pids.events"), "max 7\n").unwrap();
        let group = part(dir.path(), true, &Controller::ALL);
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
        let error = group.add(dir.path(), "00", true, &[Controller::Memory]).unwrap_err();
        assert!(error.contains("memory.max"), "{error}");
        assert_eq!(group.mechanisms(), []);
    }
}
