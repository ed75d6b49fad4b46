//! The init of a cell with namespaces: process 1 of its pid namespace, outside the Landlock domain.
//!
//! It makes the cell's view of the file system and its network, starts the program, reaps everybody and ends what is
//! left. When it ends, the kernel ends every process of the namespace with it: that is the proof that a cell is empty.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::process::{DumpableBehavior, Pid, Signal};
use serde_json::value::RawValue;

use super::agent::{self, Start};
use super::group::{Group, Settling};
use super::launcher::Surroundings;
use super::lookout::{self, Lookout};
use super::supervisor::{self, GRACE, RunningTree};
use super::{door, tree, user, view};
use crate::kernel::{self, Fork, Usage};
use crate::layout::Layout;
use crate::message::{Ended, Order, Refusal, StopCause};
use crate::notify::Watched;

const WALL: &str = "namespaces";

/// How much longer than its own limits an init may take before it is killed with everything in its namespace.
const PATIENCE: Duration = Duration::from_secs(8);

/// Starts an init with namespaces, and through it the program; returns when the program runs. To be called by the
/// supervisor.
pub(crate) fn start(
    order: &Order,
    outputs: [OwnedFd; 2],
    harness: &OwnedFd,
    (surroundings, group): (&Surroundings, Result<&Group, &str>),
    signals: OwnedFd,
) -> Result<(RunningInit, Box<RawValue>), Refusal> {
    let owner = user::owner(&order.policy)?;
    let (expected, ear) = supervisor::expect_listener(order, surroundings)?;
    let fail = |error: Errno| Refusal::setup("fork the cell's init", error);
    let (channel, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(fail)?;
    let (heard, words) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(fail)?;
    let forked = kernel::fork_into_namespaces(group.ok().and_then(Group::birthplace))
        .map_err(|error| Refusal::no_wall(WALL, format!("the kernel makes none: {error}")))?;
    let init = match forked {
        Fork::Parent(init) => init,
        Fork::Child => {
            drop(channel);
            drop((signals, expected));
            Init { order, surroundings, harness, channel: theirs, owner, group }.live(outputs, words, ear)
        }
    };
    drop((theirs, words, outputs, ear));
    let raised = map_ids(init, &channel, owner)
        .and_then(|()| lookout::until_exec(heard, expected, || tree::first_child_of(init)));
    match raised {
        Ok((raised, lookout)) => {
            let deadline = Instant::now() + Duration::from_millis(order.wall_ms) + PATIENCE;
            Ok((
                RunningInit {
                    init,
                    channel,
                    signals,
                    deadline,
                    lookout,
                    told: None,
                    usage: Usage::default(),
                },
                raised,
            ))
        }
        Err(refusal) => {
            let _ = rustix::process::kill_process(init, Signal::KILL);
            tree::end_all(signals.as_fd(), &std::collections::HashSet::new());
            Err(refusal)
        }
    }
}

/// Waits until the init can be written to, then says who is who in its user namespace.
fn map_ids(init: Pid, channel: &OwnedFd, owner: u32) -> Result<(), Refusal> {
    let mut datagram = [0u8; 4];
    let count = rustix::net::recv(channel, &mut datagram, RecvFlags::empty()).map_or(0, |(count, _)| count);
    if count == 0 {
        return Err(Refusal::no_wall(WALL, "the cell's init ended at once"));
    }
    let write = |name: &str, text: &str| {
        std::fs::write(format!("/proc/{init}/{name}"), text)
            .map_err(|error| Refusal::no_wall("user namespace", format!("write {name}: {error}")))
    };
    if !rustix::process::geteuid().is_root() {
        write("setgroups", "deny")?;
    }
    write("uid_map", &user::id_map(owner))?;
    write("gid_map", &user::group_map(owner))?;
    rustix::net::send(channel, b"m", SendFlags::NOSIGNAL)
        .map(drop)
        .map_err(|error| Refusal::no_wall(WALL, format!("the cell's init is gone: {error}")))
}

/// What an init is made of.
struct Init<'a> {
    order: &'a Order,
    surroundings: &'a Surroundings,
    harness: &'a OwnedFd,
    channel: OwnedFd,
    owner: u32,
    group: Result<&'a Group, &'a str>,
}

