//! `bench clean`: old runs with their sizes; removes them, or what their cells left, when told to. Only directories that
//! hold a lock are ever touched.

use std::fs;
use std::path::{Path, PathBuf};

use bench_record::HeldLock;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::options::CleanOptions;
use crate::{front, place, say};

struct OldRun {
    dir: PathBuf,
    /// In progress, or the decision of its last report.
    state: String,
    held: bool,
    bytes: u64,
    evidence_bytes: u64,
    age_days: Option<f64>,
}

/// Lists, or removes.
pub(crate) fn clean(options: &CleanOptions) -> Result<Exit, Failure> {
    let runs = chosen(options)?;
    if options.json {
        say::line(
            &serde_json::to_string_pretty(&runs.iter().map(as_json).collect::<Vec<_>>())
                .expect("a list of runs is a JSON value"),
        );
        return Ok(Exit::Good);
    }
    if runs.is_empty() {
        say::line("no run to clean; runs lie below runs/, or name them");
        return Ok(Exit::Good);
    }
    list(&runs, options.evidence);
    if !options.delete && !options.evidence {
        say::line(
            "nothing was removed: --evidence removes what cells left and keeps every number, --delete removes runs",
        );
        return Ok(Exit::Good);
    }
    remove(&runs, options)
}

/// The runs that are meant, newest first, without the newest that are kept.
fn chosen(options: &CleanOptions) -> Result<Vec<OldRun>, Failure> {
    let named = !options.runs.is_empty();
    let mut dirs: Vec<PathBuf> = match named {
        true => options.runs.clone(),
        false => {
            fs::read_dir("runs").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
        }
    };
    if let Some(stranger) = dirs.iter().find(|dir| named && !dir.join("lock.json").is_file()) {
        let hint = place::meant(stranger, |path| path.join("lock.json").is_file());
        return fail(Exit::Usage, format!("{} is no run directory{hint}", stranger.display()));
    }
    dirs.retain(|dir| dir.join("lock.json").is_file());
    let mut runs: Vec<OldRun> = dirs.into_iter().map(look).collect();
    runs.sort_by(|a, b| a.age_days.unwrap_or(f64::MAX).total_cmp(&b.age_days.unwrap_or(f64::MAX)));
    Ok(runs.into_iter().skip(options.keep).collect())
}

fn look(dir: PathBuf) -> OldRun {
    let held = HeldLock::is_taken(&dir);
    let decision = || -> Option<String> {
        let analysis: Value =
            serde_json::from_slice(&fs::read(dir.join("report/analysis.json")).ok()?).ok()?;
        Some(analysis.pointer("/overall/decision")?.as_str()?.to_owned())
    };
    let state = if held { "in progress".to_owned() } else { decision().unwrap_or("no report".to_owned()) };
    OldRun {
        state,
        held,
        bytes: size(&dir),
        evidence_bytes: size(&dir.join("cells")),
        age_days: front::unchanged_ms(&dir.join("lock.json")).map(|ms| ms / 86_400_000.0),
        dir,
    }
}

/// Bytes of the files below; links are not followed.
fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok);
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size(&entry.path()),
            Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |meta| meta.len()),
            Ok(_) | Err(_) => 0,
        })
        .sum()
}

fn list(runs: &[OldRun], evidence: bool) {
    let width = runs.iter().map(|run| run.dir.display().to_string().len()).max().unwrap_or(3);
    say::line(&format!("{:<width$}  {:>9}  {:>9}  {:>6}  state", "run", "size", "evidence", "days"));
    for run in runs {
        let days = run.age_days.map_or("?".to_owned(), |days| format!("{days:.0}"));
        say::line(&format!(
            "{:<width$}  {:>9}  {:>9}  {days:>6}  {}",
            run.dir.display().to_string(),
            bytes(run.bytes),
            bytes(run.evidence_bytes),
            run.state
        ));
    }
    let total = runs.iter().map(|run| if evidence { run.evidence_bytes } else { run.bytes }).sum();
    say::line(&format!("{} {}, {}", runs.len(), if runs.len() == 1 { "run" } else { "runs" }, bytes(total)));
}

fn remove(runs: &[OldRun], options: &CleanOptions) -> Result<Exit, Failure> {
    let (what, target): (&str, fn(&OldRun) -> PathBuf) = match options.delete {
        true => ("runs, with every number in them", |run| run.dir.clone()),
        false => ("evidence of runs; their numbers stay", |run| run.dir.join("cells")),
    };
    if !options.yes {
        match say::ask(&format!("remove this {what}? [y/N] ")).as_deref() {
            Some("y" | "Y" | "yes" | "Yes") => {}
            Some(_) => return fail(Exit::Usage, "nothing was removed"),
            None => return fail(Exit::Usage, "nobody can be asked; say --yes to remove them"),
        }
    }
    for run in runs {
        if run.held {
            say::complain(&format!("{} is in progress and stays", run.dir.display()));
            continue;
        }
        let target = target(run);
        if target.exists() {
            fs::remove_dir_all(&target)
                .map_err(|e| anyhow::anyhow!("{}: {e}; mend its permissions", target.display()))
                .or_exit(Exit::Environment)?;
            say::line(&format!("removed {}", target.display()));
        }
    }
    Ok(Exit::Good)
}

fn as_json(run: &OldRun) -> Value {
    json!({
        "run": run.dir, "state": run.state, "in_progress": run.held, "bytes": run.bytes,
        "evidence_bytes": run.evidence_bytes, "age_days": run.age_days,
    })
}

/// `940 B`, `12.3 kB`, `4.5 MB`.
pub(crate) fn bytes(count: u64) -> String {
    match count {
        0..1000 => format!("{count} B"),
        1000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", count as f64 / 1e6),
        1_000_000_000.. => format!("{:.1} GB", count as f64 / 1e9),
    }
}
