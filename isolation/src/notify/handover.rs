//! The listener on its way from the agent process, which installed the filter, to its supervisor.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};

/// Sends it over a unix socket and closes this side's copy. One byte of the stream goes with it.
pub fn hand_over(socket: impl AsFd, listener: OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let fds = [listener.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    rustix::net::sendmsg(socket, &[IoSlice::new(b"n")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives it; an error if the other side closed without sending one.
pub fn take_over(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0u8; 1];
    let mut parts = [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(socket, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(mut fds) = message
            && let Some(fd) = fds.next()
        {
            return Ok(fd);
        }
    }
    Err(io::Error::new(io::ErrorKind::UnexpectedEof, "no listener came: the agent process ended before"))
}
