//! `cells.csv`: the table of cells for spreadsheets. An empty field is unknown, never zero.

use super::cells::{Column, Row, columns, rows, text};
use crate::rows::Rows;

/// The table, one line per attempt.
pub fn cells_csv(attempts: &Rows<'_>) -> String {
    let columns: Vec<Column> = columns().collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = writer.write_record(columns.iter().map(Column::name)).and_then(|()| {
        rows(attempts)
            .try_for_each(|row| writer.write_record(columns.iter().map(|column| field(column, &row))))
    });
    written.expect("memory takes every line, and every line has the same columns");
    let bytes = writer.into_inner().expect("memory takes every line");
    String::from_utf8(bytes).expect("every field is text")
}

fn field(column: &Column, row: &Row<'_>) -> String {
    match column {
        Column::Text(_, of) => text(*of, row).map(inert),
        Column::Whole(_, of) => Some(of(row.1).to_string()),
        Column::Truth(_, of) => of(row.1).map(|whether| whether.to_string()),
        Column::Number(metric) => row.1.metric(*metric).map(|value: f64| value.to_string()),
    }
    .unwrap_or_default()
}

/// A spreadsheet takes a field that begins so for a formula; numbers are ours.
fn inert(field: String) -> String {
    if field.starts_with(['=', '+', '-', '@']) { format!("'{field}") } else { field }
}
