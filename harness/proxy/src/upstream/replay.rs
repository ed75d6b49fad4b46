//! Answers from a recorded run, within the same arm, task and repeat: no key, no network, the same analysis.
//!
//! A request is answered only if it is the recorded one but for the declared volatile parts ([`likeness`]); the first that
//! is not ends the attempt as `replay_drift` and names the field. Two arms never share an answer, since answers are looked
//! up by cell and never by content.

mod likeness;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bench_core::ledger::OracleEvidence;
use bench_core::{Cell, Ending, EndingKind};
use bench_record::{
    CellRecord, JournalError, RequestIndex, RequestRecord, RequestStoreError, RunDir, RunDirError,
};
use bytes::Bytes;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde_json::Value;

use super::{BoxFuture, Upstream, UpstreamFault, UpstreamRequest, UpstreamResponse, UsageSource};
use crate::coding::Decoding;
use crate::exchange::BODY_CAP;

pub use likeness::VOLATILE_PATTERNS;

/// A recorded run that cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It is no run directory.
    #[error("replay of {path}: {source}; name the directory of a finished run with `run` in [upstream]")]
    Run {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: RunDirError,
    },
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A cell was not recorded.
    #[error(
        "replay of {path}: the run holds no answers for {cell}; replay arms, tasks and repeats that were recorded, or record this cell first"
    )]
    Missing {
        /// The directory.
        path: PathBuf,
        /// `task/r01/arm`.
        cell: String,
    },
}

/// Answers by cell.
pub struct ReplayUpstream {
    root: PathBuf,
    cells: HashMap<String, CellRecord>,
    usage: UsageSource,
    playing: Mutex<HashMap<String, Playing>>,
}

/// The recorded attempt that one credential replays.
struct Playing {
    index: Result<RequestIndex, RequestStoreError>,
    /// Numbers of its model requests that are still to be asked for, in order.
    ahead: Vec<u32>,
    oracle: Option<OracleEvidence>,
}

impl ReplayUpstream {
    /// Reads the journal of a recorded run.
    pub fn open(root: &Path) -> Result<Self, ReplayError> {
        let run = RunDir::open(root).map_err(|source| ReplayError::Run { path: root.to_owned(), source })?;
        let (records, _) = bench_record::read_journal(&run.journal())?;
        let local = records.iter().all(|record| record.upstream.kind == "oracle");
        let mut cells: HashMap<String, CellRecord> = HashMap::new();
        for record in records.into_iter().filter(CellRecord::settles) {
            // A later round of a block replaces the earlier one.
            cells.insert(record.cell_id(), record);
        }
        Ok(Self {
            root: root.to_owned(),
            cells,
            usage: if local { UsageSource::LocalCount } else { UsageSource::Provider },
            playing: Mutex::default(),
        })
    }

    /// Refuses a cell that was not recorded, before anything runs.
    pub fn require(&self, cell: &Cell) -> Result<(), ReplayError> {
        match self.cells.contains_key(&cell.id()) {
            true => Ok(()),
            false => Err(ReplayError::Missing { path: self.root.clone(), cell: cell.id() }),
        }
    }

    fn answer(&self, request: &UpstreamRequest) -> Result<UpstreamResponse, UpstreamFault> {
        let mut playing = self.playing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(playing) = playing.get_mut(&request.credential) else {
            return Err(drift("nothing was recorded for this cell"));
        };
        let Playing { index, ahead, .. } = playing;
        let index = index.as_ref().map_err(|error| drift(error.to_string()))?;
        let asked = parsed(&request.body, coding(&request.headers)).map_err(drift)?;
        let (at, difference) = next(index, ahead, &asked)?;
        if let Some(difference) = difference {
            return Err(drift(difference));
        }
        let number = ahead.remove(at);
        let record = index.records().iter().find(|record| record.request == number);
        let record = record.ok_or_else(|| drift(format!("request {number} is missing from the index")))?;
        response(index, record)
    }
}

