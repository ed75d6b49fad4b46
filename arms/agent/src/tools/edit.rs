//! `edit`: exact pieces of a file replaced, all looked up in the original, all or none.

use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use super::place;

/// Its arguments.
#[derive(Debug, Deserialize)]
pub(super) struct Arguments {
    path: String,
    edits: Vec<Replacement>,
}

/// One piece of text and what takes its place.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    old_text: String,
    new_text: String,
}

pub(super) fn run(given: &Arguments, workspace: &Path) -> Result<String, String> {
    let before = place::text_of(workspace, &given.path)?;
    let after = replaced(&before, &given.edits).map_err(|fault| format!("{}: {fault}", given.path))?;
    let full = place::resolve(workspace, &given.path);
    std::fs::write(full, after).map_err(|error| place::fault(&given.path, &error))?;
    let plural = if given.edits.len() == 1 { "replacement" } else { "replacements" };
    Ok(format!("Made {} {plural} in {}", given.edits.len(), given.path))
}

/// The text with every replacement made, or what stands in the way of one of them.
fn replaced(before: &str, edits: &[Replacement]) -> Result<String, String> {
    let mut places = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        places.push((place_of(before, index, edit)?, index));
    }
    places.sort_by_key(|(range, _)| range.start);
    for pair in places.windows(2) {
        let ((first, a), (second, b)) = (&pair[0], &pair[1]);
        if second.start < first.end {
            let line = line_at(before, second.start);
            return Err(format!(
                "edits[{a}] and edits[{b}] overlap in line {line}; make them one replacement"
            ));
        }
    }
    let mut after = String::with_capacity(before.len());
    let mut copied = 0;
    for (range, index) in places {
        after.push_str(&before[copied..range.start]);
        after.push_str(&edits[index].new_text);
        copied = range.end;
    }
    after.push_str(&before[copied..]);
    if after == before {
        return Err("the replacements would change nothing".to_owned());
    }
    Ok(after)
}

fn place_of(text: &str, index: usize, edit: &Replacement) -> Result<Range<usize>, String> {
    let old = edit.old_text.as_str();
    if old.is_empty() {
        return Err(format!("edits[{index}].oldText is empty"));
    }
    let starts = starts_of(text, old);
    match starts.as_slice() {
        [] => Err(format!("edits[{index}].oldText does not occur{}", near_miss(text, old))),
        [start] => Ok(*start..*start + old.len()),
        several => {
            let lines: Vec<String> =
                several.iter().take(5).map(|at| line_at(text, *at).to_string()).collect();
            let more = if several.len() > 5 { ", …" } else { "" };
            let count = several.len();
            Err(format!(
                "edits[{index}].oldText occurs {count} times (lines {}{more}); add text around it until it occurs once",
                lines.join(", ")
            ))
        }
    }
}

/// Where the piece begins, occurrences that overlap one another counted too: they are ambiguous all the same.
fn starts_of(text: &str, piece: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(piece) {
        starts.push(from + at);
        from += at + piece.chars().next().map_or(1, char::len_utf8);
    }
    starts
}

/// Names the line where the same words stand with other spacing, the usual reason for a miss.
fn near_miss(text: &str, old: &str) -> String {
    let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(wanted) = old.lines().map(words).find(|line| !line.is_empty()) else { return String::new() };
    let found = text.lines().position(|line| words(line).contains(&wanted));
    found.map_or_else(String::new, |at| {
        format!("; line {} begins alike but the spacing or what follows differs", at + 1)
    })
}

fn line_at(text: &str, byte: usize) -> usize {
    text[..byte].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn edit(old: &str, new: &str) -> Replacement {
        Replacement { old_text: old.into(), new_text: new.into() }
    }

    #[test]
    fn all_are_looked_up_in_the_original() {
        let swapped = replaced("one two\n", &[edit("one", "two"), edit("two", "one")]);
        assert_eq!(swapped.unwrap(), "two one\n");
        assert_eq!(replaced("a\r\nb\r\n", &[edit("a\r\n", "")]).unwrap(), "b\r\n");
    }

    #[test]
    fn what_stands_in_the_way_is_named_and_nothing_is_changed() {
        let fault = |text: &str, edits: &[Replacement]| replaced(text, edits).unwrap_err();
        assert!(fault("aaa", &[edit("aa", "b")]).contains("occurs 2 times (lines 1, 1)"));
        assert!(fault("x\ny\nx\n", &[edit("x", "b")]).contains("occurs 2 times (lines 1, 3)"));
        assert_eq!(fault("abc", &[edit("b", "x"), edit("zz", "x")]), "edits[1].oldText does not occur");
        assert!(fault("a\n  if (x) {\n", &[edit("if (x)  {", "")]).contains("line 2 begins alike"));
        assert!(
            fault("abc", &[edit("bc", "x"), edit("ab", "x")])
                .contains("edits[1] and edits[0] overlap in line 1")
        );
        assert_eq!(fault("abc", &[edit("", "x")]), "edits[0].oldText is empty");
        assert_eq!(fault("abc", &[edit("b", "b")]), "the replacements would change nothing");
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "abc").unwrap();
        let given = Arguments { path: "f".into(), edits: vec![edit("a", "x"), edit("zz", "x")] };
        assert_eq!(run(&given, folder.path()).unwrap_err(), "f: edits[1].oldText does not occur");
        assert_eq!(std::fs::read_to_string(folder.path().join("f")).unwrap(), "abc");
    }

    proptest! {
        #[test]
        fn distinct_pieces_are_replaced_wherever_and_in_whatever_order_they_come(
            gaps in proptest::collection::vec("[a-zä\n ]{0,9}", 2..8),
            news in proptest::collection::vec("[a-z<>]{0,9}", 8),
            turn in 0_usize..8,
        ) {
            // Markers of upper-case letters occur once each, the text between them has none.
            let count = gaps.len() - 1;
            let marker = |n: usize| format!("M{}M", "X".repeat(n + 1));
            let build = |piece: &dyn Fn(usize) -> String| {
                (0..count).map(|n| format!("{}{}", gaps[n], piece(n))).collect::<String>() + &gaps[count]
            };
            let before = build(&marker);
            let mut edits: Vec<_> = (0..count).map(|n| edit(&marker(n), &news[n])).collect();
            edits.rotate_left(turn % count);
            prop_assert_eq!(replaced(&before, &edits).unwrap(), build(&|n| news[n].clone()));
        }

        #[test]
        fn a_piece_is_replaced_exactly_when_it_occurs_once(text in "[ab]{0,12}", old in "[ab]{1,3}") {
            let times = (0..text.len()).filter(|at| text[*at..].starts_with(&old)).count();
            let result = replaced(&text, &[edit(&old, "c")]);
            prop_assert_eq!(result.is_ok(), times == 1);
            if let Ok(after) = result {
                prop_assert_eq!(after, text.replacen(&old, "c", 1));
            }
        }
    }
}
