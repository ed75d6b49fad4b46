//! The requests of one attempt on disk: `requests/index.jsonl`, one line per request, and the exact bytes beside it.
//!
//! Bodies of one attempt repeat each other (every turn sends the whole conversation again), so a body is kept as what
//! it shares with one stored shortly before it, at its beginning and at its end, and the bytes between. The bytes come
//! back exactly, checked against the digest of the index line. Readers use [`RequestIndex`], never the file layout.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use bench_core::Sha256Hex;
use serde::{Deserialize, Serialize};

use crate::request_record::RequestRecord;

mod recent;

use recent::{Recent, Shared};

const INDEX: &str = "index.jsonl";
const BODIES: &str = "bodies.bin";
const RESPONSES: &str = "responses.bin";

/// A request store that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RequestStoreError {
    /// It cannot be read or written.
    #[error(
        "requests {path}: {source}; free the disk or mend the permissions, then run the same command again"
    )]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line in the middle of the index is not a record.
    #[error("requests {path}, line {line}: not a request record ({source}); the file was edited or damaged")]
    Line {
        /// The index.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// There is no such request.
    #[error("requests {path}: there is no request {request}; the attempt has {count}")]
    Unknown {
        /// The index.
        path: PathBuf,
        /// Asked for.
        request: u32,
        /// Requests in the index.
        count: usize,
    },
    /// The bytes on disk are not those that were recorded.
    #[error(
        "requests {path}: the bytes of request {request} do not have the recorded digest; the file was edited or damaged"
    )]
    Damaged {
        /// The file of bytes.
        path: PathBuf,
        /// The request.
        request: u32,
    },
}

/// What came back for a request.
#[derive(Debug, Clone, Copy, Default)]
pub struct ResponseBytes<'a> {
    /// The body as it arrived; null when nothing did.
    pub bytes: Option<&'a [u8]>,
    /// When each piece of it arrived: milliseconds since the request's last byte, and the length reached.
    pub frames: &'a [(f64, u64)],
}

/// Where the bytes of a request lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Stored {
    /// How many lines before stands the body that it shares bytes with.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    back: u64,
    /// Bytes shared with its beginning.
    prefix: u64,
    /// Bytes shared with its end.
    suffix: u64,
    /// Start of the bytes between, in the file of bodies.
    at: u64,
    /// Their number.
    length: u64,
    /// Start and length of the response.
    response: Option<(u64, u64)>,
    /// Milliseconds and length reached, per piece.
    frames: Vec<(f64, u64)>,
}

fn one() -> u64 {
    1
}

fn is_one(back: &u64) -> bool {
    *back == 1
}

#[derive(Serialize, Deserialize)]
struct IndexLine {
    #[serde(flatten)]
    record: RequestRecord,
    stored: Stored,
}

/// Writes the requests of one attempt.
#[derive(Debug)]
pub struct RequestStore {
    dir: PathBuf,
    index: File,
    bodies: AppendFile,
    responses: AppendFile,
    recent: Recent,
}

#[derive(Debug)]
struct AppendFile {
    path: PathBuf,
    file: File,
    length: u64,
}

impl AppendFile {
    fn create(path: PathBuf) -> Result<Self, RequestStoreError> {
        let file =
            File::create(&path).map_err(|source| RequestStoreError::Io { path: path.clone(), source })?;
        Ok(Self { path, file, length: 0 })
    }

    /// Appends; returns where the bytes start.
    fn append(&mut self, bytes: &[u8]) -> Result<u64, RequestStoreError> {
        let written = self.file.write_all(bytes);
        written.map_err(|source| RequestStoreError::Io { path: self.path.clone(), source })?;
        let at = self.length;
        self.length += bytes.len() as u64;
        Ok(at)
    }
}

impl RequestStore {
    /// Makes `requests/` in the directory of an attempt and starts an empty store in it.
    pub fn create(attempt_dir: &Path) -> Result<Self, RequestStoreError> {
        let dir = attempt_dir.join("requests");
        fs::create_dir_all(&dir).map_err(|source| RequestStoreError::Io { path: dir.clone(), source })?;
        let index = AppendFile::create(dir.join(INDEX))?.file;
        let bodies = AppendFile::create(dir.join(BODIES))?;
        let responses = AppendFile::create(dir.join(RESPONSES))?;
        Ok(Self { dir, index, bodies, responses, recent: Recent::default() })
    }

