//! A supervisor: outside the walls, one thread, subreaper of everything that an agent starts; one cell at a time.
//!
//! It starts the agent process, reports to the harness, keeps the wall limit, and is done with a cell only when the tree is
//! empty (or has resisted for too long, which it then says). It serves the next cell if this one ended by itself and left
//! nobody; whoever had to be ended takes the supervisor with it.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal};
use serde_json::value::RawValue;

use super::agent::{self, Start};
use super::group::{Group, Hits, Settling};
use super::launcher::{Connection, Surroundings, read_order, receive};
use super::lookout::{self, Expected, Lookout};
use super::supervisors::say_free;
use super::{init, tree};
use crate::kernel::{self, Dead, Fork, Usage};
use crate::message::{Ended, Order, Refusal, Report, StopCause};
use crate::notify::Watched;
use crate::seccomp::NotifySet;
use crate::{grounds, seen};

/// How long a stopped agent may tidy up after SIGTERM.
pub(crate) const GRACE: Duration = Duration::from_millis(200);

/// Body of a supervisor: its first cell, and those that the launcher hands it over its way.
pub(crate) fn supervise(
    first: Connection,
    (launcher, way): (Pid, OwnedFd),
    surroundings: &Surroundings,
    group: &Result<Group, String>,
) -> ! {
    match prepare(launcher) {
        Ok(signals) => {
            let hits = group.as_ref().map(Group::hits).unwrap_or_default();
            let group = group.as_ref().map_err(String::as_str);
            Supervisor { signals, way, surroundings, group, hits }.serve(first);
        }
        Err(refusal) => report(&first.socket, &Report::Refused(refusal)),
    }
    kernel::leave(0)
}

struct Supervisor<'a> {
    signals: OwnedFd,
    way: OwnedFd,
    surroundings: &'a Surroundings,
    group: Result<&'a Group, &'a str>,
    /// How often the group had been held to a limit when its last cell ended.
    hits: Hits,
}

impl Supervisor<'_> {
    fn serve(&mut self, first: Connection) {
        let mut next = Some(first);
        while let Some(connection) = next {
            let serves_again = self.run(connection);
            next = if serves_again && say_free(&self.way) { self.wait_for_order() } else { None };
        }
    }

    /// The next cell; none when there will be none.
    fn wait_for_order(&self) -> Option<Connection> {
        loop {
            let mut fds = [
                PollFd::from_borrowed_fd(self.way.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            ];
            let _ = rustix::event::poll(&mut fds, None);
            let (order, signal) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if signal && kernel::take_signals(self.signals.as_fd()).contains(&Signal::TERM.as_raw()) {
                return None;
            }
            if order {
                return receive(&self.way).ok().flatten();
            }
        }
    }

    /// One cell from its order to its last report. False when nobody may come after it here.
    fn run(&mut self, connection: Connection) -> bool {
        let Connection { order, socket, stdout, stderr } = connection;
        let (ended, watched) = match self.start(&order, [stdout, stderr], &socket) {
            Ok((cell, raised)) => {
                report(&socket, &Report::Started { supervisor: std::process::id(), raised });
                match cell {
                    Cell::Tree(tree) => tree.run(&socket, self.group.ok()),
                    Cell::Namespaces(namespaces) => namespaces.run(&socket, self.group.ok()),
                }
            }
            Err(refusal) => {
                report(&socket, &Report::Refused(refusal));
                return false;
            }
        };
        let now = self.group.map(Group::hits).unwrap_or_default();
        let met = now.since(std::mem::replace(&mut self.hits, now));
        if !met.is_empty() {
            report(&socket, &Report::Attempts(met));
        }
        tell(&socket, watched);
        let undisturbed = ended.stopped_by.is_none() && ended.survivors_killed == 0 && ended.quiescent;
        report(&socket, &Report::Ended(ended));
        undisturbed && self.group.map_or(true, Group::serves_again)
    }

    fn start(
        &self,
        order: &OwnedFd,
        outputs: [OwnedFd; 2],
        socket: &OwnedFd,
    ) -> Result<(Cell, Box<RawValue>), Refusal> {
        let order = read_order(order).map_err(|error| Refusal::setup("read the order", error))?;
        let signals = self.signals.try_clone().map_err(|error| Refusal::setup("watch the cell", error))?;
        let around = (self.surroundings, self.group);
        if seen::has_namespaces(order.level) {
            let (cell, raised) = init::start(&order, outputs, socket, around, signals)?;
            Ok((Cell::Namespaces(cell), raised))
        } else {
            let (cell, raised) = start(&order, outputs, around, signals)?;
            Ok((Cell::Tree(cell), raised))
        }
    }
}

