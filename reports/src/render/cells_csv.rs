//! `cells.csv`: one line per attempt, every metric by its key. An empty field is unknown, never zero.

use bench_core::Metric;
use bench_record::{CellRecord, Verdict};

use super::words::plain;
use crate::rows::{Rows, Standing};

/// Columns before those of the metrics.
const FIXED: [&str; 24] = [
    "cell",
    "task",
    "cluster",
    "track",
    "repeat",
    "arm",
    "block",
    "position",
    "order",
    "round",
    "attempt",
    "standing",
    "standing_reason",
    "ending",
    "verdict",
    "started_at",
    "ended_at",
    "isolation_level",
    "evidence_complete",
    "tokens_basis",
    "tokens_completeness",
    "models_answered",
    "censored",
    "dir",
];

/// The table: what counts first, block by block in the order of execution, then what was set aside.
pub fn cells_csv(rows: &Rows<'_>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let heads = FIXED.into_iter().chain(Metric::ALL.into_iter().map(Metric::key));
    let set_aside = rows.set_aside.iter().map(|(standing, record)| (standing, *record));
    let written = writer.write_record(heads).and_then(|()| {
        rows.settled()
            .chain(set_aside)
            .try_for_each(|(standing, record)| writer.write_record(line(standing, record)))
    });
    written.expect("memory takes every line, and every line has the same columns");
    let bytes = writer.into_inner().expect("memory takes every line");
    String::from_utf8(bytes).expect("every field is text")
}

fn line(standing: &Standing, record: &CellRecord) -> Vec<String> {
    let reason = match standing {
        Standing::Invalid(reason) => reason.clone(),
        Standing::Counts
        | Standing::Pending
        | Standing::Outside
        | Standing::Superseded
        | Standing::Interrupted => String::new(),
    };
    let verdict = match record.verdict {
        Some(Verdict::Passed) => "passed",
        Some(Verdict::Failed) => "failed",
        None => "",
    };
    let order: Vec<&str> = record.order.iter().map(|arm| arm.as_str()).collect();
    let censored: Vec<&str> = record.censored.iter().map(|metric| metric.key()).collect();
    let mut fields = vec![
        record.cell_id(),
        record.task.to_string(),
        record.cluster.clone(),
        word(&record.track),
        record.repeat.to_string(),
        record.arm.to_string(),
        record.block.clone(),
        record.position.to_string(),
        order.join(" "),
        record.round.to_string(),
        record.attempt.to_string(),
        standing.word().to_owned(),
        reason,
        record.ending.kind.word().to_owned(),
        verdict.to_owned(),
        record.started_at.clone(),
        record.ended_at.clone(),
        record.isolation.level.to_string(),
        record.isolation.evidence_complete.map_or(String::new(), |whole| whole.to_string()),
        record.tokens.basis.clone(),
        record.tokens.completeness.clone(),
        record.upstream.models_answered.join(" "),
        censored.join(" "),
        record.dir.clone(),
    ];
    let value = |metric| record.metric(metric).map_or(String::new(), |value: f64| value.to_string());
    fields.extend(Metric::ALL.into_iter().map(value));
    fields.iter().map(|field| plain(field)).map(inert).collect()
}

/// A spreadsheet takes a field that begins so for a formula; numbers are ours.
fn inert(field: String) -> String {
    let formula =
        field.starts_with(['=', '+', '@']) || (field.starts_with('-') && field.parse::<f64>().is_err());
    if formula { format!("'{field}") } else { field }
}

fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
