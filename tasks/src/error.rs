//! A suite or task that cannot be used.

use bench_core::Problem;

/// A suite or task that cannot be used. Printed, it lists every problem with file, line, column and key where there are any.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct TaskError {
    /// What is wrong; at least one.
    pub problems: Vec<Problem>,
}

impl From<Problem> for TaskError {
    fn from(problem: Problem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl From<Vec<Problem>> for TaskError {
    fn from(problems: Vec<Problem>) -> Self {
        Self { problems }
    }
}
