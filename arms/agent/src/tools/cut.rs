//! Caps on what one call returns: 2,000 lines or 50 KB, from the front or from the end.

/// Most lines of one result.
pub(super) const LINES: usize = 2000;
/// Most bytes of one result.
pub(super) const BYTES: usize = 50 * 1024;

/// How many of these lines, counted from the first, fit into a result.
pub(super) fn fitting<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let mut bytes = 0;
    lines
        .take(LINES)
        .take_while(|line| {
            bytes += line.len();
            bytes <= BYTES
        })
        .count()
}

/// The start of a text, at most so many bytes, ending between characters.
pub(super) fn start_of(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The end of what a command printed: keeps the last bytes while they arrive and counts the rest.
#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: Vec<u8>,
    dropped_bytes: usize,
    dropped_lines: usize,
}

impl Tail {
    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() > 4 * BYTES {
            self.drop_front(self.kept.len() - BYTES);
        }
    }

    /// The last lines that fit, after a note on what is missing where something is.
    pub(super) fn text(mut self) -> String {
        self.drop_front(self.kept.len().saturating_sub(BYTES));
        let text = String::from_utf8_lossy(&self.kept).into_owned();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let surplus = lines.len().saturating_sub(LINES);
        let last: String = lines[surplus..].concat();
        if self.dropped_bytes == 0 && surplus == 0 {
            return last;
        }
        let total = self.dropped_lines + lines.len();
        format!("[The output has {total} lines; only its end is shown.]\n{last}")
    }

    /// Drops at least so many bytes, and the rest of the line in which the cut falls unless nothing else is left.
    fn drop_front(&mut self, at_least: usize) {
        if at_least == 0 {
            return;
        }
        let rest = &self.kept[at_least..];
        let in_line = self.kept[at_least - 1] != b'\n';
        let line_end = rest.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
        let cut = match line_end {
            Some(end) if in_line && end < rest.len() => at_least + end,
            Some(_) | None => at_least,
        };
        self.dropped_lines += self.kept[..cut].iter().filter(|&&byte| byte == b'\n').count();
        self.dropped_bytes += cut;
        self.kept.drain(..cut);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tail(pieces: &[&[u8]]) -> String {
        let mut tail = Tail::default();
        pieces.iter().for_each(|piece| tail.push(piece));
        tail.text()
    }

    #[test]
    fn short_output_is_unchanged_and_long_output_keeps_its_end() {
        assert_eq!(tail(&[b"a\nb"]), "a\nb");
        let many: String = (1..=2500).map(|n| format!("{n}\n")).collect();
        let shown = tail(&[many.as_bytes()]);
        assert!(shown.starts_with("[The output has 2500 lines; only its end is shown.]\n501\n"));
        assert!(shown.ends_with("\n2500\n"));
        let wide: String = (1..=5000).map(|n| format!("{n:099}\n")).collect();
        let shown = tail(&[wide.as_bytes()]);
        assert!(shown.starts_with("[The output has 5000 lines;") && shown.ends_with("5000\n"));
        assert!(shown.len() <= BYTES + 60);
        assert_eq!(shown.lines().nth(1).unwrap().len(), 99);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn the_end_is_kept_and_the_pieces_do_not_matter(
            widths in proptest::collection::vec(0_usize..300, 0..40), times in 1_usize..80, piece in 1_usize..100_000,
        ) {
            let lines: String = widths.iter().map(|width| format!("{}\n", "ä".repeat(*width))).collect();
            let all = lines.repeat(times);
            let whole = tail(&[all.as_bytes()]);
            let pieces: Vec<&[u8]> = all.as_bytes().chunks(piece).collect();
            prop_assert_eq!(&tail(&pieces), &whole);
            let body = if whole.starts_with('[') { whole.split_once('\n').unwrap().1 } else { &whole };
            prop_assert!(all.ends_with(body));
            prop_assert!(body.len() <= BYTES && body.lines().count() <= LINES);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), times in 1_usize..600) {
            let piece: Vec<u8> = bytes.repeat(times);
            let _ = tail(&[&piece, &bytes, &piece]);
        }
    }
}
