//! Did anything change that no cell may change? The task and the planted file are looked at before a cell starts and when
//! it is empty: what is different counts as an attempt that went through, whoever made it and whatever was heard.

use std::path::PathBuf;

use bench_core::IsolationEvidence;
use bench_isolation::classify::{self, Grounds};
use bench_isolation::manifest::Manifest;

/// Protected files as they were before a cell.
pub(crate) struct Before {
    paths: Vec<PathBuf>,
    manifest: Result<Manifest, String>,
}

impl Before {
    pub(crate) fn of(paths: Vec<PathBuf>) -> Self {
        let manifest = Manifest::of(&paths).map_err(|error| error.to_string());
        Self { paths, manifest }
    }

    /// Adds what has changed since to the evidence; where that cannot be told, a hole.
    pub(crate) fn compare(self, evidence: &mut IsolationEvidence) {
        let later = Manifest::of(&self.paths).map_err(|error| error.to_string());
        match (self.manifest, later) {
            (Ok(before), Ok(later)) => {
                let changes = before.changes(&later);
                evidence.events.extend(classify::events(&changes, &Grounds::default(), &[]));
            }
            (Err(why), _) | (_, Err(why)) => {
                let hole = bench_core::evidence::HOLE;
                evidence.missing.push(format!("{hole}changes of the task's files: {why}").into());
                evidence.evidence_complete = Some(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_task_is_an_outside_access_and_an_unchanged_one_is_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("run.sh"), "exit 1").unwrap();
        let before = || Before::of(vec![dir.path().to_owned(), dir.path().join("absent")]);
        let mut evidence = bench_isolation::evidence_of_no_cell("a test");
        before().compare(&mut evidence);
        assert_eq!(evidence.events, []);
        let then = before();
        std::fs::write(dir.path().join("run.sh"), "exit 0").unwrap();
        then.compare(&mut evidence);
        let event = evidence.outside_events().next().unwrap();
        assert!(event.operation == "tampering.changed" && !event.denied, "{event:?}");
    }
}
