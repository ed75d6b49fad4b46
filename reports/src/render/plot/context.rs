//! Cumulative context: input tokens paid up to each turn, median by arm.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::sheet::{ARMS, INK, LINE, QUIET, Sheet, drawn};
use crate::render::html::context::{ArmLine, COLOURS, courses, shortened};
use crate::render::words::plain;
use crate::rows::Rows;

const WIDTH: i32 = 960;
/// Enough for the names of a dozen arms; more make it higher.
const HEIGHT: i32 = 420;
const LEGEND: i32 = 760;
const ENTRY: i32 = 24;
const HOLDS: &str = "memory takes every shape";

/// One line per arm; null without turns.
pub(super) fn context(rows: &Rows<'_>) -> Option<String> {
    let arms = courses(rows);
    let last = arms.iter().map(|arm| arm.turns.len()).max()?;
    let most = arms.iter().flat_map(|arm| &arm.turns).map(|turn| turn.at).fold(0.0, f64::max);
    let title = "Input tokens paid up to each turn, median by arm";
    let height = HEIGHT.max(100 + ENTRY * arms.len() as i32);
    Some(drawn(title, (WIDTH as u32, height as u32), |sheet| {
        chart(sheet, &arms, (last as f64, most));
        for (index, arm) in arms.iter().enumerate() {
            let y = 40 + ENTRY * index as i32;
            let colour = ARMS[arm.colour % COLOURS];
            sheet.line((LEGEND, y), (LEGEND + 20, y), colour, 3);
            let words = format!("{} (n {})", plain(&arm.name), arm.cells);
            sheet.text(&words, (LEGEND + 28, y), HPos::Left, INK);
        }
        let note = "a line goes on while half of the arm's cells do";
        sheet.text(note, (12, height - 14), HPos::Left, QUIET);
    }))
}

fn chart(sheet: &Sheet<'_, '_>, arms: &[ArmLine], (last, most): (f64, f64)) {
    let (place, _) = sheet.area().split_horizontally(LEGEND - 20);
    let mut chart = ChartBuilder::on(&place)
        .margin(18)
        .margin_bottom(26)
        .x_label_area_size(38)
        .y_label_area_size(64)
        .build_cartesian_2d(1.0..last.max(2.0), 0.0..(most * 1.05).max(1.0))
        .expect(HOLDS);
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(LINE)
        .axis_style(QUIET)
        .label_style(("sans-serif", 13).into_font().color(&QUIET))
        .x_labels(8)
        .y_labels(6)
        .x_label_formatter(&|turn| if turn.fract() == 0.0 { format!("{turn}") } else { String::new() })
        .y_label_formatter(&|tokens| shortened(*tokens))
        .x_desc("turn")
        .y_desc("input tokens so far")
        .draw()
        .expect(HOLDS);
    for arm in arms {
        let colour = ARMS[arm.colour % COLOURS];
        let points: Vec<(f64, f64)> = arm.turns.iter().map(|turn| (turn.turn as f64, turn.at)).collect();
        let line = LineSeries::new(points.clone(), colour.stroke_width(2));
        chart.draw_series(line).expect(HOLDS);
        chart
            .draw_series(points.into_iter().map(|point| Circle::new(point, 3, colour.filled())))
            .expect(HOLDS);
    }
}
