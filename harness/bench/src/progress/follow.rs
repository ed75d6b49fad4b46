//! A run that another process works on, seen from outside: its journal, its lock and the evidence directories of the
//! attempts that have no record yet.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Duration;

use bench_core::{ArmId, Clock as _, Schedule, SystemClock, TaskId};
use bench_record::{CellRecord, HeldLock, Lock, RunDir, attempt_dir};
use serde_json::Value;

use super::board::{Board, Stage, Worker};
use super::paint::paint;
use super::screen::{Screen, canvas};
use crate::exit::{Exit, Failure, OrExit};
use crate::{front, say};

/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// Does another process work on this run?
pub(crate) fn is_held(run: &RunDir) -> bool {
    HeldLock::is_taken(run.root())
}

/// Shows a run until nobody works on it any more: a board on a terminal, else one line per settled cell.
pub(crate) fn follow(run: &RunDir) -> Result<(), Failure> {
    let lock = Lock::read(&run.lock()).or_exit(Exit::Usage)?;
    let schedule = schedule_of(&lock);
    let clock = SystemClock::default();
    let name = run.root().display().to_string();
    let mut board = Board::new(&name, &about(&lock), &schedule, clock.monotonic_ms());
    board.order_arms(&arm_names(&lock));
    let mut journal = Tail::default();
    board.begin_with(&journal.new_records(run));
    let mut screen = Screen::default();
    if canvas().is_none() {
        say::complain(&format!("{name}: {} of {} cells settled, in progress", board.settled(), board.cells));
    }
    while is_held(run) {
        for record in journal.new_records(run) {
            board.take_record(&record);
            if canvas().is_none() {
                say::complain(&record_line(&board, &record));
            }
        }
        if let Some(canvas) = canvas() {
            let now = clock.monotonic_ms();
            in_flight(&mut board, run, &schedule, &journal.seen, now);
            count_requests(&mut board, run.root());
            screen.draw(&paint(&board, canvas, now), canvas.columns);
        }
        std::thread::park_timeout(LOOK);
    }
    if let Some(canvas) = canvas() {
        screen.clear(canvas.columns);
    }
    Ok(())
}

fn record_line(board: &Board, record: &CellRecord) -> String {
    let verdict = record.passed().map_or("no verdict", |passed| if passed { "passed" } else { "failed" });
    let (settled, cells) = (board.settled(), board.cells);
    format!("[{settled:>3}/{cells}] {}  {verdict}  {}", record.cell_id(), record.ending.kind)
}

/// The order in which a run executes, made again from its lock.
pub(crate) fn schedule_of(lock: &Value) -> Schedule {
    let tasks: Vec<TaskId> = lock
        .get("tasks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|name| TaskId::new(name.as_str()?).ok())
        .collect();
    let arms: Vec<ArmId> = arm_names(lock).into_iter().filter_map(|name| ArmId::new(name).ok()).collect();
    let number = |key: &str| lock.get(key).and_then(Value::as_u64).unwrap_or_default();
    Schedule::plan(&tasks, &arms, u32::try_from(number("repeats")).unwrap_or_default(), number("seed"))
}

fn arm_names(lock: &Value) -> Vec<String> {
    let arms = lock.get("arms").and_then(Value::as_array).into_iter().flatten();
    arms.filter_map(|arm| arm.get("name")?.as_str().map(str::to_owned)).collect()
}

fn about(lock: &Value) -> String {
    let level = lock.pointer("/isolation/level").and_then(Value::as_str).unwrap_or("?");
    format!("level {level}")
}

/// What was read of a journal that grows.
#[derive(Debug, Default)]
struct Tail {
    read: u64,
    rest: Vec<u8>,
    seen: BTreeSet<(String, u32)>,
}

impl Tail {
    /// Records whose line is whole by now and was not before. A line that is no record is left to the readers of the whole.
    fn new_records(&mut self, run: &RunDir) -> Vec<CellRecord> {
        let grown = || -> std::io::Result<Vec<u8>> {
            let mut file = fs::File::open(run.journal())?;
            file.seek(SeekFrom::Start(self.read))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = grown().unwrap_or_default();
        self.read += bytes.len() as u64;
        self.rest.extend(bytes);
        let whole = self.rest.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        let records: Vec<CellRecord> =
            lines.split(|&byte| byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        self.seen.extend(records.iter().map(|record| (record.cell_id(), record.attempt)));
        records
    }
}

/// Attempts that have an evidence directory and no record.
fn in_flight(
    board: &mut Board,
    run: &RunDir,
    schedule: &Schedule,
    seen: &BTreeSet<(String, u32)>,
    now_ms: f64,
) {
    let settled: BTreeSet<&str> = seen.iter().map(|(cell, _)| cell.as_str()).collect();
    let mut workers = Vec::new();
    for cell in schedule.cells() {
        let highest = seen.iter().filter(|(id, _)| *id == cell.id()).map(|(_, attempt)| *attempt).max();
        // Only a block that is run again begins a cell anew that has a record; the attempt after the last is looked for.
        let attempt = highest.unwrap_or(0) + 1;
        let dir = run.root().join(attempt_dir(&cell, attempt));
        if !dir.is_dir() || (settled.contains(cell.id().as_str()) && attempt == 1) {
            continue;
        }
        let stage = if dir.join("verify").is_dir() { Stage::Verifying } else { Stage::Agent };
        let age = front::age_ms(&dir).unwrap_or_default();
        workers.push(Worker { cell: cell.id(), attempt, stage, since_ms: now_ms - age, requests: None });
    }
    board.workers = workers;
}

/// Requests recorded so far by every cell in flight: lines of its index.
pub(super) fn count_requests(board: &mut Board, run_dir: &Path) {
    for worker in &mut board.workers {
        let index =
            run_dir.join(format!("cells/{}/attempt-{}/requests/index.jsonl", worker.cell, worker.attempt));
        let lines = fs::read(index).ok().map(|text| text.iter().filter(|&&byte| byte == b'\n').count());
        worker.requests = lines.map(|lines| lines as u64);
    }
}
