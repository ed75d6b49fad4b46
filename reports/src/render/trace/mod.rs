//! The trace of a block: every cell of it turn by turn, any two side by side. One page a block, beside `report.html`, from
//! records and [`Trajectory`]; long texts are cut with a word on how to see the whole.

mod course;
mod turn;

use bench_core::Sha256Hex;
use bench_record::CellRecord;
use bench_trajectory::Trajectory;
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

use super::html::page::{Template, made, page};
use super::words::plain;

/// Characters of one text that a page holds.
const SHOWN: usize = 12_000;

/// One attempt with what it left.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// Its record.
    pub record: &'a CellRecord,
    /// What was read back from its evidence.
    pub trajectory: &'a Trajectory,
}

/// Where the page of a record's block lies below `traces/`, and the place of its cell on it.
pub fn trace_place(record: &CellRecord) -> (String, String) {
    (format!("{}/r{:02}.html", record.task, record.repeat), format!("{}/{}", record.arm, record.attempt))
}

/// By what a page is known to be up to date: everything that it is made of, as a digest.
pub fn trace_stamp(records: &[&CellRecord]) -> String {
    let mut words =
        vec![env!("CARGO_PKG_VERSION").to_owned(), Sha256Hex::of(Template::Block.source()).to_string()];
    for record in records {
        let evidence = record.dir_sha256.as_ref().map_or(record.ended_at.as_str(), Sha256Hex::as_str);
        words.push(format!("{} {} {} {evidence}", record.cell_id(), record.attempt, record.ending.kind));
    }
    Sha256Hex::of(words.join("\n")).to_string()
}

#[derive(Serialize)]
struct Values {
    title: String,
    block: String,
    stamp: String,
    order: Vec<(String, String)>,
    cells: Vec<Cell>,
}

