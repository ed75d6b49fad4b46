//! What a person sees while a run runs, on standard error: a live board on a terminal, else one plain line per settled
//! cell. The event stream of the runner feeds both.

mod board;
mod follow;
mod paint;
mod screen;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bench_core::{Clock, RunEvent};
use bench_runner::Events;

use crate::exit::{Exit, Failure, OrExit};
use crate::say;

pub(crate) use board::Board;
pub(crate) use follow::{follow, is_held, schedule_of};
pub(crate) use screen::canvas;

use screen::Screen;

/// How often a live board is drawn anew.
const TICK: Duration = Duration::from_millis(200);

/// What a person is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// A board that is drawn over itself, on a terminal.
    Live,
    /// One line per settled cell.
    Lines,
    /// Nothing.
    Nothing,
}

impl Shown {
    /// By the option and what standard error is.
    pub(crate) fn choose(quiet: bool) -> Self {
        match (quiet, canvas()) {
            (true, _) => Self::Nothing,
            (false, Some(_)) => Self::Live,
            (false, None) => Self::Lines,
        }
    }
}

/// The display of a run. Dropped, it leaves its last state as ordinary lines.
pub(crate) struct Display {
    shown: Shown,
    live: Arc<Live>,
    drawer: Option<JoinHandle<()>>,
}

struct Live {
    state: Mutex<State>,
    over: AtomicBool,
    run_dir: PathBuf,
    clock: Arc<dyn Clock>,
}

struct State {
    board: Board,
    screen: Screen,
}

impl Display {
    /// Begins to show a board; on a terminal a thread of its own draws it.
    pub(crate) fn start(shown: Shown, board: Board, run_dir: &Path, clock: Arc<dyn Clock>) -> Self {
        let state = Mutex::new(State { board, screen: Screen::default() });
        let live = Arc::new(Live { state, over: AtomicBool::new(false), run_dir: run_dir.to_owned(), clock });
        let drawer = (shown == Shown::Live).then(|| {
            let live = live.clone();
            std::thread::spawn(move || {
                while !live.over.load(Ordering::SeqCst) {
                    live.draw();
                    std::thread::park_timeout(TICK);
                }
            })
        });
        Self { shown, live, drawer }
    }

    /// The listener of the event stream.
    pub(crate) fn listener(&self) -> impl Fn(&RunEvent) + Send + Sync + use<> {
        let (live, shown) = (self.live.clone(), self.shown);
        let lines = plain_lines();
        move |event| {
            let now = live.clock.monotonic_ms();
            live.state().board.take_event(event, now);
            if shown == Shown::Lines {
                lines(event);
            }
        }
    }

    /// Whoever has something to say to the person while the board is shown says it through this.
    pub(crate) fn speaker(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let (live, shown) = (self.live.clone(), self.shown);
        move |text| match shown {
            Shown::Live => {
                live.state().board.notices.push(text.to_owned());
                live.draw();
            }
            Shown::Lines | Shown::Nothing => say::complain(text),
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let Some(drawer) = self.drawer.take() else { return };
        self.live.over.store(true, Ordering::SeqCst);
        drawer.thread().unpark();
        // A drawer that panicked has nothing left to draw.
        let _ = drawer.join();
        self.live.state().board.workers.clear();
        self.live.draw();
    }
}

impl Live {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self) {
        let Some(canvas) = canvas() else { return };
        let mut state = self.state();
        let State { board, screen } = &mut *state;
        follow::count_requests(board, &self.run_dir);
        screen.draw(&paint::paint(board, canvas, self.clock.monotonic_ms()), canvas.columns);
    }
}

/// Adds the file that `--events` names as a listener.
pub(crate) fn events_file(events: Events, path: Option<&Path>) -> Result<Events, Failure> {
    let Some(path) = path else { return Ok(events) };
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(|e| anyhow::anyhow!("--events {}: {e}; name a file that can be written", path.display()))
        .or_exit(Exit::Usage)?;
    Ok(events.listen(json_lines(file)))
}

/// Each event as one JSON line, written at once: a reader may act on it before the run goes on.
fn json_lines(file: File) -> impl Fn(&RunEvent) + Send + Sync {
    let file = Mutex::new(file);
    move |event| {
        let Ok(mut line) = serde_json::to_vec(event) else { return };
        line.push(b'\n');
        if let Ok(mut file) = file.lock() {
            // A listener that went away must not end the run.
            let _ = file.write_all(&line);
        }
    }
}

/// Events as plain lines on standard error.
fn plain_lines() -> impl Fn(&RunEvent) + Send + Sync {
    let done = AtomicU32::new(0);
    let total = AtomicU32::new(0);
    move |event| {
        if let Some(line) = plain_line(event, &done, &total) {
            say::complain(&line);
        }
    }
}

fn plain_line(event: &RunEvent, done: &AtomicU32, total: &AtomicU32) -> Option<String> {
    match event {
        RunEvent::RunStarted { run, cells, settled } => {
            total.store(*cells, Ordering::Relaxed);
            done.store(*settled, Ordering::Relaxed);
            let resumed = if *settled > 0 { format!(", {settled} settled before") } else { String::new() };
            Some(format!("{run}: {cells} cells{resumed}"))
        }
        RunEvent::Settled { cell, ending, passed, total_tokens, cost_usd, .. } => {
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            let verdict = match passed {
                Some(true) => "passed",
                Some(false) => "failed",
                None => "no verdict",
            };
            let tokens = total_tokens.map_or_else(|| "tokens unknown".to_owned(), |t| format!("{t} tokens"));
            let cost = cost_usd.map_or_else(String::new, |usd| format!("  ${usd:.4}"));
            let total = total.load(Ordering::Relaxed);
            Some(format!("[{count:>3}/{total}] {cell}  {verdict}  {ending}  {tokens}{cost}"))
        }
        RunEvent::BlockRepeated { block, ending } => Some(format!("{block} is run again whole: {ending}")),
        RunEvent::AttemptStarted { .. }
        | RunEvent::AgentStarting { .. }
        | RunEvent::AgentEnded { .. }
        | RunEvent::Verified { .. }
        | RunEvent::Appending { .. }
        | RunEvent::RunEnded { .. } => None,
    }
}
