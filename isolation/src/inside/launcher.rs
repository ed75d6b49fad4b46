//! The launcher itself: waits for orders, has a supervisor for each, ends them all when the harness is gone.

use std::cell::RefCell;
use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
};
use rustix::process::{DumpableBehavior, Pid, Signal};

use super::group::Group;
use super::groups::Groups;
use super::probe::Outsiders;
use super::supervisors::Supervisors;
use super::{capabilities, heap, supervisor, tree, trial};
use crate::kernel::{self, Fork};
use crate::layout::SystemView;
use crate::message::{Hello, Order, Refusal, Report};
use crate::seccomp::{Debugger, Filter, FilterOptions, Ipc, NoFilter, NotifySet, Refusals};
use crate::seen;
use crate::spec::Attempts;
use crate::walls::SystemGrants;

/// What the launcher knows when a cell is forked off.
pub(crate) struct Surroundings {
    /// Landlock ABI of the kernel.
    pub(crate) landlock_abi: Option<u32>,
    /// The system's part of every policy.
    pub(crate) system: SystemGrants,
    /// The system's part of every root of a cell's own.
    pub(crate) view: SystemView,
    /// The lists of refused system calls.
    pub(crate) filters: Filters,
    /// The image this process runs, whatever has been built in its place since.
    pub(crate) own_image: OwnedFd,
    /// Who must not be reached from inside.
    pub(crate) outsiders: Outsiders,
    /// The control groups of this run's cells.
    pub(crate) groups: RefCell<Groups>,
}

impl Surroundings {
    /// A control group for the next cell, or why there is none.
    fn group(&self) -> Result<Group, String> {
        let harness: Vec<Pid> =
            [self.outsiders.launcher, self.outsiders.harness].into_iter().flatten().collect();
        self.groups.borrow_mut().next(&harness)
    }
}

/// The filters of cells that may trace nobody, and of those that may.
pub(crate) struct Filters {
    usual: OfDetectors,
    debugger: OfDetectors,
}

/// The filter of each detector, assembled once: for cells with an ipc namespace of their own, and for the others.
struct OfDetectors {
    open: [Result<Filter, NoFilter>; 2],
    narrow: [Result<Filter, NoFilter>; 2],
    silent: [Result<Filter, NoFilter>; 2],
}

impl OfDetectors {
    fn build(debugger: Debugger) -> Self {
        let built = |notify, refusals| {
            [Ipc::Own, Ipc::Shared]
                .map(|ipc| Filter::build(&FilterOptions { notify, refusals, ipc, debugger }))
        };
        Self {
            open: built(NotifySet::Open, Refusals::Recorded),
            narrow: built(NotifySet::Narrow, Refusals::Recorded),
            silent: built(NotifySet::Off, Refusals::Silent),
        }
    }
}

impl Filters {
    fn build() -> Self {
        Self { usual: OfDetectors::build(Debugger::Refused), debugger: OfDetectors::build(Debugger::Allowed) }
    }

    /// The one for an order: beside the kernel's records a narrow one is enough, and where nobody listens it only refuses.
    pub(crate) fn of(&self, order: &Order) -> Result<&Filter, &NoFilter> {
        let filters = match order.policy.debugger {
            Debugger::Refused => &self.usual,
            Debugger::Allowed => &self.debugger,
        };
        let pair = match order.policy.attempts {
            Attempts::Unheard => &filters.silent,
            Attempts::Recorded if order.canary.is_some() => &filters.narrow,
            Attempts::Recorded => &filters.open,
        };
        pair[usize::from(!seen::has_namespaces(order.level))].as_ref()
    }
}

/// The descriptors that come with an order.
pub(crate) struct Connection {
    /// The order's JSON.
    pub(crate) order: OwnedFd,
    /// Reports to, and stop requests from, the harness.
    pub(crate) socket: OwnedFd,
    /// The program's stdout.
    pub(crate) stdout: OwnedFd,
    /// The program's stderr.
    pub(crate) stderr: OwnedFd,
}