    /// Appends a request. When this returns, the kernel has the bytes and the line: a killed process loses nothing.
    pub fn append(
        &mut self,
        record: &RequestRecord,
        body: Vec<u8>,
        response: ResponseBytes<'_>,
    ) -> Result<(), RequestStoreError> {
        let Shared { back, prefix, suffix } = self.recent.base_of(&body);
        let middle = &body[prefix..body.len() - suffix];
        let stored = Stored {
            back,
            prefix: prefix as u64,
            suffix: suffix as u64,
            at: self.bodies.append(middle)?,
            length: middle.len() as u64,
            response: match response.bytes {
                Some(bytes) => Some((self.responses.append(bytes)?, bytes.len() as u64)),
                None => None,
            },
            frames: response.frames.to_vec(),
        };
        self.write_line(&IndexLine { record: record.clone(), stored })?;
        self.recent.push(body);
        Ok(())
    }

    fn write_line(&mut self, line: &IndexLine) -> Result<(), RequestStoreError> {
        let mut text = serde_json::to_vec(line).expect("a record is a JSON value");
        text.push(b'\n');
        let path = || self.dir.join(INDEX);
        self.index.write_all(&text).map_err(|source| RequestStoreError::Io { path: path(), source })
    }

    /// Writes class and rule of requests anew, for what only the end of an attempt shows (a first request without
    /// tools is the agent's own loop only if no other ever carried any). The index is replaced as a whole.
    pub fn reclass(&mut self, changes: &[(u32, String, String)]) -> Result<(), RequestStoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        let path = self.dir.join(INDEX);
        let io = |source| RequestStoreError::Io { path: path.clone(), source };
        let mut lines = read_index(&path)?;
        for (request, class, rule) in changes {
            for line in lines.iter_mut().filter(|line| line.record.request == *request) {
                line.record.class.clone_from(class);
                line.record.rule.clone_from(rule);
            }
        }
        let temporary = self.dir.join("index.jsonl.new");
        self.index = File::create(&temporary).map_err(io)?;
        lines.iter().try_for_each(|line| self.write_line(line))?;
        fs::rename(&temporary, &path).map_err(io)
    }
}

/// Reads the requests of one attempt. A torn last line (the harness was killed) is left out.
#[derive(Debug)]
pub struct RequestIndex {
    dir: PathBuf,
    records: Vec<RequestRecord>,
    stored: Vec<Stored>,
}

impl RequestIndex {
    /// Reads the index in the directory of an attempt; one without requests is empty.
    pub fn read(attempt_dir: &Path) -> Result<Self, RequestStoreError> {
        let dir = attempt_dir.join("requests");
        let lines = read_index(&dir.join(INDEX))?;
        let (records, stored) = lines.into_iter().map(|line| (line.record, line.stored)).unzip();
        Ok(Self { dir, records, stored })
    }

    /// The records in the order in which the requests were settled.
    pub fn records(&self) -> &[RequestRecord] {
        &self.records
    }

    /// The exact bytes of a request's body.
    pub fn body(&self, request: u32) -> Result<Vec<u8>, RequestStoreError> {
        let at = self.position(request)?;
        let path = self.dir.join(BODIES);
        let damaged = || RequestStoreError::Damaged { path: path.clone(), request };
        let mut body: Vec<u8> = Vec::new();
        for stored in self.bases(at).ok_or_else(damaged)?.into_iter().rev() {
            let (prefix, suffix) = (stored.prefix as usize, stored.suffix as usize);
            if prefix + suffix > body.len() {
                return Err(damaged());
            }
            let mut next = body[..prefix].to_vec();
            next.extend(read_at(&path, stored.at, stored.length)?);
            next.extend_from_slice(&body[body.len() - suffix..]);
            body = next;
        }
        if Sha256Hex::of(&body) == self.records[at].body_sha256 { Ok(body) } else { Err(damaged()) }
    }

    /// A line and those on which its body builds, up to one that builds on none.
    fn bases(&self, mut at: usize) -> Option<Vec<&Stored>> {
        let mut lines = Vec::new();
        loop {
            let stored = &self.stored[at];
            lines.push(stored);
            if stored.prefix.checked_add(stored.suffix)? == 0 {
                return Some(lines);
            }
            let back = usize::try_from(stored.back).ok().filter(|back| *back > 0)?;
            at = at.checked_sub(back)?;
        }
    }

