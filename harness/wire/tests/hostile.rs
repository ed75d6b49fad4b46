//! Bytes that nobody would send: the readers of every API and the splitter of events take them without a panic and with
//! memory in proportion to what came.
//!
//! The seeds lie in `corpus/`, one file each, named by what they are (`request-`, `response-`) and by their API; a file that
//! once broke something goes there too and is tried ever after. Each run bends seeds by a seeded generator, so a failure
//! comes back with the number that is printed. `BENCH_FUZZ_RUNS` sets how many runs each target gets (CI: more than here).

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test panics where it must not go on, and says with what"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

use bench_wire::sse::Splitter;
use bench_wire::{Api, ModelRequest, ReplyReader, TurnError};

const APIS: [(&str, Api, &str); 4] = [
    ("chat", Api::Chat, "/v1/chat/completions"),
    ("responses", Api::Responses, "/v1/responses"),
    ("messages", Api::Messages, "/v1/messages?beta=true"),
    ("gemini", Api::Gemini, "/v1beta/models/m:streamGenerateContent?alt=sse"),
];
/// Runs of each target where nothing else is asked for.
const RUNS: u64 = 3_000;
/// Memory that a reader may hold for each byte that came: a value of JSON takes a hundred bytes for three of text, and a
/// tool stands in a request as it was sent, as an entry and read.
const BYTES_FOR_A_BYTE: usize = 400;
/// What any reader may hold whatever came.
const AT_LEAST: usize = 64 * 1024;

/// Counts what this thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

fn taken(bytes: usize) {
    let _ = HELD.try_with(|held| {
        held.set(held.get().wrapping_add(bytes));
        let _ = MOST.try_with(|most| most.set(most.get().max(held.get())));
    });
}

fn given(bytes: usize) {
    let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(bytes)));
}

// SAFETY: every call is the system allocator's, unchanged; what is added counts and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        given(layout.size());
        // SAFETY: the pointer came from `alloc` above with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that was held at once while it ran, beyond what was held before.
fn most_held<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    MOST.set(before);
    let result = run();
    (result, MOST.get().saturating_sub(before))
}

/// A small generator: the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        // Splitmix64 (Steele, Lea, Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// Texts that readers stumble over.
const WORDS: [&[u8]; 24] = [
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"\"\"",
    b"{}",
    b"[]",
    b"[[[[[[[[",
    b"{\"type\":",
    b"\"\\ud800\"",
    b"\"\\u0000\"",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"data: ",
    b"data: [DONE]\n\n",
    b"\n\n",
    b"\r\r",
    b"event: x\n",
    b":",
    b"\"tools\":0,",
    b"\"usage\":{\"input_tokens\":-5},",
    b"\"index\":9223372036854775807,",
    b",",
];

/// A seed, bent.
fn bend(seeds: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seeds[dice.below(seeds.len())].clone();
    for _ in 0..dice.below(6) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + dice.below(64)).min(bytes.len());
        match dice.below(8) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece.repeat(1 + dice.below(20)));
            }
            3 => {
                let word = WORDS[dice.below(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            4 => {
                let word = WORDS[dice.below(WORDS.len())];
                bytes.splice(at..end, word.iter().copied());
            }
            5 => {
                let other = &seeds[dice.below(seeds.len())];
                let from = dice.below(other.len());
                bytes.splice(at..end, other[from..].iter().copied());
            }
            6 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = dice.next() as u8;
                }
            }
            _ => {
                let noise: Vec<u8> = (0..dice.below(40)).map(|_| dice.next() as u8).collect();
                bytes.splice(at..at, noise);
            }
        }
    }
    bytes
}

fn seeds(kind: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let named =
        files.into_iter().map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path));
    let wanted: Vec<_> = named.filter(|(name, _)| name.starts_with(kind)).collect();
    assert!(wanted.len() >= APIS.len(), "{kind}: the corpus is gone");
    wanted.into_iter().map(|(name, path)| (name, std::fs::read(path).unwrap())).collect()
}

fn runs() -> u64 {
    std::env::var("BENCH_FUZZ_RUNS").ok().map_or(RUNS, |runs| runs.parse().unwrap())
}

