//! `hashline_read` and `hashline_edit`: changes anchored by a snapshot. A tag stands for the whole content of a file as it
//! was shown; an edit names tag and lines, and is refused when the file has changed since or a line was never shown.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{cut, place};

/// Arguments of `hashline_read`.
#[derive(Debug, Deserialize)]
pub(super) struct Reading {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

/// Arguments of `hashline_edit`.
#[derive(Debug, Deserialize)]
pub(super) struct Editing {
    path: String,
    tag: String,
    edits: Vec<Replacement>,
}

/// Lines that give way, from 1, and what takes their place.
#[derive(Debug, Clone, Deserialize)]
struct Replacement {
    first: usize,
    last: usize,
    text: String,
}

/// The snapshots of files that the model has been shown, the last one of each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshots(HashMap<PathBuf, Snapshot>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Snapshot {
    tag: String,
    /// For each line: has the model seen it?
    seen: Vec<bool>,
}

impl Snapshots {
    /// Shows lines of a file, with their numbers, below the tag of the whole.
    pub(super) fn read(&mut self, given: &Reading, workspace: &Path) -> Result<String, String> {
        let text = place::text_of(workspace, &given.path)?;
        let lines: Vec<&str> = text.lines().collect();
        let first = given.offset.unwrap_or(1);
        if first > lines.len().max(1) {
            return Err(format!("{} has {} lines, so none at offset {first}", given.path, lines.len()));
        }
        let numbered = lines.iter().enumerate().skip(first - 1).take(given.limit.unwrap_or(usize::MAX));
        let numbered: Vec<String> =
            numbered.map(|(at, line)| format!("{}\t{line}\n", at + 1)).take(cut::LINES + 1).collect();
        let shown = cut::fitting(numbered.iter().map(String::as_str));
        if shown == 0 && !numbered.is_empty() {
            return Err(format!(
                "line {first} of {} is longer than 50 KB; change it with another tool",
                given.path
            ));
        }
        let last = first - 1 + shown;
        let tag = self.show(place::resolve(workspace, &given.path), &text, first - 1..last);
        let head = told(&given.path, &tag, lines.len());
        let more = match last < lines.len() {
            true => {
                format!("[Lines {first} to {last} of {}. Go on with offset {}.]\n", lines.len(), last + 1)
            }
            false => String::new(),
        };
        Ok(head + &numbered[..shown].concat() + &more)
    }

    /// Makes an edit in a file whose content is still the snapshot's.
    pub(super) fn edit(&mut self, given: &Editing, workspace: &Path) -> Result<String, String> {
        let before = place::text_of(workspace, &given.path)?;
        let full = place::resolve(workspace, &given.path);
        let refused = |fault: String| format!("{}: {fault}", given.path);
        let snapshot = self.0.get(&full).ok_or_else(|| {
            refused("it has not been read; read it with hashline_read before you change it".to_owned())
        })?;
        if tag_of(&before) != given.tag || snapshot.tag != given.tag {
            return Err(refused(format!(
                "its content is not the snapshot {:?}; read it again with hashline_read",
                given.tag
            )));
        }
        let (after, seen) = replaced(&before, &snapshot.seen, &given.edits).map_err(refused)?;
        if after == before {
            return Err(refused("the edits would change nothing".to_owned()));
        }
        std::fs::write(&full, &after).map_err(|error| place::fault(&given.path, &error))?;
        let tag = tag_of(&after);
        let head = told(&given.path, &tag, seen.len());
        self.0.insert(full, Snapshot { tag, seen });
        let plural = if given.edits.len() == 1 { "change" } else { "changes" };
        Ok(format!("{head}Made {} {plural}; lines are counted anew.", given.edits.len()))
    }

