//! The files of an attempt's evidence directory: what the program said, what its walls were, and the digest over all.

use std::fs;
use std::path::Path;

use bench_core::{IsolationEvidence, Sha256Hex};
use bench_isolation::Captured;

use crate::attempt::AttemptError;

/// What was kept of a stream, with a line that says how much was not.
pub(crate) fn whole(stream: &Captured) -> Vec<u8> {
    let mut bytes = stream.head.clone();
    if stream.omitted() > 0 {
        bytes.extend_from_slice(format!("\n[{} bytes omitted by bench]\n", stream.omitted()).as_bytes());
    }
    bytes.extend_from_slice(&stream.tail);
    bytes
}

/// What a program said. Silence leaves no file: most cells say nothing on most streams.
pub(crate) fn keep_words(dir: &Path, stream: &str, words: &[u8]) -> Result<(), AttemptError> {
    if words.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(dir).map_err(AttemptError::at(dir))?;
    keep(&dir.join(stream), words)
}

pub(crate) fn keep(path: &Path, bytes: &[u8]) -> Result<(), AttemptError> {
    fs::write(path, bytes).map_err(AttemptError::at(path))
}

pub(crate) fn keep_json(path: &Path, evidence: &IsolationEvidence) -> Result<(), AttemptError> {
    let mut text = serde_json::to_vec_pretty(evidence).expect("evidence is a JSON value");
    text.push(b'\n');
    keep(path, &text)
}

/// Digest over the files of an evidence directory, names included.
pub(crate) fn dir_digest(dir: &Path) -> Option<Sha256Hex> {
    let mut files = Vec::new();
    list_files(dir, dir, &mut files).ok()?;
    files.sort();
    let contents: Vec<(String, Vec<u8>)> = files
        .into_iter()
        .map(|name| fs::read(dir.join(&name)).map(|c| (name, c)))
        .collect::<Result<_, _>>()
        .ok()?;
    Some(Sha256Hex::of_parts(contents.iter().map(|(name, content)| (name.as_str(), content.as_slice()))))
}

fn list_files(root: &Path, dir: &Path, found: &mut Vec<String>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            list_files(root, &path, found)?;
        } else if let Ok(name) = path.strip_prefix(root) {
            found.push(name.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// A name that an agent chose, as it may stand in a sentence: no character that a terminal would obey, and no longer than a
/// line or two, whose end tells more than its middle.
pub(crate) fn brief(name: &str) -> String {
    const HEAD: usize = 100;
    const TAIL: usize = 60;
    let plain: Vec<char> = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if plain.len() <= HEAD + TAIL {
        return plain.into_iter().collect();
    }
    let (head, tail) = (&plain[..HEAD], &plain[plain.len() - TAIL..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::brief;

    #[test]
    fn a_name_is_plain_and_short() {
        assert_eq!(brief("src/a b.rs"), "src/a b.rs");
        assert_eq!(brief("a\u{1b}]0;x\nb"), "a\u{fffd}]0;x\u{fffd}b");
        let long = brief(&format!("{}é", "deep/".repeat(2000)));
        assert!(long.chars().count() == 161 && long.starts_with("deep/") && long.ends_with("/é"), "{long}");
    }
}
