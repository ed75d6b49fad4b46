//! A baseline file: runs of the same arms, appended one after another and never changed.

use std::collections::BTreeMap;
use std::path::Path;

use bench_record::CellRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::name_of;
use crate::exit::{Exit, Failure, OrExit, fail};

/// Version of the file.
const FORMAT_VERSION: u32 = 1;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Baseline {
    format_version: u32,
    pub(super) entries: Vec<Entry>,
}

/// One run of it, without the parts that no comparison reads.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Entry {
    run: String,
    lock: Value,
    records: Vec<CellRecord>,
}

impl Baseline {
    /// Reads it; one that does not exist is empty.
    pub(super) fn open(file: &Path) -> Result<Self, Failure> {
        let text = match std::fs::read(file) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self { format_version: FORMAT_VERSION, entries: Vec::new() });
            }
            Err(e) => return Err(anyhow::anyhow!("baseline {}: {e}", file.display())).or_exit(Exit::Usage),
        };
        let baseline: Self = serde_json::from_slice(&text)
            .map_err(|e| anyhow::anyhow!("baseline {}: {e}; make another with --add", file.display()))
            .or_exit(Exit::Usage)?;
        if baseline.format_version > FORMAT_VERSION {
            let found = baseline.format_version;
            return fail(
                Exit::Usage,
                format!("baseline {}: format_version {found}; use a newer bench", file.display()),
            );
        }
        Ok(baseline)
    }

    /// Appends a run; the same one twice is refused, since it would count its cells twice.
    pub(super) fn add(&mut self, dir: &Path, lock: Value, records: Vec<CellRecord>) -> Result<(), Failure> {
        let lean: Vec<CellRecord> = records.into_iter().filter(CellRecord::settles).map(lean).collect();
        let times = |records: &[CellRecord]| records.iter().map(|r| r.started_at.clone()).collect::<Vec<_>>();
        let same = |entry: &Entry| entry.run == name_of(dir) && times(&entry.records) == times(&lean);
        if self.entries.iter().any(same) {
            return fail(Exit::Usage, format!("{} is in the baseline already", dir.display()));
        }
        self.entries.push(Entry { run: name_of(dir), lock, records: lean });
        Ok(())
    }

    /// Writes it whole to a temporary file, then renames.
    pub(super) fn keep(&self, file: &Path) -> Result<(), Failure> {
        let text = serde_json::to_vec(self).expect("a baseline is a JSON value");
        let temporary = file.with_extension("json.new");
        std::fs::write(&temporary, text)
            .and_then(|()| std::fs::rename(&temporary, file))
            .map_err(|e| anyhow::anyhow!("baseline {}: {e}", file.display()))
            .or_exit(Exit::Environment)
    }

    /// All entries as one run, the newest first: repeats of a task are numbered on from entry to entry. The newest
    /// entry's lock holds.
    pub(super) fn as_one_run(&self) -> Result<(Value, Vec<CellRecord>), Failure> {
        let Some(newest) = self.entries.last() else {
            return fail(Exit::Usage, "the baseline is empty; add runs to it with --add");
        };
        let (mut records, mut offset) = (Vec::new(), BTreeMap::new());
        let mut most = 0;
        for entry in self.entries.iter().rev() {
            let mut ends: BTreeMap<_, u32> = BTreeMap::new();
            for record in &entry.records {
                let key = (record.task.clone(), record.arm.clone());
                let mut record = record.clone();
                record.repeat += offset.get(&key).copied().unwrap_or(0);
                most = most.max(record.repeat);
                let end = ends.entry(key).or_insert(record.repeat);
                *end = record.repeat.max(*end);
                records.push(record);
            }
            offset.extend(ends);
        }
        let mut lock = newest.lock.clone();
        lock["repeats"] = json!(most);
        Ok((lock, records))
    }
}

/// A record without what only a report of one run reads.
fn lean(mut record: CellRecord) -> CellRecord {
    record.tools.clear();
    record.turns_series.clear();
    record.checks.clear();
    record.isolation.events.clear();
    record.isolation.requested.clear();
    record.isolation.enforced.clear();
    record
}
