//! A process (or connection) that speaks framed messages: a debug adapter or a language server. One thread reads for as
//! long as it speaks; whoever has a use for a message takes it in there, and waits ring the bell.

use std::collections::HashSet;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;

use super::bell::{Bell, Cancel};
use super::framing;
use super::process::{Leader, kill_all};

/// Bytes of a peer's standard error that are kept for a reason.
const LAST_WORDS: usize = 2000;
/// Time to end by itself once it has been asked to.
const GRACE: Duration = Duration::from_secs(2);

/// The program at the other end, where there is one of our own.
#[derive(Debug)]
struct Program {
    leader: Leader,
    child: Child,
}

/// Somebody who speaks framed messages.
pub(crate) struct Peer {
    writer: Mutex<Box<dyn Write + Send>>,
    program: Mutex<Option<Program>>,
    last_words: Arc<Mutex<Vec<u8>>>,
    bell: Bell,
    closed: Arc<Mutex<Option<String>>>,
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("program", &self.program).finish_non_exhaustive()
    }
}

impl Peer {
    /// Starts a program and speaks with it over its standard streams. `take` gets every message.
    pub(crate) fn start(
        argv: &[String],
        folder: &Path,
        bell: &Bell,
        take: impl FnMut(Value) + Send + 'static,
    ) -> io::Result<Self> {
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).current_dir(folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (leader, mut child) = Leader::start(&mut command)?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (input, output) = (input.expect("it is piped"), output.expect("it is piped"));
        let last_words = Arc::default();
        listen_to_errors(child.stderr.take().expect("it is piped"), &last_words);
        let peer = Self::over(Box::new(input), bell, last_words);
        *peer.program() = Some(Program { leader, child });
        peer.read_from(Box::new(output), take);
        Ok(peer)
    }

    /// Speaks over a connection that somebody else's program listens on.
    pub(crate) fn connect(
        to: (&str, u16),
        bell: &Bell,
        take: impl FnMut(Value) + Send + 'static,
    ) -> io::Result<Self> {
        let stream = TcpStream::connect(to)?;
        let peer = Self::over(Box::new(stream.try_clone()?), bell, Arc::default());
        peer.read_from(Box::new(stream), take);
        Ok(peer)
    }

    fn over(writer: Box<dyn Write + Send>, bell: &Bell, last_words: Arc<Mutex<Vec<u8>>>) -> Self {
        Self {
            writer: Mutex::new(writer),
            program: Mutex::default(),
            last_words,
            bell: bell.clone(),
            closed: Arc::default(),
        }
    }

    fn read_from(&self, from: Box<dyn Read + Send>, mut take: impl FnMut(Value) + Send + 'static) {
        let (bell, closed) = (self.bell.clone(), Arc::clone(&self.closed));
        std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            let why = loop {
                match framing::read(&mut from) {
                    Ok(Some(message)) => {
                        take(message);
                        bell.ring();
                    }
                    Ok(None) => break "it closed its output".to_owned(),
                    Err(error) => break error.to_string(),
                }
            };
            *closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
            bell.ring();
        });
    }

    /// Sends a message. Fails where nobody reads any more.
    pub(crate) fn say(&self, message: &Value) -> io::Result<()> {
        framing::write(&mut *self.writer.lock().unwrap_or_else(PoisonError::into_inner), message)
    }

    /// Why nothing more will come; `None` while it may.
    pub(crate) fn closed(&self) -> Option<String> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The end of what it printed on its standard error.
    pub(crate) fn last_words(&self) -> String {
        let bytes = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }

    /// Everything below it now.
    pub(crate) fn below(&self) -> HashSet<Pid> {
        self.program().as_ref().map(|program| program.leader.descendants()).unwrap_or_default()
    }

    /// Ends it, everything below it and these: asked first, then killed.
    pub(crate) fn end(&self, more: HashSet<Pid>) {
        let Some(mut program) = self.program().take() else { return };
        let mut below = program.leader.descendants();
        below.extend(more);
        program.leader.signal(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        // Once it ends its output ends; a peer that stays deaf is killed at the deadline.
        let cancel = Cancel::with(&self.bell);
        self.bell.wait(deadline, &cancel, || self.closed().map(drop));
        below.extend(program.leader.descendants());
        program.leader.signal(Signal::KILL);
        kill_all(&below);
        // A killed child is reaped at once; an error means that somebody else has reaped it.
        let _ = program.child.wait();
    }

    fn program(&self) -> std::sync::MutexGuard<'_, Option<Program>> {
        self.program.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.end(HashSet::new());
    }
}

fn listen_to_errors(mut from: impl Read + Send + 'static, last_words: &Arc<Mutex<Vec<u8>>>) {
    let last_words = Arc::clone(last_words);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&buffer[..count]);
            let surplus = kept.len().saturating_sub(LAST_WORDS);
            kept.drain(..surplus);
        }
    });
}