/// What it has started.
enum Cell {
    /// A program and its tree, at level L1.
    Tree(RunningTree),
    /// An init with namespaces of its own, from level L2.
    Namespaces(init::RunningInit),
}

/// Says what was heard, in pieces that fit into a datagram.
fn tell(socket: &OwnedFd, watched: Option<Watched>) {
    let Some(Watched { attempts, hole, calls }) = watched else { return };
    for piece in attempts.chunks(32) {
        report(socket, &Report::Attempts(piece.to_vec()));
    }
    report(socket, &Report::Watched { hole, calls });
}

/// Sends one report. A harness that is gone does not need it.
pub(crate) fn report(socket: &OwnedFd, report: &Report<Box<RawValue>>) {
    let text = serde_json::to_vec(report).expect("our own reports are valid JSON values");
    let _ = rustix::net::send(socket, &text, SendFlags::NOSIGNAL);
}

fn prepare(launcher: Pid) -> Result<OwnedFd, Refusal> {
    let fail = |error: std::io::Error| Refusal::setup("start the cell's supervisor", error);
    let signals = kernel::signal_descriptor(&[Signal::CHILD, Signal::TERM]).map_err(fail)?;
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|error| fail(error.into()))?;
    if rustix::process::getppid() != Some(launcher) {
        return Err(Refusal::setup("start the cell's supervisor", "the launcher has ended already"));
    }
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(|error| fail(error.into()))?;
    Ok(signals)
}

/// Forks the agent process and listens to it until its exec.
fn start(
    order: &Order,
    outputs: [OwnedFd; 2],
    (surroundings, group): (&Surroundings, Result<&Group, &str>),
    signals: OwnedFd,
) -> Result<(RunningTree, Box<RawValue>), Refusal> {
    let fail = |error: std::io::Error| Refusal::setup("fork the agent process", error);
    let (heard, words) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(|error| fail(error.into()))?;
    let parent = Some(rustix::process::getpid());
    let (expected, theirs) = expect_listener(order, surroundings)?;
    let [stdout, stderr] = outputs;
    let born_in = group.ok().and_then(Group::birthplace);
    let leader = match kernel::fork_into(born_in).map_err(fail)? {
        Fork::Parent(leader) => leader,
        Fork::Child => {
            let (grants, user) = (None, None);
            agent::become_program(Start {
                order,
                surroundings,
                parent,
                grants,
                user,
                stdout,
                stderr,
                words,
                ear: theirs,
                group,
            })
        }
    };
    drop((words, stdout, stderr, theirs));
    match lookout::until_exec(heard, expected, || Some(leader)) {
        Ok((raised, lookout)) => {
            let deadline = Instant::now() + Duration::from_millis(order.wall_ms);
            Ok((RunningTree::new(leader, signals, deadline, lookout), raised))
        }
        Err(refusal) => {
            tree::end_all(signals.as_fd(), &HashSet::new());
            Err(refusal)
        }
    }
}

/// What the agent process will hand over, and its end of the way; none where nobody listens, or no filter can be built.
pub(crate) fn expect_listener(
    order: &Order,
    surroundings: &Surroundings,
) -> Result<(Option<Expected>, Option<OwnedFd>), Refusal> {
    let Ok(filter) = surroundings.filters.of(order) else { return Ok((None, None)) };
    if filter.options().notify == NotifySet::Off {
        return Ok((None, None));
    }
    let (socket, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|error| Refusal::setup("make a way for the cell's calls", error))?;
    let expected = Expected { socket, filter: filter.clone(), grounds: grounds::of(order) };
    Ok((Some(expected), Some(theirs)))
}

/// A program behind its walls, with everything that it started.
pub(crate) struct RunningTree {
    leader: Pid,
    signals: OwnedFd,
    deadline: Instant,
    lookout: Lookout,
    status: Option<ExitStatus>,
    exit_at_ns: u64,
    usage: Usage,
}