    /// The exact bytes of the response; `None` when none arrived.
    pub fn response(&self, request: u32) -> Result<Option<Vec<u8>>, RequestStoreError> {
        let at = self.position(request)?;
        let Some((start, length)) = self.stored[at].response else { return Ok(None) };
        let path = self.dir.join(RESPONSES);
        let bytes = read_at(&path, start, length)?;
        if self.records[at].response_sha256.as_ref() == Some(&Sha256Hex::of(&bytes)) {
            Ok(Some(bytes))
        } else {
            Err(RequestStoreError::Damaged { path, request })
        }
    }

    /// When each piece of the response arrived: milliseconds since the request's last byte, and the length reached.
    pub fn frames(&self, request: u32) -> Result<&[(f64, u64)], RequestStoreError> {
        self.position(request).map(|at| self.stored[at].frames.as_slice())
    }

    fn position(&self, request: u32) -> Result<usize, RequestStoreError> {
        let found = self.records.iter().position(|record| record.request == request);
        found.ok_or_else(|| RequestStoreError::Unknown {
            path: self.dir.join(INDEX),
            request,
            count: self.records.len(),
        })
    }
}

fn read_at(path: &Path, start: u64, length: u64) -> Result<Vec<u8>, RequestStoreError> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|source| RequestStoreError::Io { path: path.to_owned(), source })
}

