//! The launcher from the harness's side: started once a run, asked for cells.

use std::io::Write;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use bench_core::IsolationLevel;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::MemfdFlags;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketFlags, SocketType,
};
use rustix::pipe::PipeFlags;
use rustix::process::{Resource, Rlimit};
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;

use crate::disk::DiskWatch;
use crate::error::{LaunchError, LauncherError};
use crate::kernel;
use crate::message::{GO, Hello, Order, Report};
use crate::reach::reachable;
use crate::running::{Ground, RunningCell, Streams};
use crate::spec::{Attempts, CellSpec};
use crate::{audit, grounds, seen};

/// Where an agent finds its recorder in a network of its own; nobody else is there, so the number is free.
const OWN_PORT: u16 = 8080;

/// How long a launcher may take to say hello.
const HELLO_PATIENCE: Timespec = Timespec { tv_sec: 20, tv_nsec: 0 };

/// The process that starts cells. Clones share it; with the last one it ends, and every cell with it.
#[derive(Clone)]
pub struct Launcher {
    inner: Arc<Inner>,
}

struct Inner {
    control: Option<AsyncFd<OwnedFd>>,
    process: Child,
    level: IsolationLevel,
    tap: Option<audit::AuditTap>,
}

/// A cell whose program has not been started yet. Dropping it ends the cell.
pub struct PreparedCell {
    socket: AsyncFd<OwnedFd>,
    streams: Streams,
    listener: Option<TcpListener>,
    waits: bool,
    ground: Ground,
}

impl PreparedCell {
    /// The listener in the cell's own network, to be taken once. It keeps that network alive: drop it with the cell.
    pub fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// Starts the program. Returns once it runs: every wall stands and every probe held.
    pub async fn start(self) -> Result<RunningCell, LaunchError> {
        if self.waits {
            rustix::net::send(self.socket.get_ref(), GO, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
                .map_err(|error| LaunchError::LauncherDied { detail: error.to_string() })?;
        }
        match receive(&self.socket).await? {
            Report::Started { supervisor, raised } => {
                let ground = Ground { disk: self.ground.disk.below(supervisor), ..self.ground };
                Ok(RunningCell::follow(self.socket, self.streams, raised, ground))
            }
            Report::Refused(refusal) => Err(refusal.into()),
            Report::Listening | Report::Attempts(_) | Report::Watched { .. } | Report::Ended(_) => {
                Err(LaunchError::setup("start the cell", "its reports come out of order"))
            }
        }
    }
}

/// A launcher that was started before the runtime, to be attached to it.
pub struct LauncherSeed {
    control: OwnedFd,
    process: Child,
    level: IsolationLevel,
}

impl Launcher {
    /// Starts the launcher: this binary again, with the argument `sandbox-exec`, an empty environment and a socket as
    /// stdin. To be called before any runtime or thread exists.
    pub fn start() -> Result<LauncherSeed, LauncherError> {
        Self::start_at(reachable().level)
    }

    /// As [`Launcher::start`], for cells of this level, which must be reachable here.
    pub fn start_at(level: IsolationLevel) -> Result<LauncherSeed, LauncherError> {
        let start = |step| move |error: Errno| LauncherError::Start { step, source: error.into() };
        allow_all_descriptors();
        let (control, theirs) = socket_pair().map_err(start("make its socket"))?;
        let process = Command::new("/proc/self/exe")
            .arg("sandbox-exec")
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .spawn()
            .map_err(|source| LauncherError::Start { step: "execute this binary again", source })?;
        let seed = LauncherSeed { control, process, level };
        seed.hear_hello()?;
        Ok(seed)
    }

    /// Which walls its cells get.
    pub fn level(&self) -> IsolationLevel {
        self.inner.level
    }

    /// The port of a cell's door to its recorder: 127.0.0.1:PORT of a network of the cell's own, whose listener
    /// [`Launcher::prepare`] hands out. None where cells share the host's network: there, the harness listens.
    pub fn own_port(&self, wish: Option<u16>) -> Option<u16> {
        seen::has_namespaces(self.level()).then_some(wish.unwrap_or(OWN_PORT))
    }