/// Tries every seed as it is, then as many bent ones as were asked for.
fn try_all(kind: &str, target: impl Fn(Api, &str, &[u8], &mut Dice)) {
    let named = seeds(kind);
    let bytes: Vec<Vec<u8>> = named.iter().map(|(_, bytes)| bytes.clone()).collect();
    for (name, seed) in &named {
        for (_, api, path) in APIS {
            eprintln!("{name} as it is");
            target(api, path, seed, &mut Dice(1));
        }
    }
    for run in 0..runs() {
        let mut dice = Dice(run);
        let bent = bend(&bytes, &mut dice);
        let (_, api, path) = APIS[dice.below(APIS.len())];
        eprintln!("{kind} run {run}: {api:?}, {} bytes", bent.len());
        target(api, path, &bent, &mut dice);
    }
}

fn held_in_proportion(held: usize, came: usize) {
    let most = AT_LEAST + came * BYTES_FOR_A_BYTE;
    assert!(held <= most, "{held} bytes held for {came} that came, {most} allowed");
}

#[test]
fn requests_of_any_bytes_are_read_or_refused() {
    try_all("request-", |api, path, bytes, _| {
        let (read, held) = most_held(|| {
            let request = ModelRequest::read(api, path, bytes)?;
            let names: Vec<String> = request.tools.iter().map(|tool| tool.full_name()).collect();
            names.iter().for_each(|name| assert!(request.tool(name).is_some()));
            let said = request.tools_json().len() + request.messages_json(|_| true).len();
            Ok::<_, bench_wire::RequestError>((said, names.len()))
        });
        held_in_proportion(held, bytes.len());
        if let Err(error) = read {
            assert!(!error.to_string().is_empty());
        }
    });
}

fn replies(api: Api, kind: Option<&str>, pieces: &[&[u8]]) -> Result<bench_wire::Turn, TurnError> {
    let mut reader = ReplyReader::new(api, kind);
    pieces.iter().for_each(|piece| reader.feed(piece));
    reader.finish()
}

#[test]
fn responses_of_any_bytes_are_read_alike_wherever_they_are_cut() {
    try_all("response-", |api, _, bytes, dice| {
        let kind = [None, Some("text/event-stream"), Some("application/json")][dice.below(3)];
        let (whole, held) = most_held(|| replies(api, kind, &[bytes]));
        held_in_proportion(held, bytes.len());
        let (a, b) = (dice.below(bytes.len() + 1), dice.below(bytes.len() + 1));
        let (a, b) = (a.min(b), a.max(b));
        let cut = replies(api, kind, &[&bytes[..a], &bytes[a..b], &bytes[b..]]);
        assert_eq!(format!("{whole:?}"), format!("{cut:?}"));
        let said = whole.as_ref().ok().or_else(|| whole.as_ref().err()?.partial());
        if let Some(usage) = said.and_then(|turn| turn.usage) {
            let _ = (usage.contradiction(), usage.total_tokens());
        }
    });
}

#[test]
fn events_of_any_bytes_are_split_without_more_than_came() {
    try_all("response-", |_, _, bytes, dice| {
        let (events, held) = most_held(|| {
            let mut splitter = Splitter::new();
            let size = 1 + dice.below(bytes.len().max(1));
            let mut events: Vec<_> = bytes.chunks(size).flat_map(|piece| splitter.feed(piece)).collect();
            events.extend(splitter.finish());
            events
        });
        held_in_proportion(held, bytes.len());
        assert!(events.iter().map(Vec::len).sum::<usize>() <= bytes.len());
    });
}

#[test]
fn a_response_without_end_is_cut_and_named() {
    let piece =
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(1 << 20));
    let (read, held) = most_held(|| {
        let mut reader = ReplyReader::new(Api::Chat, Some("text/event-stream"));
        for _ in 0..100 {
            reader.feed(piece.as_bytes());
        }
        reader.finish()
    });
    assert!(read.unwrap_err().partial().unwrap().text.len() <= bench_wire::reply::RESPONSE_CAP);
    assert!(held <= 3 * bench_wire::reply::RESPONSE_CAP, "{held} bytes held");
}
