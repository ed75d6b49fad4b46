//! The audit subsystem's netlink socket: listening to its multicast group, asking and setting its state.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};

const NETLINK_AUDIT: libc::c_int = 9;
/// The group on which every record is multicast.
const READLOG: u32 = 1;
/// Room for tens of thousands of records: a flood must not outrun the reader.
const BUFFER_BYTES: libc::c_int = 16 << 20;
const HEADER: usize = 16;
const LONGEST: usize = 16 << 10;

const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const MESSAGE_ERROR: u16 = 2;
/// How long the kernel may take to answer a request; it answers at once, or somebody else's daemon holds it up.
const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) number: u16,
    pub(super) body: Vec<u8>,
}

/// A socket of the audit family.
pub(super) struct Socket(OwnedFd);

impl Socket {
    /// Listens to every record. Needs `CAP_AUDIT_READ` in the first user namespace.
    pub(super) fn listening() -> io::Result<Self> {
        let socket = Self::open()?;
        socket.enlarge();
        socket.bind(1 << (READLOG - 1))?;
        Ok(socket)
    }

    /// Asks and sets. Needs `CAP_AUDIT_CONTROL`.
    pub(super) fn asking() -> io::Result<Self> {
        let socket = Self::open()?;
        socket.bind(0)?;
        Ok(socket)
    }

    fn open() -> io::Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: no pointers; the answered descriptor is ours alone.
        match unsafe { libc::socket(libc::AF_NETLINK, kind, NETLINK_AUDIT) } {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) })),
        }
    }

    fn enlarge(&self) {
        for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
            // SAFETY: the value outlives the call and its size is given.
            let done = unsafe {
                libc::setsockopt(
                    self.0.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    std::ptr::from_ref(&BUFFER_BYTES).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                )
            };
            // Without the privilege to force it, as much as the system's limit allows; a loss is noticed by count.
            if done == 0 {
                return;
            }
        }
    }

    fn bind(&self, groups: u32) -> io::Result<()> {
        // SAFETY: an all-zero sockaddr_nl is a valid one.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
        address.nl_groups = groups;
        // SAFETY: the address outlives the call and its size is given.
        let done = unsafe {
            libc::bind(
                self.0.as_raw_fd(),
                std::ptr::from_ref(&address).cast(),
                size_of::<libc::sockaddr_nl>() as libc::socklen_t,
            )
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// The next datagram's messages; none = nothing waits. `ENOBUFS` = records were lost.
    pub(super) fn receive(&self) -> io::Result<Vec<Message>> {
        let mut buffer = [0u8; LONGEST];
        match rustix::io::read(&self.0, &mut buffer[..]) {
            Ok(count) => Ok(messages(&buffer[..count])),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a request and waits for its acknowledgement.
    pub(super) fn set(&self, number: u16, body: &[u8]) -> io::Result<()> {
        self.send(number, REQUEST | ACKNOWLEDGE, body)?;
        self.wait_for(|message| match message.number {
            MESSAGE_ERROR => Some(acknowledged(&message.body)),
            _ => None,
        })?
    }

    /// Sends a request and waits for the message that answers it. No acknowledgement is asked for: the kernel sends it
    /// first, from another thread than the answer.
    pub(super) fn get(&self, number: u16) -> io::Result<Vec<u8>> {
        self.send(number, REQUEST, &[])?;
        self.wait_for(|message| match message.number {
            MESSAGE_ERROR => Some(acknowledged(&message.body).map(|()| Vec::new())),
            answer if answer == number => Some(Ok(message.body.clone())),
            _ => None,
        })?
    }

    fn send(&self, number: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(HEADER + body.len()).expect("our requests are short");
        let mut request = Vec::with_capacity(HEADER + body.len());
        request.extend(length.to_ne_bytes());
        request.extend(number.to_ne_bytes());
        request.extend(flags.to_ne_bytes());
        request.extend([1, 0, 0, 0, 0, 0, 0, 0]);
        request.extend(body);
        rustix::io::write(&self.0, &request)?;
        Ok(())
    }

    fn wait_for<T>(&self, mut wanted: impl FnMut(&Message) -> Option<T>) -> io::Result<T> {
        loop {
            let mut fds = [PollFd::from_borrowed_fd(self.fd(), PollFlags::IN)];
            if rustix::event::poll(&mut fds, Some(&PATIENCE))? == 0 {
                return Err(io::Error::from(io::ErrorKind::TimedOut));
            }
            if let Some(found) = self.receive()?.iter().find_map(&mut wanted) {
                return Ok(found);
            }
        }
    }
}

fn acknowledged(body: &[u8]) -> io::Result<()> {
    match body.first_chunk::<4>().map(|code| i32::from_ne_bytes(*code)) {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(-code)),
        None => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}

/// Cuts a datagram into messages. Audit's own header length leaves out the header in multicast records, so one datagram
/// is one message there, whatever its length says.
fn messages(mut datagram: &[u8]) -> Vec<Message> {
    let mut found = Vec::new();
    while datagram.len() >= HEADER {
        let length = u32::from_ne_bytes([datagram[0], datagram[1], datagram[2], datagram[3]]) as usize;
        let number = u16::from_ne_bytes([datagram[4], datagram[5]]);
        let record = number >= 1100;
        let end = if record { datagram.len() } else { length.clamp(HEADER, datagram.len()) };
        found.push(Message { number, body: datagram[HEADER..end].to_vec() });
        datagram = datagram.get(end.next_multiple_of(4)..).unwrap_or(&[]);
    }
    found
}
