//! `bench import`: outcomes from elsewhere become a run directory that report and gate can read.
//!
//! What a source does not say stays unknown. The rules are written after the data, so the run is exploratory and says so.

mod csv;
mod harbor;
mod record;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bench_core::{Clock as _, Metric, SystemClock};
use bench_record::{CellRecord, Journal, RunDir};
use serde_json::{Value, json};

use self::record::{Imported, cell_record};
use crate::commands::report::{self, Shown};
use crate::exit::{Exit, Failure, OrExit, fail};
use crate::options::ImportOptions;
use crate::say;

/// Reads every file or Harbor job folder and writes one run.
pub(crate) fn import(options: &ImportOptions) -> Result<Exit, Failure> {
    let mut cells = Vec::new();
    for path in &options.files {
        let several = options.files.len() > 1;
        let found = if path.is_dir() { harbor::read(path, several)? } else { csv::read(path)? };
        if found.is_empty() {
            return fail(
                Exit::Usage,
                format!("{}: no outcome in it; name a CSV file or a Harbor job folder", path.display()),
            );
        }
        cells.extend(found);
    }
    refuse_contradictions(&cells)?;
    let lock = lock(&cells, options)?;
    let dir = options.output.clone().unwrap_or_else(|| place(options));
    if dir.join("lock.json").exists() {
        return fail(
            Exit::Usage,
            format!("{} already holds a run; name another directory with -o", dir.display()),
        );
    }
    // Before anything is written: what is refused leaves nothing that would stand in the way of the mended file.
    let records: Vec<CellRecord> =
        cells.iter().map(|cell| cell_record(cell, &lock)).collect::<Result<_, Failure>>()?;
    let run = RunDir::create(&dir).or_exit(Exit::Usage)?;
    write_lock(&run, &lock)?;
    let (mut journal, _, _) = Journal::open(&run.journal()).or_exit(Exit::Environment)?;
    for record in &records {
        journal.append(record).or_exit(Exit::Environment)?;
    }
    say::complain(&format!("{}: {} cells imported", dir.display(), cells.len()));
    // The verdict is `bench gate`'s: an import that worked has worked.
    report::show_run(&dir, Shown::Table, None)?;
    Ok(Exit::Good)
}

fn place(options: &ImportOptions) -> PathBuf {
    let name = options.files[0].file_stem().and_then(|stem| stem.to_str()).unwrap_or("outcomes");
    let stamp: String =
        SystemClock::default().now_utc().chars().filter(|c| !matches!(c, '-' | ':')).take(15).collect();
    Path::new("runs").join(format!("import-{}-{stamp}Z", record::usable(name)))
}

fn write_lock(run: &RunDir, lock: &Value) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(lock).expect("a lock is a JSON value") + "\n";
    std::fs::write(run.lock(), text)
        .map_err(|e| anyhow::anyhow!("{}: {e}; choose another place with -o DIR", run.lock().display()))
        .or_exit(Exit::Environment)
}

/// Repeats of a task at most: every one of them is a place in the plan.
const REPEATS: u32 = 10_000;

/// What cannot be one run: a cell that stands twice, a task of two clusters or tracks, more repeats than anybody makes.
fn refuse_contradictions(cells: &[Imported]) -> Result<(), Failure> {
    let mut tasks: BTreeMap<&str, (&Option<String>, bench_core::Track)> = BTreeMap::new();
    for cell in cells {
        if cell.repeat > REPEATS {
            let words =
                format!("{}: repeat {} is beyond {REPEATS}; number them from 1", cell.from, cell.repeat);
            return fail(Exit::Usage, words);
        }
        let known = *tasks.entry(&cell.task).or_insert((&cell.cluster, cell.track));
        if known != (&cell.cluster, cell.track) {
            let words = format!(
                "{}: task {} has another cluster or track than in an earlier line; a task is of one",
                cell.from, cell.task
            );
            return fail(Exit::Usage, words);
        }
    }
    refuse_repeated(cells)
}

fn refuse_repeated(cells: &[Imported]) -> Result<(), Failure> {
    let mut seen = std::collections::BTreeSet::new();
    for cell in cells {
        if !seen.insert((&cell.task, cell.repeat, &cell.arm)) {
            let words = format!(
                "{}: task {} repeat {} arm {} stands twice; number the repeats",
                cell.from, cell.task, cell.repeat, cell.arm
            );
            return fail(Exit::Usage, words);
        }
    }
    Ok(())
}

fn distinct<'c>(values: impl Iterator<Item = &'c str>) -> Vec<&'c str> {
    let mut found: Vec<&str> = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// The rules that the options name, over the cells that were found.
fn lock(cells: &[Imported], options: &ImportOptions) -> Result<Value, Failure> {
    let tasks = distinct(cells.iter().map(|cell| cell.task.as_str()));
    let arms = distinct(cells.iter().map(|cell| cell.arm.as_str()));
    let control = options.control.as_deref().unwrap_or(arms[0]);
    if !arms.contains(&control) {
        return fail(
            Exit::Usage,
            format!("--control {control}: no such arm; the arms are {}", arms.join(", ")),
        );
    }
    let contrasts: Vec<Value> = arms
        .iter()
        .filter(|arm| **arm != control)
        .map(
            |arm| json!({"id": arm, "control": control, "candidate": arm, "factor": "agent", "role": "gate"}),
        )
        .collect();
    let names: Vec<&&str> = arms.iter().filter(|arm| **arm != control).collect();
    let gate = |metric: Metric, margin: Value| json!({"id": metric, "metric": metric, "margin": margin, "contrasts": names, "scope": options.scope.word()});
    let mut gates = vec![gate(Metric::PassRate, json!({"rule": "non-inferior", "margin": options.margin}))];
    for metric in Metric::ALL.into_iter().filter(|metric| !metric.is_rate()) {
        if !cells.is_empty() && cells.iter().all(|cell| cell.metrics.contains_key(&metric)) {
            gates.push(gate(metric, json!({"rule": "ratio-at-most", "limit": options.limit})));
        }
    }
    let natures: serde_json::Map<String, Value> =
        Metric::ALL.iter().map(|metric| (metric.key().to_owned(), json!(metric.nature()))).collect();
    let mut lock = json!({
        "format_version": 1, "experiment": "import", "tasks": tasks, "skipped": {},
        "arms": arms.iter().map(|arm| json!({"name": arm})).collect::<Vec<_>>(),
        "contrasts": contrasts, "gates": gates, "metrics": natures,
        "rules": bench_core::experiment::Rules::default(), "seed": 1,
        "repeats": cells.iter().map(|cell| cell.repeat).max().unwrap_or(1),
        "upstream": {"kind": "imported"}, "tokenizer": record::unknown_tokenizer(),
        "isolation": {"minimum": "L0", "level": "L0"}, "kernel": null,
        "exploratory": "outcomes were imported: the rules were written when the data was there",
    });
    lock["rules_sha256"] = json!(bench_core::Sha256Hex::of_json(&lock));
    Ok(lock)
}
