//! Runs without a boundary: what a pre-tokenizer cannot split reaches the encoder as one piece.

/// Characters of one kind in a row, at most.
const LONGEST: usize = 2_000;

/// Blocks of combining marks.
const MARKS: [std::ops::RangeInclusive<char>; 5] = [
    '\u{300}'..='\u{36f}',
    '\u{1ab0}'..='\u{1aff}',
    '\u{1dc0}'..='\u{1dff}',
    '\u{20d0}'..='\u{20ff}',
    '\u{fe20}'..='\u{fe2f}',
];

/// Kinds of characters between which every pre-tokenizer splits. Digits come in groups of a few anyway.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// With the marks that are put on them.
    Letter,
    Digit,
    /// White space and signs: line ends and slashes stay with the signs before them.
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        let is_mark = MARKS.iter().any(|marks| marks.contains(&c));
        match (c.is_alphabetic() || is_mark, c.is_numeric()) {
            (true, _) => Self::Letter,
            (false, true) => Self::Digit,
            (false, false) => Self::Other,
        }
    }
}

/// The text itself, unless a run in it is too long: then its pieces.
pub(crate) fn slices(text: &str) -> impl Iterator<Item = &str> {
    let cuts = if may_hold_a_run(text.as_bytes()) { cuts(text) } else { Vec::new() };
    let ends: Vec<usize> = cuts.iter().copied().chain([text.len()]).collect();
    let starts = std::iter::once(0).chain(cuts);
    starts.zip(ends).map(|(start, end)| &text[start..end])
}

/// A run that is too long fills at least one of these pieces; other text is seen through at the first bytes of each.
fn may_hold_a_run(bytes: &[u8]) -> bool {
    let kind = |byte: u8| if byte.is_ascii() { Some(Kind::of(char::from(byte))) } else { None };
    bytes.chunks_exact(LONGEST / 2).any(|piece| {
        let first = kind(piece[0]);
        piece.iter().all(|byte| kind(*byte) == first)
            // Letters of other scripts stand among ASCII ones.
            || piece.iter().all(|byte| kind(*byte).is_none_or(|kind| kind == Kind::Letter))
    })
}

/// Where runs are cut.
fn cuts(text: &str) -> Vec<usize> {
    let mut cuts = Vec::new();
    let (mut run, mut kind) = (0, None);
    for (at, c) in text.char_indices() {
        let next = Kind::of(c);
        if kind != Some(next) || next == Kind::Digit {
            (run, kind) = (0, Some(next));
        } else if run == LONGEST {
            cuts.push(at);
            run = 0;
        }
        run += 1;
    }
    cuts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lengths(text: &str) -> Vec<usize> {
        slices(text).map(str::len).collect()
    }

    #[test]
    fn only_runs_without_a_boundary_are_cut() {
        assert_eq!(lengths(""), [0]);
        assert_eq!(lengths(&"a".repeat(LONGEST)), [LONGEST]);
        assert_eq!(lengths(&"a".repeat(LONGEST + 1)), [LONGEST, 1]);
        assert_eq!(lengths(&"\n".repeat(2 * LONGEST + 5)), [LONGEST, LONGEST, 5]);
        assert_eq!(lengths(&"é".repeat(LONGEST + 1)), [2 * LONGEST, 2]);
        assert_eq!(slices(&"e\u{301}".repeat(LONGEST)).count(), 2);
        assert_eq!(slices(&"/\n".repeat(LONGEST)).count(), 2);
        for text in [
            "word ".repeat(LONGEST),
            "1".repeat(3 * LONGEST),
            "\u{4f60}\u{597d}\u{ff0c}".repeat(LONGEST),
            "a1".repeat(LONGEST),
        ] {
            assert_eq!(slices(&text).count(), 1, "{}", &text[..9]);
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_run_stays(runs in proptest::collection::vec(
            (prop_oneof![Just('a'), Just('é'), Just(' '), Just('-'), Just('7'), any::<char>()], 1_usize..5_000), 0..6))
        {
            let text: String = runs.iter().map(|(c, times)| c.to_string().repeat(*times)).collect();
            prop_assert_eq!(slices(&text).collect::<String>(), text.as_str());
            let cuttable = |slice: &str| !cuts(slice).is_empty();
            prop_assert!(!slices(&text).any(cuttable));
        }
    }
}
