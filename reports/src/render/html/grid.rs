//! The grid of blocks: each cell in the order in which it ran, passed or not, linked to its trace.

use std::fmt::Write as _;

use minijinja::Value;
use serde::Serialize;

use super::CellLink;
use super::page::{escaped, made};
use crate::render::estimate::grouped;
use crate::rows::{BlockRow, Rows, Standing};

/// The grid.
#[derive(Serialize)]
pub(super) struct Grid {
    arms: Vec<(String, String)>,
    repeats: Vec<String>,
    rows: Vec<Row>,
    blocks: usize,
    cells: usize,
    set_aside: Vec<SetAside>,
}

#[derive(Serialize)]
struct Row {
    task: String,
    differ: bool,
    blocks: Vec<Value>,
}

#[derive(Serialize)]
struct SetAside {
    cell: String,
    attempt: u32,
    why: &'static str,
    ending: &'static str,
    link: Option<String>,
}

/// Letter of an arm by its place in the lock: A to Z, then AA, AB, ….
pub(super) fn letter(arm: usize) -> String {
    let last = char::from(b'A' + (arm % 26) as u8);
    if arm < 26 { last.to_string() } else { format!("{}{last}", letter(arm / 26 - 1)) }
}

/// Every planned block, task by task.
pub(super) fn grid(rows: &Rows<'_>, link: CellLink<'_>) -> Grid {
    let mut lines: Vec<Row> = Vec::new();
    for block in &rows.blocks {
        if lines.last().is_none_or(|row| row.task != block.task) {
            lines.push(Row { task: block.task.clone(), differ: false, blocks: Vec::new() });
        }
        if let Some(row) = lines.last_mut() {
            row.differ |= differs(block);
            row.blocks.push(made(chips(block, rows, link)));
        }
    }
    let most = rows.blocks.iter().map(|block| block.repeat).max().unwrap_or(0);
    Grid {
        arms: rows.arms.iter().enumerate().map(|(at, arm)| (letter(at), arm.to_string())).collect(),
        repeats: (1..=most).map(|repeat| format!("r{repeat:02}")).collect(),
        rows: lines,
        blocks: rows.blocks.len(),
        cells: rows.settled().count(),
        set_aside: rows
            .set_aside
            .iter()
            .map(|(standing, record)| SetAside {
                cell: record.cell_id(),
                attempt: record.attempt,
                why: standing.word(),
                ending: record.ending.kind.word(),
                link: link(record),
            })
            .collect(),
    }
}

/// Do two arms of the block differ in outcome?
fn differs(block: &BlockRow<'_>) -> bool {
    let mut outcomes = block.cells.iter().flatten().filter_map(|record| record.passed());
    outcomes.next().is_some_and(|first| outcomes.any(|other| other != first))
}

fn chips(block: &BlockRow<'_>, rows: &Rows<'_>, link: CellLink<'_>) -> String {
    let mut html = String::new();
    let valid = block.standing == Standing::Counts;
    let _ = write!(html, "<span class=\"block{}\">", if valid { "" } else { " out" });
    for (arm, record) in block.in_order() {
        let (class, mark, word) = match record.passed() {
            Some(true) => ("p", "✓", "passed"),
            Some(false) => ("f", "✗", "failed"),
            None => ("v", "?", "no outcome"),
        };
        let tokens = record.metrics.total_tokens.map_or("unknown".to_owned(), |t| grouped(t as f64));
        let title = format!(
            "{} {}, place {}: {word}, {}, {tokens} tokens",
            block.id(),
            rows.arms[arm],
            record.position,
            record.ending.kind.word()
        );
        let title = escaped(&title);
        let inner = format!("{}<i>{mark}</i>", letter(arm));
        let _ = match link(record) {
            Some(to) => {
                write!(html, "<a class=\"{class}\" href=\"{}\" title=\"{title}\">{inner}</a>", escaped(&to))
            }
            None => write!(html, "<b class=\"{class}\" title=\"{title}\">{inner}</b>"),
        };
    }
    for (arm, _) in block.cells.iter().enumerate().filter(|(_, cell)| cell.is_none()) {
        let _ = write!(
            html,
            "<b class=\"u\" title=\"{}: not settled\">{}</b>",
            escaped(rows.arms[arm].as_str()),
            letter(arm)
        );
    }
    match &block.standing {
        Standing::Invalid(reason) => {
            let _ = write!(html, "<em title=\"out of every metric\">{}</em>", escaped(reason));
        }
        Standing::Outside => html.push_str("<em title=\"out of every metric\">outside access</em>"),
        Standing::Counts | Standing::Pending | Standing::Superseded | Standing::Interrupted => {}
    }
    html.push_str("</span>");
    html
}