    /// Puts up what must stand before the program can be started; [`PreparedCell::start`] starts it.
    pub async fn prepare(&self, spec: CellSpec) -> Result<PreparedCell, LaunchError> {
        let setup = |step: &'static str| move |error: Errno| LaunchError::setup(step, error);
        let waits = seen::has_namespaces(self.level()) && spec.policy.connect_port.is_some();
        let (canary, watch) = match spec.policy.attempts {
            Attempts::Recorded => self.expect_canary()?,
            Attempts::Unheard => (None, None),
        };
        let order = Order::of(&spec, self.level(), canary);
        let ground = Ground {
            grounds: grounds::of(&order),
            housekeeping: spec.policy.housekeeping.clone(),
            watch,
            disk: DiskWatch::of(&spec.policy.writable),
        };
        let order = order_file(&order)?;
        let (ours, theirs) = socket_pair().map_err(setup("make the cell's socket"))?;
        let (stdout, their_stdout) =
            rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(setup("make a pipe"))?;
        let (stderr, their_stderr) =
            rustix::pipe::pipe_with(PipeFlags::CLOEXEC).map_err(setup("make a pipe"))?;
        self.send([&order, &theirs, &their_stdout, &their_stderr]).await?;
        drop((order, theirs, their_stdout, their_stderr));
        let socket =
            kernel::watch(ours).map_err(|error| LaunchError::setup("watch the cell's socket", error))?;
        let streams = Streams {
            stdout: pipe::Receiver::from_owned_fd(stdout)
                .map_err(|error| LaunchError::setup("read stdout", error))?,
            stderr: pipe::Receiver::from_owned_fd(stderr)
                .map_err(|error| LaunchError::setup("read stderr", error))?,
            cap_bytes: spec.output_cap_bytes,
        };
        let listener = if waits { Some(receive_listener(&socket).await?) } else { None };
        Ok(PreparedCell { socket, streams, listener, waits, ground })
    }

    /// Where the kernel's records are listened to: the word of the cell's canary, and who waits for it.
    fn expect_canary(&self) -> Result<(Option<String>, Option<audit::Watch>), LaunchError> {
        let Some(tap) = &self.inner.tap else { return Ok((None, None)) };
        let nonce = audit::nonce().map_err(|error| LaunchError::setup("draw the canary's word", error))?;
        let watch = tap.expect(&nonce);
        Ok((Some(nonce), Some(watch)))
    }

    /// Starts a program behind walls. Returns once it runs: every wall stands and every probe held.
    ///
    /// Where cells have a network of their own, nobody listens in it: for cells that talk to nobody.
    pub async fn launch(&self, spec: CellSpec) -> Result<RunningCell, LaunchError> {
        self.prepare(spec).await?.start().await
    }

    /// Process id of the launcher.
    pub fn pid(&self) -> u32 {
        self.inner.process.id()
    }

    async fn send(&self, fds: [&OwnedFd; 4]) -> Result<(), LaunchError> {
        let control = self.inner.control.as_ref().expect("taken only when the last clone is dropped");
        let gone = |error: std::io::Error| LaunchError::LauncherDied {
            detail: format!("it takes no order: {error}"),
        };
        loop {
            let mut ready = control.writable().await.map_err(gone)?;
            match ready.try_io(|control| kernel::send_with_descriptors(control.get_ref(), fds)) {
                Ok(sent) => return sent.map_err(gone),
                Err(_would_block) => {}
            }
        }
    }
}

impl LauncherSeed {
    /// Attaches the launcher to the runtime that calls this.
    pub fn attach(self) -> Result<Launcher, LauncherError> {
        let control = kernel::watch(self.control)
            .map_err(|source| LauncherError::Start { step: "watch its socket", source })?;
        let tap = match self.level {
            IsolationLevel::L3 => Some(audit::AuditTap::start().map_err(|error| LauncherError::Start {
                step: "listen to the kernel's records",
                source: std::io::Error::other(error.to_string()),
            })?),
            IsolationLevel::L0 | IsolationLevel::L1 | IsolationLevel::L2 => None,
        };
        Ok(Launcher {
            inner: Arc::new(Inner { control: Some(control), process: self.process, level: self.level, tap }),
        })
    }

    fn hear_hello(&self) -> Result<(), LauncherError> {
        let silent = |detail: String| LauncherError::Silent { detail };
        let mut fds = [PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN)];
        match rustix::event::poll(&mut fds, Some(&HELLO_PATIENCE)) {
            Ok(0) => return Err(silent(format!("no word from it in {} s", HELLO_PATIENCE.tv_sec))),
            Ok(_) => {}
            Err(error) => return Err(silent(error.to_string())),
        }
        let mut datagram = [0u8; 4096];
        let count = match rustix::net::recv(&self.control, &mut datagram, RecvFlags::empty()) {
            Ok((0, _)) => return Err(silent("it ended at once".to_owned())),
            Ok((count, _)) => count,
            Err(error) => return Err(silent(error.to_string())),
        };
        let hello: Hello =
            serde_json::from_slice(&datagram[..count]).map_err(|error| silent(error.to_string()))?;
        hello.fault.map_or(Ok(()), |fault| Err(silent(fault)))
    }
}

