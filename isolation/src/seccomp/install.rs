//! The one system call that puts a filter around this process.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use super::assemble::Instruction;

const SET_MODE_FILTER: libc::c_uint = 1;
const FLAG_NEW_LISTENER: libc::c_ulong = 1 << 3;
const FLAG_WAIT_KILLABLE_RECV: libc::c_ulong = 1 << 5;

/// The kernel's `struct sock_fprog`.
#[repr(C)]
struct Fprog {
    len: u16,
    filter: *const Instruction,
}

/// See [`super::Filter::install`].
pub(super) fn install(program: &[Instruction], listener: bool) -> io::Result<Option<OwnedFd>> {
    let len = u16::try_from(program.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    rustix::thread::set_no_new_privs(true)?;
    let fprog = Fprog { len, filter: program.as_ptr() };
    if !listener {
        return set(&fprog, 0).map(|_| None);
    }
    // A call whose notification was received is then interrupted by fatal signals alone; Linux 5.19.
    let answer = match set(&fprog, FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE_RECV) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set(&fprog, FLAG_NEW_LISTENER),
        answer => answer,
    }?;
    // SAFETY: with NEW_LISTENER the call answers a fresh descriptor, close-on-exec, that nobody else owns.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(answer) }))
}

fn set(fprog: &Fprog, flags: libc::c_ulong) -> io::Result<i32> {
    // SAFETY: `fprog` and the instructions behind it outlive the call, which only reads them.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, std::ptr::from_ref(fprog)) };
    match answer {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer as i32),
    }
}
