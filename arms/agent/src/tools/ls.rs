//! `ls`: the entries of one folder.

use std::path::Path;

use serde::Deserialize;

use super::{cut, place};

/// Entries returned where the call sets no limit.
const LIMIT: usize = 500;

/// Its arguments.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Arguments {
    path: Option<String>,
    limit: Option<usize>,
}

pub(super) fn run(given: &Arguments, workspace: &Path) -> Result<String, String> {
    let path = given.path.as_deref().unwrap_or(".");
    let entries =
        std::fs::read_dir(place::resolve(workspace, path)).map_err(|error| place::fault(path, &error))?;
    let mut lines: Vec<String> = entries.filter_map(Result::ok).map(|entry| line(&entry)).collect();
    if lines.is_empty() {
        return Ok("[The folder is empty.]".to_owned());
    }
    lines.sort();
    let shown = cut::fitting(lines.iter().map(String::as_str)).min(given.limit.unwrap_or(LIMIT));
    let mut text = lines[..shown].concat();
    if shown < lines.len() {
        text.push_str(&format!("[{shown} of {} entries; give a limit to see more.]", lines.len()));
    }
    Ok(text)
}

fn line(entry: &std::fs::DirEntry) -> String {
    let name = entry.file_name().to_string_lossy().into_owned();
    match entry.metadata() {
        Ok(found) if found.is_dir() => format!("{name}/\n"),
        Ok(found) if found.is_symlink() => format!("{name} (link)\n"),
        Ok(found) => format!("{name} ({} bytes)\n", found.len()),
        Err(_) => format!("{name}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b.txt"), "12").unwrap();
        std::fs::write(folder.path().join(".a"), "").unwrap();
        std::fs::create_dir(folder.path().join("c")).unwrap();
        let list = |path: Option<&str>, limit| {
            run(&Arguments { path: path.map(str::to_owned), limit }, folder.path())
        };
        assert_eq!(list(None, None).unwrap(), ".a (0 bytes)\nb.txt (2 bytes)\nc/\n");
        assert!(list(None, Some(1)).unwrap().ends_with("[1 of 3 entries; give a limit to see more.]"));
        assert_eq!(list(Some("c"), None).unwrap(), "[The folder is empty.]");
        assert_eq!(list(Some("x"), None).unwrap_err(), "x: no such file or folder");
    }
}
