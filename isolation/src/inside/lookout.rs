//! The supervisor's ear: from the moment the agent process has installed its filter, trapped calls are answered here.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::Pid;
use serde_json::value::RawValue;

use crate::classify::Grounds;
use crate::message::Refusal;
use crate::notify::{NotifySupervisor, Watched, take_over};
use crate::seccomp::Filter;

/// How long putting the walls up may take before it counts as hung.
const SETUP_PATIENCE: Duration = Duration::from_secs(20);

/// A listener that the agent process will hand over.
pub(crate) struct Expected {
    /// Where it arrives.
    pub(crate) socket: OwnedFd,
    /// The filter that makes it.
    pub(crate) filter: Filter,
    /// By which attempts are judged.
    pub(crate) grounds: Grounds,
}

/// Hears of attempts, if anybody does.
#[derive(Default)]
pub(crate) struct Lookout {
    watch: Option<NotifySupervisor>,
}

impl Lookout {
    /// What to poll for readability.
    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().and_then(NotifySupervisor::fd)
    }

    /// Answers what waits; never waits itself.
    pub(crate) fn turn(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.handle_ready();
        }
    }

    /// What was heard, once the cell is empty; none = nobody listened.
    pub(crate) fn finish(self) -> Option<Watched> {
        self.watch.map(NotifySupervisor::finish)
    }
}

/// Listens to the agent process until its exec, which closes its end: its walls, or why not. `leader` finds its
/// process id as it is here.
pub(crate) fn until_exec(
    heard: OwnedFd,
    mut expected: Option<Expected>,
    leader: impl Fn() -> Option<Pid>,
) -> Result<(Box<RawValue>, Lookout), Refusal> {
    let fail = |error: Errno| Refusal::setup("listen to the agent process", error);
    let deadline = Instant::now() + SETUP_PATIENCE;
    let mut lookout = Lookout::default();
    let mut words = Vec::new();
    loop {
        let mut fds = vec![PollFd::from_borrowed_fd(heard.as_fd(), PollFlags::IN)];
        let ear = expected.as_ref().map(|expected| expected.socket.as_fd()).or_else(|| lookout.fd());
        fds.extend(ear.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let left = deadline.saturating_duration_since(Instant::now());
        match rustix::event::poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
            Ok(0) => {
                return Err(Refusal::setup("put up the walls", format!("not done in {SETUP_PATIENCE:?}")));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(fail(error)),
        }
        let (spoken, called) =
            (!fds[0].revents().is_empty(), fds.get(1).is_some_and(|fd| !fd.revents().is_empty()));
        if called {
            match expected.take() {
                // An end without a listener: the agent process has none to give, or is gone.
                Some(Expected { socket, filter, grounds }) => {
                    let listener = take_over(socket).ok();
                    lookout.watch = listener.map(|fd| NotifySupervisor::new(fd, filter, grounds, leader()));
                }
                None => lookout.turn(),
            }
        }
        if spoken && !read_more(&heard, &mut words).map_err(fail)? {
            break;
        }
    }
    Ok((last_word(&words)?, lookout))
}

/// False at the end.
fn read_more(heard: &OwnedFd, words: &mut Vec<u8>) -> rustix::io::Result<bool> {
    let mut chunk = [0u8; 16 * 1024];
    let count = rustix::io::read(heard, &mut chunk)?;
    words.extend_from_slice(&chunk[..count]);
    Ok(count > 0)
}

/// The walls as the agent process describes them ([`crate::message::Raised`]), to be passed on as they are.
fn last_word(words: &[u8]) -> Result<Box<RawValue>, Refusal> {
    let last = words.split(|byte| *byte == b'\n').rfind(|line| !line.is_empty());
    match last {
        None => Err(Refusal::setup("put up the walls", "the agent process ended without a word")),
        Some(line) => serde_json::from_slice(line)
            .map_err(|error| Refusal::setup("understand the agent process", error))?,
    }
}
