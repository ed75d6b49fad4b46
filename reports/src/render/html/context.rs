//! Cumulative context: input tokens paid up to each turn, arm by arm.

use bench_record::CellRecord;
use bench_stats::median::quantile;
use minijinja::Value;
use serde::Serialize;

use super::page::made;
use super::svg::{Anchor, Scale, Svg, ticks};
use crate::render::estimate::grouped;
use crate::rows::Rows;

const HEIGHT: f64 = 300.0;
const TOP: f64 = 12.0;
const FOOT: f64 = 34.0;
const LEFT: f64 = 9.0;
const RIGHT: f64 = 97.0;
/// A line goes on as long as this share of the arm's cells is still running.
const STILL_RUNNING: f64 = 0.5;
/// Colours that the style sheet holds.
pub(in crate::render) const COLOURS: usize = 8;

/// The figure and its numbers.
#[derive(Serialize)]
pub(super) struct Context {
    plot: Value,
    arms: Vec<ArmLine>,
}

/// The course of one arm.
#[derive(Serialize)]
pub(in crate::render) struct ArmLine {
    pub(in crate::render) name: String,
    pub(in crate::render) colour: usize,
    pub(in crate::render) cells: usize,
    pub(in crate::render) turns: Vec<Turn>,
}

/// What an arm's cells had paid up to a turn.
#[derive(Serialize)]
pub(in crate::render) struct Turn {
    pub(in crate::render) turn: usize,
    cells: usize,
    median: String,
    low: String,
    high: String,
    /// The median, in tokens.
    #[serde(skip)]
    pub(in crate::render) at: f64,
}

/// Medians over the cells that reached a turn; null without turns.
pub(super) fn context(rows: &Rows<'_>) -> Option<Context> {
    let arms = courses(rows);
    let last = arms.iter().map(|arm| arm.turns.len()).max()?;
    let most = arms.iter().flat_map(|arm| &arm.turns).map(|turn| turn.at).fold(0.0, f64::max);
    Some(Context { plot: made(drawn(&arms, last, most)), arms })
}

/// Every arm that has turns.
pub(in crate::render) fn courses(rows: &Rows<'_>) -> Vec<ArmLine> {
    rows.arms
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let cells: Vec<Vec<f64>> =
                rows.counting(index).map(cumulated).filter(|c| !c.is_empty()).collect();
            ArmLine {
                name: name.to_string(),
                colour: index % COLOURS,
                cells: cells.len(),
                turns: turns(&cells),
            }
        })
        .filter(|arm| !arm.turns.is_empty())
        .collect()
}

/// Input tokens of a cell's turns, summed up to each.
fn cumulated(record: &CellRecord) -> Vec<f64> {
    let mut sum = 0.0;
    record
        .turns_series
        .iter()
        .map(|turn| {
            sum += turn.input_tokens as f64;
            sum
        })
        .collect()
}

fn turns(cells: &[Vec<f64>]) -> Vec<Turn> {
    let enough = (cells.len() as f64 * STILL_RUNNING).max(1.0);
    (0..)
        .map_while(|turn| {
            let reached: Vec<f64> = cells.iter().filter_map(|cell| cell.get(turn).copied()).collect();
            if (reached.len() as f64) < enough {
                return None;
            }
            let at = quantile(&reached, 0.5)?;
            Some(Turn {
                turn: turn + 1,
                cells: reached.len(),
                median: grouped(at),
                low: quantile(&reached, 0.0).map_or("–".to_owned(), grouped),
                high: quantile(&reached, 1.0).map_or("–".to_owned(), grouped),
                at,
            })
        })
        .collect()
}

fn drawn(arms: &[ArmLine], last: usize, most: f64) -> String {
    let across = Scale::linear((1.0, last as f64), (LEFT, RIGHT));
    let up = Scale::linear((0.0, most), (HEIGHT - FOOT, TOP));
    let mut svg = Svg::new(HEIGHT, "plot context", Some("input tokens paid up to each turn, median by arm"));
    for value in ticks((0.0, most), 5.0) {
        svg.line("gridline", (LEFT, up.at(value)), (RIGHT, up.at(value)), "");
        svg.text("label", (LEFT - 1.0, up.at(value) + 4.0), Anchor::End, &shortened(value));
    }
    for turn in ticks((1.0, last as f64), 8.0).into_iter().filter(|turn| turn.fract() == 0.0) {
        svg.text("label", (across.at(turn), HEIGHT - FOOT + 18.0), Anchor::Middle, &format!("{turn}"));
    }
    svg.text("label", (RIGHT, HEIGHT - 2.0), Anchor::End, "turn");
    for arm in arms {
        let points: Vec<(f64, f64)> =
            arm.turns.iter().map(|turn| (across.at(turn.turn as f64), up.at(turn.at))).collect();
        for pair in points.windows(2) {
            svg.line(&format!("course arm{}", arm.colour), pair[0], pair[1], "");
        }
        for (turn, point) in arm.turns.iter().zip(&points) {
            let title =
                format!("{}, turn {}: {} tokens, {} cells", arm.name, turn.turn, turn.median, turn.cells);
            svg.dot(&format!("station arm{}", arm.colour), *point, 3.5, &title);
        }
    }
    svg.done()
}

/// A large count for an axis: 50k, 1.5M.
pub(in crate::render) fn shortened(value: f64) -> String {
    let trimmed = |value: f64, unit: &str| {
        let text = format!("{value:.1}");
        format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    match value {
        v if v >= 1e6 => trimmed(v / 1e6, "M"),
        v if v >= 1e3 => trimmed(v / 1e3, "k"),
        v => trimmed(v, ""),
    }
}
