//! Small aligned tables, as Markdown and as text of a fixed width.

use super::words::plain;

/// Characters of a name that stay, however narrow the terminal.
const LEAST_NAME: usize = 8;

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A table: heads with alignment, rows of the same length.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    heads: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(heads: &[(&str, Align)]) -> Self {
        let heads = heads.iter().map(|(head, align)| ((*head).to_owned(), *align)).collect();
        Self { heads, rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| plain(&cell)).collect());
    }

    /// No rows?
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = String>| {
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let mut text = line(&mut self.heads.iter().map(|(head, _)| head.clone()));
        text.push_str(&line(&mut self.heads.iter().map(|(_, align)| match align {
            Align::Left => "---".to_owned(),
            Align::Right => "--:".to_owned(),
        })));
        for row in &self.rows {
            text.push_str(&line(&mut row.iter().map(|cell| escaped(cell))));
        }
        text
    }

    /// As text: columns aligned, two spaces between them, indented by two; the first column is cut with
    /// `…` where a line would be longer than `width` (numbers never are, so a narrow terminal may wrap).
    pub(crate) fn text(&self, width: usize) -> String {
        let mut widths: Vec<usize> = (0..self.heads.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| length(&row[column]));
                cells.chain([length(&self.heads[column].0)]).max().unwrap_or(0)
            })
            .collect();
        let total = widths.iter().sum::<usize>() + 2 * widths.len();
        let first = widths[0];
        widths[0] = first.saturating_sub(total.saturating_sub(width)).max(first.min(LEAST_NAME));
        let heads: Vec<String> = self.heads.iter().map(|(head, _)| head.clone()).collect();
        let mut text = self.line(&heads, &widths);
        for row in &self.rows {
            text.push_str(&self.line(row, &widths));
        }
        text
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, &width), (_, align)) in cells.iter().zip(widths).zip(&self.heads) {
            let cell = cut(cell, width);
            let gap = " ".repeat(width - length(&cell));
            line.push_str("  ");
            match align {
                Align::Left => line.extend([cell, gap]),
                Align::Right => line.extend([gap, cell]),
            }
        }
        format!("{}\n", line.trim_end())
    }
}

/// Text in a Markdown cell.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('`', "\\`")
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn cut(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Text broken at spaces so that no line is longer than `width`, later lines indented; its own first indent stays.
pub(crate) fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let words = text.trim_start_matches(' ');
    let first = text.len() - words.len();
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words.split(' ') {
        let start = if lines.is_empty() { first } else { indent };
        if !line.is_empty() && start + length(&line) + 1 + length(word) > width {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    let gap = format!("\n{}", " ".repeat(indent));
    format!("{}{}\n", " ".repeat(first), lines.join(&gap))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_asked_and_nothing_breaks_a_cell() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(["a|b\u{1b}[31m".to_owned() + &"x".repeat(100), "1".to_owned()]);
        assert!(table.text(40).lines().all(|line| length(line) <= 40));
        assert!(!table.text(80).contains('\u{1b}') && !table.markdown().contains('\u{1b}'));
        assert!(table.markdown().contains("a\\|b"));
    }

    #[test]
    fn long_text_is_broken_at_spaces() {
        let text = wrapped("one two three four", 9, 2);
        assert_eq!(text, "one two\n  three\n  four\n");
        assert_eq!(wrapped(" one two", 5, 2), " one\n  two\n");
    }
}
