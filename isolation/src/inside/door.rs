//! The one door out of a cell's own network: a listener on its loopback, handed to the harness before anything runs.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};

use crate::kernel;
use crate::message::{GO, Raised, Refusal, Report};

const WALL: &str = "network namespace";

/// Listens on `port` inside, passes the listener out and waits for the word to go on.
pub(crate) fn open(port: u16, harness: &OwnedFd) -> Result<(), Refusal> {
    kernel::loopback_up()
        .map_err(|error| Refusal::no_wall(WALL, format!("bring up its loopback: {error}")))?;
    let listener = listener(port)
        .map_err(|error| Refusal::no_wall(WALL, format!("listen on 127.0.0.1:{port} inside: {error}")))?;
    hand_out(&listener, harness)
        .map_err(|error| Refusal::setup("hand the cell's listener to the harness", error))?;
    let mut datagram = [0u8; 4];
    match rustix::net::recv(harness, &mut datagram, RecvFlags::empty()) {
        Ok((count, _)) if &datagram[..count] == GO => Ok(()),
        Ok(_) => Err(Refusal::setup("wait for the recorder", "the harness is gone, or has changed its mind")),
        Err(error) => Err(Refusal::setup("wait for the recorder", error)),
    }
}

fn listener(port: u16) -> Result<OwnedFd, Errno> {
    let socket = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )?;
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))?;
    rustix::net::listen(&socket, 128)?;
    Ok(socket)
}

fn hand_out(listener: &OwnedFd, harness: &OwnedFd) -> Result<(), Errno> {
    let text =
        serde_json::to_vec(&Report::<Raised>::Listening).expect("our own reports are valid JSON values");
    let fds = [listener.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&fds));
    let body = [std::io::IoSlice::new(&text)];
    rustix::net::sendmsg(harness, &body, &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}
