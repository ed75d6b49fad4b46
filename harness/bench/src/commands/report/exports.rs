//! `bench report --export`: the attempts that count, in another project's format.

use std::path::{Path, PathBuf};

use bench_record::CellRecord;
use bench_reports::export::{Exported, harbor, inspect, otlp};
use bench_reports::{Protocol, Rows};
use bench_trajectory::Trajectory;
use serde_json::Value;

use super::Found;
use crate::exit::{Exit, Failure, OrExit};
use crate::options::ExportFormat;
use crate::say;

/// Writes every settled attempt of the run, those of invalid blocks too: what became of a block stands in our own words.
pub(super) fn write(found: &Found, format: ExportFormat, output: Option<&Path>) -> Result<(), Failure> {
    let folder = output.map_or_else(|| found.dir.join("report/exports").join(format.word()), PathBuf::from);
    let protocol = Protocol::read(&found.lock).or_exit(Exit::Ours)?;
    let rows = Rows::of(&protocol, &found.records).or_exit(Exit::Ours)?;
    let records: Vec<&CellRecord> = rows.settled().map(|(_, record)| record).collect();
    match format {
        ExportFormat::Harbor => as_harbor(found, &folder, &records),
        ExportFormat::Inspect => as_inspect(found, &folder, &records),
        ExportFormat::Otlp => as_otlp(found, &folder, &records),
    }?;
    say::complain(&format!("{}: {} attempts as {}", folder.display(), records.len(), format.word()));
    Ok(())
}

fn as_harbor(found: &Found, folder: &Path, records: &[&CellRecord]) -> Result<(), Failure> {
    let experiment = &found.analysis.experiment;
    for file in harbor::job(experiment, records) {
        keep(&folder.join(&file.path), &file.value)?;
    }
    for record in records {
        let trajectory = Trajectory::read(&found.dir.join(&record.dir));
        for file in harbor::trial(experiment, Exported { record, trajectory: &trajectory }) {
            keep(&folder.join(&file.path), &file.value)?;
        }
    }
    Ok(())
}

fn as_inspect(found: &Found, folder: &Path, records: &[&CellRecord]) -> Result<(), Failure> {
    for arm in &found.analysis.arms {
        let of_arm: Vec<&CellRecord> =
            records.iter().copied().filter(|record| record.arm.as_str() == arm.name).collect();
        let log =
            with_trajectories(found, &of_arm, |attempts| inspect::log(&found.analysis.experiment, attempts));
        if let Some(log) = log {
            keep(&folder.join(format!("{}.json", arm.name)), &log)?;
        }
    }
    Ok(())
}

fn as_otlp(found: &Found, folder: &Path, records: &[&CellRecord]) -> Result<(), Failure> {
    let traces =
        with_trajectories(found, records, |attempts| otlp::traces(&found.analysis.experiment, attempts));
    keep(&folder.join("traces.json"), &traces)
}

fn with_trajectories<T>(
    found: &Found,
    records: &[&CellRecord],
    make: impl FnOnce(&[Exported<'_>]) -> T,
) -> T {
    let trajectories: Vec<Trajectory> =
        records.iter().map(|record| Trajectory::read(&found.dir.join(&record.dir))).collect();
    let attempts: Vec<Exported<'_>> = records
        .iter()
        .zip(&trajectories)
        .map(|(record, trajectory)| Exported { record, trajectory })
        .collect();
    make(&attempts)
}

fn keep(path: &Path, value: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).expect("a JSON value can be written") + "\n";
    path.parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|e| anyhow::anyhow!("export {}: {e}; choose another place with -o DIR", path.display()))
        .or_exit(Exit::Environment)
}
