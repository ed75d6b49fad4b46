//! The table of cells: one row per attempt, what counts first, block by block in the order of execution, then what was set
//! aside. Its columns are named and typed here once, for every format that the table is written in.

use bench_core::Metric;
use bench_record::{CellRecord, Verdict};

use super::words::plain;
use crate::rows::{Rows, Standing};

/// One attempt.
pub(super) type Row<'a> = (&'a Standing, &'a CellRecord);

/// A column: its name, its type, and what stands in it. None is unknown, never zero.
pub(super) enum Column {
    /// Words.
    Text(&'static str, fn(&Row<'_>) -> Option<String>),
    /// A place in a count, from 1.
    Whole(&'static str, fn(&CellRecord) -> u32),
    /// Yes or no.
    Truth(&'static str, fn(&CellRecord) -> Option<bool>),
    /// A metric by its key.
    Number(Metric),
}

impl Column {
    /// Its name in every format.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Text(name, _) | Self::Whole(name, _) | Self::Truth(name, _) => name,
            Self::Number(metric) => metric.key(),
        }
    }
}

/// Columns before those of the metrics.
const FIXED: [Column; 24] = [
    Column::Text("cell", |(_, record)| Some(record.cell_id())),
    Column::Text("task", |(_, record)| Some(record.task.to_string())),
    Column::Text("cluster", |(_, record)| Some(record.cluster.to_string())),
    Column::Text("track", |(_, record)| word(&record.track)),
    Column::Whole("repeat", |record| record.repeat),
    Column::Text("arm", |(_, record)| Some(record.arm.to_string())),
    Column::Text("block", |(_, record)| Some(record.block.to_string())),
    Column::Whole("position", |record| record.position),
    Column::Text("order", |(_, record)| Some(order(record))),
    Column::Whole("round", |record| record.round),
    Column::Whole("attempt", |record| record.attempt),
    Column::Text("standing", |(standing, _)| Some(standing.word().to_owned())),
    Column::Text("standing_reason", |(standing, _)| reason(standing)),
    Column::Text("ending", |(_, record)| Some(record.ending.kind.word().to_owned())),
    Column::Text("verdict", |(_, record)| record.verdict.map(verdict)),
    Column::Text("started_at", |(_, record)| Some(record.started_at.clone())),
    Column::Text("ended_at", |(_, record)| Some(record.ended_at.clone())),
    Column::Text("isolation_level", |(_, record)| Some(record.isolation.level.to_string())),
    Column::Truth("evidence_complete", |record| record.isolation.evidence_complete),
    Column::Text("tokens_basis", |(_, record)| Some(record.tokens.basis.to_string())),
    Column::Text("tokens_completeness", |(_, record)| Some(record.tokens.completeness.to_string())),
    Column::Text("models_answered", |(_, record)| Some(record.upstream.models_answered.join(" "))),
    Column::Text("censored", |(_, record)| Some(censored(record))),
    Column::Text("dir", |(_, record)| Some(record.dir.clone())),
];

/// Every column, in order.
pub(super) fn columns() -> impl Iterator<Item = Column> {
    FIXED.into_iter().chain(Metric::ALL.into_iter().map(Column::Number))
}

/// Every row, in order.
pub(super) fn rows<'a>(rows: &'a Rows<'_>) -> impl Iterator<Item = Row<'a>> {
    let set_aside = rows.set_aside.iter().map(|(standing, record)| (standing, *record));
    rows.settled().chain(set_aside)
}

/// Words as every format holds them: what a terminal would obey is taken out.
pub(super) fn text(of: fn(&Row<'_>) -> Option<String>, row: &Row<'_>) -> Option<String> {
    of(row).map(|words| plain(&words))
}

fn order(record: &CellRecord) -> String {
    let arms: Vec<&str> = record.order.iter().map(|arm| arm.as_str()).collect();
    arms.join(" ")
}

fn censored(record: &CellRecord) -> String {
    let metrics: Vec<&str> = record.censored.iter().map(|metric| metric.key()).collect();
    metrics.join(" ")
}

fn reason(standing: &Standing) -> Option<String> {
    match standing {
        Standing::Invalid(reason) => Some(reason.clone()),
        Standing::Counts
        | Standing::Pending
        | Standing::Outside
        | Standing::Superseded
        | Standing::Interrupted => None,
    }
}

fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Passed => "passed".to_owned(),
        Verdict::Failed => "failed".to_owned(),
    }
}

fn word(value: &impl serde::Serialize) -> Option<String> {
    let value = serde_json::to_value(value).ok()?;
    value.as_str().map(str::to_owned)
}