    /// Remembers what has been shown. Lines shown of an older content count no more.
    fn show(&mut self, full: PathBuf, text: &str, lines: std::ops::Range<usize>) -> String {
        let tag = tag_of(text);
        let fresh = Snapshot { tag: tag.clone(), seen: vec![false; text.lines().count()] };
        let snapshot = self.0.entry(full).or_insert_with(|| fresh.clone());
        if snapshot.tag != tag {
            *snapshot = fresh;
        }
        snapshot.seen[lines].fill(true);
        tag
    }
}

fn told(path: &str, tag: &str, lines: usize) -> String {
    format!("[{path} snapshot {tag}, {lines} lines]\n")
}

/// Eight hexadecimal digits of FNV-1a: enough to tell two contents of one file apart, cheap to repeat for a model.
fn tag_of(text: &str) -> String {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, mix);
    format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
}

/// The text with every replacement made and which of its lines the model knows; or what stands in the way.
fn replaced(before: &str, seen: &[bool], edits: &[Replacement]) -> Result<(String, Vec<bool>), String> {
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let mut edits: Vec<&Replacement> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.first, edit.last));
    let (mut after, mut known) = (String::with_capacity(before.len()), Vec::with_capacity(seen.len()));
    let mut copied = 0;
    for edit in edits {
        check(edit, seen, lines.len())?;
        let start = edit.first - 1;
        if start < copied {
            return Err(format!("two edits touch line {}; make them one", edit.first));
        }
        after.extend(lines[copied..start].iter().copied());
        known.extend_from_slice(&seen[copied..start]);
        copied = edit.last;
        // What is put behind a last line without an end begins a line of its own.
        if !after.is_empty() && !after.ends_with('\n') && !edit.text.is_empty() {
            after.push('\n');
        }
        after.push_str(&edit.text);
        let keeps_open = copied == lines.len() && !before.ends_with('\n');
        if !edit.text.is_empty() && !edit.text.ends_with('\n') && !keeps_open {
            after.push('\n');
        }
        known.extend(edit.text.lines().map(|_| true));
    }
    after.extend(lines[copied..].iter().copied());
    known.extend_from_slice(&seen[copied..]);
    Ok((after, known))
}

