//! `bench merge`: shards of one run, made on several machines, as one run. Its journal is that of one machine: the blocks in
//! the order of the schedule, each whole from the shard that did it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bench_core::Schedule;
use bench_record::{CellRecord, HeldLock, Journal, Lock, RunDir, locks_difference};
use serde_json::Value;

use crate::commands::report::lock_and_journal;
use crate::commands::run::note_tools;
use crate::exit::{Exit, Failure, OrExit, fail};
use crate::options::MergeOptions;
use crate::progress::schedule_of;
use crate::{place, say};

struct Part {
    dir: PathBuf,
    lock: Value,
    records: Vec<CellRecord>,
}

/// Makes the run, or says why the shards are no parts of one.
pub(crate) fn merge(options: &MergeOptions) -> Result<Exit, Failure> {
    refuse_twice(&options.runs)?;
    let parts = options.runs.iter().map(|dir| open(dir)).collect::<Result<Vec<Part>, _>>()?;
    refuse_strangers(&parts)?;
    let schedule = schedule(&parts[0])?;
    let records = joined(&parts, &schedule)?;
    let run = write(options, &parts, &records)?;
    if !options.quiet {
        summary(&run, &schedule, &records, parts.len());
    }
    Ok(Exit::Good)
}

fn refuse_twice(dirs: &[PathBuf]) -> Result<(), Failure> {
    let mut seen = std::collections::BTreeSet::new();
    match dirs.iter().find(|dir| !seen.insert(place::absolute(dir))) {
        None => Ok(()),
        Some(dir) => fail(Exit::Usage, format!("{} is named twice; name each shard once", dir.display())),
    }
}

fn open(dir: &Path) -> Result<Part, Failure> {
    if HeldLock::is_taken(dir) {
        return fail(
            Exit::Environment,
            format!("{} is still being worked on; wait for that process, or stop it", dir.display()),
        );
    }
    let (lock, records) = lock_and_journal(dir)?;
    Ok(Part { dir: dir.to_owned(), lock, records })
}

/// One lock, one build: else the cells would not be those of one run.
fn refuse_strangers(parts: &[Part]) -> Result<(), Failure> {
    let first = &parts[0];
    for other in &parts[1..] {
        let build = |part: &Part| part.lock.get("harness").cloned().unwrap_or_default();
        let difference = locks_difference(&first.lock, &other.lock).or_else(|| {
            let (was, now) = (build(first), build(other));
            (was != now).then(|| format!("harness: was {was}, now {now}"))
        });
        if let Some(difference) = difference {
            return fail(
                Exit::Usage,
                format!(
                    "{} and {} are no shards of one run; their locks differ in {difference}",
                    first.dir.display(),
                    other.dir.display()
                ),
            );
        }
    }
    Ok(())
}

/// The order of the whole run, from its lock.
fn schedule(part: &Part) -> Result<Schedule, Failure> {
    let schedule = schedule_of(&part.lock);
    let locked = part.lock.get("schedule_sha256").and_then(Value::as_str);
    if locked == Some(schedule.sha256().as_str()) {
        return Ok(schedule);
    }
    fail(
        Exit::Usage,
        format!(
            "{}: this build plans another order from the same seed; merge with the build that ran the shards",
            part.dir.display()
        ),
    )
}

/// All records, block by block. A block that two shards have done is refused: one of them was run twice.
fn joined(parts: &[Part], schedule: &Schedule) -> Result<Vec<CellRecord>, Failure> {
    let mut owner: BTreeMap<&str, &Path> = BTreeMap::new();
    for part in parts {
        for record in &part.records {
            let first = *owner.entry(&record.block).or_insert(&part.dir);
            if first != part.dir {
                return fail(
                    Exit::Usage,
                    format!(
                        "block {} was done in {} and in {}; merge each shard once",
                        record.block,
                        first.display(),
                        part.dir.display()
                    ),
                );
            }
        }
    }
    let place: BTreeMap<String, usize> =
        schedule.blocks.iter().enumerate().map(|(place, block)| (block.id(), place)).collect();
    let mut records: Vec<CellRecord> = parts.iter().flat_map(|part| part.records.iter().cloned()).collect();
    records.sort_by_key(|record| place.get(record.block.as_str()).copied().unwrap_or(usize::MAX));
    Ok(records)
}

fn write(options: &MergeOptions, parts: &[Part], records: &[CellRecord]) -> Result<RunDir, Failure> {
    let dir = &options.output;
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        return fail(
            Exit::Usage,
            format!("{} exists and is not empty; name another directory with -o", dir.display()),
        );
    }
    let run = RunDir::create(dir).or_exit(Exit::Usage)?;
    let mut lock = parts[0].lock.clone();
    if let Some(lock) = lock.as_object_mut() {
        lock.shift_remove("shard");
    }
    let copied = fs::copy(parts[0].dir.join("experiment.toml"), run.experiment()).map(drop).and_then(|()| {
        parts.iter().try_for_each(|part| copy_tree(&part.dir.join("cells"), &run.root().join("cells")))
    });
    copied
        .map_err(|e| anyhow::anyhow!("{}: {e}; free the disk, remove it and merge again", dir.display()))
        .or_exit(Exit::Environment)?;
    Lock::write_value(&run.lock(), &lock).or_exit(Exit::Environment)?;
    let (mut journal, _, _) = Journal::open(&run.journal()).or_exit(Exit::Environment)?;
    for record in records {
        journal.append(record).or_exit(Exit::Environment)?;
    }
    note_tools(&run)?;
    Ok(run)
}

/// A file of the evidence is never written again: where it can, the copy is a link.
fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.exists() {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if fs::hard_link(entry.path(), &target).is_err() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

fn summary(run: &RunDir, schedule: &Schedule, records: &[CellRecord], shards: usize) {
    let settled: std::collections::BTreeSet<String> =
        records.iter().filter(|record| record.settles()).map(CellRecord::cell_id).collect();
    let dir = run.root().display();
    say::line(&format!("{dir}: {shards} shards, {} of {} cells settled", settled.len(), schedule.len()));
    if settled.len() < schedule.len() {
        say::line(&format!("what is missing can be run here: bench run FILE -o {dir}"));
    } else {
        say::line(&format!("next: bench gate {dir}"));
    }
}
