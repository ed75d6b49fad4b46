//! `read`: the text of a file, whole or in part.

use std::path::Path;

use serde::Deserialize;

use super::{cut, place};

/// Its arguments.
#[derive(Debug, Deserialize)]
pub(super) struct Arguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

pub(super) fn run(given: &Arguments, workspace: &Path) -> Result<String, String> {
    let text = place::text_of(workspace, &given.path)?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = given.offset.unwrap_or(1);
    if lines.is_empty() && first == 1 {
        return Ok("[The file is empty.]".to_owned());
    }
    if first > lines.len() {
        return Err(format!("{} has {} lines, so none at offset {first}", given.path, lines.len()));
    }
    let wanted = lines[first - 1..].iter().copied().take(given.limit.unwrap_or(usize::MAX));
    let shown = cut::fitting(wanted);
    if shown == 0 {
        return Ok(with_note(
            cut::start_of(lines[first - 1], cut::BYTES),
            &over_long_line(first, lines.len()),
        ));
    }
    let last = first - 1 + shown;
    let part = lines[first - 1..last].concat();
    if last == lines.len() {
        return Ok(part);
    }
    let total = lines.len();
    Ok(with_note(&part, &format!("Lines {first} to {last} of {total}. Go on with offset {}.", last + 1)))
}

fn over_long_line(line: usize, total: usize) -> String {
    let next = if line < total { format!(" Go on with offset {}.", line + 1) } else { String::new() };
    format!("Line {line} of {total} is longer than 50 KB; this is its beginning.{next}")
}

fn with_note(part: &str, note: &str) -> String {
    let gap = if part.ends_with('\n') { "" } else { "\n" };
    format!("{part}{gap}[{note}]")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(content: &[u8], offset: Option<usize>, limit: Option<usize>) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), content).unwrap();
        run(&Arguments { path: "f".into(), offset, limit }, folder.path())
    }

    #[test]
    fn a_part_says_where_it_goes_on() {
        assert_eq!(read(b"a\nb\nc\n", None, None).unwrap(), "a\nb\nc\n");
        assert_eq!(read(b"a\nb\nc", Some(2), None).unwrap(), "b\nc");
        assert_eq!(
            read(b"a\nb\nc\n", Some(2), Some(1)).unwrap(),
            "b\n[Lines 2 to 2 of 3. Go on with offset 3.]"
        );
        assert_eq!(read(b"a\nb\n", Some(3), None).unwrap_err(), "f has 2 lines, so none at offset 3");
        assert_eq!(read(b"", None, None).unwrap(), "[The file is empty.]");
    }

    #[test]
    fn long_files_are_capped_by_lines_and_by_bytes() {
        let many = "x\n".repeat(2001);
        assert!(
            read(many.as_bytes(), None, None)
                .unwrap()
                .ends_with("x\n[Lines 1 to 2000 of 2001. Go on with offset 2001.]")
        );
        let wide = format!("{}\n", "y".repeat(9_999)).repeat(7);
        assert!(
            read(wide.as_bytes(), None, None).unwrap().ends_with("[Lines 1 to 5 of 7. Go on with offset 6.]")
        );
        let one = "ä".repeat(40_000);
        let shown = read(one.as_bytes(), None, None).unwrap();
        assert!(shown.ends_with("ä\n[Line 1 of 1 is longer than 50 KB; this is its beginning.]"));
        assert!(shown.len() < cut::BYTES + 80);
    }

    #[test]
    fn what_is_no_text_file_is_refused_with_the_reason() {
        assert_eq!(read(b"a\0b", None, None).unwrap_err(), "f is a binary file (3 bytes)");
        assert_eq!(read(b"\xff", None, None).unwrap_err(), "f is not UTF-8 text (1 bytes)");
        let folder = tempfile::tempdir().unwrap();
        let ask =
            |path: &str| run(&Arguments { path: path.into(), offset: None, limit: None }, folder.path());
        assert_eq!(ask(".").unwrap_err(), ". is a folder, not a file");
        assert_eq!(ask("no/such").unwrap_err(), "no/such: no such file or folder");
        assert_eq!(ask("/dev/null").unwrap_err(), "/dev/null is neither a file nor a folder");
    }

    proptest! {
        #[test]
        fn pages_put_together_are_the_file(lines in proptest::collection::vec("[a-z]{0,40}", 1..60), page in 1_usize..20) {
            let all = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (mut offset, mut together) = (1, String::new());
            while offset <= lines.len() {
                let shown = read(all.as_bytes(), Some(offset), Some(page)).unwrap();
                let note = shown.rfind("[Lines ").unwrap_or(shown.len());
                together.push_str(&shown[..note]);
                offset += page;
            }
            prop_assert_eq!(together, all);
        }
    }
}