/// Which recorded request this is: the next in order, or, where requests overlapped, a later one that is just the same.
/// Otherwise the first field in which it differs from the next.
fn next(
    index: &RequestIndex,
    ahead: &[u32],
    asked: &Value,
) -> Result<(usize, Option<String>), UpstreamFault> {
    let recorded = |number: u32| -> Result<Value, UpstreamFault> {
        let record = index.records().iter().find(|record| record.request == number);
        let body = index.body(number).map_err(|error| drift(error.to_string()))?;
        parsed(&body, record.and_then(|record| record.encoding.as_deref())).map_err(drift)
    };
    let Some(&expected) = ahead.first() else {
        return Err(drift("the recorded attempt asked nothing more"));
    };
    let Some(difference) = likeness::difference(&recorded(expected)?, asked) else { return Ok((0, None)) };
    for (at, &number) in ahead.iter().enumerate().skip(1) {
        if likeness::difference(&recorded(number)?, asked).is_none() {
            return Ok((at, None));
        }
    }
    Ok((0, Some(format!("request {expected} differs in {difference}"))))
}

fn response(index: &RequestIndex, record: &RequestRecord) -> Result<UpstreamResponse, UpstreamFault> {
    let number = record.request;
    let broken = |error: RequestStoreError| drift(error.to_string());
    let bytes = index.response(number).map_err(broken)?;
    let (Some(bytes), Some(status)) = (bytes, record.status) else {
        return Err(drift(format!("request {number} was never answered in the recorded run")));
    };
    let bytes = Bytes::from(bytes);
    let mut start = 0;
    let mut pieces = Vec::new();
    for (_, end) in index.frames(number).map_err(broken)? {
        let end = usize::try_from(*end).unwrap_or(usize::MAX).min(bytes.len());
        if end > start {
            pieces.push(Ok(Frame::data(bytes.slice(start..end))));
            start = end;
        }
    }
    if start < bytes.len() {
        pieces.push(Ok(Frame::data(bytes.slice(start..))));
    }
    let mut headers = HeaderMap::new();
    for (name, value) in
        [(CONTENT_TYPE, &record.response_type), (CONTENT_ENCODING, &record.response_encoding)]
    {
        if let Some(value) = value.as_deref().and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(name, value);
        }
    }
    Ok(UpstreamResponse {
        status: StatusCode::from_u16(status).unwrap_or(StatusCode::OK),
        headers,
        body: StreamBody::new(Pieces(pieces.into_iter())).boxed_unsync(),
        retries: Vec::new(),
        steps: Vec::new(),
    })
}

/// The recorded pieces, as fast as they are taken.
struct Pieces(std::vec::IntoIter<Result<Frame<Bytes>, UpstreamFault>>);

impl futures_core::Stream for Pieces {
    type Item = Result<Frame<Bytes>, UpstreamFault>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Ready(self.0.next())
    }
}

fn coding(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok())
}

fn parsed(body: &[u8], coding: Option<&str>) -> Result<Value, String> {
    let text = Decoding::whole(coding, body, BODY_CAP).map_err(|error| error.to_string())?;
    serde_json::from_slice(text.as_deref().unwrap_or(body)).map_err(|error| error.to_string())
}

fn drift(what: impl Into<String>) -> UpstreamFault {
    UpstreamFault::ending(Ending::because(EndingKind::ReplayDrift, what))
}

impl Upstream for ReplayUpstream {
    fn call(&self, request: UpstreamRequest) -> BoxFuture<'_, Result<UpstreamResponse, UpstreamFault>> {
        let answer = self.answer(&request);
        Box::pin(std::future::ready(answer))
    }

    fn kind(&self) -> &'static str {
        "replay"
    }

    fn host(&self) -> Option<String> {
        None
    }

    fn usage_source(&self) -> UsageSource {
        self.usage
    }

    fn enter(&self, credential: &str, cell: &Cell) {
        let Some(record) = self.cells.get(&cell.id()) else { return };
        let index = RequestIndex::read(&self.root.join(&record.dir));
        // Requests with a model went to the upstream; the others the recorder answers itself, then as now.
        let asked = |index: &RequestIndex| {
            let mut numbers: Vec<u32> =
                index.records().iter().filter(|r| r.model.is_some()).map(|r| r.request).collect();
            numbers.sort_unstable();
            numbers
        };
        let ahead = index.as_ref().map(asked).unwrap_or_default();
        let playing = Playing { index, ahead, oracle: record.oracle.clone() };
        self.playing.lock().unwrap_or_else(PoisonError::into_inner).insert(credential.to_owned(), playing);
    }

    fn leave(&self, credential: &str) -> Option<OracleEvidence> {
        let mut playing = self.playing.lock().unwrap_or_else(PoisonError::into_inner);
        playing.remove(credential).and_then(|playing| playing.oracle)
    }
}
