//! What a server wants to change, file by file: read, made in memory, and written only when all of it can be.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use serde_json::Value;

use super::documents::path_of;
use super::positions::Encoding;
use super::server::Server;

/// One file before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    pub(super) before: String,
    pub(super) after: String,
}

/// Reads a `WorkspaceEdit`. What is more than text in files of the workspace is refused whole.
pub(super) fn read(edit: &Value, server: &Server) -> Result<Vec<Change>, String> {
    let mut by_file: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for document in edit["documentChanges"].as_array().into_iter().flatten() {
        if let Some(kind) = document["kind"].as_str() {
            return Err(format!("the server asks to {kind} a file, which is not done; nothing was changed"));
        }
        let uri = document["textDocument"]["uri"].as_str().unwrap_or_default();
        by_file.entry(uri).or_default().extend(document["edits"].as_array().into_iter().flatten());
    }
    for (uri, edits) in edit["changes"].as_object().into_iter().flatten() {
        by_file.entry(uri).or_default().extend(edits.as_array().into_iter().flatten());
    }
    let changes: Result<Vec<Change>, String> =
        by_file.into_iter().map(|(uri, edits)| change(uri, &edits, server)).collect();
    Ok(changes?.into_iter().filter(|change| change.before != change.after).collect())
}

fn change(uri: &str, edits: &[&Value], server: &Server) -> Result<Change, String> {
    let path = path_of(uri).filter(|path| path.starts_with(server.folder()));
    let path = path.ok_or_else(|| format!("the server would change {uri}, outside the working directory"))?;
    let before = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let after = edited(&before, edits, server.encoding())
        .map_err(|fault| format!("{}: {fault}; nothing was changed", path.display()))?;
    Ok(Change { path, before, after })
}

/// A text with its edits made, all of them by their places in the text before.
fn edited(before: &str, edits: &[&Value], encoding: Encoding) -> Result<String, String> {
    let offset = |place: &Value| {
        let number = |key: &str| place[key].as_u64().and_then(|number| usize::try_from(number).ok());
        Some(encoding.offset(before, number("line")?, number("character")?))
    };
    let mut places: Vec<(Range<usize>, &str)> = Vec::with_capacity(edits.len());
    for edit in edits {
        let range = offset(&edit["range"]["start"]).zip(offset(&edit["range"]["end"]));
        let (start, end) = range.filter(|(start, end)| start <= end).ok_or("an edit has no range")?;
        places.push((start..end, edit["newText"].as_str().unwrap_or_default()));
    }
    places.sort_by_key(|(range, _)| (range.start, range.end));
    let mut after = String::with_capacity(before.len());
    let mut copied = 0;
    for (range, text) in places {
        if range.start < copied {
            return Err("two of the edits overlap".to_owned());
        }
        after.push_str(&before[copied..range.start]);
        after.push_str(text);
        copied = range.end;
    }
    after.push_str(&before[copied..]);
    Ok(after)
}

/// Writes every change. Where a file has changed since it was shown nothing is written.
pub(super) fn write(changes: &[Change]) -> Result<(), String> {
    let stale =
        |change: &&Change| std::fs::read_to_string(&change.path).map_or(true, |text| text != change.before);
    if let Some(change) = changes.iter().find(stale) {
        return Err(format!("{} has changed meanwhile; nothing was changed", change.path.display()));
    }
    for (done, change) in changes.iter().enumerate() {
        std::fs::write(&change.path, &change.after).map_err(|error| {
            format!("{}: {error}; {done} of {} files were written", change.path.display(), changes.len())
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edit(line: usize, from: usize, to: usize, text: &str) -> Value {
        json!({
            "range": {"start": {"line": line, "character": from}, "end": {"line": line, "character": to}},
            "newText": text,
        })
    }

    #[test]
    fn edits_are_made_by_their_places_in_the_text_before() {
        let (a, b) = (edit(1, 4, 7, "second"), edit(0, 0, 3, "first"));
        let made = edited("one;\n😀: two\n", &[&a, &b], Encoding::Utf16).unwrap();
        assert_eq!(made, "first;\n😀: second\n");
        let overlap = edited("abc", &[&edit(0, 0, 2, ""), &edit(0, 1, 3, "")], Encoding::Utf8);
        assert_eq!(overlap.unwrap_err(), "two of the edits overlap");
        assert!(edited("abc", &[&json!({"newText": "x"})], Encoding::Utf8).is_err());
    }

    #[test]
    fn a_file_that_changed_since_stops_all_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let change = |name: &str, before: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "x").unwrap();
            Change { path, before: before.to_owned(), after: "y".to_owned() }
        };
        let refused = write(&[change("a", "x"), change("b", "other")]).unwrap_err();
        assert!(refused.contains("b has changed meanwhile"), "{refused}");
        assert_eq!(std::fs::read_to_string(folder.path().join("a")).unwrap(), "x");
    }
}
