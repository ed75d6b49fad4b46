//! The few system calls that neither `std` nor `rustix` offers, each in the smallest safe wrapper.
//!
//! Nothing here knows what a cell is; every `unsafe` block of the crate stands in this file.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use rustix::process::{Pid, Signal};
use tokio::io::unix::AsyncFd;

/// Which side of a fork is running.
pub(crate) enum Fork {
    /// The new process.
    Child,
    /// The old one, with the new one's id.
    Parent(Pid),
}

/// Forks this process. Only for processes with one thread: the child may then allocate and lock as it likes.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: the launcher and its descendants never start a thread, so no lock can be left held in the child.
    forked(unsafe { libc::fork() }.into())
}

/// As [`fork`]; the child is born into this control group, if one is given.
pub(crate) fn fork_into(group: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    match group {
        Some(group) => clone3(0, group),
        None => fork(),
    }
}

fn forked(answer: i64) -> io::Result<Fork> {
    match answer {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Fork::Child),
        pid => Ok(Fork::Parent(
            i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a fork answers a positive id"),
        )),
    }
}

fn clone3(flags: libc::c_int, group: BorrowedFd<'_>) -> io::Result<Fork> {
    const INTO_GROUP: u64 = 0x2_0000_0000;
    // SAFETY: an all-zero clone_args asks for a plain fork.
    let mut args: libc::clone_args = unsafe { std::mem::zeroed() };
    args.flags = flags as u64 | INTO_GROUP;
    args.exit_signal = libc::SIGCHLD as u64;
    args.cgroup = group.as_raw_fd() as u64;
    // SAFETY: without CLONE_VM and a stack this is a fork, in a process with one thread; the arguments outlive the call.
    forked(unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<libc::clone_args>()) })
}

/// Can a process be born into a control group? Some containers refuse the call.
pub(crate) fn knows_birth_into_groups() -> bool {
    // SAFETY: a size that is too small is answered before anything is read.
    let answer = unsafe { libc::syscall(libc::SYS_clone3, std::ptr::null::<u8>(), 0usize) };
    answer == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EINVAL)
}

/// Leaves this process at once, without running destructors or exit handlers of the process it was forked from.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: _exit takes no pointers and does not return.
    unsafe { libc::_exit(code) }
}

fn signal_set(signals: &[Signal]) -> libc::sigset_t {
    // SAFETY: an all-zero sigset_t is valid storage, and sigemptyset initialises it.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live sigset_t and the signal numbers come from rustix's own list.
    unsafe {
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, signal.as_raw());
        }
    }
    set
}

/// Blocks these signals and returns a descriptor on which they can be read instead.
pub(crate) fn signal_descriptor(signals: &[Signal]) -> io::Result<OwnedFd> {
    let set = signal_set(signals);
    // SAFETY: `set` outlives both calls; the descriptor that signalfd returns is ours alone.
    unsafe {
        if libc::sigprocmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Takes the pending signals off a descriptor of [`signal_descriptor`].
pub(crate) fn take_signals(descriptor: BorrowedFd<'_>) -> Vec<i32> {
    const SIZE: usize = std::mem::size_of::<libc::signalfd_siginfo>();
    let mut taken = Vec::new();
    let mut buffer = [0u8; SIZE];
    while let Ok(SIZE) = rustix::io::read(descriptor, &mut buffer) {
        // `ssi_signo` is the structure's first field.
        taken.push(i32::from_ne_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]));
    }
    taken
}

/// Gives every signal its default effect and blocks none: what a freshly started program expects. For the launcher;
/// what it forks inherits the effects.
pub(crate) fn reset_signals() {
    // SAFETY: SIG_DFL is a valid disposition for every number; the kernel refuses the ones that cannot be changed.
    unsafe {
        for number in 1..=64 {
            libc::signal(number, libc::SIG_DFL);
        }
    }
    unblock_signals();
}

/// Blocks no signal.
pub(crate) fn unblock_signals() {
    let empty = signal_set(&[]);
    // SAFETY: the set is initialised; the old one is not asked for.
    unsafe {
        libc::sigprocmask(libc::SIG_SETMASK, &empty, std::ptr::null_mut());
    }
}

/// Marks every descriptor from `first` on as closed at the next exec.
pub(crate) fn close_at_exec_from(first: u32) -> io::Result<()> {
    const CLOSE_RANGE_CLOEXEC: libc::c_uint = 1 << 2;
    close_range(first, CLOSE_RANGE_CLOEXEC)
}

/// Closes every descriptor from `first` on. Only while this process owns none of them as a Rust value.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    close_range(first, 0)
}

fn close_range(first: u32, flags: libc::c_uint) -> io::Result<()> {
    // SAFETY: no pointers; callers hold no owned descriptor in the range, or only mark it.
    match unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What is executed: a path, or an open file.
pub(crate) enum Image<'a> {
    /// A program by path.
    Path(&'a CString),
    /// A program by descriptor, so that no directory above it has to be readable.
    Descriptor(BorrowedFd<'a>),
}

/// Replaces this process by a program; returns only the error.
pub(crate) fn execute(image: &Image<'_>, argv: &[CString], envp: &[CString]) -> io::Error {
    let argv = pointers(argv);
    let envp = pointers(envp);
    // SAFETY: both arrays are null-terminated and point into strings that outlive the call.
    unsafe {
        match image {
            Image::Path(path) => {
                libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr());
            }
            Image::Descriptor(fd) => {
                libc::syscall(
                    libc::SYS_execveat,
                    fd.as_raw_fd(),
                    c"".as_ptr(),
                    argv.as_ptr(),
                    envp.as_ptr(),
                    libc::AT_EMPTY_PATH,
                );
            }
        }
    }
    io::Error::last_os_error()
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
}

/// What processes have used.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// User and system time, in microseconds.
    pub(crate) cpu_us: u64,
    /// Largest resident set of a single process, in bytes.
    pub(crate) peak_rss_bytes: u64,
}

