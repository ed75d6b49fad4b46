//! Paths as the model writes them, and the reasons for which a file cannot be had.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Absolute paths as they are, others below the workspace.
pub(super) fn resolve(workspace: &Path, path: &str) -> PathBuf {
    workspace.join(path)
}

/// The text of a file, or the reason why it has none.
pub(super) fn text_of(workspace: &Path, path: &str) -> Result<String, String> {
    let full = resolve(workspace, path);
    let found = std::fs::metadata(&full).map_err(|error| fault(path, &error))?;
    if found.is_dir() {
        return Err(format!("{path} is a folder, not a file"));
    }
    // Opening a pipe or a device could wait for ever.
    if !found.is_file() {
        return Err(format!("{path} is neither a file nor a folder"));
    }
    let bytes = std::fs::read(&full).map_err(|error| fault(path, &error))?;
    let size = bytes.len();
    let text = String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8 text ({size} bytes)"))?;
    if text.contains('\0') {
        return Err(format!("{path} is a binary file ({size} bytes)"));
    }
    Ok(text)
}

/// An operating system's refusal in words that name the path as the model wrote it.
pub(super) fn fault(path: &str, error: &std::io::Error) -> String {
    let known = [
        (ErrorKind::NotFound, "no such file or folder"),
        (ErrorKind::PermissionDenied, "access is denied"),
        (ErrorKind::IsADirectory, "it is a folder, not a file"),
        (ErrorKind::NotADirectory, "a part of the path is a file, not a folder"),
    ];
    let words = known.iter().find(|(kind, _)| *kind == error.kind());
    let why = words.map_or_else(|| error.to_string(), |(_, words)| (*words).to_owned());
    format!("{path}: {why}")
}
