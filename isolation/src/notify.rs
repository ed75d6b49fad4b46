//! User notification: the cell's supervisor hears of calls before they run, writes them down, and lets them run.
//!
//! It is a logger. What it reads from a caller's memory may be rewritten by another thread before the kernel reads it,
//! so it never decides about a path: Landlock does. The one error it answers is for calls whose *registers* alone refuse
//! them ([`crate::seccomp::Refusals::Recorded`]).
//!
//! ```text
//! let mut watch = NotifySupervisor::new(listener, filter.clone(), grounds, Some(leader));
//! loop {
//!     poll(signals, socket, watch.fd() /* None once nobody can call any more */);
//!     watch.handle_ready();            // never waits; at most 256 calls a turn, so that the other descriptors get theirs
//! }
//! let watched: Watched = watch.finish();                       // what was tried, and whether that is all of it
//! ```
//!
//! Poll it from the moment it is taken over: a trapped call waits for as long as nobody answers, and in the open set the
//! agent process's own exec is trapped. Everything that process calls before its exec is the launcher's own and is not
//! written down. Should the supervisor die, the kernel answers trapped calls with `ENOSYS`.
//!
//! Known blind spots: text swapped by a second thread after it was read (Landlock still holds, only the record shows the
//! other name), and calls that io_uring would make (refused by the filter).

mod handover;
mod listener;
mod memory;
mod resolve;
mod shape;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use crate::attempt::{Act, Attempt, Tally, Target};
use crate::classify::{self, Grounds, Metadata, ProcView};
use crate::seccomp::{Filter, NotifySet, call_name};
use listener::{Listener, Next, Trapped};
use memory::{Addressed, Memory};
use resolve::View;

pub use handover::{hand_over, take_over};

/// Calls answered in one turn.
const PER_TURN: u32 = 256;

/// What a supervisor heard.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Watched {
    /// Attempts outside the cell's own space and the system's readable part.
    pub attempts: Vec<Attempt>,
    /// Why the list is not complete; none = it is.
    pub hole: Option<String>,
    /// Calls answered, the cell's own included.
    pub calls: u64,
}

/// Hears the calls of one cell.
pub struct NotifySupervisor {
    listener: Listener,
    filter: Filter,
    grounds: Grounds,
    launching: Option<u32>,
    tally: Tally,
    calls: u64,
    unanswered: u64,
    closed: bool,
}

impl NotifySupervisor {
    /// `launching` is the process that installed the filter and has not yet become the program: where exec is trapped,
    /// what it calls up to its exec is not written down. In the narrow set it calls nothing that is trapped.
    pub fn new(listener: OwnedFd, filter: Filter, grounds: Grounds, launching: Option<Pid>) -> Self {
        let hears_exec = filter.options().notify >= NotifySet::Open;
        Self {
            listener: Listener::new(listener),
            filter,
            grounds,
            launching: launching.filter(|_| hears_exec).map(|pid| pid.as_raw_nonzero().get().unsigned_abs()),
            tally: Tally::default(),
            calls: 0,
            unanswered: 0,
            closed: false,
        }
    }