fn check(edit: &Replacement, seen: &[bool], total: usize) -> Result<(), String> {
    let Replacement { first, last, .. } = *edit;
    if first == 0 || last + 1 < first || last > total || first > total + 1 {
        return Err(format!("there are no lines {first} to {last}; it has {total}"));
    }
    // Text may be put before a line by whoever has seen one of its neighbours.
    let wanted = if last < first { first.saturating_sub(2)..first.min(total) } else { first - 1..last };
    let is_known = |at: usize| seen.get(at).copied().unwrap_or(false);
    let known = match last < first {
        true => total == 0 || wanted.clone().any(is_known),
        false => wanted.clone().all(is_known),
    };
    match known {
        true => Ok(()),
        false => {
            Err(format!("lines {first} to {last} have not all been shown; read them with hashline_read"))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Stage {
        folder: tempfile::TempDir,
        snapshots: Snapshots,
    }

    impl Stage {
        fn with(text: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("f"), text).unwrap();
            Self { folder, snapshots: Snapshots::default() }
        }

        fn read(&mut self, offset: Option<usize>, limit: Option<usize>) -> Result<String, String> {
            self.snapshots.read(&Reading { path: "f".into(), offset, limit }, self.folder.path())
        }

        fn edit(&mut self, tag: &str, edits: &[(usize, usize, &str)]) -> Result<String, String> {
            let edit = |(first, last, text): &(usize, usize, &str)| Replacement {
                first: *first,
                last: *last,
                text: (*text).to_owned(),
            };
            let given =
                Editing { path: "f".into(), tag: tag.into(), edits: edits.iter().map(edit).collect() };
            self.snapshots.edit(&given, self.folder.path())
        }

        fn text(&self) -> String {
            std::fs::read_to_string(self.folder.path().join("f")).unwrap()
        }
    }

    fn tag(told: &str) -> String {
        told.split("snapshot ").nth(1).unwrap().split(',').next().unwrap().to_owned()
    }

    #[test]
    fn a_reading_numbers_its_lines_below_the_tag_of_the_whole() {
        let mut stage = Stage::with("a\nb\nc\n");
        assert_eq!(stage.read(None, None).unwrap(), "[f snapshot 02946247, 3 lines]\n1\ta\n2\tb\n3\tc\n");
        let part = stage.read(Some(2), Some(1)).unwrap();
        assert!(part.ends_with("2\tb\n[Lines 2 to 2 of 3. Go on with offset 3.]\n"), "{part}");
        assert_eq!(stage.read(Some(4), None).unwrap_err(), "f has 3 lines, so none at offset 4");
        assert!(Stage::with("").read(None, None).unwrap().ends_with(", 0 lines]\n"));
    }

    #[test]
    fn lines_give_way_and_the_next_edit_needs_no_new_reading() {
        let mut stage = Stage::with("a\nb\nc");
        let first = tag(&stage.read(None, None).unwrap());
        let told = stage.edit(&first, &[(3, 3, "C"), (1, 0, "top\nsecond"), (2, 2, "")]).unwrap();
        assert_eq!(stage.text(), "top\nsecond\na\nC");
        stage.edit(&tag(&told), &[(2, 2, "2nd"), (5, 4, "end\n")]).unwrap();
        assert_eq!(stage.text(), "top\n2nd\na\nC\nend\n");
    }

    #[test]
    fn what_is_unread_stale_or_out_of_place_is_refused_and_changes_nothing() {
        let mut stage = Stage::with("a\nb\nc\nd\n");
        assert!(stage.edit("00000000", &[(1, 1, "x")]).unwrap_err().contains("has not been read"));
        let seen = tag(&stage.read(Some(1), Some(2)).unwrap());
        let refused = |stage: &mut Stage, edit| stage.edit(&seen, &[edit]).unwrap_err();
        assert!(refused(&mut stage, (2, 3, "x")).contains("lines 2 to 3 have not all been shown"));
        assert!(refused(&mut stage, (4, 3, "x")).contains("have not all been shown"));
        assert!(refused(&mut stage, (5, 5, "x")).contains("there are no lines 5 to 5; it has 4"));
        assert!(refused(&mut stage, (3, 1, "x")).contains("there are no lines 3 to 1"));
        assert!(refused(&mut stage, (1, 1, "a")).contains("would change nothing"));
        let twice = stage.edit(&seen, &[(1, 2, "x"), (2, 2, "y")]).unwrap_err();
        assert!(twice.contains("two edits touch line 2"), "{twice}");
        assert!(stage.edit("ffffffff", &[(1, 1, "x")]).unwrap_err().contains("is not the snapshot"));
        std::fs::write(stage.folder.path().join("f"), "a\nb\nc\nchanged\n").unwrap();
        assert!(refused(&mut stage, (1, 1, "x")).contains("is not the snapshot"));
        assert_eq!(stage.text(), "a\nb\nc\nchanged\n");
        // Whoever knows the tag of the new content without having been shown it is refused all the same.
        assert!(stage.edit(&tag_of("a\nb\nc\nchanged\n"), &[(1, 1, "x")]).is_err());
    }

    proptest! {
        #[test]
        fn replacing_lines_is_splicing_them(lines in proptest::collection::vec("[ab]{0,3}", 1..9), at in 0_usize..9, gone in 0_usize..4, new in proptest::collection::vec("[xy]{1,3}", 0..4)) {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            let first = at % lines.len();
            let gone = gone.min(lines.len() - first);
            let mut wanted = lines.clone();
            wanted.splice(first..first + gone, new.iter().cloned());
            let edit = Replacement { first: first + 1, last: first + gone, text: new.join("\n") };
            let (after, seen) = replaced(&text, &vec![true; lines.len()], &[edit]).unwrap();
            prop_assert_eq!(&after, &wanted.iter().map(|line| format!("{line}\n")).collect::<String>());
            prop_assert_eq!(seen.len(), wanted.len());
        }
    }
}
