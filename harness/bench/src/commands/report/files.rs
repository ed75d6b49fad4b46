//! The files of `report/`: written whole or not at all, each from lock and journal.

use std::path::{Path, PathBuf};

use bench_record::CellRecord;
use bench_reports::{Protocol, Rows};

use super::{Found, json_of, traces};
use crate::exit::{Exit, Failure, OrExit};

/// The files of `report/`.
pub(super) const NAMES: [&str; 5] = ["report.html", "report.md", "analysis.json", "cells.csv", "junit.xml"];

/// Writes every report of a run.
pub(super) fn write(found: &Found) -> Result<(), Failure> {
    let place = Place::make(&found.dir)?;
    NAMES.into_iter().try_for_each(|name| place.write(name, &text(name, found)?))?;
    traces::write(found)
}

/// What the file of this name has to say; nothing for other names.
pub(super) fn text(name: &str, found: &Found) -> Result<String, Failure> {
    let protocol = Protocol::read(&found.lock).or_exit(Exit::Ours)?;
    let rows = Rows::of(&protocol, &found.records).or_exit(Exit::Ours)?;
    let analysis = &found.analysis;
    Ok(match name {
        "report.html" => bench_reports::html(analysis, &rows, &|record| Some(trace_of(record))),
        "report.md" => bench_reports::markdown(analysis),
        "analysis.json" => json_of(analysis),
        "cells.csv" => bench_reports::cells_csv(&rows),
        "junit.xml" => bench_reports::junit(analysis, &rows),
        _ => String::new(),
    })
}

/// The trace of a record, as seen from the reports.
fn trace_of(record: &CellRecord) -> String {
    let (page, place) = bench_reports::trace_place(record);
    format!("traces/{page}#{place}")
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
