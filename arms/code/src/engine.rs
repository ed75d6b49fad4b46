//! Scripts from outside: handed to a worker, watched over, ended.
//!
//! The deadline is kept here and nowhere else. When it passes, calls of the script are refused from that moment on (every
//! call names the script it belongs to), those that run are told to stop, the worker is killed, and the next script gets a
//! new one. A worker is kept from one script to the next only after a good end, where the surface wants that.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::functions::Functions;
use crate::pool::Pool;
use crate::process::{Launch, Voice, Worker};
use crate::protocol::{Ended, FromWorker, Order, Place, Prelude, ToWorker};
use crate::stop::Stop;

/// Threads for nested calls at most; more calls than that wait for one another.
const THREADS: usize = 128;

/// What a script may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// From its start to its end, calls included.
    pub time: Duration,
    /// Of the engine, in bytes.
    pub memory_bytes: usize,
    /// Captured output, in bytes.
    pub output_bytes: usize,
    /// The returned value, in bytes.
    pub value_bytes: usize,
    /// Nested calls.
    pub calls: usize,
    /// After an end that was not the script's own: how long calls that run are waited for.
    pub drain: Duration,
}

/// A call that came out of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct NestedCall {
    /// Its number within the script, from 1.
    pub number: usize,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
}

/// Who carries out nested calls.
pub trait Bridge: Send + Sync {
    /// Carries one out. Comes back soon after `stop` was said.
    ///
    /// # Errors
    /// Why the call failed, as the script is told.
    fn call(&self, call: &NestedCall, stop: &Stop) -> Result<Value, String>;
}

/// Where functions stand among the globals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Globals {
    /// All in `tool` (and `tools`), by the names of their tools.
    OneObject,
    /// In an object for each namespace, and in `tool` as well.
    Namespaces,
}

/// A script with what it may use.
#[derive(Debug, Clone)]
pub struct Script<'a> {
    /// TypeScript.
    pub text: &'a str,
    /// What it can call.
    pub functions: &'a Functions,
    /// Where those stand.
    pub globals: Globals,
    /// What else is there.
    pub preludes: &'a [Prelude],
    /// What it may take.
    pub limits: &'a Limits,
}

/// Does a worker go from one script to the next?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeps {
    /// Yes, with its globals.
    State,
    /// No: each script has its own.
    Nothing,
}

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptEnding {
    /// It returned this; `None` = nothing.
    Returned(Option<String>),
    /// It failed with this.
    Threw(String),
    /// Its time was over.
    TimedOut,
    /// Somebody stopped it.
    Stopped,
    /// The worker died with it.
    Died(String),
}

/// A nested call as it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// The tool.
    pub tool: String,
    /// Was another call of the script open at the same time?
    pub beside_others: bool,
    /// `None` = it was given up with the script.
    pub succeeded: Option<bool>,
    /// Bytes of its value as JSON.
    pub bytes: usize,
}

/// A script that came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How.
    pub ending: ScriptEnding,
    /// Output that nobody has taken yet.
    pub output: String,
    /// What there is to know beside it.
    pub remarks: Vec<String>,
    /// Its calls, in the order in which it made them.
    pub calls: Vec<CallRecord>,
    /// Were globals of earlier scripts lost with it?
    pub state_lost: bool,
}

/// Runs scripts.
#[derive(Debug)]
pub struct Engine {
    launch: Launch,
    keeps: Keeps,
    worker: Option<Attached>,
    stored: Map<String, Value>,
    scripts: u64,
    pool: Arc<Pool>,
}

/// A worker with the place where its current script is entered.
#[derive(Debug)]
struct Attached {
    worker: Worker,
    desk: Arc<Mutex<Option<Current>>>,
    /// Has a script run in it?
    used: bool,
}

/// The script that a worker runs now.
struct Current {
    epoch: u64,
    events: Sender<Event>,
    ledger: Arc<Ledger>,
    bridge: Arc<dyn Bridge>,
    pool: Arc<Pool>,
    stop: Stop,
    calls: usize,
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

enum Event {
    Output(String),
    Yielded,
    Ended(Ended),
    Gone,
}

/// The calls of a script.
#[derive(Debug, Default)]
struct Ledger {
    state: Mutex<LedgerState>,
    quiet: Condvar,
}

#[derive(Debug, Default)]
struct LedgerState {
    calls: Vec<CallRecord>,
    running: usize,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no call runs any more, at most so long.
    fn drain(&self, patience: Duration) {
        let guard = self.lock();
        let waited = self.quiet.wait_timeout_while(guard, patience, |state| state.running > 0);
        drop(waited);
    }
}

impl Engine {
    /// Without a worker yet.
    pub fn new(launch: Launch, keeps: Keeps) -> Self {
        Self {
            launch,
            keeps,
            worker: None,
            stored: Map::new(),
            scripts: 0,
            pool: Arc::new(Pool::of(THREADS)),
        }
    }

