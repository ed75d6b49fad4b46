//! First-request bars: what each arm pays before a word is said, part by part; what is never used is framed.

use plotters::prelude::RGBColor;
use plotters::style::text_anchor::HPos;

use super::sheet::{INK, QUIET, Sheet, drawn, pixel};
use crate::analysis::{Analysis, ArmSummary, FirstRequestSummary};
use crate::render::estimate::grouped;
use crate::render::html::first_request::{PartKind, SHADES, parts};
use crate::render::html::svg::Scale;

const WIDTH: i32 = 960;
const ROW: i32 = 44;
const FOOT: i32 = 56;
const PLOT: (i32, i32) = (150, 800);
const SYSTEM: RGBColor = RGBColor(0x8a, 0x94, 0xa6);
const MESSAGES: RGBColor = RGBColor(0x3f, 0x7f, 0xb5);
const JSON: RGBColor = RGBColor(0xc7, 0xce, 0xd9);
const TOOLS: [RGBColor; SHADES] = [
    RGBColor(0x4c, 0x6e, 0xf5),
    RGBColor(0x7b, 0x93, 0xf8),
    RGBColor(0x3b, 0x5b, 0xdb),
    RGBColor(0x91, 0xa7, 0xff),
];
const NEVER: RGBColor = RGBColor(0xe8, 0x59, 0x0c);
const NEVER_GROUND: RGBColor = RGBColor(0xff, 0xe8, 0xd6);

/// Arms with a first request, on one common scale; null without any.
pub(super) fn first_request(analysis: &Analysis) -> Option<String> {
    let arms: Vec<(&ArmSummary, &FirstRequestSummary)> =
        analysis.arms.iter().filter_map(|arm| Some((arm, arm.first_request.as_ref()?))).collect();
    let most = arms.iter().map(|(_, first)| first.body_tokens).reduce(f64::max)?;
    let scale = Scale::linear((0.0, most), (f64::from(PLOT.0), f64::from(PLOT.1)));
    let height = ROW * arms.len() as i32 + FOOT;
    let title = format!("First requests of {}, in tokens, part by part", analysis.experiment);
    Some(drawn(&title, (WIDTH as u32, height as u32), |sheet| {
        for (index, (arm, first)) in arms.iter().enumerate() {
            bar(sheet, ROW * index as i32, (arm, first), &scale);
        }
        legend(sheet, ROW * arms.len() as i32 + 16);
        let note = "median tokens over the arm's cells; a tool in each shade of blue";
        sheet.text(note, (12, height - 14), HPos::Left, QUIET);
    }))
}

fn bar(sheet: &Sheet<'_, '_>, top: i32, (arm, first): (&ArmSummary, &FirstRequestSummary), scale: &Scale) {
    let (upper, lower) = (top + 8, top + ROW - 8);
    let mut from = 0.0;
    for part in parts(arm, first) {
        let (start, end) = (pixel(scale.at(from)), pixel(scale.at(from + part.tokens)));
        sheet.rect((start, upper), (end, lower), colour(part.kind));
        if part.kind == PartKind::NeverCalled {
            sheet.frame((start, upper), (end, lower), NEVER);
        }
        from += part.tokens;
    }
    let middle = top + ROW / 2;
    sheet.text(&arm.name, (PLOT.0 - 12, middle), HPos::Right, INK);
    let words = format!("{} (n {})", grouped(first.body_tokens), first.n);
    sheet.text(&words, (pixel(scale.at(first.body_tokens)) + 10, middle), HPos::Left, INK);
}

fn colour(kind: PartKind) -> RGBColor {
    match kind {
        PartKind::System => SYSTEM,
        PartKind::Tool(index) => TOOLS[index % SHADES],
        PartKind::NeverCalled => NEVER_GROUND,
        PartKind::Frame => JSON,
        PartKind::Messages => MESSAGES,
    }
}

fn legend(sheet: &Sheet<'_, '_>, middle: i32) {
    let entries = [
        (PartKind::System, "system text", 110),
        (PartKind::Tool(0), "tools", 75),
        (PartKind::NeverCalled, "tools paid for and never called", 225),
        (PartKind::Frame, "JSON around the parts", 165),
        (PartKind::Messages, "messages", 0),
    ];
    let mut x = PLOT.0;
    for (kind, words, width) in entries {
        let (from, to) = ((x, middle - 6), (x + 12, middle + 6));
        sheet.rect(from, to, colour(kind));
        if kind == PartKind::NeverCalled {
            sheet.frame(from, to, NEVER);
        }
        sheet.text(words, (x + 18, middle), HPos::Left, INK);
        x += 18 + width;
    }
}
