//! `trace.jsonl`: what happened in an attempt, in neutral words, one event a line as it happens. Whoever shows an attempt
//! reads this and no body. The format is described in docs/formats/trace.md.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use bench_core::Sha256Hex;
use serde::Serialize;

/// Something that happened.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum TraceEvent<'a> {
    /// A request has arrived whole.
    Request {
        request: u32,
        class: &'a str,
        rule: &'a str,
        method: &'a str,
        path: &'a str,
        model: Option<&'a str>,
        body_bytes: u64,
    },
    /// A tool result stood in a request for the first time.
    ToolResult {
        request: u32,
        id: &'a str,
        tool: Option<&'a str>,
        bytes: u64,
        sha256: Sha256Hex,
        refused: Option<bool>,
    },
    /// New tools were offered after the first request.
    Load { request: u32, group: Option<&'a str>, tools: &'a [String] },
    /// A try of the recorder failed and was made again.
    Retry { request: u32, status: Option<u16>, reason: &'a str, took_ms: f64, bytes: u64, wait_ms: f64 },
    /// The oracle played an action.
    OracleStep { request: u32, step: u32, action: &'a str, tool: &'a str, substitution: Option<&'a str> },
    /// The model called a tool.
    ToolCall { request: u32, id: &'a str, tool: &'a str, arguments_bytes: u64, arguments_sha256: Sha256Hex },
    /// The prompt of a model whose format is known could not be rendered.
    Unrendered { request: u32, why: &'a str },
    /// The usage that a response states contradicts itself and is left out.
    UsageRefused { request: u32, why: &'a str },
    /// A response has ended.
    Response {
        request: u32,
        body_tokens: Option<u64>,
        prompt_tokens: Option<u64>,
        status: Option<u16>,
        bytes: Option<u64>,
        frames: u64,
        whole: bool,
        finish: Option<&'a str>,
        text_bytes: u64,
        output_tokens: Option<u64>,
        first_byte_ms: Option<f64>,
        last_byte_ms: Option<f64>,
    },
    /// The recorder decided that the attempt must end.
    Stop { ending: &'a str, detail: Option<&'a str> },
}

#[derive(Serialize)]
struct Line<'a> {
    ms: f64,
    #[serde(flatten)]
    event: &'a TraceEvent<'a>,
}

/// Writes the trace of one attempt.
#[derive(Debug)]
pub(crate) struct Trace {
    path: PathBuf,
    file: File,
}

impl Trace {
    pub(crate) fn create(attempt_dir: &Path) -> Result<Self, (PathBuf, std::io::Error)> {
        let path = attempt_dir.join("trace.jsonl");
        match File::create(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(error) => Err((path, error)),
        }
    }

    /// Appends an event; `ms` counts from the start of the recorder.
    pub(crate) fn write(&mut self, ms: f64, event: &TraceEvent<'_>) -> Result<(), (PathBuf, std::io::Error)> {
        let line = Line { ms: rounded(ms), event };
        let mut text = serde_json::to_vec(&line).expect("an event is a JSON value");
        text.push(b'\n');
        self.file.write_all(&text).map_err(|error| (self.path.clone(), error))
    }
}

/// Milliseconds to the microsecond: more digits are noise.
pub(crate) fn rounded(ms: f64) -> f64 {
    (ms * 1000.0).round() / 1000.0
}
