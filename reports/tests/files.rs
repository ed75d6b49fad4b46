//! `cells.csv`, `cells.parquet`, `junit.xml` and the annotations: what stands in them, and that nothing breaks out of them.

#![allow(clippy::unwrap_used, reason = "a test may panic wherever it stands")]

mod support;

use bench_core::{EndingKind, Metric};
use bench_record::CellRecord;
use bench_reports::{Protocol, Rows, analyse, cells_csv, cells_parquet, github_annotations, junit};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use support::Plan;

const HOSTILE: &str = "]]><x a=\"b\">,\"\n=1+1\u{1b}[31m\u{0}";

fn two_arms() -> Plan {
    Plan::new(6, 2, &["bare", "gateway"])
        .contrast("gateway", "gate")
        .ratio_gate("first", "first_request_tokens", &["gateway"])
        .ratio_gate("total", "total_tokens", &["gateway"])
}

/// The candidate costs twice as much in tokens; one block has no outcome; one cell was made twice.
fn journal(plan: &Plan) -> Vec<CellRecord> {
    let mut cells = plan.cells();
    for cell in cells.iter_mut().filter(|cell| cell.arm.as_str() == "gateway") {
        cell.metrics.total_tokens = cell.metrics.total_tokens.map(|tokens| tokens * 2);
    }
    let mut again = cells[0].clone();
    again.attempt = 2;
    cells.push(again);
    cells[3].ending.kind = EndingKind::UpstreamFault;
    cells[5].metrics.turns = None;
    cells[5].upstream.models_answered = vec![HOSTILE.into()];
    cells
}

#[test]
fn every_attempt_has_a_line_and_unknown_is_empty() {
    let (plan, cells) = (two_arms(), journal(&two_arms()));
    let protocol = Protocol::read(&plan.lock()).unwrap();
    let text = cells_csv(&Rows::of(&protocol, &cells).unwrap());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + cells.len(), "a line is an attempt, whatever stands in it");
    let heads: Vec<&str> = lines[0].split(',').collect();
    assert!(Metric::ALL.iter().all(|metric| heads.contains(&metric.key())));
    let column = |name: &str| heads.iter().position(|head| *head == name).unwrap();
    let standings: Vec<&str> =
        lines[1..].iter().map(|line| line.split(',').nth(column("standing")).unwrap()).collect();
    assert_eq!(standings.iter().filter(|word| **word == "superseded").count(), 1);
    assert_eq!(standings.iter().filter(|word| **word == "invalid").count(), 2, "the whole block is out");
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    let unknown = lines.iter().find(|line| line.starts_with(&format!("{},", cells[5].cell_id()))).unwrap();
    let from_the_end = heads.len() - column("turns");
    assert_eq!(unknown.split(',').rev().nth(from_the_end - 1), Some(""), "unknown is not zero: {unknown}");
}

#[test]
fn the_table_for_data_frames_says_what_the_table_for_spreadsheets_says() {
    let (plan, cells) = (two_arms(), journal(&two_arms()));
    let protocol = Protocol::read(&plan.lock()).unwrap();
    let rows = Rows::of(&protocol, &cells).unwrap();
    let text = cells_csv(&rows);
    let mut lines = csv::Reader::from_reader(text.as_bytes());
    let heads = lines.headers().unwrap().clone();
    let file = SerializedFileReader::new(bytes::Bytes::from(cells_parquet(&rows))).unwrap();
    let mut count = 0;
    for (line, row) in lines.records().zip(file.get_row_iter(None).unwrap()) {
        let (line, row) = (line.unwrap(), row.unwrap());
        count += 1;
        let columns: Vec<(&String, &Field)> = row.get_column_iter().collect();
        assert_eq!(columns.len(), heads.len());
        for ((head, written), (name, field)) in heads.iter().zip(line.iter()).zip(columns) {
            assert_eq!(head, name);
            let same = if let Field::Str(words) = field {
                words == written.trim_start_matches('\'')
            } else if let Field::Long(count) = field {
                written.parse() == Ok(*count)
            } else if let Field::Bool(whether) = field {
                written.parse() == Ok(*whether)
            } else if let Field::Double(number) = field {
                written.parse() == Ok(*number)
            } else {
                *field == Field::Null && written.is_empty()
            };
            assert!(same, "{name}: {field} is not {written}");
        }
    }
    assert_eq!(count, cells.len());
    let unknown = file.get_row_iter(None).unwrap().map(Result::unwrap);
    let turns = |row: &parquet::record::Row| {
        row.get_column_iter().find(|(name, _)| *name == "turns").map(|(_, field)| field.clone())
    };
    assert_eq!(unknown.filter(|row| turns(row) == Some(Field::Null)).count(), 1, "unknown stays null");
}

#[test]
fn a_run_without_a_cell_has_a_table_without_a_row() {
    let plan = two_arms();
    let protocol = Protocol::read(&plan.lock()).unwrap();
    let bytes = cells_parquet(&Rows::of(&protocol, &[]).unwrap());
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    assert_eq!(file.metadata().file_metadata().num_rows(), 0);
}

#[test]
fn gates_and_blocks_are_cases() {
    let plan = two_arms();
    let cells = journal(&plan);
    let mut lock = plan.lock();
    lock["experiment"] = HOSTILE.into();
    let analysis = analyse(&lock, &cells).unwrap();
    let protocol = Protocol::read(&lock).unwrap();
    let text = junit(&analysis, &Rows::of(&protocol, &cells).unwrap());
    assert_eq!(text.matches("<testcase ").count(), 2 + 12);
    assert_eq!(text.matches("<failure ").count(), 1, "{text}");
    assert_eq!(text.matches("<error ").count(), 1, "the block without an outcome: {text}");
    assert!(text.contains("type=\"FAIL\"") && text.contains("upstream_fault"));
    assert!(!text.chars().any(|c| c.is_control() && c != '\n') && !text.contains("<x a="));
}

#[test]
fn a_red_gate_is_an_error_at_the_job() {
    let plan = two_arms();
    let text = github_annotations(&analyse(&plan.lock(), &journal(&plan)).unwrap());
    assert!(text.lines().all(|line| line.starts_with("::")), "{text}");
    assert!(text.starts_with("::error title=FAIL%3A small::"), "{text}");
    assert_eq!(text.lines().filter(|line| line.contains("FAIL total")).count(), 1, "{text}");
    assert!(text.contains("2.000") && text.contains("1.25") && text.contains("/gateway"), "{text}");
}
