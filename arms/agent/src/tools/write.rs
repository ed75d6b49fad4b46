//! `write`: the whole content of a file.

use std::path::Path;

use serde::Deserialize;

use super::place;

/// Its arguments.
#[derive(Debug, Deserialize)]
pub(super) struct Arguments {
    path: String,
    content: String,
}

pub(super) fn run(given: &Arguments, workspace: &Path) -> Result<String, String> {
    let full = place::resolve(workspace, &given.path);
    let refused = |error: std::io::Error| place::fault(&given.path, &error);
    if let Some(folder) = full.parent() {
        std::fs::create_dir_all(folder).map_err(refused)?;
    }
    std::fs::write(&full, &given.content).map_err(refused)?;
    Ok(format!("Wrote {} bytes to {}", given.content.len(), given.path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_made_and_old_text_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, content: &str| {
            run(&Arguments { path: path.into(), content: content.into() }, folder.path())
        };
        assert_eq!(write("a/b/c.txt", "long old text").unwrap(), "Wrote 13 bytes to a/b/c.txt");
        assert_eq!(write("a/b/c.txt", "new").unwrap(), "Wrote 3 bytes to a/b/c.txt");
        assert_eq!(std::fs::read_to_string(folder.path().join("a/b/c.txt")).unwrap(), "new");
        assert_eq!(write("a/b", "x").unwrap_err(), "a/b: it is a folder, not a file");
        assert!(write("a/b/c.txt/d", "x").unwrap_err().starts_with("a/b/c.txt/d: "));
    }
}
