//! A cell that runs: its output is drained, its cap kept, its end awaited.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bench_core::evidence::Housekeeping;
use bench_core::{IsolationEvent, IsolationEvidence};
use rustix::net::SendFlags;
use tokio::io::AsyncReadExt;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::attempt::Attempt;
use crate::audit::Watch;
use crate::captured::{Capture, Captured};
use crate::classify::{self, Grounds};
use crate::disk::DiskWatch;
use crate::error::LaunchError;
use crate::launcher::receive;
use crate::message::{Ended, Raised, Report, StopCause};

/// How long pipes may stay open after a tree that could not be ended.
const DRAIN_PATIENCE: Duration = Duration::from_secs(1);

/// How often the disk is looked at.
const DISK_LOOK: Duration = Duration::from_millis(250);

/// A program behind its walls. Dropping it kills it.
pub struct RunningCell {
    socket: Arc<AsyncFd<OwnedFd>>,
    follower: Option<JoinHandle<Result<CellExit, LaunchError>>>,
    /// What the follower says as soon as the cell is empty; nothing where it ends with an error before.
    news: Option<oneshot::Receiver<CellExit>>,
    emptied: Option<CellExit>,
    exit: Option<CellExit>,
    raised: Raised,
}

/// How a cell ended.
#[derive(Debug, Clone)]
pub struct CellExit {
    /// Exit code of the leader; none when a signal ended it.
    pub exit_code: Option<i32>,
    /// Signal that ended the leader.
    pub signal: Option<i32>,
    /// Why it was stopped; none when it ended by itself.
    pub stopped_by: Option<Stop>,
    /// Milliseconds from exec to the leader's exit.
    pub wall_ms: f64,
    /// User and system time of the whole tree, in milliseconds; without putting up the walls.
    pub cpu_ms: f64,
    /// Largest resident set of a single process, in bytes; never below that of the launcher (a few MiB), from which
    /// the leader was forked.
    pub peak_rss_bytes: u64,
    /// What it wrote to stdout.
    pub stdout: Captured,
    /// What it wrote to stderr.
    pub stderr: Captured,
    /// Milliseconds from the empty cell to the kernel's last record of it; none = nobody listened to its records.
    pub records_ms: Option<f64>,
    /// The walls, the probes, and how empty the cell was at its end.
    pub isolation: IsolationEvidence,
}

/// Why a cell was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It ran into its wall limit.
    WallLimit,
    /// It wrote more than its output cap.
    OutputCap,
    /// Workspace, HOME and TMPDIR held more than [`crate::disk::DISK_CAP_BYTES`] or [`crate::disk::DISK_CAP_ENTRIES`].
    DiskCap,
    /// [`RunningCell::kill`].
    Asked,
}

/// By what a cell's attempts are judged.
pub(crate) struct Ground {
    pub(crate) grounds: Grounds,
    pub(crate) housekeeping: Vec<Housekeeping>,
    /// Who hears the kernel's own records of it.
    pub(crate) watch: Option<Watch>,
    /// What it puts on the disk.
    pub(crate) disk: DiskWatch,
}

/// The output of a cell, still being written.
pub(crate) struct Streams {
    pub(crate) stdout: pipe::Receiver,
    pub(crate) stderr: pipe::Receiver,
    pub(crate) cap_bytes: u64,
}

impl RunningCell {
    /// Follows a cell that has started, in a task of its own: its pipes must be drained whether or not anybody waits.
    pub(crate) fn follow(socket: AsyncFd<OwnedFd>, streams: Streams, raised: Raised, ground: Ground) -> Self {
        let socket = Arc::new(socket);
        let (tell, news) = oneshot::channel();
        let follower = tokio::spawn(follow(Arc::clone(&socket), streams, raised.clone(), (ground, tell)));
        Self { socket, follower: Some(follower), news: Some(news), emptied: None, exit: None, raised }
    }

