//! The journal as an analysis reads it: every number, without the evidence that only a report on single cells shows.
//!
//! A journal of 100,000 cells is more than a gigabyte, nearly all of it evidence. Here it is read line by line, and what no
//! estimate, gate or count is made of is skipped without being kept: checks, rules of the walls, events, texts of tools, and
//! turn by turn what no load happened in. Whoever shows single cells reads [`read_journal`](crate::read_journal).

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use bench_core::experiment::Profile;
use bench_core::ledger::{FirstRequest, Load, TokenBasis, ToolEntry, TurnEntry, Usage};
use bench_core::lifecycle::Violation;
use bench_core::{
    ArmId, Ending, IsolationEvidence, IsolationLevel, Metric, Sha256Hex, SharedText, TaskId, Track,
    UpstreamEvidence,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::cell_record::{CellRecord, CpuMs, HarnessIdentity, Metrics, Verdict};
use crate::journal::{JournalError, Tail, parse_line};

/// Bytes of lines that one thread takes at a time.
const BLOCK: usize = 4 << 20;

/// Reads all whole records of a journal without touching it, each without the evidence that no number is made of. Blocks of
/// lines are parsed beside one another; the records come in their order.
pub fn read_numbers(path: &Path) -> Result<(Vec<CellRecord>, Tail), JournalError> {
    let io = |source| JournalError::Io { path: path.to_owned(), source };
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(io)?);
    let hands = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let (mut records, mut lines) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let mut busy = VecDeque::with_capacity(hands);
        loop {
            let block = if busy.len() < hands { Block::read(&mut reader, lines).map_err(io)? } else { None };
            if let Some(block) = block {
                lines += block.lines;
                busy.push_back(scope.spawn(move || block.parse(path)));
                continue;
            }
            let Some(first) = busy.pop_front() else { return Ok((records, Tail::Whole)) };
            let parsed: Parsed = first.join().expect("a line that is no record is an error");
            records.extend(parsed.records);
            if let Some(Unread { line, bytes, error }) = parsed.unread {
                let is_last = line == lines && reader.fill_buf().map_err(io)?.is_empty();
                return match error {
                    None => Ok((records, Tail::Torn { bytes })),
                    Some(JournalError::Line { .. }) if is_last => Ok((records, Tail::Torn { bytes })),
                    Some(error) => Err(error),
                };
            }
        }
    })
}

/// Some whole lines of a journal; its last one may be torn.
struct Block {
    text: Vec<u8>,
    /// Lines before it.
    before: usize,
    lines: usize,
}

/// What a block holds, up to its first line that is no record.
struct Parsed {
    records: Vec<CellRecord>,
    unread: Option<Unread>,
}

/// A line that is no record.
struct Unread {
    /// From 1.
    line: usize,
    bytes: u64,
    /// None = the line has no end.
    error: Option<JournalError>,
}

impl Block {
    /// The next block; none at the end.
    fn read(reader: &mut impl BufRead, before: usize) -> std::io::Result<Option<Self>> {
        let (mut text, mut lines) = (Vec::with_capacity(BLOCK + (BLOCK >> 2)), 0);
        while text.len() < BLOCK && reader.read_until(b'\n', &mut text)? > 0 {
            lines += 1;
        }
        Ok((lines > 0).then_some(Self { text, before, lines }))
    }

    fn parse(&self, path: &Path) -> Parsed {
        let mut records = Vec::with_capacity(self.lines);
        for (index, text) in self.text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let line = self.before + index + 1;
            let read = match text.last() {
                Some(b'\n') => numbers(text).map_or_else(
                    // Whatever is wrong with it, the reader of whole records says it.
                    || parse_line(path, line, text).map_err(Some),
                    Ok,
                ),
                _ => Err(None),
            };
            match read {
                Ok(record) => records.push(record),
                Err(error) => {
                    let unread = Some(Unread { line, bytes: text.len() as u64, error });
                    return Parsed { records, unread };
                }
            }
        }
        Parsed { records, unread: None }
    }
}

/// The numbers of one line; `None` when it is no record of a version that this build knows.
fn numbers(text: &[u8]) -> Option<CellRecord> {
    let line: Line<'_> = serde_json::from_slice(text).ok()?;
    if line.format_version > crate::FORMAT_VERSION {
        return None;
    }
    // What an early load is, is seen in the calls of the turn before; without loads the series answers nothing.
    let turns_series = match line.loads.is_empty() {
        true => Vec::new(),
        false => serde_json::from_str(line.turns_series.get()).ok()?,
    };
    Some(line.record(turns_series))
}

