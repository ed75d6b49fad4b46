//! The files of `report/`: written whole or not at all, each from lock and journal.

use std::path::{Path, PathBuf};

use bench_record::CellRecord;
use bench_reports::{Analysis, Protocol, Rows};
use serde_json::Value;

use super::json_of;
use crate::exit::{Exit, Failure, OrExit};

/// Writes every report of a run.
pub(super) fn write(
    dir: &Path,
    lock: &Value,
    records: &[CellRecord],
    analysis: &Analysis,
) -> Result<(), Failure> {
    let protocol = Protocol::read(lock).or_exit(Exit::Ours)?;
    let rows = Rows::of(&protocol, records).or_exit(Exit::Ours)?;
    let place = Place::make(dir)?;
    place.write("report.md", &bench_reports::markdown(analysis))?;
    place.write("analysis.json", &json_of(analysis))?;
    place.write("report.html", &bench_reports::html(analysis, &rows, &|record| trace_of(dir, record)))
}

/// The trace of a record, as seen from the reports.
fn trace_of(dir: &Path, record: &CellRecord) -> Option<String> {
    let trace = format!("{}/trace.jsonl", record.dir);
    dir.join(&trace).is_file().then(|| format!("../{trace}"))
}

/// The folder of the reports.
struct Place(PathBuf);

impl Place {
    fn make(dir: &Path) -> Result<Self, Failure> {
        let report = dir.join("report");
        std::fs::create_dir_all(&report)
            .map_err(|e| anyhow::anyhow!("report directory {}: {e}", report.display()))
            .or_exit(Exit::Environment)?;
        Ok(Self(report))
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.0.join(name);
        std::fs::write(&path, text)
            .map_err(|e| {
                anyhow::anyhow!("report {}: {e}; mend the permissions or free the disk", path.display())
            })
            .or_exit(Exit::Environment)
    }
}
