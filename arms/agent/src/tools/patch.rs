//! `apply_patch`: several files changed by one patch, all of it or nothing.

use std::path::Path;

use serde::Deserialize;

use super::place;

/// Its arguments.
#[derive(Debug, Deserialize)]
pub(super) struct Arguments {
    input: String,
}

/// What is done to one file.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Add { path: String, text: String },
    Delete { path: String },
    Update { path: String, to: Option<String>, hunks: Vec<Hunk> },
}

/// Lines taken out and put in, found by what is kept around them.
#[derive(Debug, Default, PartialEq, Eq)]
struct Hunk {
    /// A line of the file after which the hunk stands.
    after: Option<String>,
    old: Vec<String>,
    new: Vec<String>,
}

/// A file as it will be; `None` = it will be gone.
type Outcome = (String, Option<String>);

pub(super) fn run(given: &Arguments, workspace: &Path) -> Result<String, String> {
    let changes = changes_of(&given.input)?;
    let mut outcomes = Vec::new();
    for change in &changes {
        outcomes.extend(outcome(change, workspace)?);
    }
    let mut lines = Vec::new();
    for (path, text) in outcomes {
        let full = place::resolve(workspace, &path);
        let done = match &text {
            None => std::fs::remove_file(&full),
            Some(text) => full
                .parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| std::fs::write(&full, text)),
        };
        done.map_err(|error| {
            format!("{}; what was done before it: {}", place::fault(&path, &error), lines.join(", "))
        })?;
        lines.push(if text.is_some() { format!("wrote {path}") } else { format!("deleted {path}") });
    }
    Ok(lines.join("\n"))
}

fn changes_of(input: &str) -> Result<Vec<Change>, String> {
    let mut lines = input.trim().lines();
    if lines.next() != Some("*** Begin Patch") {
        return Err("the patch must begin with the line *** Begin Patch".to_owned());
    }
    let mut changes = Vec::new();
    for (number, line) in (2..).zip(lines) {
        let fault = |why: &str| format!("line {number} of the patch: {why}: {line:?}");
        if line == "*** End Patch" {
            return if changes.is_empty() { Err("the patch is empty".to_owned()) } else { Ok(changes) };
        } else if let Some(path) = line.strip_prefix("*** Add File: ") {
            changes.push(Change::Add { path: path.to_owned(), text: String::new() });
        } else if let Some(path) = line.strip_prefix("*** Delete File: ") {
            changes.push(Change::Delete { path: path.to_owned() });
        } else if let Some(path) = line.strip_prefix("*** Update File: ") {
            changes.push(Change::Update { path: path.to_owned(), to: None, hunks: Vec::new() });
        } else {
            add_line(changes.last_mut(), line).map_err(fault)?;
        }
    }
    Err("the patch must end with the line *** End Patch".to_owned())
}

fn add_line(change: Option<&mut Change>, line: &str) -> Result<(), &'static str> {
    match change {
        Some(Change::Add { text, .. }) => {
            let added = line.strip_prefix('+').ok_or("a line of a new file begins with +")?;
            text.push_str(added);
            text.push('\n');
            Ok(())
        }
        Some(Change::Update { to, hunks, .. }) => match line.strip_prefix("*** Move to: ") {
            Some(path) if hunks.is_empty() => {
                *to = Some(path.to_owned());
                Ok(())
            }
            Some(_) => Err("the new place stands before the hunks"),
            None => add_to_hunk(hunks, line),
        },
        Some(Change::Delete { .. }) | None => Err("it belongs to no file that is added or updated"),
    }
}

fn add_to_hunk(hunks: &mut Vec<Hunk>, line: &str) -> Result<(), &'static str> {
    if line == "*** End of File" {
        return Ok(());
    }
    if let Some(after) = line.strip_prefix("@@") {
        let after = Some(after.trim().to_owned()).filter(|after| !after.is_empty());
        hunks.push(Hunk { after, ..Hunk::default() });
        return Ok(());
    }
    if hunks.is_empty() {
        hunks.push(Hunk::default());
    }
    let hunk = hunks.last_mut().ok_or("there is no hunk")?;
    let (sign, rest) =
        if line.is_empty() { (" ", "") } else { line.split_at_checked(1).unwrap_or(("", line)) };
    match sign {
        " " => {
            hunk.old.push(rest.to_owned());
            hunk.new.push(rest.to_owned());
        }
        "-" => hunk.old.push(rest.to_owned()),
        "+" => hunk.new.push(rest.to_owned()),
        _ => return Err("a line of a hunk begins with a space, + or -"),
    }
    Ok(())
}