/// The fields of a record that numbers are made of, under the names of [`CellRecord`].
#[derive(Deserialize)]
struct Line<'a> {
    format_version: u32,
    lock_sha256: Sha256Hex,
    harness: HarnessIdentity,
    host_id: SharedText,
    task: TaskId,
    task_sha256: Sha256Hex,
    cluster: SharedText,
    track: Track,
    repeat: u32,
    arm: ArmId,
    arm_sha256: Sha256Hex,
    profile: Profile,
    block: SharedText,
    position: u32,
    round: u32,
    block_split: bool,
    attempt: u32,
    slot: u32,
    started_at: String,
    ended_at: String,
    setup_ms: f64,
    wall_ms: Option<f64>,
    upstream_wait_ms: Option<f64>,
    verify_ms: Option<f64>,
    cpu_ms: CpuMs,
    peak_rss_bytes: Option<u64>,
    ending: Ending,
    verdict: Option<Verdict>,
    metrics: Metrics,
    censored: Vec<Metric>,
    tokens: TokenBasis,
    provider_usage: Option<Usage>,
    price_card_sha256: Option<Sha256Hex>,
    first_request: Option<FirstRequest>,
    tools: Vec<Tool>,
    #[serde(borrow)]
    turns_series: &'a RawValue,
    loads: Vec<Load>,
    #[serde(default)]
    primary_outcome: Option<Metric>,
    #[serde(default)]
    lifecycle: Option<Vec<Violation>>,
    isolation: Walls,
    upstream: Answerer,
    transcript_sha256: Sha256Hex,
    dir: String,
}

/// A tool's price and use.
#[derive(Deserialize)]
struct Tool {
    name: SharedText,
    description_bytes: u64,
    description_tokens: u64,
    schema_bytes: u64,
    schema_tokens: u64,
    bytes: u64,
    tokens: u64,
    calls: u32,
    errors: Option<u32>,
    first_offered_turn: u32,
    first_called_turn: Option<u32>,
    #[serde(default)]
    offered_turns: Option<u32>,
}

/// How strong the walls were.
#[derive(Deserialize)]
struct Walls {
    level: IsolationLevel,
    missing: Vec<SharedText>,
    landlock_abi: Option<u32>,
    uid: u32,
    evidence_complete: Option<bool>,
    quiescent: bool,
    survivors_killed: u32,
}

/// Who answered.
#[derive(Deserialize)]
struct Answerer {
    kind: SharedText,
    host: Option<SharedText>,
    models_asked: Vec<SharedText>,
    models_answered: Vec<SharedText>,
    fingerprint: Option<SharedText>,
    fault: Option<String>,
}

impl Line<'_> {
    fn record(self, turns_series: Vec<TurnEntry>) -> CellRecord {
        CellRecord {
            format_version: self.format_version,
            lock_sha256: self.lock_sha256,
            harness: self.harness,
            host_id: self.host_id,
            task: self.task,
            task_sha256: self.task_sha256,
            cluster: self.cluster,
            track: self.track,
            repeat: self.repeat,
            arm: self.arm,
            arm_sha256: self.arm_sha256,
            profile: self.profile,
            block: self.block,
            position: self.position,
            order: Vec::new(),
            round: self.round,
            block_split: self.block_split,
            attempt: self.attempt,
            slot: self.slot,
            started_at: self.started_at,
            ended_at: self.ended_at,
            setup_ms: self.setup_ms,
            wall_ms: self.wall_ms,
            upstream_wait_ms: self.upstream_wait_ms,
            verify_ms: self.verify_ms,
            cpu_ms: self.cpu_ms,
            peak_rss_bytes: self.peak_rss_bytes,
            ending: self.ending,
            verdict: self.verdict,
            checks: Vec::new(),
            verifier: None,
            metrics: self.metrics,
            censored: self.censored,
            tokens: self.tokens,
            provider_usage: self.provider_usage,
            charged: None,
            price_card_sha256: self.price_card_sha256,
            first_request: self.first_request.map(|first| FirstRequest {
                system_by_role: Vec::new(),
                unknown_types: BTreeMap::new(),
                ..first
            }),
            tools: self.tools.into_iter().map(Tool::entry).collect(),
            turns_series,
            requests_by_class: BTreeMap::new(),
            agents: Vec::new(),
            primary_outcome: self.primary_outcome,
            loads: self.loads,
            lifecycle: self.lifecycle,
            isolation: self.isolation.evidence(),
            upstream: self.upstream.evidence(),
            oracle: None,
            transcript_sha256: self.transcript_sha256,
            dir: self.dir,
            dir_sha256: None,
        }
    }
}

impl Tool {
    fn entry(self) -> ToolEntry {
        ToolEntry {
            name: self.name,
            namespace: None,
            kind: SharedText::default(),
            exposure: SharedText::default(),
            r#where: SharedText::default(),
            description_bytes: self.description_bytes,
            description_tokens: self.description_tokens,
            schema_bytes: self.schema_bytes,
            schema_tokens: self.schema_tokens,
            bytes: self.bytes,
            tokens: self.tokens,
            calls: self.calls,
            errors: self.errors,
            first_offered_turn: self.first_offered_turn,
            first_called_turn: self.first_called_turn,
            offered_turns: self.offered_turns,
        }
    }
}

impl Walls {
    fn evidence(self) -> IsolationEvidence {
        IsolationEvidence {
            level: self.level,
            requested: Vec::new(),
            enforced: Vec::new(),
            missing: self.missing,
            landlock_abi: self.landlock_abi,
            uid: self.uid,
            detector: SharedText::default(),
            probes: Vec::new(),
            events: Vec::new(),
            evidence_complete: self.evidence_complete,
            quiescent: self.quiescent,
            survivors_killed: self.survivors_killed,
        }
    }
}

impl Answerer {
    fn evidence(self) -> UpstreamEvidence {
        UpstreamEvidence {
            kind: self.kind,
            host: self.host,
            models_asked: self.models_asked,
            models_answered: self.models_answered,
            fingerprint: self.fingerprint,
            statuses: BTreeMap::new(),
            fault: self.fault,
        }
    }
}