impl Init<'_> {
    fn live(&self, outputs: [OwnedFd; 2], words: OwnedFd, ear: Option<OwnedFd>) -> ! {
        match self.set_up() {
            Ok((signals, layout)) => {
                let leader = self.fork_program(outputs, words, ear, &layout);
                self.follow(leader, signals)
            }
            Err(refusal) => {
                agent::say(&mut std::fs::File::from(words), &Err(refusal));
                kernel::leave(1)
            }
        }
    }

    fn set_up(&self) -> Result<(OwnedFd, Layout<'_>), Refusal> {
        self.become_init()?;
        let layout = Layout::of(&self.surroundings.view, &self.order.policy, &self.order.hidden()).map_err(
            // As when a probe opens it: the policy shows what it must not.
            |error| Refusal::ProbeWentThrough {
                probe: "lay the cell out".to_owned(),
                outcome: error.to_string(),
            },
        )?;
        let _ = rustix::system::sethostname(b"cell");
        if let Some(port) = self.order.policy.connect_port {
            door::open(port, self.harness)?;
        }
        view::enter(&layout)?;
        if let Some(path) = self.order.canary_path() {
            std::fs::write(&path, "").map_err(|error| Refusal::setup("place the canary", error))?;
        }
        let signals = kernel::signal_descriptor(&[Signal::CHILD, Signal::TERM])
            .map_err(|error| Refusal::setup("start the cell's init", error))?;
        Ok((signals, layout))
    }

    /// Lets the supervisor write the id maps, and waits for them. A process that is not dumpable cannot be written to.
    fn become_init(&self) -> Result<(), Refusal> {
        let fail = |error: Errno| Refusal::no_wall(WALL, format!("start the cell's init: {error}"));
        // After its birth into the cell's group, which is then the root of what is seen from inside.
        kernel::own_cgroup_namespace().map_err(|error| Refusal::no_wall("cgroup namespace", error))?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(fail)?;
        rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(fail)?;
        rustix::net::send(&self.channel, b"d", SendFlags::NOSIGNAL).map_err(fail)?;
        let mut datagram = [0u8; 4];
        let (count, _) = rustix::net::recv(&self.channel, &mut datagram, RecvFlags::empty()).map_err(fail)?;
        if count == 0 {
            return Err(Refusal::no_wall(WALL, "the supervisor is gone"));
        }
        // A group that leads out of the pid namespace has no number in it.
        rustix::process::setsid().map_err(fail)?;
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(fail)
    }

    fn fork_program(
        &self,
        [stdout, stderr]: [OwnedFd; 2],
        words: OwnedFd,
        ear: Option<OwnedFd>,
        layout: &Layout<'_>,
    ) -> Pid {
        let (order, surroundings, group) = (self.order, self.surroundings, self.group);
        match kernel::fork() {
            Ok(Fork::Parent(leader)) => leader,
            Ok(Fork::Child) => {
                let (grants, user) = (Some(layout.grants()), Some(self.owner));
                let parent = None;
                agent::become_program(Start {
                    order,
                    surroundings,
                    parent,
                    grants,
                    user,
                    stdout,
                    stderr,
                    words,
                    ear,
                    group,
                })
            }
            Err(error) => {
                let refusal = Refusal::setup("fork the agent process", error);
                agent::say(&mut std::fs::File::from(words), &Err(refusal));
                kernel::leave(1)
            }
        }
    }

    /// The outer supervisor hears the cell's calls; this one reaps, keeps the time and empties the cell.
    fn follow(&self, leader: Pid, signals: OwnedFd) -> ! {
        let deadline = Instant::now() + Duration::from_millis(self.order.wall_ms);
        let (ended, _) =
            RunningTree::new(leader, signals, deadline, Lookout::default()).run(&self.channel, None);
        let text = serde_json::to_vec(&ended).expect("our own reports are valid JSON values");
        let _ = rustix::net::send(&self.channel, &text, SendFlags::NOSIGNAL);
        kernel::leave(0)
    }
}

/// An init and everything in its namespaces, seen from the supervisor.
pub(crate) struct RunningInit {
    init: Pid,
    channel: OwnedFd,
    signals: OwnedFd,
    deadline: Instant,
    lookout: Lookout,
    told: Option<Ended>,
    usage: Usage,
}

