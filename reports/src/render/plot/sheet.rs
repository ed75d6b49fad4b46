//! A sheet to draw on: shapes at pixels, in the colours of the report's light theme. Words of others are made plain here.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::render::words::plain;

/// Words and axes.
pub(super) const INK: RGBColor = RGBColor(0x1b, 0x23, 0x30);
/// What stands back.
pub(super) const QUIET: RGBColor = RGBColor(0x56, 0x60, 0x72);
/// Rules of a table.
pub(super) const LINE: RGBColor = RGBColor(0xdf, 0xe3, 0xea);
/// A region that should not be reached.
pub(super) const BEYOND: RGBColor = RGBColor(0xfb, 0xe3, 0xe1);
/// PASS, and what became cheaper.
pub(super) const GOOD: RGBColor = RGBColor(0x0f, 0x7a, 0x45);
/// FAIL, and what became dearer.
pub(super) const BAD: RGBColor = RGBColor(0xb3, 0x26, 0x1e);
/// INCONCLUSIVE.
pub(super) const OPEN: RGBColor = RGBColor(0x8a, 0x53, 0x00);
/// Arms, one colour each.
pub(super) const ARMS: [RGBColor; 8] = [
    RGBColor(0x2b, 0x6c, 0xb0),
    RGBColor(0xc0, 0x56, 0x21),
    RGBColor(0x2f, 0x85, 0x5a),
    RGBColor(0x97, 0x26, 0x6d),
    RGBColor(0x6b, 0x46, 0xc1),
    RGBColor(0x8a, 0x6d, 0x00),
    RGBColor(0x00, 0x74, 0x8a),
    RGBColor(0x4a, 0x55, 0x68),
];

/// A drawing in memory.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Drawing in memory neither meets a full disk nor a font that is missing.
const HOLDS: &str = "memory takes every shape";

/// What is drawn on.
pub(super) struct Sheet<'s, 'a>(&'s Area<'a>);

/// An SVG of this size with a title for those who cannot see it.
pub(super) fn drawn(title: &str, size: (u32, u32), draw: impl FnOnce(&Sheet<'_, '_>)) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).expect(HOLDS);
        draw(&Sheet(&area));
        area.present().expect(HOLDS);
    }
    let title = plain(title).replace('&', "&amp;").replace('<', "&lt;");
    svg.replacen(">\n", &format!(">\n<title>{title}</title>\n"), 1)
}

impl<'a> Sheet<'_, 'a> {
    /// What charts are built on.
    pub(super) fn area(&self) -> &Area<'a> {
        self.0
    }

    /// A line.
    pub(super) fn line(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) {
        self.0.draw(&PathElement::new(vec![from, to], colour.stroke_width(width))).expect(HOLDS);
    }

    /// A filled rectangle.
    pub(super) fn rect(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor) {
        self.0.draw(&Rectangle::new([from, to], colour.filled())).expect(HOLDS);
    }

    /// The border of a rectangle.
    pub(super) fn frame(&self, from: (i32, i32), to: (i32, i32), colour: RGBColor) {
        self.0.draw(&Rectangle::new([from, to], colour.stroke_width(1))).expect(HOLDS);
    }

    /// A dot.
    pub(super) fn dot(&self, at: (i32, i32), radius: i32, colour: RGBColor) {
        self.0.draw(&Circle::new(at, radius, colour.filled())).expect(HOLDS);
    }

    /// Words, set to the middle of their line; `across` says where their point lies.
    pub(super) fn text(&self, words: &str, at: (i32, i32), across: HPos, colour: RGBColor) {
        self.set(words, at, across, ("sans-serif", 13).into_font().color(&colour));
    }

    /// Words that head others.
    pub(super) fn head(&self, words: &str, at: (i32, i32)) {
        self.set(words, at, HPos::Left, ("sans-serif", 14, FontStyle::Bold).into_font().color(&INK));
    }

    fn set(&self, words: &str, at: (i32, i32), across: HPos, style: TextStyle<'_>) {
        self.0.draw(&Text::new(plain(words), at, style.pos(Pos::new(across, VPos::Center)))).expect(HOLDS);
    }
}

/// A place between two pixels.
pub(super) fn pixel(at: f64) -> i32 {
    at.round() as i32
}