/// Body of the hidden subcommand `sandbox-exec`. To be called first thing in `main`, before any thread exists; stdin
/// must be the socket that [`crate::Launcher::start`] makes.
pub fn sandbox_exec_main() -> ExitCode {
    if std::env::args().nth(2).as_deref() == Some(trial::ARGUMENT) {
        return trial::main();
    }
    let control = match take_control() {
        Ok(control) => control,
        Err(error) => return complain(&format!("stdin is not the launcher's socket: {error}")),
    };
    match set_up() {
        Ok((surroundings, signals)) => {
            heap::fill_holes();
            greet(&control, None);
            serve(control, signals, &surroundings);
            ExitCode::SUCCESS
        }
        Err(error) => {
            greet(&control, Some(error.to_string()));
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stderr, reason = "started by hand, without a socket, there is nobody else to tell")]
fn complain(what: &str) -> ExitCode {
    eprintln!("sandbox-exec: {what}; this subcommand is for the harness alone");
    ExitCode::from(70)
}

/// Moves the socket away from descriptor 0, puts /dev/null there and closes whatever else was inherited.
fn take_control() -> std::io::Result<OwnedFd> {
    rustix::net::sockopt::socket_type(rustix::stdio::stdin())?;
    kernel::close_from(3)?;
    let control = rustix::io::dup(rustix::stdio::stdin())?;
    rustix::io::fcntl_setfd(&control, FdFlags::CLOEXEC)?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    kernel::place_descriptor(&null, 0)?;
    Ok(control)
}

pub(crate) fn set_up() -> std::io::Result<(Surroundings, OwnedFd)> {
    let own_image = rustix::fs::open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Ctrl-C in a terminal is for the harness, which then ends its cells in order.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/")?;
    // A parent may have ignored SIGCHLD, and with it every exit status here.
    kernel::reset_signals();
    // Every cell inherits it. The launcher itself keeps what it may do: the set is only looked at by an exec.
    capabilities::empty_bounding_set()?;
    let signals = kernel::signal_descriptor(&[Signal::CHILD, Signal::TERM])?;
    // Every cell's grounds ask for it.
    let _ = crate::system_paths::granted_system_paths();
    let surroundings = Surroundings {
        landlock_abi: kernel::landlock_version().ok(),
        system: SystemGrants::open()?,
        view: SystemView::read(),
        filters: Filters::build(),
        own_image,
        outsiders: Outsiders {
            launcher: Some(rustix::process::getpid()),
            harness: rustix::process::getppid().filter(|pid| !pid.is_init()),
            init: None,
        },
        groups: RefCell::default(),
    };
    Ok((surroundings, signals))
}

fn greet(control: &OwnedFd, fault: Option<String>) {
    let hello = serde_json::to_vec(&Hello { fault }).expect("our own words are valid JSON values");
    // A harness that is gone by now is noticed by the next read.
    let _ = rustix::net::send(control, &hello, SendFlags::NOSIGNAL);
}

fn serve(control: OwnedFd, signals: OwnedFd, surroundings: &Surroundings) {
    let mut supervisors = Supervisors::default();
    loop {
        let mut fds = vec![
            PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        fds.extend(supervisors.ways());
        if matches!(rustix::event::poll(&mut fds, None), Err(error) if error != Errno::INTR) {
            break;
        }
        let (order_waits, signal_waits) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
        supervisors.hear();
        if signal_waits {
            if kernel::take_signals(signals.as_fd()).contains(&Signal::TERM.as_raw()) {
                break;
            }
            bury(&mut supervisors, &signals, &surroundings.groups);
        }
        if order_waits {
            match receive(&control) {
                Ok(Some(connection)) => {
                    if !supervisors.hand_over(&connection) {
                        start_supervisor(connection, &control, surroundings, &mut supervisors);
                    }
                }
                Ok(None) => break,
                // A malformed order has no socket on which to answer; its sender sees the end of its connection.
                Err(_) => {}
            }
        }
    }
    drop(control);
    end_supervisors(supervisors, &signals);
    surroundings.groups.borrow_mut().remove();
}

/// Takes leave of supervisors that have ended. One that was killed leaves its tree to this process: end that as well.
fn bury(supervisors: &mut Supervisors, signals: &OwnedFd, groups: &RefCell<Groups>) {
    let mut orphans = false;
    let ended = tree::reap().ended;
    for dead in &ended {
        orphans |= !supervisors.remove(dead.pid) || dead.status.code().is_none();
    }
    if orphans {
        let remains = tree::end_all(signals.as_fd(), &supervisors.pids());
        for dead in remains.ended {
            supervisors.remove(dead.pid);
        }
    }
    ended.iter().for_each(|dead| groups.borrow_mut().take_back(dead.pid));
}

fn end_supervisors(mut supervisors: Supervisors, signals: &OwnedFd) {
    for pid in supervisors.pids() {
        let _ = rustix::process::kill_process(pid, Signal::TERM);
    }
    // Each supervisor has its own patience with its tree, so this wait is bounded.
    while !supervisors.is_empty() {
        let reaped = tree::reap();
        for dead in &reaped.ended {
            supervisors.remove(dead.pid);
        }
        if reaped.empty {
            break;
        }
        if !supervisors.is_empty() {
            let mut fds = [PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
            let _ = rustix::event::poll(&mut fds, None);
            kernel::take_signals(signals.as_fd());
        }
    }
    tree::end_all(signals.as_fd(), &HashSet::new());
}

/// One order, or `None` at the end of the connection.
pub(crate) fn receive(control: &OwnedFd) -> std::io::Result<Option<Connection>> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8; 1];
    let mut parts = [std::io::IoSliceMut::new(&mut byte)];
    let received = rustix::net::recvmsg(control, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut fds: Vec<OwnedFd> = Vec::with_capacity(4);
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            fds.extend(rights);
        }
    }
    let [order, socket, stdout, stderr]: [OwnedFd; 4] =
        fds.try_into().map_err(|_| std::io::Error::from(std::io::ErrorKind::InvalidData))?;
    Ok(Some(Connection { order, socket, stdout, stderr }))
}

