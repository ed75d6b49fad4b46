//! Did anything change that no cell may change? The task and the planted file are looked at before a cell starts and when
//! it is empty: what is different counts as an attempt that went through, whoever made it and whatever was heard.

use std::path::PathBuf;

use bench_core::IsolationEvidence;
use bench_isolation::attempt::Attempt;
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

    /// What has changed since.
    pub(crate) fn compare(self) -> Changes {
        let later = Manifest::of(&self.paths).map_err(|error| error.to_string());
        Changes(self.manifest.and_then(|before| Ok(before.changes(&later?))))
    }
}

/// What changed while the cell ran, or why that cannot be told.
pub(crate) struct Changes(Result<Vec<Attempt>, String>);

impl Changes {
    /// Adds them to the evidence; where they cannot be told, a hole.
    pub(crate) fn add_to(self, evidence: &mut IsolationEvidence) {
        match self.0 {
            Ok(changes) => evidence.events.extend(classify::events(&changes, &Grounds::default(), &[])),
            Err(why) => {
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
        before().compare().add_to(&mut evidence);
        assert_eq!(evidence.events, []);
        let then = before();
        std::fs::write(dir.path().join("run.sh"), "exit 0").unwrap();
        then.compare().add_to(&mut evidence);
        let event = evidence.outside_events().next().unwrap();
        assert!(event.operation == "tampering.changed" && !event.denied, "{event:?}");
    }
}
