//! `debug`: real programs under a debug adapter, one root session and the children that it asks for.
//!
//! Its calls are exclusive: a step changes what every other call would look at. What a call gives up waiting for is never
//! taken for "not done".

mod actions;
mod adapters;
mod breakpoints;
mod client;
mod looking;
mod session;
mod setting;
mod state;
#[cfg(test)]
mod tests;
mod view;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use self::breakpoints::Breakpoints;
use self::session::Session;
use super::bell::Cancel;
use super::marks::{Marks, Phase, Subject};

/// Seconds that a call waits where it does not say.
const USUAL: f64 = 30.0;
/// Bounds of what it may say, in seconds.
const SHORTEST: f64 = 5.0;
const LONGEST: f64 = 300.0;
/// A session that nobody has used for so long is ended.
const IDLE: Duration = Duration::from_secs(600);

/// Arguments of `debug`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    action: String,
    session: Option<String>,
    adapter: Option<String>,
    program: Option<String>,
    module: Option<String>,
    args: Vec<String>,
    cwd: Option<String>,
    env: BTreeMap<String, String>,
    stop_on_entry: bool,
    process_id: Option<u32>,
    breakpoints: Vec<Wanted>,
    file: Option<String>,
    line: Option<u64>,
    function: Option<String>,
    condition: Option<String>,
    hit_condition: Option<String>,
    log_message: Option<String>,
    reference: Option<String>,
    offset: Option<i64>,
    count: Option<u64>,
    data: Option<String>,
    data_id: Option<String>,
    access: Option<String>,
    name: Option<String>,
    thread_id: Option<i64>,
    frame_id: Option<i64>,
    variables_reference: Option<i64>,
    expression: Option<String>,
    context: Option<String>,
    command: Option<String>,
    arguments: Option<Value>,
    timeout: Option<f64>,
}

/// A breakpoint that a launch brings along.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Wanted {
    file: Option<String>,
    line: Option<u64>,
    function: Option<String>,
    condition: Option<String>,
    hit_condition: Option<String>,
}

/// The debugger of one conversation.
#[derive(Debug)]
pub(crate) struct Debugger {
    inner: Arc<Mutex<Inner>>,
    idle: Arc<Idle>,
    folder: PathBuf,
    cancel: Cancel,
    marks: Marks,
}

/// Sessions, the root first, and what all of them stop on.
#[derive(Debug, Default)]
struct Inner {
    sessions: Vec<Session>,
    breakpoints: Breakpoints,
    /// What happened to the last root, where a call of the model did not end it.
    remark: Option<String>,
}

#[derive(Debug)]
struct Idle {
    state: Mutex<(Instant, bool)>,
    changed: Condvar,
    after: Duration,
}

impl Debugger {
    pub(crate) fn in_folder(folder: &Path, cancel: &Cancel, marks: &Marks) -> Self {
        Self::with_idle(folder, cancel, marks, IDLE)
    }

    fn with_idle(folder: &Path, cancel: &Cancel, marks: &Marks, after: Duration) -> Self {
        let idle = Idle { state: Mutex::new((Instant::now(), false)), changed: Condvar::new(), after };
        Self {
            inner: Arc::default(),
            idle: Arc::new(idle),
            folder: folder.to_owned(),
            cancel: cancel.clone(),
            marks: marks.clone(),
        }
    }

    /// Carries one action out.
    pub(crate) fn run(&self, asked: &Asked) -> Result<String, String> {
        let mut inner = locked(&self.inner);
        let before = inner.sessions.len();
        self.idle.used();
        let seconds = asked.timeout.unwrap_or(USUAL);
        if seconds.is_nan() {
            return Err("timeout is not a number".to_owned());
        }
        let deadline = Instant::now() + Duration::from_secs_f64(seconds.clamp(SHORTEST, LONGEST));
        let told = actions::carry_out(self, &mut inner, asked, deadline);
        self.idle.used();
        if before == 0 && !inner.sessions.is_empty() {
            self.marks.mark(Subject::Debugger, "main", Phase::Begin, &inner.sessions[0].program);
        } else if before > 0 && inner.sessions.is_empty() {
            self.marks.mark(Subject::Debugger, "main", Phase::End, "");
        }
        told
    }

    /// Is a program being debugged?
    #[cfg(test)]
    pub(crate) fn is_alive(&self) -> bool {
        !locked(&self.inner).sessions.is_empty()
    }

    /// Ends every session.
    pub(crate) fn end(&self) {
        let open = std::mem::take(&mut locked(&self.inner).sessions);
        self.idle.close();
        if !open.is_empty() {
            drop(open);
            self.marks.mark(Subject::Debugger, "main", Phase::End, "with the conversation");
        }
    }

    /// Sees to it that a forgotten session ends. Called when the first session begins.
    fn watch_idleness(&self) {
        let (idle, inner) = (Arc::clone(&self.idle), Arc::downgrade(&self.inner));
        std::thread::spawn(move || {
            while idle.wait_until_due() {
                let Some(inner) = inner.upgrade() else { return };
                let mut inner = locked(&inner);
                // A call that was running meanwhile has used it.
                if idle.is_due() {
                    inner.sessions.clear();
                    inner.remark =
                        Some("the session was ended because nobody had used it for long".to_owned());
                    return;
                }
            }
        });
    }
}

impl Drop for Debugger {
    fn drop(&mut self) {
        self.end();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Idle {
    fn used(&self) {
        locked(&self.state).0 = Instant::now();
    }

    fn close(&self) {
        locked(&self.state).1 = true;
        self.changed.notify_all();
    }

    fn is_due(&self) -> bool {
        locked(&self.state).0.elapsed() >= self.after
    }

    /// Waits until nothing was used for long. False when the debugger is gone.
    fn wait_until_due(&self) -> bool {
        let mut state = locked(&self.state);
        loop {
            if state.1 {
                return false;
            }
            let left = self.after.saturating_sub(state.0.elapsed());
            if left.is_zero() {
                return true;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}