/// Forks one more supervisor, for this cell and those after it.
fn start_supervisor(
    connection: Connection,
    control: &OwnedFd,
    surroundings: &Surroundings,
    supervisors: &mut Supervisors,
) {
    let launcher = rustix::process::getpid();
    let group = surroundings.group();
    let forked =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(std::io::Error::from)
            .and_then(|ways| Ok((kernel::fork()?, ways)));
    match forked {
        Ok((Fork::Parent(pid), (way, _))) => {
            if let Ok(group) = group {
                surroundings.groups.borrow_mut().lend(pid, group);
            }
            supervisors.add(pid, way);
        }
        Ok((Fork::Child, (way, theirs))) => {
            supervisors.let_go();
            drop(way);
            // Or the harness would not see the launcher's end while this supervisor lives.
            let _ =
                kernel::place_descriptor(rustix::stdio::stdin(), std::os::fd::AsRawFd::as_raw_fd(control));
            supervisor::supervise(connection, (launcher, theirs), surroundings, &group)
        }
        Err(error) => {
            let refusal = Refusal::setup("fork the cell's supervisor", error);
            supervisor::report(&connection.socket, &Report::Refused(refusal));
        }
    }
}

/// Reads an order's JSON from its memfd.
pub(crate) fn read_order(memfd: &OwnedFd) -> std::io::Result<Order> {
    let mut text = Vec::new();
    let mut offset = 0;
    let mut chunk = [0u8; 16 * 1024];
    loop {
        match rustix::io::pread(memfd, &mut chunk, offset)? {
            0 => break,
            count => {
                text.extend_from_slice(&chunk[..count]);
                offset += count as u64;
            }
        }
    }
    serde_json::from_slice(&text).map_err(std::io::Error::from)
}
