//! Processes that outlive the call which started them: each leads a group of its own, and ending it reaches everything
//! that it started, whatever signals that ignores.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use crate::start::VARIABLES;

/// How long a killed process is waited for. One in the middle of a long write may take its time.
const LONGEST_DEATH: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// A process that leads a group.
#[derive(Debug)]
pub(crate) struct Leader {
    pid: Pid,
}

impl Leader {
    /// Starts a command as the leader of a group, without the variables that are the agent's own.
    pub(crate) fn start(command: &mut Command) -> io::Result<(Self, Child)> {
        VARIABLES.iter().for_each(|name| {
            command.env_remove(name);
        });
        let child = command.process_group(0).spawn()?;
        Ok((Self { pid: Pid::from_child(&child) }, child))
    }

    /// Becomes readable when it ends.
    pub(crate) fn pidfd(&self) -> io::Result<OwnedFd> {
        Ok(pidfd_open(self.pid, PidfdFlags::empty())?)
    }

    /// Sends a signal to the group.
    pub(crate) fn signal(&self, signal: Signal) {
        // A group that is gone has nobody to be signalled.
        let _ = kill_process_group(self.pid, signal);
    }

    /// Everything below it now, itself left out.
    pub(crate) fn descendants(&self) -> HashSet<Pid> {
        below(self.pid)
    }
}

/// Kills these processes and waits until they are gone: a killed process may still run for a moment.
pub(crate) fn kill_all(pids: &HashSet<Pid>) {
    // A process without a descriptor is gone already; with one, its number cannot come to mean another.
    let held: Vec<OwnedFd> =
        pids.iter().filter_map(|pid| pidfd_open(*pid, PidfdFlags::empty()).ok()).collect();
    for process in &held {
        // One that ended meanwhile, or belongs to somebody else, cannot be killed and need not be.
        let _ = pidfd_send_signal(process, Signal::KILL);
    }
    for process in &held {
        let mut watched = [PollFd::new(process, PollFlags::IN)];
        let _ = poll(&mut watched, Some(&LONGEST_DEATH));
    }
}

/// Whoever loses its parent below this process comes to it and not to the init of the cell, so that it can still be found
/// when everything has to end. Refused in a cell that does not allow it; then the cell's own end reaches them.
pub(crate) fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Kills everything below this process.
pub(crate) fn end_all_below() {
    kill_all(&below(rustix::process::getpid()));
}

/// All processes whose line of parents leads to this one, by what `/proc` says at this moment.
fn below(ancestor: Pid) -> HashSet<Pid> {
    let parents: Vec<(Pid, Pid)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name in parentheses may hold anything; the parent is the second word after the last one.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, Pid::from_raw(parent)?))
        })
        .collect();
    let mut found = HashSet::from([ancestor]);
    loop {
        let more: Vec<Pid> = parents
            .iter()
            .filter(|(pid, parent)| found.contains(parent) && !found.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            found.remove(&ancestor);
            return found;
        }
        found.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn what_a_leader_started_is_found_and_ended_even_in_another_session() {
        let mut command = Command::new("sh");
        command.args(["-c", "setsid sh -c 'echo up; exec sleep 86400' & wait"]).stdout(Stdio::piped());
        let (leader, mut child) = Leader::start(&mut command).unwrap();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let below = leader.descendants();
        assert!(!below.is_empty());
        leader.signal(Signal::KILL);
        kill_all(&below);
        child.wait().unwrap();
        // The other session held the output too: its end is the proof.
        assert_eq!(output.read_line(&mut line).unwrap(), 0);
    }
}