impl RunningTree {
    /// A leader that has been forked, and until when it may run. `signals` carries SIGCHLD and SIGTERM.
    pub(crate) fn new(leader: Pid, signals: OwnedFd, deadline: Instant, lookout: Lookout) -> Self {
        Self { leader, signals, deadline, lookout, status: None, exit_at_ns: 0, usage: Usage::default() }
    }

    /// Follows it until its tree is empty; `socket` carries requests to stop. `group` = the control group that it is in and
    /// the caller is not.
    pub(crate) fn run(mut self, socket: &OwnedFd, group: Option<&Group>) -> (Ended, Option<Watched>) {
        let stopped_by = self.wait_for_leader(socket, Settling::of(group));
        if let Some(cause) = stopped_by {
            self.stop_leader(cause);
        }
        let was_empty = group.is_none_or(Group::end);
        let remains = tree::end_all(self.signals.as_fd(), &HashSet::new());
        self.note(&remains.ended);
        let ended = Ended {
            exit_code: self.status.and_then(|status| status.code()),
            signal: self.status.and_then(|status| status.signal()),
            stopped_by,
            exit_at_ns: self.exit_at_ns,
            cpu_us: self.usage.cpu_us,
            peak_rss_bytes: self.usage.peak_rss_bytes,
            survivors_killed: remains.killed_beside(self.leader),
            quiescent: remains.quiescent && (was_empty || group.is_none_or(Group::is_empty)),
        };
        (ended, self.lookout.finish())
    }

    /// Waits for the leader's end; `Some` when something else came first.
    fn wait_for_leader(&mut self, socket: &OwnedFd, mut settling: Settling<'_>) -> Option<StopCause> {
        loop {
            self.note(&tree::reap().ended);
            if self.status.is_some() {
                return None;
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(StopCause::WallLimit);
            }
            let mut fds = vec![
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN),
            ];
            fds.extend(self.lookout.fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            let timeout = Timespec::try_from(settling.wait(left)).ok();
            let _ = rustix::event::poll(&mut fds, timeout.as_ref());
            settling.turn();
            let (signalled, asked) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            self.lookout.turn();
            if signalled && kernel::take_signals(self.signals.as_fd()).contains(&Signal::TERM.as_raw()) {
                return Some(StopCause::Abandoned);
            }
            if asked {
                let mut datagram = [0u8; 8];
                let count = rustix::net::recv(socket, &mut datagram, RecvFlags::DONTWAIT)
                    .map_or(0, |(count, _)| count);
                return Some(StopCause::from_datagram(&datagram[..count]));
            }
        }
    }

    /// SIGTERM to the leader's group, then SIGKILL to it; the rest of the tree comes after.
    fn stop_leader(&mut self, cause: StopCause) {
        // Nobody is left to whom a tidy end would matter.
        let grace = if cause == StopCause::Abandoned { Duration::ZERO } else { GRACE };
        let group = |signal| {
            let _ = rustix::process::kill_process_group(self.leader, signal);
            let _ = rustix::process::kill_process(self.leader, signal);
        };
        if !grace.is_zero() {
            group(Signal::TERM);
            self.leader_ends_within(grace);
        }
        if self.status.is_none() {
            let _ = rustix::process::kill_process(self.leader, Signal::KILL);
            self.leader_ends_within(GRACE);
        }
    }

    fn leader_ends_within(&mut self, patience: Duration) {
        let until = Instant::now() + patience;
        loop {
            self.note(&tree::reap().ended);
            let left = until.saturating_duration_since(Instant::now());
            if self.status.is_some() || left.is_zero() {
                return;
            }
            let mut fds = vec![PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN)];
            fds.extend(self.lookout.fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            let timeout = Timespec::try_from(left).ok();
            let _ = rustix::event::poll(&mut fds, timeout.as_ref());
            kernel::take_signals(self.signals.as_fd());
            // A tidy end needs its calls answered as well.
            self.lookout.turn();
        }
    }

    fn note(&mut self, ended: &[Dead]) {
        for dead in ended {
            self.usage = self.usage.and(dead.usage);
            if dead.pid == self.leader {
                self.status = Some(dead.status);
                self.exit_at_ns = kernel::monotonic_ns();
            }
        }
    }
}
