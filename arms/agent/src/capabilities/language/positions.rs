//! Places in a text: as the model writes them (lines and columns from 1, or the name that stands there), as the protocol
//! does (lines from 0, columns in bytes or in UTF-16 units), and as byte offsets.

/// What a server counts columns in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    Utf16,
}

impl Encoding {
    /// By the protocol's word; without one it is UTF-16.
    pub(super) fn named(word: Option<&str>) -> Self {
        match word {
            Some("utf-8") => Self::Utf8,
            Some(_) | None => Self::Utf16,
        }
    }

    /// Units before the byte `column` of line `line`, both from 0.
    pub(super) fn units(self, text: &str, line: usize, column: usize) -> usize {
        let before = nth_line(text, line).get(..column).unwrap_or_default();
        match self {
            Self::Utf8 => before.len(),
            Self::Utf16 => before.encode_utf16().count(),
        }
    }

    /// The byte offset in the text of a position of the protocol; one beyond the end of its line is its end.
    pub(super) fn offset(self, text: &str, line: usize, units: usize) -> usize {
        let start = text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
        let content = nth_line(text, line);
        start + self.bytes(content, units)
    }

    /// Characters before so many units of a line.
    pub(super) fn characters(self, line: &str, units: usize) -> usize {
        line[..self.bytes(line, units)].chars().count()
    }

    fn bytes(self, line: &str, units: usize) -> usize {
        match self {
            Self::Utf8 => line.floor_char_boundary(units),
            Self::Utf16 => {
                let mut left = units;
                let within = |c: &char| {
                    let fits = left >= c.len_utf16();
                    left = left.saturating_sub(c.len_utf16());
                    fits
                };
                line.chars().take_while(within).map(char::len_utf8).sum()
            }
        }
    }
}

/// A line by its number from 0, without its end; empty beyond the last one.
pub(super) fn nth_line(text: &str, line: usize) -> &str {
    text.lines().nth(line).unwrap_or_default()
}

/// A place as the model writes it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// From 1; none = the first line that holds the symbol.
    pub(super) line: Option<usize>,
    /// In characters, from 1.
    pub(super) column: Option<usize>,
    pub(super) symbol: Option<&'a str>,
}

impl Place<'_> {
    /// Line and byte within it, both from 0.
    pub(super) fn in_text(self, text: &str) -> Result<(usize, usize), String> {
        let total = text.lines().count();
        let line = self.line.map(|line| line.checked_sub(1).filter(|line| *line < total).ok_or(line));
        let line = line.transpose().map_err(|line| format!("there is no line {line}; it has {total}"))?;
        match (line, self.column, self.symbol) {
            (Some(line), Some(column), _) => {
                let content = nth_line(text, line);
                let byte = column.checked_sub(1).and_then(|n| content.char_indices().nth(n));
                let fault = || format!("line {} has no column {column}", line + 1);
                byte.map(|(byte, _)| (line, byte)).ok_or_else(fault)
            }
            (Some(line), None, Some(symbol)) => {
                let fault = || format!("{symbol} does not stand in line {}", line + 1);
                word_in(nth_line(text, line), symbol).map(|byte| (line, byte)).ok_or_else(fault)
            }
            (None, _, Some(symbol)) => {
                let mut lines = text.lines().enumerate();
                let found = lines.find_map(|(line, content)| Some((line, word_in(content, symbol)?)));
                found.ok_or_else(|| format!("{symbol} does not stand in it"))
            }
            (_, _, None) => Err("name the place: line and column, or line and symbol, or symbol".to_owned()),
        }
    }
}

/// Where a name stands by itself in a line, and not between quotation marks: there it is the name of a file, or text.
fn word_in(line: &str, word: &str) -> Option<usize> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let alone = |at: &usize| {
        let (before, after) = (&line[..*at], &line[at + word.len()..]);
        let is_quoted = before.matches('"').count() % 2 == 1;
        !is_quoted && !before.ends_with(is_part) && !after.starts_with(is_part)
    };
    (!word.is_empty()).then(|| line.match_indices(word).map(|(at, _)| at).find(alone))?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_place_is_told_by_numbers_or_by_the_name_that_stands_there() {
        let text = "int reader; // \"read\"\nint ä = read(1);\n";
        let at = |line, column, symbol| Place { line, column, symbol }.in_text(text);
        assert_eq!(at(Some(2), Some(9), None), Ok((1, 9)));
        assert_eq!(at(Some(2), None, Some("read")), Ok((1, 9)));
        assert_eq!(at(None, None, Some("read")), Ok((1, 9)), "`reader` is another name");
        assert!(at(None, None, Some("rea")).unwrap_err().contains("does not stand in it"));
        assert!(at(Some(3), None, Some("x")).unwrap_err().contains("there is no line 3; it has 2"));
        assert!(at(Some(0), None, Some("x")).unwrap_err().contains("there is no line 0"));
        assert!(at(Some(1), Some(99), None).unwrap_err().contains("no column 99"));
        assert!(at(Some(1), None, None).unwrap_err().contains("name the place"));
    }

    proptest! {
        #[test]
        fn positions_go_there_and_back(lines in proptest::collection::vec("[aä😀]{0,6}", 1..5), line in 0_usize..5, at in 0_usize..30) {
            let text = lines.join("\n");
            let line = line % lines.len();
            let column = lines[line].floor_char_boundary(at);
            let start: usize = lines[..line].iter().map(|line| line.len() + 1).sum();
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                let units = encoding.units(&text, line, column);
                prop_assert_eq!(encoding.offset(&text, line, units), start + column);
                prop_assert_eq!(encoding.characters(&lines[line], units), lines[line][..column].chars().count());
            }
        }
    }
}