    /// Waits until the program and everything that it started have ended, not for the kernel's own records of them, which
    /// come some time later: until [`RunningCell::wait`] has waited for those, the evidence has a hole. May be called
    /// again, or be cancelled.
    pub async fn emptied(&mut self) -> Result<CellExit, LaunchError> {
        if let Some(news) = &mut self.news {
            self.emptied = news.await.ok();
            self.news = None;
        }
        match &self.emptied {
            Some(exit) => Ok(exit.clone()),
            // It ended before it could say so.
            None => self.wait().await,
        }
    }

    /// Waits until the program and everything that it started have ended, and until everything about them is known. May be
    /// called again, or be cancelled.
    pub async fn wait(&mut self) -> Result<CellExit, LaunchError> {
        if let Some(exit) = &self.exit {
            return Ok(exit.clone());
        }
        let Some(follower) = &mut self.follower else {
            return Err(LaunchError::setup("wait for the cell", "its end was reported already, as an error"));
        };
        let joined = follower.await;
        self.follower = None;
        let exit = joined.map_err(|error| LaunchError::setup("follow the cell", error))??;
        self.exit = Some(exit.clone());
        Ok(exit)
    }

    /// The walls as they stand; that the cell is empty again is not known before [`CellExit::isolation`].
    pub fn isolation_so_far(&self) -> IsolationEvidence {
        evidence(self.raised.clone(), Emptied { quiescent: false, survivors_killed: 0 })
    }

    /// Asks for its end: SIGTERM, a short grace, SIGKILL for the whole tree. [`RunningCell::wait`] then says so.
    pub fn kill(&self) {
        ask(&self.socket, StopCause::Asked);
    }
}

impl Drop for RunningCell {
    fn drop(&mut self) {
        // At once, not when the runtime next looks at the follower; the end of the socket says the same again.
        if let Some(follower) = &self.follower {
            ask(&self.socket, StopCause::Asked);
            follower.abort();
        }
    }
}