impl Usage {
    fn of(raw: &libc::rusage) -> Self {
        let micros = |t: libc::timeval| t.tv_sec as u64 * 1_000_000 + t.tv_usec as u64;
        Self {
            cpu_us: micros(raw.ru_utime) + micros(raw.ru_stime),
            peak_rss_bytes: raw.ru_maxrss as u64 * 1024,
        }
    }

    /// Of both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            cpu_us: self.cpu_us + other.cpu_us,
            peak_rss_bytes: self.peak_rss_bytes.max(other.peak_rss_bytes),
        }
    }
}

/// What this process has used so far.
pub(crate) fn own_usage() -> Usage {
    // SAFETY: an all-zero rusage is valid storage for the call to fill.
    let raw = unsafe {
        let mut raw: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut raw);
        raw
    };
    Usage::of(&raw)
}

/// A child that has ended and been waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dead {
    /// Which.
    pub(crate) pid: Pid,
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// What it and the children that it waited for have used.
    pub(crate) usage: Usage,
}

/// Takes leave of a child that has ended; `None` while all that there are run. The error is `ECHILD` where there is none.
pub(crate) fn take_dead() -> rustix::io::Result<Option<Dead>> {
    let mut status = 0;
    // SAFETY: both structures are live storage for the call to fill; an all-zero rusage is valid.
    let (pid, raw) = unsafe {
        let mut raw: libc::rusage = std::mem::zeroed();
        (libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut raw), raw)
    };
    match pid {
        -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::CHILD)),
        pid => Ok(Pid::from_raw(pid).map(|pid| Dead {
            pid,
            status: ExitStatus::from_raw(status),
            usage: Usage::of(&raw),
        })),
    }
}

/// Drops a capability from the bounding set; `Ok(false)` once the number is beyond the kernel's last one.
pub(crate) fn drop_from_bounding_set(number: u32) -> io::Result<bool> {
    // SAFETY: prctl with this option takes no pointers.
    match unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number as libc::c_ulong, 0, 0, 0) } {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            // No capability has this number.
            error if error.raw_os_error() == Some(libc::EINVAL) => Ok(false),
            error => Err(error),
        },
    }
}

/// The Landlock ABI version that this kernel answers with; the error is `ENOSYS` or `EOPNOTSUPP` where there is none.
pub(crate) fn landlock_version() -> io::Result<u32> {
    const LANDLOCK_CREATE_RULESET_VERSION: libc::c_uint = 1;
    // SAFETY: with a null attribute of size 0 the call only answers its version.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// Monotonic time in nanoseconds, comparable between processes of one machine.
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is live storage for the call to fill; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Makes `target` a copy of `source` that survives exec.
pub(crate) fn place_descriptor(source: impl AsFd, target: i32) -> io::Result<()> {
    // SAFETY: dup2 takes no pointers; whatever `target` named before is meant to be replaced.
    match unsafe { libc::dup2(source.as_fd().as_raw_fd(), target) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Sends an order's descriptors, with one byte that carries them.
pub(crate) fn send_with_descriptors(socket: &OwnedFd, fds: [&OwnedFd; 4]) -> io::Result<()> {
    let fds = fds.map(|fd| fd.as_fd());
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    let body = [io::IoSlice::new(b"c")];
    rustix::net::sendmsg(socket, &body, &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Lets the runtime that calls this watch a descriptor.
pub(crate) fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` names the same open file for as long as the registration owns it.
    unsafe { AsyncFd::register(fd) }.map_err(Into::into)
}

/// CPU (user + system) of this process so far, milliseconds.
pub fn own_cpu_ms() -> f64 {
    own_usage().cpu_us as f64 / 1000.0
}

/// The user that this process acts as; 0 = root.
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Forks this process into a user, mount, pid, network, ipc and host-name namespace of its own; the child is the init of
/// the pid namespace, and born into this control group, if one is given. Only for processes with one thread.
pub(crate) fn fork_into_namespaces(group: Option<BorrowedFd<'_>>) -> io::Result<Fork> {
    const FLAGS: libc::c_int = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS;
    match group {
        Some(group) => clone3(FLAGS, group),
        // SAFETY: without CLONE_VM and a stack this is a fork, in a process with one thread; no pointer is passed.
        None => forked(unsafe {
            let flags = (FLAGS | libc::SIGCHLD) as libc::c_ulong;
            libc::syscall(libc::SYS_clone, flags, 0usize, 0usize, 0usize, 0usize)
        }),
    }
}

/// Gives this process a cgroup namespace of its own: the groups that it is in now are the roots of what it sees.
pub(crate) fn own_cgroup_namespace() -> io::Result<()> {
    // SAFETY: no pointer is passed.
    match unsafe { libc::unshare(libc::CLONE_NEWCGROUP) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Adds attributes (`MOUNT_ATTR_*`) to a mount and everything mounted below it.
pub(crate) fn add_mount_attributes(mount: BorrowedFd<'_>, attributes: u64) -> io::Result<()> {
    let attr = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: `attr` outlives the call, which is told its size.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attr,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Brings up the loopback device of this network namespace.
pub(crate) fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket_with(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )?;
    // SAFETY: an all-zero ifreq is valid storage; the name fits and both calls are told a live structure.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) != 0 {
            return Err(io::Error::last_os_error());
        }
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw mut request) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
