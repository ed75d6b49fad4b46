//! The process tree below a subreaper: reaping it, and ending it to the last process.
//!
//! Without a pid namespace nothing ends a tree at once. But whoever is below a subreaper comes to it when its own
//! parent ends, so killing the direct children again and again empties the tree, whatever sessions it opened and
//! whatever signals it ignores. Only direct children (and process groups that they are in) are ever signalled: their
//! ids cannot be reused before they have been reaped here.

use std::collections::HashSet;
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use crate::descendants::{parent_of, processes};
use crate::kernel::{self, Dead};

/// How long a tree may resist before it counts as not to be ended.
const PATIENCE: Duration = Duration::from_secs(5);

/// Rounds without a pause between them: enough for any tree that does not grow on purpose.
const QUICK_ROUNDS: u32 = 64;

/// What reaping found.
#[derive(Debug, Default)]
pub(crate) struct Reaped {
    /// Ended processes.
    pub(crate) ended: Vec<Dead>,
    /// Is nobody left?
    pub(crate) empty: bool,
}

/// Takes the status of every child that has ended; never waits.
pub(crate) fn reap() -> Reaped {
    let mut reaped = Reaped::default();
    loop {
        match kernel::take_dead() {
            Ok(Some(dead)) => reaped.ended.push(dead),
            Ok(None) => return reaped,
            Err(Errno::INTR) => {}
            Err(_) => {
                reaped.empty = true;
                return reaped;
            }
        }
    }
}

/// How a tree ended.
#[derive(Debug, Default)]
pub(crate) struct Remains {
    /// Is the tree proven empty?
    pub(crate) quiescent: bool,
    /// Everything reaped on the way.
    pub(crate) ended: Vec<Dead>,
}

impl Remains {
    /// How many processes other than `leader` had to be killed.
    pub(crate) fn killed_beside(&self, leader: Pid) -> u32 {
        let killed = |dead: &Dead| dead.status.signal() == Some(Signal::KILL.as_raw());
        let others = self.ended.iter().filter(|dead| dead.pid != leader && killed(dead));
        u32::try_from(others.count()).unwrap_or(u32::MAX)
    }
}

/// Kills every descendant but `spared` direct children, until none is left or patience ends.
///
/// `signals` is a descriptor of [`kernel::signal_descriptor`] that carries `SIGCHLD`.
pub(crate) fn end_all(signals: BorrowedFd<'_>, spared: &HashSet<Pid>) -> Remains {
    let deadline = Instant::now() + PATIENCE;
    let mut remains = Remains::default();
    let mut round = 0;
    loop {
        let reaped = reap();
        remains.ended.extend(reaped.ended);
        let living: Vec<Pid> = children().into_iter().filter(|pid| !spared.contains(pid)).collect();
        if reaped.empty || living.is_empty() && !spared.is_empty() {
            remains.quiescent = true;
            return remains;
        }
        living.iter().for_each(|pid| kill_with_group(*pid));
        if Instant::now() > deadline {
            return remains;
        }
        if round >= QUICK_ROUNDS || living.is_empty() {
            wait_for_child(signals, Duration::from_millis(2));
        }
        round += 1;
    }
}

/// The group first: that is one step for the kernel, between two forks of a process that forks for ever.
fn kill_with_group(pid: Pid) {
    if let Ok(group) = rustix::process::getpgid(Some(pid))
        && group != rustix::process::getpgrp()
    {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

fn wait_for_child(signals: BorrowedFd<'_>, at_most: Duration) {
    let mut fds = [PollFd::from_borrowed_fd(signals, PollFlags::IN)];
    let timeout = Timespec::try_from(at_most).ok();
    if matches!(rustix::event::poll(&mut fds, timeout.as_ref()), Ok(1..)) {
        kernel::take_signals(signals);
    }
}

/// Ids of the direct children, ended ones that were not reaped included.
fn children() -> Vec<Pid> {
    match std::fs::read_to_string("/proc/thread-self/children") {
        Ok(list) => list.split_ascii_whitespace().filter_map(parse_pid).collect(),
        // Kernels without CONFIG_PROC_CHILDREN.
        Err(_) => children_by_scan(),
    }
}

/// The first child of another process.
pub(crate) fn first_child_of(pid: Pid) -> Option<Pid> {
    let list = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    parse_pid(list.split_ascii_whitespace().next()?)
}

fn parse_pid(text: &str) -> Option<Pid> {
    Pid::from_raw(text.parse().ok()?)
}

fn children_by_scan() -> Vec<Pid> {
    let own = std::process::id();
    let children = processes().into_iter().filter(|pid| parent_of(*pid) == Some(own));
    children.filter_map(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_listing_children_agree() {
        let mut child = std::process::Command::new("/bin/cat")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child);
        assert!(children_by_scan().contains(&pid));
        // Lists the children of this thread alone; in the launcher there is only one.
        assert!(children().contains(&pid));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