fn outcome(change: &Change, workspace: &Path) -> Result<Vec<Outcome>, String> {
    match change {
        Change::Add { path, .. } if place::resolve(workspace, path).exists() => {
            Err(format!("{path} exists; update it instead of adding it"))
        }
        Change::Add { path, text } => Ok(vec![(path.clone(), Some(text.clone()))]),
        Change::Delete { path } => {
            place::text_of(workspace, path)?;
            Ok(vec![(path.clone(), None)])
        }
        Change::Update { path, to, hunks } => {
            let before = place::text_of(workspace, path)?;
            let after = patched(&before, hunks).map_err(|fault| format!("{path}: {fault}"))?;
            match to {
                Some(to) => Ok(vec![(to.clone(), Some(after)), (path.clone(), None)]),
                None => Ok(vec![(path.clone(), Some(after))]),
            }
        }
    }
}

fn patched(before: &str, hunks: &[Hunk]) -> Result<String, String> {
    let lines: Vec<&str> = before.lines().collect();
    let mut after: Vec<&str> = Vec::new();
    let mut at = 0;
    for (index, hunk) in (1..).zip(hunks) {
        let missing = |what: &str| format!("hunk {index}: {what} does not occur after the hunk before");
        let from = match &hunk.after {
            None => at,
            Some(line) => {
                let found = lines[at..].iter().position(|found| found.trim() == line);
                at + found.ok_or_else(|| missing(&format!("the line {line:?}")))? + 1
            }
        };
        let start = if hunk.old.is_empty() && hunk.after.is_none() {
            lines.len()
        } else {
            let windows = (from..=lines.len().saturating_sub(hunk.old.len())).find(|start| {
                lines[*start..].iter().zip(&hunk.old).filter(|(found, old)| *found == old).count()
                    == hunk.old.len()
            });
            windows.ok_or_else(|| missing(&format!("{:?}", hunk.old.join("\n"))))?
        };
        after.extend(&lines[at..start]);
        after.extend(hunk.new.iter().map(String::as_str));
        at = start + hunk.old.len();
    }
    after.extend(&lines[at..]);
    let mut text = after.join("\n");
    if !text.is_empty() && (before.ends_with('\n') || before.is_empty()) {
        text.push('\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(patch: &str) -> (Result<String, String>, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), "a\nb\nc\nb\n").unwrap();
        (run(&Arguments { input: patch.to_owned() }, folder.path()), folder)
    }

    #[test]
    fn files_are_added_changed_moved_and_deleted() {
        let (told, folder) =
            apply("*** Begin Patch\n*** Add File: d/n\n+x\n*** Update File: f\n@@ c\n-b\n+B\n*** End Patch");
        assert_eq!(told.unwrap(), "wrote d/n\nwrote f");
        let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((text("d/n").as_str(), text("f").as_str()), ("x\n", "a\nb\nc\nB\n"));
        let (told, folder) =
            apply("*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@\n a\n-b\n+2\n*** End Patch");
        assert_eq!(told.unwrap(), "wrote g\ndeleted f");
        assert_eq!(std::fs::read_to_string(folder.path().join("g")).unwrap(), "a\n2\nc\nb\n");
        assert!(!folder.path().join("f").exists());
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        for (patch, fault) in [
            ("x", "must begin with"),
            ("*** Begin Patch\n*** Add File: n\n+x", "must end with"),
            (
                "*** Begin Patch\n*** Add File: n\n+x\n*** Update File: f\n@@\n-z\n*** End Patch",
                "does not occur",
            ),
            ("*** Begin Patch\n*** Add File: f\n+x\n*** End Patch", "exists"),
            ("*** Begin Patch\nx\n*** End Patch", "belongs to no file"),
            ("*** Begin Patch\n*** Update File: f\n@@\n?x\n*** End Patch", "begins with a space"),
        ] {
            let (told, folder) = apply(patch);
            let told = told.unwrap_err();
            assert!(told.contains(fault), "{told}");
            assert!(!folder.path().join("n").exists());
            assert_eq!(std::fs::read_to_string(folder.path().join("f")).unwrap(), "a\nb\nc\nb\n");
        }
    }
}