    /// What to poll for readability; none once no process with the filter is left.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.closed).then(|| self.listener.fd())
    }

    /// Answers what waits. Returns how many calls that were; 256 = there may be more.
    pub fn handle_ready(&mut self) -> u32 {
        for turn in 0..PER_TURN {
            match self.listener.next() {
                Next::Trapped(trapped) => self.answer(&trapped),
                Next::Nothing => return turn,
                Next::Closed => {
                    self.closed = true;
                    return turn;
                }
            }
        }
        PER_TURN
    }

    /// What was heard. To be asked when the cell is empty.
    pub fn finish(mut self) -> Watched {
        while !self.closed && self.handle_ready() == PER_TURN {}
        let hole = match (self.tally.overflow(), self.unanswered) {
            (0, 0) => None,
            (0, calls) => Some(format!("{calls} calls could not be answered")),
            (attempts, _) => Some(format!(
                "{attempts} attempts beyond the {} different ones that are kept",
                crate::attempt::MOST_DIFFERENT
            )),
        };
        Watched { attempts: self.tally.into_attempts(), hole, calls: self.calls }
    }

    fn answer(&mut self, trapped: &Trapped) {
        self.calls += 1;
        let refusal = self.filter.refusal(&trapped.call);
        let name = call_name(trapped.call.number).unwrap_or("call");
        let attempts = match (self.is_launch(trapped.pid, name), refusal) {
            (true, _) => Vec::new(),
            (false, Some(_)) => vec![self.refused(trapped, name)],
            (false, None) => self.asked(trapped, name),
        };
        // What was read from a process that is gone may have been another one's.
        if self.listener.waits(trapped.id) {
            for attempt in attempts {
                if classify::classify(&attempt, &self.grounds, &[]).is_kept() {
                    self.tally.add(attempt);
                }
            }
        }
        let answered = match refusal {
            Some(errno) => self.listener.refuse(trapped.id, errno),
            None => self.listener.let_run(trapped.id),
        };
        // A caller that was killed meanwhile needs no answer.
        if let Err(error) = answered
            && error.raw_os_error() != Some(libc::ENOENT)
        {
            self.unanswered += 1;
        }
    }

    /// Calls of the agent process up to its exec are the launcher's own.
    fn is_launch(&mut self, pid: u32, name: &str) -> bool {
        let launching = self.launching == Some(pid);
        if launching && ["execve", "execveat"].contains(&name) {
            self.launching = None;
        }
        launching
    }

    /// Says that the agent process has become the program; where its exec was heard, that is known already.
    pub fn launched(&mut self) {
        self.launching = None;
    }

    fn refused(&self, trapped: &Trapped, name: &str) -> Attempt {
        let arguments = &trapped.call.arguments;
        let whom = match name {
            // Attach and seize; the other requests are about oneself or one's own tracees.
            "ptrace" if matches!(arguments[0], 16 | 0x4206) => Some(arguments[1]),
            "process_vm_readv" | "process_vm_writev" => Some(arguments[0]),
            _ => None,
        };
        let detail = match name {
            "socket" | "socketpair" => {
                format!("family {} type {} protocol {}", arguments[0], arguments[1] & 0xf, arguments[2])
            }
            _ => "refused to everybody".to_owned(),
        };
        let (act, target) = match whom {
            Some(pid) if !self.is_own(pid) => (Act::Control, Target::Outsider(format!("pid {pid}"))),
            Some(_) | None => (Act::Call, Target::Own(detail)),
        };
        Attempt { act, denied: true, found: None, ..blank(name, target, trapped.pid) }
    }

    /// Is this process id, as the cell names it, one of the cell's? With its own processes alone in view, all are.
    fn is_own(&self, pid: u64) -> bool {
        if self.grounds.proc == ProcView::Own {
            return true;
        }
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let mut at = i32::try_from(pid).ok();
        for _ in 0..64 {
            match at {
                Some(pid) if pid == own => return true,
                Some(pid) if pid > 1 => at = parent_of(pid),
                Some(_) | None => return false,
            }
        }
        false
    }

    fn asked(&self, trapped: &Trapped, name: &str) -> Vec<Attempt> {
        if ["connect", "bind"].contains(&name) {
            return self.addressed(trapped, name).into_iter().collect();
        }
        let arguments = &trapped.call.arguments;
        let memory = Memory::of(trapped.pid);
        let how = || memory.as_ref()?.word(arguments[2]);
        let Some(shape) = shape::shape(name, arguments, how) else { return Vec::new() };
        let view = View::of(trapped.pid);
        let mut attempts = Vec::with_capacity(shape.places.len());
        for place in &shape.places {
            let found = view.as_ref().and_then(|view| locate(view, memory.as_ref(), place, arguments));
            let attempt = match found {
                Some(Located::Nowhere) => continue,
                Some(Located::At(at)) => self.at(trapped, name, shape.act, at),
                None => Attempt {
                    act: shape.act,
                    denied: false,
                    found: None,
                    ..blank(name, Target::Unreadable, trapped.pid)
                },
            };
            attempts.push(attempt);
        }
        attempts
    }

    fn at(&self, trapped: &Trapped, name: &str, act: Act, place: resolve::Place) -> Attempt {
        let metadata = crate::seccomp::is_metadata(name);
        let denied = match act {
            Act::Write if metadata => {
                self.grounds.metadata == Metadata::Refused && !self.grounds.allows(act, &place.path)
            }
            Act::Look | Act::Read | Act::Write | Act::Execute | Act::Connect | Act::Control | Act::Call => {
                !self.grounds.allows(act, &place.path)
            }
        };
        let found = Some(place.found);
        Attempt { act, denied, found, ..blank(name, Target::Path(place.path), trapped.pid) }
    }

    fn addressed(&self, trapped: &Trapped, name: &str) -> Option<Attempt> {
        let arguments = &trapped.call.arguments;
        let memory = Memory::of(trapped.pid);
        let address = memory.and_then(|memory| memory.address(arguments[1], arguments[2]));
        let act = if name == "bind" { Act::Write } else { Act::Connect };
        // Beside the tap, TCP and abstract sockets are the kernel's to record.
        let by_kernel = self.filter.options().notify == NotifySet::Narrow;
        let (target, denied, found) = match address {
            None => (Target::Unreadable, false, None),
            Some(Addressed::Path(path)) => {
                let place = View::of(trapped.pid)?.resolve(libc::AT_FDCWD, &path, true)?;
                // Below Landlock ABI 9 nothing refuses a socket by its path.
                (Target::Path(place.path), false, Some(place.found))
            }
            Some(Addressed::Other(_)) => return None,
            Some(_) if by_kernel || name == "bind" => return None,
            Some(Addressed::Internet(address)) => (Target::Address(address.to_string()), true, None),
            // A name in the cell's own processes cannot be told from another's here; the scope rule refuses the others.
            Some(Addressed::Abstract(_)) => return None,
        };
        Some(Attempt { act, denied, found, ..blank(name, target, trapped.pid) })
    }
}