    /// Begins a script.
    ///
    /// # Errors
    /// No worker can be started.
    pub fn start(&mut self, script: &Script<'_>, bridge: Arc<dyn Bridge>) -> std::io::Result<Running> {
        let mut attached = match self.worker.take() {
            Some(attached) => attached,
            None => attach(&self.launch)?,
        };
        attached.used = true;
        self.scripts += 1;
        let (events, receiver) = channel();
        let ledger = Arc::<Ledger>::default();
        let stop = Stop::new()?;
        let current = Current {
            epoch: self.scripts,
            events,
            ledger: Arc::clone(&ledger),
            bridge,
            pool: Arc::clone(&self.pool),
            stop: stop.clone(),
            calls: script.limits.calls,
        };
        *lock(&attached.desk) = Some(current);
        attached.worker.voice().say(&ToWorker::Run(Box::new(order(
            script,
            self.scripts,
            self.stored.clone(),
        ))));
        Ok(Running {
            attached,
            events: receiver,
            ledger,
            stop,
            deadline: Instant::now() + script.limits.time,
            drain: script.limits.drain,
            output: String::new(),
            ended: None,
        })
    }

    /// Takes back what a script leaves: how it ended, and the worker where it may be kept. A script that still runs is
    /// ended.
    pub fn finish(&mut self, mut running: Running) -> Outcome {
        let (mut ending, mut remarks, mut tampered) = match running.ended.take() {
            Some(Left::Ended(ended)) => {
                self.stored.extend(ended.stored);
                let ending = match ended.result {
                    Ok(value) => ScriptEnding::Returned(value),
                    Err(error) => ScriptEnding::Threw(error),
                };
                (ending, ended.remarks, ended.tampered)
            }
            Some(Left::Gone) => (ScriptEnding::Died(String::new()), Vec::new(), None),
            Some(Left::TimedOut) => (ScriptEnding::TimedOut, Vec::new(), None),
            None => (ScriptEnding::Stopped, Vec::new(), None),
        };
        let good = matches!(ending, ScriptEnding::Returned(_) | ScriptEnding::Threw(_));
        *lock(&running.attached.desk) = None;
        if !good {
            running.stop.say();
            let how = running.attached.worker.kill();
            if let ScriptEnding::Died(why) = &mut ending {
                *why = how;
            }
            running.ledger.drain(running.drain);
        }
        let keep = good && tampered.is_none() && self.keeps == Keeps::State;
        let state_lost = self.keeps == Keeps::State && !keep;
        if let Some(why) = tampered.take().filter(|_| self.keeps == Keeps::State) {
            remarks.push(why);
        }
        let calls = running.ledger.lock().calls.clone();
        let output = std::mem::take(&mut running.output);
        if keep {
            self.worker = Some(running.attached);
        }
        Outcome { ending, output, remarks, calls, state_lost }
    }

    /// Forgets the globals of earlier scripts.
    pub fn reset(&mut self) {
        if self.worker.as_ref().is_some_and(|attached| attached.used) {
            self.worker = None;
        }
    }

