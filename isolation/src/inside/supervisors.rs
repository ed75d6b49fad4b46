//! The supervisors of a run, as the launcher sees them: forked when nobody is free, then handed one cell after the other.
//!
//! A fork and what the kernel copies after it cost more than everything else that a supervisor does for a short cell. Only
//! one whose last cell ended by itself and left nothing serves again ([`super::supervisor`] decides); the others leave.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::Pid;

use super::launcher::Connection;
use crate::kernel::send_with_descriptors;

/// The word of a supervisor that is free.
const FREE: &[u8] = b"f";

/// Everybody who lives.
#[derive(Debug, Default)]
pub(super) struct Supervisors {
    all: Vec<Supervisor>,
}

#[derive(Debug)]
struct Supervisor {
    pid: Pid,
    /// Orders to it, its word from it.
    way: OwnedFd,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has a cell.
    Busy,
    /// It waits for one.
    Free,
    /// It has closed its end.
    Leaving,
}

impl Supervisors {
    /// One that has just been forked, with its first cell.
    pub(super) fn add(&mut self, pid: Pid, way: OwnedFd) {
        self.all.push(Supervisor { pid, way, state: State::Busy });
    }

    /// Forgets one that has ended; false = it was none of them.
    pub(super) fn remove(&mut self, pid: Pid) -> bool {
        let before = self.all.len();
        self.all.retain(|one| one.pid != pid);
        self.all.len() < before
    }

    /// Their process ids.
    pub(super) fn pids(&self) -> HashSet<Pid> {
        self.all.iter().map(|one| one.pid).collect()
    }

    /// Is nobody left?
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What to poll for their word.
    pub(super) fn ways(&self) -> impl Iterator<Item = PollFd<'_>> {
        let busy = self.all.iter().filter(|one| one.state == State::Busy);
        busy.map(|one| PollFd::from_borrowed_fd(one.way.as_fd(), PollFlags::IN))
    }

    /// Takes the words that wait.
    pub(super) fn hear(&mut self) {
        for one in self.all.iter_mut().filter(|one| one.state == State::Busy) {
            let mut word = [0u8; 1];
            match rustix::net::recv(&one.way, &mut word, RecvFlags::DONTWAIT) {
                Ok((0, _)) => one.state = State::Leaving,
                Ok(_) => one.state = State::Free,
                // Nothing said yet, or its end is about to be reported as a signal.
                Err(_) => {}
            }
        }
    }

    /// Gives a cell to one who is free; false = nobody is.
    pub(super) fn hand_over(&mut self, connection: &Connection) -> bool {
        let Connection { order, socket, stdout, stderr } = connection;
        let mut free = self.all.iter_mut().rev().filter(|one| one.state == State::Free);
        free.any(|one| {
            let sent = send_with_descriptors(&one.way, [order, socket, stdout, stderr]);
            one.state = if sent.is_ok() { State::Busy } else { State::Leaving };
            sent.is_ok()
        })
    }

    /// In a process that was forked off: the others are none of its business.
    pub(super) fn let_go(&mut self) {
        self.all.clear();
    }
}

/// Says, as a supervisor, that it is free; false when the launcher is gone.
pub(super) fn say_free(way: &OwnedFd) -> bool {
    rustix::net::send(way, FREE, SendFlags::NOSIGNAL).is_ok()
}