fn read_index(path: &Path) -> Result<Vec<IndexLine>, RequestStoreError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(RequestStoreError::Io { path: path.to_owned(), source }),
    };
    let whole = text.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
    let mut lines = Vec::new();
    let mut texts = text[..whole].split_inclusive(|&b| b == b'\n').enumerate().peekable();
    while let Some((index, line)) = texts.next() {
        match serde_json::from_slice(line) {
            Ok(line) => lines.push(line),
            // File systems may write a block of zeros before the data: a bad last line is torn as well.
            Err(_) if texts.peek().is_none() => {}
            Err(source) => {
                return Err(RequestStoreError::Line { path: path.to_owned(), line: index + 1, source });
            }
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use bench_core::WireKind;
    use proptest::prelude::*;

    use super::*;

    fn record(request: u32, body: &[u8], response: Option<&[u8]>) -> RequestRecord {
        RequestRecord {
            format_version: crate::FORMAT_VERSION,
            request,
            class: "agent_turn".into(),
            rule: "carries tools".into(),
            wire: WireKind::OpenaiChat,
            method: "POST".into(),
            path: "/v1/chat/completions".into(),
            headers: vec![("a".into(), "b".into())],
            model: None,
            started_at: "2026-01-01T00:00:00.000Z".into(),
            first_byte_ms: Some(1.5),
            last_byte_ms: None,
            status: Some(200),
            body_sha256: Sha256Hex::of(body),
            body_bytes: body.len() as u64,
            body_tokens: None,
            prompt_tokens: None,
            encoding: None,
            response_sha256: response.map(Sha256Hex::of),
            response_type: None,
            response_encoding: None,
            usage: None,
            response_tokens: None,
            retry_of: None,
        }
    }

    fn store(dir: &Path, exchanges: &[(Vec<u8>, Option<Vec<u8>>)]) -> RequestStore {
        let mut store = RequestStore::create(dir).unwrap();
        for (number, (body, response)) in (1..).zip(exchanges) {
            let bytes = response.as_deref();
            let response = ResponseBytes { bytes, frames: &[(0.25, 3)] };
            store.append(&record(number, body, bytes), body.clone(), response).unwrap();
        }
        store
    }

    /// Bodies that grow as a conversation does, with bytes of any kind.
    fn conversations() -> impl Strategy<Value = Vec<(Vec<u8>, Option<Vec<u8>>)>> {
        let piece = || proptest::collection::vec(prop_oneof![Just(b'a'), any::<u8>()], 0..20);
        let step = (any::<prop::sample::Index>(), piece(), piece(), proptest::option::of(piece()));
        (piece(), proptest::collection::vec(step, 0..8)).prop_map(|(mut body, steps)| {
            let mut exchanges = Vec::new();
            for (cut, middle, end, response) in steps {
                let cut = cut.index(body.len() + 1);
                body = [&body[..cut], &middle, &body[cut..], &end].concat();
                exchanges.push((body.clone(), response));
            }
            exchanges
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn exact_bytes_come_back(exchanges in conversations()) {
            let dir = tempfile::tempdir().unwrap();
            store(dir.path(), &exchanges);
            let index = RequestIndex::read(dir.path()).unwrap();
            prop_assert_eq!(index.records().len(), exchanges.len());
            for (number, (body, response)) in (1..).zip(&exchanges) {
                prop_assert_eq!(&index.body(number).unwrap(), body);
                prop_assert_eq!(&index.response(number).unwrap(), response);
                prop_assert_eq!(index.frames(number).unwrap(), &[(0.25, 3)]);
            }
        }

        #[test]
        fn a_killed_writer_leaves_what_was_settled(exchanges in conversations(), cut in any::<prop::sample::Index>()) {
            let dir = tempfile::tempdir().unwrap();
            store(dir.path(), &exchanges);
            let path = dir.path().join("requests/index.jsonl");
            let text = fs::read(&path).unwrap();
            let kept = &text[..cut.index(text.len() + 1)];
            fs::write(&path, kept).unwrap();
            let index = RequestIndex::read(dir.path()).unwrap();
            prop_assert_eq!(index.records().len(), kept.iter().filter(|&&b| b == b'\n').count());
            for (number, (body, _)) in (1..).zip(&exchanges).take(index.records().len()) {
                prop_assert_eq!(&index.body(number).unwrap(), body);
            }
        }
    }

    #[test]
    fn a_conversation_costs_its_length_once() {
        let dir = tempfile::tempdir().unwrap();
        let tail = b"],\"tools\":[...]}".to_vec();
        let bodies: Vec<_> =
            (1..=50).map(|n| ([b"x".repeat(n * 1000), tail.clone()].concat(), None)).collect();
        store(dir.path(), &bodies);
        assert!(fs::metadata(dir.path().join("requests/bodies.bin")).unwrap().len() < 60_000);
    }

    /// 40 requests of 45 KB and more, with a title and a subagent's conversation between them: 1.9 MB of bodies.
    #[test]
    fn a_cell_of_forty_large_requests_stays_small_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let turn = |name: &str, n: usize| {
            let said: String =
                (0..n).map(|i| format!(",{{\"{name}\":\"result {i} of {}\"}}", "x".repeat(80))).collect();
            format!("{{\"system\":\"{}\"{said},\"tools\":[{}]}}", name.repeat(4_000), "t".repeat(25_000))
                .into_bytes()
        };
        let mut exchanges = Vec::new();
        for n in 1..=20 {
            exchanges.extend([(turn("agent", n), None), (turn("child", n), None)]);
            exchanges.push((b"{\"title\":\"what is it about?\"}".to_vec(), None));
        }
        store(dir.path(), &exchanges);
        let size: u64 = ["bodies.bin", "index.jsonl"]
            .map(|name| fs::metadata(dir.path().join("requests").join(name)).unwrap().len())
            .iter()
            .sum();
        assert!(size < 200_000, "{size} bytes");
        let index = RequestIndex::read(dir.path()).unwrap();
        for (number, (body, _)) in (1..).zip(&exchanges) {
            assert_eq!(&index.body(number).unwrap(), body);
        }
    }

    #[test]
    fn changed_bytes_are_noticed_and_unknown_requests_named() {
        let dir = tempfile::tempdir().unwrap();
        store(dir.path(), &[(b"one".to_vec(), Some(b"two".to_vec()))]);
        fs::write(dir.path().join("requests/bodies.bin"), "onE").unwrap();
        fs::write(dir.path().join("requests/responses.bin"), "twO").unwrap();
        let index = RequestIndex::read(dir.path()).unwrap();
        assert!(matches!(index.body(1), Err(RequestStoreError::Damaged { request: 1, .. })));
        assert!(matches!(index.response(1), Err(RequestStoreError::Damaged { .. })));
        assert!(matches!(index.body(2), Err(RequestStoreError::Unknown { request: 2, count: 1, .. })));
        assert!(RequestIndex::read(&dir.path().join("elsewhere")).unwrap().records().is_empty());
    }

    #[test]
    fn classes_can_be_written_anew_and_the_store_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = store(dir.path(), &[(b"title please".to_vec(), None), (b"work".to_vec(), None)]);
        store.reclass(&[(1, "title".into(), "tools came later".into())]).unwrap();
        store.append(&record(3, b"more", None), b"more".to_vec(), ResponseBytes::default()).unwrap();
        let index = RequestIndex::read(dir.path()).unwrap();
        let classes: Vec<_> = index.records().iter().map(|r| r.class.as_str()).collect();
        assert_eq!(classes, ["title", "agent_turn", "agent_turn"]);
        assert_eq!(index.body(3).unwrap(), b"more");
    }
}
