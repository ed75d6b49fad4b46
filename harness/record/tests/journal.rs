//! The journal and the lock on disk: old files stay readable, a torn tail costs nothing that was acknowledged.

#![allow(clippy::unwrap_used, reason = "a test may panic wherever it stands")]

use std::fs;
use std::path::Path;

use bench_record::{Journal, JournalError, Lock, Metrics, Tail, read_journal, read_numbers};
use serde_json::Value;

fn v1() -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/v1/journal.jsonl")).unwrap()
}

/// Parts of an old record that are not in the new one as they were; new fields may have come.
fn lost(old: &Value, now: &Value, path: &str) -> Vec<String> {
    match (old, now) {
        (Value::Object(a), Value::Object(b)) => a
            .iter()
            .flat_map(|(key, value)| {
                lost(value, b.get(key).unwrap_or(&Value::Null), &format!("{path}.{key}"))
            })
            .collect(),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).flat_map(|(x, y)| lost(x, y, &format!("{path}[]"))).collect()
        }
        (a, b) if a == b => Vec::new(),
        (a, b) => vec![format!("{path}: {a} became {b}")],
    }
}

#[test]
fn files_of_version_1_are_read_and_nothing_in_them_is_lost() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/v1/journal.jsonl");
    let (records, tail) = read_journal(&path).unwrap();
    assert_eq!((records.len(), tail), (2, Tail::Whole));
    for (record, line) in records.iter().zip(String::from_utf8(v1()).unwrap().lines()) {
        let old: Value = serde_json::from_str(line).unwrap();
        let now = serde_json::to_value(record).unwrap();
        assert_eq!(lost(&old, &now, ""), Vec::<String>::new());
    }
    let lock = Lock::read(&path.with_file_name("lock.json")).unwrap();
    assert_eq!(lock["format_version"], 1);
}

#[test]
fn wherever_the_last_write_was_cut_the_records_before_it_stay_and_appending_goes_on() {
    let whole = v1();
    let first = whole.iter().position(|&b| b == b'\n').unwrap() + 1;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    let cuts = (first..whole.len()).step_by(131).chain([first + 1, whole.len() - 2, whole.len() - 1]);
    for cut in cuts {
        fs::write(&path, &whole[..cut]).unwrap();
        let (mut journal, records, tail) = Journal::open(&path).unwrap();
        assert_eq!(records.len(), 1, "cut at {cut}");
        let expected = (cut - first) as u64;
        assert_eq!(tail, if expected == 0 { Tail::Whole } else { Tail::Torn { bytes: expected } });
        journal.append(&records[0]).unwrap();
        drop(journal);
        assert_eq!(read_journal(&path).unwrap().0.len(), 2, "cut at {cut}");
    }
}

#[test]
fn a_reader_of_a_run_in_progress_changes_nothing() {
    let whole = v1();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    let (records, tail) = read_journal(&path).unwrap();
    assert_eq!(records.len(), 1);
    assert!(matches!(tail, Tail::Torn { .. }));
    assert_eq!(fs::read(&path).unwrap(), &whole[..whole.len() - 7]);
}

#[test]
fn damage_in_the_middle_and_newer_versions_are_refused_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    let text = String::from_utf8(v1()).unwrap();
    fs::write(&path, text.replacen('{', "[", 1)).unwrap();
    assert!(matches!(Journal::open(&path), Err(JournalError::Line { line: 1, .. })));
    fs::write(&path, text.replacen("\"format_version\":1", "\"format_version\":2", 1)).unwrap();
    let error = Journal::open(&path).unwrap_err();
    assert!(matches!(error, JournalError::Version { line: 1, found: 2, known: 1, .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2, "nothing was cut off");
}

#[test]
fn numbers_are_those_of_the_whole_records_and_end_where_they_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    let named =
        String::from_utf8(v1()).unwrap().replace("\"loads\":", "\"primary_outcome\":\"turns\",\"loads\":");
    let whole = named.as_bytes();
    for cut in [whole.len(), whole.len() - 1, whole.len() - 40] {
        fs::write(&path, &whole[..cut]).unwrap();
        let ((records, tail), (numbers, end)) = (read_journal(&path).unwrap(), read_numbers(&path).unwrap());
        assert_eq!((records.len(), tail), (numbers.len(), end), "cut at {cut}");
        for (record, number) in records.iter().zip(&numbers) {
            assert!(number.metric(bench_core::Metric::PrimaryOutcome).is_some());
            let of = |r: &bench_record::CellRecord| -> (Metrics, _, _, _) {
                (r.metrics.clone(), r.passed(), r.transcript_sha256.clone(), r.loads.clone())
            };
            assert_eq!(of(record), of(number));
            for metric in bench_core::Metric::ALL {
                assert_eq!(record.metric(metric), number.metric(metric), "{metric}");
            }
            assert!(number.checks.is_empty() && number.isolation.requested.is_empty());
        }
    }
}

#[test]
fn what_is_wrong_with_a_line_is_said_by_both_readers_alike() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    let text = String::from_utf8(v1()).unwrap();
    let newer = text.replacen("\"format_version\":1", "\"format_version\":99", 1);
    for broken in [newer, format!("no record\n{text}"), format!("{text}\0\0\n")] {
        fs::write(&path, &broken).unwrap();
        let said = |error: JournalError| error.to_string();
        let (one, other) = (read_journal(&path).map_err(said), read_numbers(&path).map_err(said));
        assert_eq!(one.map(|(r, tail)| (r.len(), tail)), other.map(|(r, tail)| (r.len(), tail)));
    }
}

/// A journal of more blocks than one is read in its order, and what is wrong far inside it has the right line.
#[test]
fn a_long_journal_is_read_in_its_order_and_its_lines_are_told_by_their_number() {
    const LINES: usize = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal.jsonl");
    let text = String::from_utf8(v1()).unwrap();
    let record = text.lines().next().unwrap();
    let line = |number: usize| {
        let line = record.replace("\"attempt\":1", &format!("\"attempt\":{number}"));
        // Blocks of lines of very different lengths.
        format!("{}{line}\n", " ".repeat(number % 7 * 500))
    };
    let lines: Vec<String> = (1..=LINES).map(line).collect();
    let whole = lines.concat();
    assert!(whole.len() > 10 << 20, "{}", whole.len());
    fs::write(&path, &whole).unwrap();
    let (records, tail) = read_numbers(&path).unwrap();
    let attempts: Vec<usize> = records.iter().map(|record| record.attempt as usize).collect();
    assert_eq!((attempts, tail), ((1..=LINES).collect(), Tail::Whole));
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let (records, tail) = read_numbers(&path).unwrap();
    let torn = (lines[LINES - 1].len() - 9) as u64;
    assert_eq!((records.len(), tail), (LINES - 1, Tail::Torn { bytes: torn }));
    for damaged in [1, 2_500, LINES - 1] {
        let mut lines = lines.clone();
        lines[damaged - 1] = "no record\n".to_owned();
        fs::write(&path, lines.concat()).unwrap();
        let error = read_numbers(&path).unwrap_err();
        assert!(matches!(error, JournalError::Line { line, .. } if line == damaged), "{error}");
    }
}
