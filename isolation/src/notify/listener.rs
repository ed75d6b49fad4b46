//! The kernel's side of user notification: receive a trapped call, ask whether it still waits, answer it.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::seccomp::CallData;

const RECEIVE: libc::c_ulong = 0xc050_2100; // _IOWR('!', 0, struct seccomp_notif)
const SEND: libc::c_ulong = 0xc018_2101; // _IOWR('!', 1, struct seccomp_notif_resp)
const STILL_VALID: libc::c_ulong = 0x4008_2102; // _IOW('!', 2, __u64)
const CONTINUE: u32 = 1;

/// The kernel's `struct seccomp_notif`.
#[repr(C)]
#[derive(Default)]
struct Notification {
    id: u64,
    pid: u32,
    flags: u32,
    number: i32,
    architecture: u32,
    instruction_pointer: u64,
    arguments: [u64; 6],
}

/// The kernel's `struct seccomp_notif_resp`.
#[repr(C)]
struct Response {
    id: u64,
    value: i64,
    error: i32,
    flags: u32,
}

/// A call that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trapped {
    pub(super) id: u64,
    /// Process (thread) id in this process's namespace; 0 = not visible here.
    pub(super) pid: u32,
    pub(super) call: CallData,
}

/// What waits on the listener.
pub(super) enum Next {
    Trapped(Trapped),
    Nothing,
    /// No process with the filter is left.
    Closed,
}

/// The listening descriptor of one filter.
#[derive(Debug)]
pub(super) struct Listener(OwnedFd);

impl Listener {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Never waits.
    pub(super) fn next(&self) -> Next {
        let mut fds = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        match rustix::event::poll(&mut fds, Some(&at_once)) {
            Ok(1..) => {}
            Ok(0) | Err(_) => return Next::Nothing,
        }
        if !fds[0].revents().contains(PollFlags::IN) {
            return Next::Closed;
        }
        let mut notification = Notification::default();
        // SAFETY: the structure is zeroed as the kernel demands and outlives the call, which fills it.
        let answer = unsafe { libc::ioctl(self.0.as_raw_fd(), RECEIVE as _, &mut notification) };
        if answer != 0 {
            // ENOENT: its caller died since; EINTR: asked again at the next turn.
            return Next::Nothing;
        }
        let call = CallData {
            number: notification.number as u32,
            architecture: notification.architecture,
            arguments: notification.arguments,
        };
        Next::Trapped(Trapped { id: notification.id, pid: notification.pid, call })
    }

    /// Does the caller still wait? What was read from its memory before a `true` was its own.
    pub(super) fn waits(&self, id: u64) -> bool {
        // SAFETY: the id outlives the call, which only reads it.
        unsafe { libc::ioctl(self.0.as_raw_fd(), STILL_VALID as _, &id) == 0 }
    }

    /// Lets the call run.
    pub(super) fn let_run(&self, id: u64) -> io::Result<()> {
        self.send(&Response { id, value: 0, error: 0, flags: CONTINUE })
    }

    /// Refuses the call.
    pub(super) fn refuse(&self, id: u64, errno: u16) -> io::Result<()> {
        self.send(&Response { id, value: 0, error: -i32::from(errno), flags: 0 })
    }

    fn send(&self, response: &Response) -> io::Result<()> {
        // SAFETY: the response outlives the call, which only reads it.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), SEND as _, std::ptr::from_ref(response)) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_as_long_as_the_call_numbers_say() {
        assert_eq!(std::mem::size_of::<Notification>(), (RECEIVE >> 16 & 0x3fff) as usize);
        assert_eq!(std::mem::size_of::<Response>(), (SEND >> 16 & 0x3fff) as usize);
    }
}