impl Drop for Inner {
    /// Ends the launcher and waits for it, so that no cell outlives the run.
    fn drop(&mut self) {
        drop(self.control.take());
        let _ = self.process.wait();
    }
}

/// Many systems let a process have 1,024 descriptors unless it asks for more: a few cells with many connections each would
/// use them up. Whoever may not have more works with what he has.
fn allow_all_descriptors() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let _ = rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Two ends of a connection that keeps messages apart. Non-blocking is set on ours alone: it is shared by a
/// description's copies, and the other end is read by processes that block.
fn socket_pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let (ours, theirs) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, theirs))
}

fn order_file(order: &Order) -> Result<OwnedFd, LaunchError> {
    let text = serde_json::to_vec(order).map_err(|error| LaunchError::setup("write the order", error))?;
    let memfd = rustix::fs::memfd_create("order", MemfdFlags::CLOEXEC)
        .map_err(|error| LaunchError::setup("write the order", error))?;
    let mut file = std::fs::File::from(memfd);
    file.write_all(&text).map_err(|error| LaunchError::setup("write the order", error))?;
    Ok(file.into())
}

/// A cell's first report where it has a network of its own: its listener.
async fn receive_listener(socket: &AsyncFd<OwnedFd>) -> Result<TcpListener, LaunchError> {
    let gone = |detail: String| LaunchError::LauncherDied { detail };
    loop {
        let mut ready = socket.readable().await.map_err(|error| gone(error.to_string()))?;
        let Ok(received) = ready.try_io(|socket| receive_with_descriptor(socket.get_ref())) else { continue };
        let (datagram, fd) = received.map_err(|error| gone(error.to_string()))?;
        if datagram.is_empty() {
            return Err(gone("the cell's supervisor ended without a report".to_owned()));
        }
        let report: Report = serde_json::from_slice(&datagram).map_err(|error| gone(error.to_string()))?;
        return match (report, fd) {
            (Report::Listening, Some(fd)) => Ok(TcpListener::from(fd)),
            (Report::Refused(refusal), _) => Err(refusal.into()),
            (_, _) => Err(LaunchError::setup("take the cell's listener", "its reports come out of order")),
        };
    }
}

fn receive_with_descriptor(socket: &OwnedFd) -> std::io::Result<(Vec<u8>, Option<OwnedFd>)> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut datagram = vec![0u8; 64 * 1024];
    let mut parts = [std::io::IoSliceMut::new(&mut datagram)];
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let count = rustix::net::recvmsg(socket, &mut parts, &mut ancillary, flags)?.bytes;
    let mut fd = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut rights) = message {
            fd = rights.next();
        }
    }
    datagram.truncate(count);
    Ok((datagram, fd))
}

/// The next report of a cell's supervisor.
pub(crate) async fn receive(socket: &AsyncFd<OwnedFd>) -> Result<Report, LaunchError> {
    let gone = |detail: String| LaunchError::LauncherDied { detail };
    let mut was_reset = false;
    loop {
        let mut ready = socket.readable().await.map_err(|error| gone(error.to_string()))?;
        let received = ready.try_io(|socket| {
            // How long it is, before there is room for it.
            let look = RecvFlags::DONTWAIT | RecvFlags::PEEK | RecvFlags::TRUNC;
            let (_, length) = rustix::net::recv(socket.get_ref(), &mut [0u8; 0][..], look)?;
            let mut datagram = Vec::with_capacity(length);
            if length == 0 {
                return Ok(datagram);
            }
            let into = spare_capacity(&mut datagram);
            rustix::net::recv(socket.get_ref(), into, RecvFlags::DONTWAIT)?;
            Ok(datagram)
        });
        match received {
            Ok(Ok(datagram)) if datagram.is_empty() => {
                return Err(gone("the cell's supervisor ended without a report".to_owned()));
            }
            Ok(Ok(datagram)) => {
                return serde_json::from_slice(&datagram).map_err(|error| gone(error.to_string()));
            }
            // A supervisor that left before it read a wish to stop: what it reported is still to be read.
            Ok(Err(error)) if reset(&error) && !was_reset => was_reset = true,
            Ok(Err(error)) => return Err(gone(error.to_string())),
            Err(_would_block) => {}
        }
    }
}

fn reset(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::ConnectionReset
}