    /// Starts the worker of the next script, so that the script need not wait for it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn warm(&mut self) -> std::io::Result<()> {
        if self.worker.is_none() {
            self.worker = Some(attach(&self.launch)?);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn attach(launch: &Launch) -> std::io::Result<Attached> {
    let desk = Arc::new(Mutex::new(None));
    let reads = Arc::clone(&desk);
    let worker = Worker::start(launch, move |word, voice| heard(&reads, word, voice))?;
    Ok(Attached { worker, desk, used: false })
}

fn order(script: &Script<'_>, epoch: u64, stored: Map<String, Value>) -> Order {
    let mut functions = Vec::new();
    for function in script.functions.all() {
        let mut place = |object: &str, name: &str| {
            let (object, name, tool) = (object.to_owned(), name.to_owned(), function.tool.clone());
            let about = format!("{} args: {}", function.description, function.arguments);
            functions.push(Place { object, name, tool, about });
        };
        match script.globals {
            Globals::OneObject => {
                place("tool", &function.tool);
                place("tools", &function.tool);
            }
            Globals::Namespaces => {
                place(&function.namespace, &function.name);
                place("tool", &function.tool);
            }
        }
    }
    Order {
        epoch,
        script: script.text.to_owned(),
        functions,
        preludes: script.preludes.to_vec(),
        stored,
        memory_bytes: script.limits.memory_bytes,
        output_bytes: script.limits.output_bytes,
        value_bytes: script.limits.value_bytes,
    }
}

/// What a worker said goes where its script wants it.
fn heard(desk: &Mutex<Option<Current>>, word: Option<FromWorker>, voice: &Voice) {
    let mut current = lock(desk);
    let event = match word {
        None => Event::Gone,
        Some(FromWorker::Call { epoch, call, tool, arguments, open }) => {
            let refused = match current.as_mut() {
                Some(current) if current.epoch == epoch => {
                    current.dispatch((call, open), tool, arguments, voice)
                }
                Some(_) | None => Err("the script that made this call is over".to_owned()),
            };
            if let Err(why) = refused {
                drop(current);
                voice.say(&ToWorker::Answer { call, result: Err(why) });
            }
            return;
        }
        Some(FromWorker::Output { epoch, text }) if current.as_ref().is_some_and(|c| c.epoch == epoch) => {
            Event::Output(text)
        }
        Some(FromWorker::Yielded { epoch }) if current.as_ref().is_some_and(|c| c.epoch == epoch) => {
            Event::Yielded
        }
        Some(FromWorker::Ended(ended)) if current.as_ref().is_some_and(|c| c.epoch == ended.epoch) => {
            Event::Ended(*ended)
        }
        Some(FromWorker::Output { .. } | FromWorker::Yielded { .. } | FromWorker::Ended(_)) => return,
    };
    if let Some(current) = current.as_ref() {
        // Whoever has given the script up does not want to know.
        let _ = current.events.send(event);
    }
}

impl Current {
    /// Hands a call to a thread.
    fn dispatch(
        &mut self,
        (call, open): (u64, usize),
        tool: String,
        arguments: Value,
        voice: &Voice,
    ) -> Result<(), String> {
        let mut ledger = self.ledger.lock();
        if ledger.calls.len() >= self.calls {
            return Err(format!("a script may make {} calls", self.calls));
        }
        // Calls that were made while others were open were open at the same time as those.
        let at = ledger.calls.len();
        if open > 0 {
            let still: Vec<usize> =
                (0..at).rev().filter(|n| ledger.calls[*n].succeeded.is_none()).take(open).collect();
            still.into_iter().for_each(|n| ledger.calls[n].beside_others = true);
            if let Some(last) = ledger.calls.last_mut() {
                last.beside_others = true;
            }
        }
        ledger.calls.push(CallRecord {
            tool: tool.clone(),
            beside_others: open > 0,
            succeeded: None,
            bytes: 0,
        });
        ledger.running += 1;
        drop(ledger);
        let nested = NestedCall { number: at + 1, tool, arguments };
        let (bridge, ledger) = (Arc::clone(&self.bridge), Arc::clone(&self.ledger));
        let (stop, voice) = (self.stop.clone(), voice.clone());
        self.pool.give(move || {
            let carried_out = || match stop.is_said() {
                true => Err("the script was stopped".to_owned()),
                false => bridge.call(&nested, &stop),
            };
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(carried_out))
                .unwrap_or_else(|_| Err("the tool crashed".to_owned()));
            let bytes = result.as_ref().map_or(0, |value| value.to_string().len());
            {
                let mut ledger = ledger.lock();
                ledger.running -= 1;
                if !stop.is_said()
                    && let Some(record) = ledger.calls.get_mut(at)
                {
                    record.succeeded = Some(result.is_ok());
                    record.bytes = bytes;
                }
            }
            ledger.quiet.notify_all();
            if !stop.is_said() {
                voice.say(&ToWorker::Answer { call, result });
            }
        });
        Ok(())
    }
}

/// A script that runs.
#[derive(Debug)]
pub struct Running {
    attached: Attached,
    events: Receiver<Event>,
    ledger: Arc<Ledger>,
    stop: Stop,
    deadline: Instant,
    drain: Duration,
    output: String,
    ended: Option<Left>,
}

#[derive(Debug)]
enum Left {
    Ended(Ended),
    Gone,
    TimedOut,
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Output(_) => "Output",
            Self::Yielded => "Yielded",
            Self::Ended(_) => "Ended",
            Self::Gone => "Gone",
        })
    }
}

/// Is a script over?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// It runs on.
    Runs,
    /// It is over.
    Over,
}

impl Running {
    /// Waits until the script is over, hands over by itself, or the patience ends; `None` = as long as it takes, which is
    /// never longer than its own limit.
    pub fn wait(&mut self, patience: Option<Duration>) -> Waited {
        let until = patience.map(|patience| Instant::now() + patience).filter(|until| *until < self.deadline);
        while self.ended.is_none() {
            let left = until.unwrap_or(self.deadline).saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(Event::Output(text)) => self.output.push_str(&text),
                Ok(Event::Yielded) if patience.is_some() => return Waited::Runs,
                Ok(Event::Yielded) => {}
                Ok(Event::Ended(ended)) => self.ended = Some(Left::Ended(ended)),
                Ok(Event::Gone) | Err(RecvTimeoutError::Disconnected) => self.ended = Some(Left::Gone),
                Err(RecvTimeoutError::Timeout) if until.is_some() => return Waited::Runs,
                Err(RecvTimeoutError::Timeout) => self.ended = Some(Left::TimedOut),
            }
        }
        Waited::Over
    }

    /// Output since it was last asked for.
    pub fn take_output(&mut self) -> String {
        std::mem::take(&mut self.output)
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
