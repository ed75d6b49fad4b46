//! What a person sees while a run runs: one plain line per settled cell, on standard error.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use bench_core::RunEvent;
use bench_runner::Events;

use crate::exit::{Exit, Failure, OrExit};
use crate::say;

/// The listeners that the options ask for.
pub(crate) fn listeners(quiet: bool, events_file: Option<&Path>) -> Result<Events, Failure> {
    let mut events = Events::new();
    if let Some(path) = events_file {
        let file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .map_err(|e| anyhow::anyhow!("--events {}: {e}; name a file that can be written", path.display()))
            .or_exit(Exit::Usage)?;
        events = events.listen(json_lines(file));
    }
    if !quiet {
        events = events.listen(plain_lines());
    }
    Ok(events)
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

fn plain_lines() -> impl Fn(&RunEvent) + Send + Sync {
    let done = AtomicU32::new(0);
    let total = AtomicU32::new(0);
    move |event| match event {
        RunEvent::RunStarted { run, cells, settled } => {
            total.store(*cells, Ordering::Relaxed);
            done.store(*settled, Ordering::Relaxed);
            let resumed = if *settled > 0 { format!(", {settled} settled before") } else { String::new() };
            say::complain(&format!("{run}: {cells} cells{resumed}"));
        }
        RunEvent::Settled { cell, ending, passed, total_tokens } => {
            let count = done.fetch_add(1, Ordering::Relaxed) + 1;
            let verdict = match passed {
                Some(true) => "passed",
                Some(false) => "failed",
                None => "no verdict",
            };
            let tokens = total_tokens.map_or_else(|| "tokens unknown".to_owned(), |t| format!("{t} tokens"));
            let total = total.load(Ordering::Relaxed);
            say::complain(&format!("[{count:>3}/{total}] {cell}  {verdict}  {ending}  {tokens}"));
        }
        RunEvent::BlockRepeated { block, ending } => {
            say::complain(&format!("{block} is run again whole: {ending}"));
        }
        RunEvent::AttemptStarted { .. }
        | RunEvent::AgentStarting { .. }
        | RunEvent::AgentEnded { .. }
        | RunEvent::Verified { .. }
        | RunEvent::Appending { .. }
        | RunEvent::RunEnded { .. } => {}
    }
}
