//! Lines over the socket, with a patience that ends.

use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::protocol::FromWorker;

/// What came.
pub(super) enum Got {
    /// A line.
    Line(String),
    /// Nothing within the time.
    Nothing,
    /// The other side is gone.
    End,
}

/// The way in.
pub(super) struct Lines {
    socket: UnixStream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that hold no end of a line.
    searched: usize,
}

impl Lines {
    pub(super) fn of(socket: UnixStream) -> Self {
        Self { socket, buffer: Vec::new(), searched: 0 }
    }

    /// The next line; `None` = wait for it without end.
    pub(super) fn next(&mut self, patience: Option<Duration>) -> Got {
        let until = patience.map(|patience| Instant::now() + patience);
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.buffer, rest);
                line.pop();
                self.searched = 0;
                return String::from_utf8(line).map_or(Got::End, Got::Line);
            }
            self.searched = self.buffer.len();
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if !self.is_ready(left) {
                return Got::Nothing;
            }
            let mut chunk = [0; 1 << 16];
            match self.socket.read(&mut chunk) {
                Ok(0) | Err(_) => return Got::End,
                Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
            }
        }
    }

    fn is_ready(&self, left: Option<Duration>) -> bool {
        let Some(left) = left else { return true };
        let timeout =
            Timespec::try_from(left).unwrap_or(Timespec { tv_sec: i64::from(u32::MAX), tv_nsec: 0 });
        let mut watched = [PollFd::new(&self.socket, PollFlags::IN)];
        // An error is told by the read that follows.
        poll(&mut watched, Some(&timeout)).map_or(true, |ready| ready > 0)
    }
}

/// The way out. Output is gathered and goes before whatever is said next.
#[derive(Clone)]
pub(super) struct Out(Rc<RefCell<Outgoing>>);

struct Outgoing {
    socket: UnixStream,
    gathered: String,
    epoch: u64,
}

/// Output that is gathered before it is sent, in bytes.
const GATHERED: usize = 8 << 10;

impl Out {
    pub(super) fn of(socket: UnixStream) -> std::io::Result<Self> {
        Ok(Self(Rc::new(RefCell::new(Outgoing { socket, gathered: String::new(), epoch: 0 }))))
    }

    /// Sends something, after the output that was gathered.
    pub(super) fn say(&self, word: &FromWorker) {
        self.flush();
        self.0.borrow_mut().send(word);
    }

    /// A script begins.
    pub(super) fn begin(&self, epoch: u64) {
        self.0.borrow_mut().epoch = epoch;
    }

    /// Adds to the output.
    pub(super) fn print(&self, text: &str) {
        let mut out = self.0.borrow_mut();
        out.gathered.push_str(text);
        let full = out.gathered.len() >= GATHERED;
        drop(out);
        if full {
            self.flush();
        }
    }

    /// Sends the output that was gathered.
    pub(super) fn flush(&self) {
        let mut out = self.0.borrow_mut();
        if !out.gathered.is_empty() {
            let (epoch, text) = (out.epoch, std::mem::take(&mut out.gathered));
            out.send(&FromWorker::Output { epoch, text });
        }
    }
}

impl Outgoing {
    fn send(&mut self, word: &FromWorker) {
        let mut line = serde_json::to_vec(word).expect("our own words are JSON values");
        line.push(b'\n');
        // Whoever does not listen any more is about to kill this process.
        let _ = self.socket.write_all(&line);
    }
}
