//! An experiment file that cannot be accepted, and the list in which its problems are gathered.

use std::ops::Range;

use bench_core::{Experiment, IdError, Problem, Source};
use toml::Spanned;

use crate::Loaded;

/// An experiment file that cannot be accepted. Printed, it lists every problem with file, line, column and key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigError {
    /// What is wrong, in the order of the file; at least one.
    pub problems: Vec<Problem>,
}

/// What was found wrong or doubtful so far: one reading of a file reports everything.
pub(crate) struct Findings<'a> {
    source: Source<'a>,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(source: Source<'a>) -> Self {
        Self { source, problems: Vec::new(), warnings: Vec::new() }
    }

    /// Something is wrong with the value at these bytes.
    pub(crate) fn wrong(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.problems.push(self.source.at(span, message));
    }

    /// The same about a value that must not be repeated anywhere.
    pub(crate) fn wrong_secret(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.problems.push(self.source.at(span, message).without_excerpt());
    }

    /// A key is missing from the table at these bytes.
    pub(crate) fn missing(&mut self, table: Range<usize>, key: &str, message: impl Into<String>) {
        self.problems.push(self.source.at(table, message).with_key(key));
    }

    /// A key is missing from the file, which has no table to point at.
    pub(crate) fn missing_from_file(&mut self, key: &str, message: impl Into<String>) {
        self.problems.push(Problem::of_file(self.source.file, message).with_key(key));
    }

    /// Accepted, but the reader should know.
    pub(crate) fn doubtful(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.warnings.push(self.source.at(span, message).without_excerpt());
    }

    /// A name, checked by the rule of its kind.
    pub(crate) fn id<T>(
        &mut self,
        name: &Spanned<String>,
        new: fn(String) -> Result<T, IdError>,
    ) -> Option<T> {
        match new(name.get_ref().clone()) {
            Ok(id) => Some(id),
            Err(error) => {
                self.wrong(name.span(), error.to_string());
                None
            }
        }
    }

    /// One of a fixed list of words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        kind: &str,
        written: &Spanned<String>,
        words: &[(&str, T)],
    ) -> Option<T> {
        let found = words.iter().find(|(word, _)| word == written.get_ref()).map(|(_, value)| *value);
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.wrong(written.span(), bench_core::source::unknown(kind, written.get_ref(), &known));
        }
        found
    }

    /// A number inside a range; the message says the range and the value.
    pub(crate) fn number(
        &mut self,
        written: &Spanned<f64>,
        range: &str,
        inside: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let value = *written.get_ref();
        if value.is_finite() && inside(value) {
            return Some(value);
        }
        self.wrong(written.span(), format!("{value} is not a usable number here; write {range}"));
        None
    }

    /// The experiment if nothing was wrong.
    pub(crate) fn settle(mut self, experiment: Option<Experiment>) -> Result<Loaded, ConfigError> {
        let warnings = self.warnings.iter().map(ToString::to_string).collect();
        match experiment {
            Some(experiment) if self.problems.is_empty() => Ok(Loaded { experiment, warnings }),
            Some(_) | None => {
                self.problems.sort_by_key(|problem| problem.position);
                Err(ConfigError { problems: self.problems })
            }
        }
    }
}
