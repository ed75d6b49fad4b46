//! The lines of a live display on a real terminal: drawn over the lines before, whatever its size is by now.
//!
//! Two escape sequences do all of it: so many lines up, and clear to the end. The cursor is never hidden and no mode of
//! the terminal is changed, so that a killed process leaves a terminal as it was.

use std::io::Write as _;

use super::paint::Canvas;
use crate::say;

/// What was drawn last.
#[derive(Debug, Default)]
pub(crate) struct Screen {
    widths: Vec<usize>,
}

impl Screen {
    /// Draws these lines in the place of those before.
    pub(crate) fn draw(&mut self, lines: &[String], columns: usize) {
        let mut text = self.eraser(columns);
        for line in lines {
            text.push_str(line);
            text.push('\n');
        }
        self.widths = lines.iter().map(|line| shown_width(line)).collect();
        say::to_screen(text.as_bytes());
    }

    /// Takes the lines away: what is printed next stands in their place.
    pub(crate) fn clear(&mut self, columns: usize) {
        let text = self.eraser(columns);
        self.widths.clear();
        say::to_screen(text.as_bytes());
    }

    /// Up to the first line and clear from there. A terminal that became narrower has broken lines into several.
    fn eraser(&self, columns: usize) -> String {
        let rows: usize = self.widths.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
        if rows == 0 { String::new() } else { format!("\x1b[{rows}A\r\x1b[J") }
    }
}

fn shown_width(line: &str) -> usize {
    let mut in_colour = false;
    line.chars()
        .filter(|&c| {
            let counts = !in_colour && c != '\x1b';
            in_colour = c == '\x1b' || (in_colour && c != 'm');
            counts
        })
        .count()
}

/// The terminal's size and what it may be sent; `None` where standard error is none, or one that cannot move its cursor.
pub(crate) fn canvas() -> Option<Canvas> {
    use std::io::IsTerminal as _;
    let stderr = std::io::stderr();
    if !stderr.is_terminal() || crate::front::dumb_terminal() {
        return None;
    }
    let _ = stderr.lock().flush();
    let size = rustix::termios::tcgetwinsize(&stderr).ok();
    let or = |found: Option<u16>, otherwise: usize| found.filter(|n| *n > 0).map_or(otherwise, usize::from);
    Some(Canvas {
        columns: or(size.map(|size| size.ws_col), 80),
        // The cursor stands in the line below, and lines that left the screen could not be drawn over.
        rows: or(size.map(|size| size.ws_row), 24).saturating_sub(1).max(3),
        colour: !crate::front::no_color(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_a_narrower_terminal_broke_are_counted() {
        let screen = Screen { widths: vec![80, 10, 0] };
        assert_eq!(screen.eraser(80), "\x1b[3A\r\x1b[J");
        assert_eq!(screen.eraser(40), "\x1b[4A\r\x1b[J");
        assert_eq!(screen.eraser(30), "\x1b[5A\r\x1b[J");
        assert_eq!(Screen::default().eraser(80), "");
    }

    #[test]
    fn colours_take_no_columns() {
        assert_eq!(shown_width("\x1b[32m███\x1b[0m ab"), 6);
    }
}