fn ask(socket: &AsyncFd<OwnedFd>, cause: StopCause) {
    // A supervisor that has ended has nothing left to stop.
    let _ =
        rustix::net::send(socket.get_ref(), cause.as_datagram(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

async fn follow(
    socket: Arc<AsyncFd<OwnedFd>>,
    streams: Streams,
    raised: Raised,
    (mut ground, tell): (Ground, oneshot::Sender<CellExit>),
) -> Result<CellExit, LaunchError> {
    let mut draining = Draining::of(streams);
    let mut told = std::pin::pin!(hear_out(&socket));
    let mut looks = tokio::time::interval_at(tokio::time::Instant::now() + DISK_LOOK, DISK_LOOK);
    let (ended, heard) = loop {
        tokio::select! {
            told = &mut told => break told?,
            over = draining.step(), if draining.open() => if over {
                ask(&socket, StopCause::OutputCap);
            },
            _ = looks.tick() => if ground.disk.is_over() {
                ask(&socket, StopCause::DiskCap);
            }
        }
    };
    // An empty tree holds no pipe; a tree that could not be ended may hold one for ever.
    let rest = async {
        while draining.open() {
            draining.step().await;
        }
    };
    let _ = tokio::time::timeout(DRAIN_PATIENCE, rest).await;
    let empty_at = Instant::now();
    let exit = draining.exit(ended, raised)?;
    let Some(watch) = ground.watch.take() else {
        return Ok(exit.knowing(heard.judged(&ground)));
    };
    // Whoever no longer waits for it waits for the records instead.
    let _ = tell.send(exit.clone().knowing(Seen::unsettled()));
    let heard = heard.with_records(watch).await;
    let records_ms = Some(empty_at.elapsed().as_secs_f64() * 1e3);
    Ok(CellExit { records_ms, ..exit.knowing(heard.judged(&ground)) })
}

/// What was heard of a cell's attempts, piece by piece.
#[derive(Default)]
struct HeardOf {
    attempts: Vec<Attempt>,
    /// None = nobody listened; else why something may be missing, if it may.
    closed: Option<Option<String>>,
}

/// What a cell tried, judged.
#[derive(Default)]
struct Seen {
    events: Vec<IsolationEvent>,
    complete: Option<bool>,
    hole: Option<String>,
}

impl Seen {
    /// Of a cell whose records by the kernel are still to come.
    fn unsettled() -> Self {
        let hole = Some("the kernel's records were not waited for".to_owned());
        Self { events: Vec::new(), complete: Some(false), hole }
    }
}

impl HeardOf {
    /// Adds what the kernel recorded, once it has said how much that is.
    async fn with_records(mut self, watch: Watch) -> Self {
        let heard = watch.settle().await;
        self.attempts.extend(heard.attempts);
        let hole = self.closed.flatten().into_iter().chain(heard.hole).reduce(|a, b| format!("{a}; {b}"));
        self.closed = Some(hole);
        self
    }

    fn judged(self, ground: &Ground) -> Seen {
        Seen {
            events: classify::events(&self.attempts, &ground.grounds, &ground.housekeeping),
            complete: self.closed.as_ref().map(Option::is_none),
            hole: self.closed.flatten(),
        }
    }
}

/// Everything up to the cell's end.
async fn hear_out(socket: &AsyncFd<OwnedFd>) -> Result<(Ended, HeardOf), LaunchError> {
    let mut heard = HeardOf::default();
    loop {
        match receive(socket).await? {
            Report::Attempts(attempts) => heard.attempts.extend(attempts),
            Report::Watched { hole, calls: _ } => heard.closed = Some(hole),
            Report::Ended(ended) => return Ok((ended, heard)),
            Report::Listening | Report::Started { .. } | Report::Refused(_) => {
                return Err(LaunchError::setup("follow the cell", "its supervisor repeats itself"));
            }
        }
    }
}

struct Draining {
    stdout: Drain,
    stderr: Drain,
    cap_bytes: u64,
    over: bool,
}

struct Drain {
    pipe: Option<pipe::Receiver>,
    buffer: Vec<u8>,
    capture: Capture,
}

impl Drain {
    fn of(pipe: pipe::Receiver) -> Self {
        Self { pipe: Some(pipe), buffer: Vec::with_capacity(16 * 1024), capture: Capture::default() }
    }

    /// Reads once; cancelling it loses nothing.
    async fn step(&mut self) {
        let Some(pipe) = &mut self.pipe else { return std::future::pending().await };
        self.buffer.clear();
        match pipe.read_buf(&mut self.buffer).await {
            Ok(1..) => self.capture.take(&self.buffer),
            Ok(0) | Err(_) => self.pipe = None,
        }
    }
}

impl Draining {
    fn of(streams: Streams) -> Self {
        Self {
            stdout: Drain::of(streams.stdout),
            stderr: Drain::of(streams.stderr),
            cap_bytes: streams.cap_bytes,
            over: false,
        }
    }

    fn open(&self) -> bool {
        self.stdout.pipe.is_some() || self.stderr.pipe.is_some()
    }

    /// Reads once; true when that went over the cap for the first time.
    async fn step(&mut self) -> bool {
        tokio::select! {
            () = self.stdout.step() => {}
            () = self.stderr.step() => {}
        }
        let total = self.stdout.capture.total_bytes() + self.stderr.capture.total_bytes();
        let first = total > self.cap_bytes && !self.over;
        self.over |= first;
        first
    }

    fn exit(self, ended: Ended, raised: Raised) -> Result<CellExit, LaunchError> {
        let stopped_by = match ended.stopped_by {
            None => None,
            Some(StopCause::WallLimit) => Some(Stop::WallLimit),
            Some(StopCause::OutputCap) => Some(Stop::OutputCap),
            Some(StopCause::DiskCap) => Some(Stop::DiskCap),
            Some(StopCause::Asked) => Some(Stop::Asked),
            Some(StopCause::Abandoned) => {
                return Err(LaunchError::LauncherDied { detail: "this cell was ended with it".to_owned() });
            }
        };
        Ok(CellExit {
            exit_code: ended.exit_code,
            signal: ended.signal,
            stopped_by,
            wall_ms: ended.exit_at_ns.saturating_sub(raised.exec_at_ns) as f64 / 1e6,
            cpu_ms: ended.cpu_us.saturating_sub(raised.setup_cpu_us) as f64 / 1e3,
            peak_rss_bytes: ended.peak_rss_bytes,
            stdout: self.stdout.capture.finish(),
            stderr: self.stderr.capture.finish(),
            records_ms: None,
            isolation: evidence(
                raised,
                Emptied { quiescent: ended.quiescent, survivors_killed: ended.survivors_killed },
            ),
        })
    }
}

/// How empty a cell was at its end.
struct Emptied {
    quiescent: bool,
    survivors_killed: u32,
}

impl CellExit {
    /// With what the cell tried.
    fn knowing(mut self, seen: Seen) -> Self {
        let hole = seen.hole.map(|hole| format!("{}{hole}", bench_core::evidence::HOLE));
        self.isolation.missing.extend(hole.map(Into::into));
        self.isolation.events = seen.events;
        self.isolation.evidence_complete = seen.complete;
        self
    }
}

/// The walls and the end; what was tried is [`CellExit::knowing`]'s.
fn evidence(raised: Raised, emptied: Emptied) -> IsolationEvidence {
    IsolationEvidence {
        level: raised.level,
        requested: raised.requested,
        enforced: raised.enforced,
        missing: raised.missing.into_iter().map(Into::into).collect(),
        landlock_abi: raised.landlock_abi,
        uid: raised.uid,
        detector: raised.detector.into(),
        probes: raised.probes,
        events: Vec::new(),
        evidence_complete: None,
        quiescent: emptied.quiescent,
        survivors_killed: emptied.survivors_killed,
    }
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    use rustix::pipe::PipeFlags;

    use super::*;

    /// A cell that has ended, whose records the kernel has not told yet.
    fn ended(watch: Watch) -> RunningCell {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let reports = [
            serde_json::json!({"Watched": {"hole": null, "calls": 0}}),
            serde_json::json!({"Ended": {"exit_code": 0, "signal": null, "stopped_by": null, "exit_at_ns": 2, "cpu_us": 1,
                "peak_rss_bytes": 1, "survivors_killed": 0, "quiescent": true}}),
        ];
        for report in reports {
            rustix::net::send(&theirs, report.to_string().as_bytes(), SendFlags::NOSIGNAL).unwrap();
        }
        let stream = || {
            let (read, _write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC).unwrap();
            pipe::Receiver::from_owned_fd(read).unwrap()
        };
        let streams = Streams { stdout: stream(), stderr: stream(), cap_bytes: 1 };
        let raised = Raised {
            level: bench_core::IsolationLevel::L3,
            requested: Vec::new(),
            enforced: Vec::new(),
            missing: Vec::new(),
            detector: "audit+notify-narrow".to_owned(),
            probes: Vec::new(),
            landlock_abi: Some(7),
            uid: 64_000,
            exec_at_ns: 1,
            setup_cpu_us: 0,
        };
        let ground = Ground {
            grounds: Grounds::default(),
            housekeeping: Vec::new(),
            watch: Some(watch),
            disk: DiskWatch::of(&[]),
        };
        RunningCell::follow(crate::kernel::watch(ours).unwrap(), streams, raised, ground)
    }

    #[tokio::test]
    async fn an_empty_cell_is_told_before_its_records_and_has_a_hole_until_then() {
        let (watch, tell_records) = Watch::told_by_hand("abc");
        let mut cell = ended(watch);
        let emptied = cell.emptied().await.unwrap();
        assert_eq!((emptied.exit_code, emptied.isolation.quiescent), (Some(0), true));
        assert_eq!((emptied.isolation.evidence_complete, emptied.records_ms), (Some(false), None));
        assert!(emptied.isolation.missing.iter().any(|line| line.contains("were not waited for")));
        tell_records();
        let exit = cell.wait().await.unwrap();
        assert_eq!(exit.isolation.evidence_complete, Some(true), "{:?}", exit.isolation.missing);
        assert!(exit.records_ms.is_some() && exit.isolation.missing.is_empty());
    }
}
