//! A worker from outside: started, spoken to, killed.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use crate::protocol::{FromWorker, LONGEST_LINE, ToWorker};

/// How a worker is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its environment; nothing of the caller's own goes along.
    pub env: Vec<(OsString, OsString)>,
}

impl Launch {
    /// This program again, with a subcommand.
    pub fn own(subcommand: &str) -> Self {
        Self { program: "/proc/self/exe".into(), args: vec![subcommand.into()], env: Vec::new() }
    }
}

/// A running worker.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    voice: Voice,
}

/// The way to a worker, for everybody who has an answer for it.
#[derive(Debug, Clone)]
pub(crate) struct Voice(Arc<Mutex<UnixStream>>);

impl Voice {
    /// To whoever listens at the other end.
    pub(crate) fn of(socket: UnixStream) -> Self {
        Self(Arc::new(Mutex::new(socket)))
    }

    /// Says it. A worker that is gone is noticed by its reader.
    pub(crate) fn say(&self, word: &ToWorker) {
        let mut line = serde_json::to_vec(word).expect("our own words are JSON values");
        line.push(b'\n');
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&line);
    }
}

impl Worker {
    /// Starts one; `hear` is told everything that it says, in a thread of its own, and `None` at its end.
    ///
    /// # Errors
    /// The process cannot be started.
    pub(crate) fn start(
        launch: &Launch,
        hear: impl Fn(Option<FromWorker>, &Voice) + Send + 'static,
    ) -> std::io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).env_clear().envs(launch.env.iter().cloned());
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        // The command still holds the worker's end.
        drop(command);
        let voice = Voice::of(ours.try_clone()?);
        let speaks = voice.clone();
        std::thread::Builder::new().name("code worker".into()).spawn(move || listen(ours, &hear, &speaks))?;
        Ok(Self { child, voice })
    }

    /// The way to it.
    pub(crate) fn voice(&self) -> &Voice {
        &self.voice
    }

    /// Kills it and says how it had ended, if it had.
    pub(crate) fn kill(&mut self) -> String {
        let ended = self.child.try_wait().ok().flatten();
        // It is gone already: nothing to kill.
        let _ = self.child.kill();
        let status = self.child.wait();
        match (ended, status) {
            (Some(status), _) | (None, Ok(status)) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("ended with code {code}"),
                (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
            },
            (None, Err(error)) => error.to_string(),
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
    }
}

fn listen(socket: UnixStream, hear: &impl Fn(Option<FromWorker>, &Voice), voice: &Voice) {
    let mut reader = BufReader::with_capacity(1 << 16, socket);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut reader).take(LONGEST_LINE as u64).read_until(b'\n', &mut line);
        match (read, serde_json::from_slice(&line)) {
            (Ok(count), Ok(word)) if count > 0 && line.ends_with(b"\n") => hear(Some(word), voice),
            // Its end, or something that no worker of ours says: nothing more is taken from it.
            _ => return hear(None, voice),
        }
    }
}