#[derive(Serialize)]
struct Cell {
    place: String,
    arm: String,
    attempt: u32,
    word: &'static str,
    tone: &'static str,
    facts: Vec<(&'static str, String)>,
    checks: Vec<(String, bool)>,
    course: Option<Value>,
    turns: Vec<turn::Turn>,
    known_turns: Vec<KnownTurn>,
    agents: Vec<Agent>,
    accesses: Vec<Access>,
    texts: Vec<(&'static str, Clipped)>,
    trouble: Vec<String>,
    id: String,
}

/// A second agent, in sum.
#[derive(Serialize)]
struct Agent {
    name: String,
    requests: u32,
    input: String,
    output: String,
    when: String,
}

/// A turn as the journal knows it, where the evidence is gone.
#[derive(Serialize)]
struct KnownTurn {
    turn: u32,
    input: u64,
    output: u64,
    calls: String,
}

#[derive(Serialize)]
struct Access {
    class: String,
    what: String,
    by: String,
    denied: bool,
    count: u64,
}

/// A text that a page holds, or its beginning.
#[derive(Debug, Clone, Serialize)]
struct Clipped {
    text: String,
    /// Characters left out.
    rest: usize,
}

impl Clipped {
    fn of(text: &str) -> Self {
        match text.char_indices().nth(SHOWN) {
            Some((at, _)) => Self { text: text[..at].to_owned(), rest: text[at..].chars().count() },
            None => Self { text: text.to_owned(), rest: 0 },
        }
    }
}

/// The page of a block; attempts in the order in which they ran.
pub fn trace_page(block: &str, attempts: &[Attempt<'_>]) -> String {
    let records: Vec<&CellRecord> = attempts.iter().map(|attempt| attempt.record).collect();
    let values = Values {
        title: format!("{block}: traces"),
        block: block.to_owned(),
        stamp: trace_stamp(&records),
        order: records.iter().map(|record| (trace_place(record).1, label(record))).collect(),
        cells: attempts.iter().map(cell).collect(),
    };
    page(Template::Block, Value::from(Serde(&values)))
}

fn label(record: &CellRecord) -> String {
    match record.attempt {
        1 => record.arm.to_string(),
        attempt => format!("{} (attempt {attempt})", record.arm),
    }
}

fn cell(attempt: &Attempt<'_>) -> Cell {
    let Attempt { record, trajectory } = *attempt;
    let (word, tone) = match record.passed() {
        Some(true) => ("passed", "good"),
        Some(false) => ("failed", "bad"),
        None => ("no outcome", "void"),
    };
    let bare = trajectory.exchanges.is_empty();
    Cell {
        place: trace_place(record).1,
        arm: record.arm.to_string(),
        attempt: record.attempt,
        word,
        tone,
        facts: facts(record),
        checks: record.checks.iter().map(|check| (check.name.clone(), check.passed)).collect(),
        course: course::course(trajectory).map(made),
        turns: turn::turns(trajectory, record.lifecycle.as_deref().unwrap_or_default()),
        agents: record.agents.iter().map(agent).collect(),
        known_turns: record.turns_series.iter().filter(|_| bare).map(known_turn).collect(),
        accesses: record.isolation.events.iter().map(access).collect(),
        texts: texts(trajectory),
        trouble: trajectory.trouble.clone(),
        id: record.cell_id(),
    }
}

fn facts(record: &CellRecord) -> Vec<(&'static str, String)> {
    let count =
        |value: Option<u64>| value.map_or("unknown".to_owned(), |v| super::estimate::grouped(v as f64));
    let ending = match (&record.ending.limit, &record.ending.detail) {
        (Some(limit), _) => {
            format!("{}: {} = {} {}", record.ending.kind, limit.name, limit.value, limit.unit)
        }
        (None, Some(detail)) => format!("{}: {}", record.ending.kind, plain(detail)),
        (None, None) => record.ending.kind.to_string(),
    };
    let m = &record.metrics;
    vec![
        ("ending", ending),
        ("place in the block", record.position.to_string()),
        ("first request", format!("{} tokens", count(m.first_request_tokens))),
        ("total", format!("{} tokens", count(m.total_tokens))),
        ("turns", count(m.turns)),
        ("tool calls", format!("{}, by tools {}", count(m.tool_calls), count(m.nested_tool_calls))),
        ("subagents, compactions", format!("{}, {}", count(m.subagents), count(m.compactions))),
        ("tools' lifecycle", lifecycle(record)),
        ("wall time", record.wall_ms.map_or("unknown".to_owned(), |ms| format!("{ms:.0} ms"))),
        ("isolation", record.isolation.level.to_string()),
        ("started", record.started_at.clone()),
    ]
}

fn agent(agent: &bench_core::ledger::AgentTotals) -> Agent {
    let count = |tokens: u64| super::estimate::grouped(tokens as f64);
    Agent {
        name: agent.name.clone(),
        requests: agent.requests,
        input: count(agent.input_tokens),
        output: count(agent.output_tokens),
        when: match (agent.first_ms, agent.last_ms) {
            (Some(first), Some(last)) => format!("{first:.0} to {last:.0} ms"),
            (Some(first), None) => format!("from {first:.0} ms, without an answer"),
            (None, _) => "never passed on".to_owned(),
        },
    }
}

/// Did every request show the tools that surface, loads and the lifecycle table ask for?
fn lifecycle(record: &CellRecord) -> String {
    match record.lifecycle.as_deref() {
        None => "unknown".to_owned(),
        Some([]) => "holds in every request".to_owned(),
        Some([_]) => "1 violation, told at its request".to_owned(),
        Some(found) => format!("{} violations, each told at its request", found.len()),
    }
}

fn known_turn(turn: &bench_core::ledger::TurnEntry) -> KnownTurn {
    KnownTurn {
        turn: turn.turn,
        input: turn.input_tokens,
        output: turn.output_tokens,
        calls: turn.calls.join(", "),
    }
}

fn access(event: &bench_core::evidence::IsolationEvent) -> Access {
    Access {
        class: event.class.clone(),
        what: format!("{} {}", event.operation, event.path),
        by: event.process.clone(),
        denied: event.denied,
        count: event.count,
    }
}

fn texts(trajectory: &Trajectory) -> Vec<(&'static str, Clipped)> {
    [
        ("What the hidden check printed", &trajectory.verifier.stdout),
        ("Its complaints", &trajectory.verifier.stderr),
        ("What the agent changed", &trajectory.patch),
        ("What the agent printed", &trajectory.stdout),
        ("What the agent printed as errors", &trajectory.stderr),
    ]
    .into_iter()
    .filter(|(_, text)| !text.trim().is_empty())
    .map(|(what, text)| (what, Clipped::of(text)))
    .collect()
}