enum Located {
    At(resolve::Place),
    /// A descriptor that names no path, or a null pointer: nothing outside is meant.
    Nowhere,
}

/// `None` = it could not be read.
fn locate(
    view: &View,
    memory: Option<&Memory>,
    place: &shape::Place,
    arguments: &[u64; 6],
) -> Option<Located> {
    let fd = place.dir.map_or(libc::AT_FDCWD, |index| arguments[usize::from(index)] as i32);
    let address = place.path.map_or(0, |index| arguments[usize::from(index)]);
    let path = match address {
        0 => PathBuf::new(),
        address => memory?.path(address)?,
    };
    if path.as_os_str().is_empty() {
        // The descriptor itself is meant, or nothing: the kernel will say so.
        let named = if fd < 0 && fd != libc::AT_FDCWD { None } else { view.descriptor(fd) };
        return Some(match named.filter(|path| path.is_absolute()) {
            Some(path) => Located::At(resolve::Place { path, found: true }),
            None => Located::Nowhere,
        });
    }
    match view.resolve(fd, &path, place.follow) {
        Some(at) => Some(Located::At(at)),
        // A relative path from a descriptor that is not open leads nowhere.
        None => Some(Located::Nowhere),
    }
}

fn blank(name: &str, target: Target, pid: u32) -> Attempt {
    let comm = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    let process = String::from_utf8_lossy(&comm).trim_end().to_owned();
    Attempt {
        act: Act::Call,
        operation: name.to_owned(),
        target,
        process,
        denied: true,
        found: None,
        count: 1,
    }
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}
