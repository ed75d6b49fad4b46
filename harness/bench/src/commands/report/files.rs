//! The files of `report/`: written whole or not at all, each from lock and journal.

use std::path::{Path, PathBuf};

use bench_record::CellRecord;
use bench_reports::{Plot, Protocol, Rows};

use super::{Found, json_of, traces};
use crate::exit::{Exit, Failure, OrExit};

/// The files of `report/`.
const NAMES: [&str; 6] =
    ["report.html", "report.md", "analysis.json", "cells.csv", "cells.parquet", "junit.xml"];

/// Where the figures lie.
const PLOTS: &str = "plots";

/// Writes every report of a run.
pub(super) fn write(found: &Found) -> Result<(), Failure> {
    let place = Place::make(&found.dir.join("report"))?;
    NAMES.into_iter().try_for_each(|name| place.write(name, &content(name, found)?))?;
    let figures = Place::make(&found.dir.join("report").join(PLOTS))?;
    plots(found)?.iter().try_for_each(|plot| figures.write(&plot.name, plot.svg.as_bytes()))?;
    traces::write(found)
}

/// What a file of this name would hold now; null where a run has no such file.
pub(super) fn published(name: &str, found: &Found) -> Result<Option<Vec<u8>>, Failure> {
    if NAMES.contains(&name) {
        return content(name, found).map(Some);
    }
    let plot = plots(found)?.into_iter().find(|plot| plot.name == name);
    Ok(plot.map(|plot| plot.svg.into_bytes()))
}

fn plots(found: &Found) -> Result<Vec<Plot>, Failure> {
    let protocol = Protocol::read(&found.lock).or_exit(Exit::Ours)?;
    let rows = Rows::of(&protocol, &found.records).or_exit(Exit::Ours)?;
    Ok(bench_reports::plots(&found.analysis, &rows))
}

/// What the file of this name has to say; nothing for other names.
pub(super) fn content(name: &str, found: &Found) -> Result<Vec<u8>, Failure> {
    let protocol = Protocol::read(&found.lock).or_exit(Exit::Ours)?;
    let rows = Rows::of(&protocol, &found.records).or_exit(Exit::Ours)?;
    let analysis = &found.analysis;
    let text = match name {
        "cells.parquet" => return Ok(bench_reports::cells_parquet(&rows)),
        "report.html" => bench_reports::html(analysis, &rows, &|record| Some(trace_of(record))),
        "report.md" => bench_reports::markdown(analysis),
        "analysis.json" => json_of(analysis),
        "cells.csv" => bench_reports::cells_csv(&rows),
        "junit.xml" => bench_reports::junit(analysis, &rows),
        _ => String::new(),
    };
    Ok(text.into_bytes())
}

/// The trace of a record, as seen from the reports.
fn trace_of(record: &CellRecord) -> String {
    let (page, place) = bench_reports::trace_place(record);
    format!("traces/{page}#{place}")
}

/// A folder of reports.
struct Place(PathBuf);

impl Place {
    fn make(dir: &Path) -> Result<Self, Failure> {
        std::fs::create_dir_all(dir)
            .map_err(|e| anyhow::anyhow!("report directory {}: {e}", dir.display()))
            .or_exit(Exit::Environment)?;
        Ok(Self(dir.to_owned()))
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let path = self.0.join(name);
        std::fs::write(&path, content)
            .map_err(|e| {
                anyhow::anyhow!("report {}: {e}; mend the permissions or free the disk", path.display())
            })
            .or_exit(Exit::Environment)
    }
}
