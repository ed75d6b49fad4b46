//! The journal: append-only, one record a line, synced per record, a torn tail repaired on opening.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::cell_record::CellRecord;

/// A journal that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error(
        "journal {path}: {source}; free the disk or mend the permissions, then run the same command again"
    )]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line in the middle is not a record.
    #[error("journal {path}, line {line}: not a cell record ({source}); the file was edited or damaged")]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
    /// A record of a version that this build does not know.
    #[error(
        "journal {path}, line {line}: format_version {found}, this build reads up to {known}; use a newer bench"
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Version found.
        found: u64,
        /// Newest version known.
        known: u32,
    },
}

/// What the end of the file looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// It ended with a whole record.
    Whole,
    /// It ended in the middle of a record: these bytes were cut off.
    Torn {
        /// How many.
        bytes: u64,
    },
}

/// An open journal, at whose end records are appended.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens or creates a journal, reads its records, and cuts off a torn last line (the record of an attempt that
    /// never was settled: nothing that was acknowledged is lost).
    pub fn open(path: &Path) -> Result<(Self, Vec<CellRecord>, Tail), JournalError> {
        let io = |source| JournalError::Io { path: path.to_owned(), source };
        let mut file =
            File::options().create(true).truncate(false).read(true).write(true).open(path).map_err(io)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(io)?;
        let (records, whole) = parse(path, &text)?;
        let torn = (text.len() - whole) as u64;
        if torn > 0 {
            file.set_len(whole as u64).map_err(io)?;
            file.sync_data().map_err(io)?;
        }
        file.seek(SeekFrom::Start(whole as u64)).map_err(io)?;
        let tail = if torn > 0 { Tail::Torn { bytes: torn } } else { Tail::Whole };
        Ok((Self { path: path.to_owned(), file }, records, tail))
    }

    /// Appends one record and waits until it is on disk.
    pub fn append(&mut self, record: &CellRecord) -> Result<(), JournalError> {
        let io = |source| JournalError::Io { path: self.path.clone(), source };
        let mut line = serde_json::to_vec(record).expect("a record is a JSON value");
        line.push(b'\n');
        let start = self.file.stream_position().map_err(io)?;
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // A full disk must leave a journal that can be appended to: take the torn line back, best effort.
            let _ = self.file.set_len(start);
            let _ = self.file.seek(SeekFrom::Start(start));
            return Err(io(source));
        }
        Ok(())
    }
}

/// Reads all whole records of a journal without touching it (a run in progress may be appending).
pub fn read_journal(path: &Path) -> Result<(Vec<CellRecord>, Tail), JournalError> {
    let text = std::fs::read(path).map_err(|source| JournalError::Io { path: path.to_owned(), source })?;
    let (records, whole) = parse(path, &text)?;
    let torn = (text.len() - whole) as u64;
    Ok((records, if torn > 0 { Tail::Torn { bytes: torn } } else { Tail::Whole }))
}

/// Records of all lines that end with a newline, and where the last of them ends. A last line that ends with a newline
/// and is no JSON is torn too: file systems may write a block of zeros before the data.
fn parse(path: &Path, text: &[u8]) -> Result<(Vec<CellRecord>, usize), JournalError> {
    let mut records = Vec::new();
    let mut start = 0;
    let mut line = 0;
    while let Some(length) = text[start..].iter().position(|&b| b == b'\n') {
        line += 1;
        let end = start + length + 1;
        match parse_line(path, line, &text[start..end - 1]) {
            Ok(record) => records.push(record),
            Err(JournalError::Line { .. }) if end == text.len() => return Ok((records, start)),
            Err(error) => return Err(error),
        }
        start = end;
    }
    Ok((records, start))
}

pub(crate) fn parse_line(path: &Path, line: usize, text: &[u8]) -> Result<CellRecord, JournalError> {
    let bad = |source| JournalError::Line { path: path.to_owned(), line, source };
    match serde_json::from_slice::<CellRecord>(text) {
        Ok(record) if record.format_version <= crate::FORMAT_VERSION => Ok(record),
        Ok(record) => Err(newer(path, line, record.format_version.into())),
        Err(source) => {
            let found = serde_json::from_slice::<serde_json::Value>(text)
                .ok()
                .and_then(|v| v.get("format_version").and_then(serde_json::Value::as_u64));
            match found {
                Some(found) if found > crate::FORMAT_VERSION.into() => Err(newer(path, line, found)),
                Some(_) | None => Err(bad(source)),
            }
        }
    }
}

fn newer(path: &Path, line: usize, found: u64) -> JournalError {
    JournalError::Version { path: path.to_owned(), line, found, known: crate::FORMAT_VERSION }
}
