//! A small writer of inline SVG: positions across are in per cent of the width, so that text keeps its size at every width
//! and nothing needs a script; colours are classes, so that a theme is a style sheet's affair.

use std::fmt::Write as _;

use super::page::escaped;

/// An SVG under construction.
#[derive(Debug)]
pub(crate) struct Svg {
    text: String,
}

/// How text stands to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A figure rounded to what a screen shows.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

impl Svg {
    /// An SVG as wide as its place and `height` pixels high. With a label it is an image with that name; without, it is
    /// left out by screen readers, since the same stands beside it as text.
    pub(crate) fn new(height: f64, class: &str, label: Option<&str>) -> Self {
        let name = match label {
            Some(label) => format!("role=\"img\" aria-label=\"{}\"", escaped(label)),
            None => "aria-hidden=\"true\"".to_owned(),
        };
        Self { text: format!("<svg class=\"{class}\" width=\"100%\" height=\"{}\" {name}>", short(height)) }
    }

    /// A line from (x1 %, y1 px) to (x2 %, y2 px).
    pub(crate) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64), title: &str) {
        let _ = write!(
            self.text,
            "<line class=\"{class}\" x1=\"{}%\" y1=\"{}\" x2=\"{}%\" y2=\"{}\"{}",
            short(x1),
            short(y1),
            short(x2),
            short(y2),
            closing("line", title)
        );
    }

    /// A rectangle: x and width in per cent, y and height in pixels.
    pub(crate) fn rect(&mut self, class: &str, (x, width): (f64, f64), (y, height): (f64, f64), title: &str) {
        let _ = write!(
            self.text,
            "<rect class=\"{class}\" x=\"{}%\" y=\"{}\" width=\"{}%\" height=\"{}\"{}",
            short(x),
            short(y),
            short(width.max(0.0)),
            short(height),
            closing("rect", title)
        );
    }

    /// A dot at (x %, y px).
    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, title: &str) {
        let _ = write!(
            self.text,
            "<circle class=\"{class}\" cx=\"{}%\" cy=\"{}\" r=\"{}\"{}",
            short(x),
            short(y),
            short(radius),
            closing("circle", title)
        );
    }

    /// Text at (x %, y px); what it says is escaped here.
    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, words: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let _ = write!(
            self.text,
            "<text class=\"{class}\" x=\"{}%\" y=\"{}\"{anchor}>{}</text>",
            short(x),
            short(y),
            escaped(words)
        );
    }

    /// The whole.
    pub(crate) fn done(mut self) -> String {
        self.text.push_str("</svg>");
        self.text
    }
}

fn closing(element: &str, title: &str) -> String {
    match title {
        "" => "/>".to_owned(),
        title => format!("><title>{}</title></{element}>", escaped(title)),
    }
}

/// A scale from numbers to per cent of a width or to pixels of a height.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    from: (f64, f64),
    to: (f64, f64),
    logarithmic: bool,
}

impl Scale {
    /// Equal steps for equal differences.
    pub(crate) fn linear(from: (f64, f64), to: (f64, f64)) -> Self {
        Self { from, to, logarithmic: false }
    }

    /// Equal steps for equal ratios; both ends above 0.
    pub(crate) fn logarithmic(from: (f64, f64), to: (f64, f64)) -> Self {
        Self { from: (from.0.ln(), from.1.ln()), to, logarithmic: true }
    }

    /// Where a value stands; beyond the ends it stays at the end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.max(f64::MIN_POSITIVE).ln() } else { value };
        let span = self.from.1 - self.from.0;
        let share = if span > 0.0 { ((value - self.from.0) / span).clamp(0.0, 1.0) } else { 0.5 };
        self.to.0 + share * (self.to.1 - self.to.0)
    }
}

/// Round values (1, 2 or 5 times a power of ten) inside a range, about `wanted` of them.
pub(crate) fn ticks((low, high): (f64, f64), wanted: f64) -> Vec<f64> {
    let raw = (high - low) / wanted;
    if !(raw.is_finite() && raw > 0.0) {
        return vec![low];
    }
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= raw).unwrap_or(raw);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_stay_words() {
        let mut svg = Svg::new(10.0, "x", Some("a \"b\" <c>"));
        svg.text("t", (1.0, 2.0), Anchor::Middle, "</text><script>alert(1)</script>\u{1b}[31m");
        svg.dot("d", (50.0, 5.0), 3.0, "<img onerror=x>");
        let text = svg.done();
        assert!(!text.contains("<script") && !text.contains("<img") && !text.contains('\u{1b}'), "{text}");
        assert!(text.contains("aria-label=\"a &quot;b&quot; &lt;c&gt;\""), "{text}");
    }

    #[test]
    fn scales_keep_to_their_ends() {
        let scale = Scale::logarithmic((0.5, 2.0), (0.0, 100.0));
        assert!((scale.at(1.0) - 50.0).abs() < 1e-9);
        assert_eq!((scale.at(0.0), scale.at(9.0)), (0.0, 100.0));
        assert_eq!(Scale::linear((3.0, 3.0), (0.0, 10.0)).at(3.0), 5.0);
        assert_eq!(ticks((0.0, 9.0), 4.0), [0.0, 5.0]);
        assert_eq!(ticks((0.0, 50_000.0), 5.0).len(), 6);
    }
}