impl RunningInit {
    /// Follows it until the kernel says that its pid namespace is empty; `harness` carries requests to stop.
    pub(crate) fn run(mut self, harness: &OwnedFd, group: Option<&Group>) -> (Ended, Option<Watched>) {
        let emptied = || group.is_none_or(Group::is_empty);
        let mut settling = Settling::of(group);
        let mut abandoned = false;
        loop {
            if self.reaps_init() {
                self.hear();
                let unasked = if abandoned { Some(StopCause::Abandoned) } else { None };
                return self.ended(emptied(), unasked);
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let _ = rustix::process::kill_process(self.init, Signal::KILL);
                if let Some(group) = group {
                    group.end();
                }
                let remains = tree::end_all(self.signals.as_fd(), &std::collections::HashSet::new());
                self.hear();
                let cause = if abandoned { StopCause::Abandoned } else { StopCause::WallLimit };
                return self.ended(remains.quiescent && emptied(), Some(cause));
            }
            let mut fds = vec![
                PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
                PollFd::from_borrowed_fd(self.channel.as_fd(), PollFlags::IN),
            ];
            if !abandoned {
                fds.push(PollFd::from_borrowed_fd(harness.as_fd(), PollFlags::IN));
            }
            let asks = fds.len();
            fds.extend(self.lookout.fd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            let timeout = Timespec::try_from(settling.wait(left)).ok();
            let _ = rustix::event::poll(&mut fds, timeout.as_ref());
            settling.turn();
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            self.lookout.turn();
            if ready[1] && !self.hear() {
                // Nothing more to hear: its end comes as a signal.
                self.wait_for_signal(left);
            }
            let told_to_end = kernel::take_signals(self.signals.as_fd()).contains(&Signal::TERM.as_raw());
            let asked = asks == 3 && ready[2];
            if told_to_end || asked && !self.forward(harness) {
                abandoned = true;
                let _ = rustix::process::kill_process(self.init, Signal::KILL);
                self.deadline = Instant::now() + PATIENCE;
            }
        }
    }

    /// Takes leave of whoever has ended: is the init among them? An orphan of an earlier cell cannot be.
    fn reaps_init(&mut self) -> bool {
        let mut is_among_them = false;
        for dead in tree::reap().ended {
            self.usage = self.usage.and(dead.usage);
            is_among_them |= dead.pid == self.init;
        }
        is_among_them
    }

    fn wait_for_signal(&self, at_most: Duration) {
        let timeout = Timespec::try_from(at_most.min(PATIENCE)).ok();
        let mut fds = [PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN)];
        let _ = rustix::event::poll(&mut fds, timeout.as_ref());
    }

    /// Takes what the init said; false at the end of its connection.
    fn hear(&mut self) -> bool {
        let mut datagram = [0u8; 4096];
        let count = rustix::net::recv(&self.channel, &mut datagram, RecvFlags::DONTWAIT);
        match count.map_or(0, |(count, _)| count) {
            0 => false,
            count => {
                self.told = serde_json::from_slice(&datagram[..count]).ok().or(self.told.take());
                true
            }
        }
    }

    /// Passes a request of the harness on; false when the harness is gone.
    fn forward(&mut self, harness: &OwnedFd) -> bool {
        let mut datagram = [0u8; 8];
        let count = rustix::net::recv(harness, &mut datagram, RecvFlags::DONTWAIT);
        let count = count.map_or(0, |(count, _)| count);
        if StopCause::from_datagram(&datagram[..count]) == StopCause::Abandoned {
            return false;
        }
        let _ =
            rustix::net::send(&self.channel, &datagram[..count], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        self.deadline = self.deadline.min(Instant::now() + 2 * GRACE + PATIENCE);
        true
    }

    /// The end of the cell. An init that said nothing was killed, and its program with it: by whoever ended the cell for
    /// `cause`, else for what the program did (the kernel picks it where memory runs out).
    fn ended(self, quiescent: bool, cause: Option<StopCause>) -> (Ended, Option<Watched>) {
        let told = self.told.unwrap_or_else(|| Ended {
            exit_code: None,
            signal: Some(Signal::KILL.as_raw()),
            stopped_by: cause,
            exit_at_ns: kernel::monotonic_ns(),
            cpu_us: self.usage.cpu_us,
            peak_rss_bytes: self.usage.peak_rss_bytes,
            survivors_killed: 0,
            quiescent: false,
        });
        (Ended { quiescent, ..told }, self.lookout.finish())
    }
}
