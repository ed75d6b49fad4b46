//! `report/traces/`: one page a block, read back from the evidence. A page that is up to date is left as it is, so that
//! only the first report of a long run takes its time.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use bench_record::CellRecord;
use bench_reports::{Attempt, trace_page, trace_place, trace_stamp};
use bench_trajectory::Trajectory;

use super::Found;
use crate::exit::{Exit, Failure, OrExit};

/// Bytes at a page's beginning among which its stamp stands: style and navigation come before it.
const HEAD: u64 = 64 << 10;

/// Writes the pages that are missing or out of date.
pub(super) fn write(found: &Found) -> Result<(), Failure> {
    let mut blocks: BTreeMap<&str, Vec<&CellRecord>> = BTreeMap::new();
    for record in &found.records {
        blocks.entry(&record.block).or_default().push(record);
    }
    let mut blocks: Vec<(&str, Vec<&CellRecord>)> = blocks.into_iter().collect();
    for (_, records) in &mut blocks {
        records.sort_by_key(|record| (record.attempt, record.position));
    }
    let hands = std::thread::available_parallelism().map_or(1, usize::from);
    let share = blocks.len().div_ceil(hands).max(1);
    std::thread::scope(|scope| {
        let work: Vec<_> = blocks
            .chunks(share)
            .map(|part| {
                scope.spawn(|| part.iter().try_for_each(|(block, cells)| page(&found.dir, block, cells)))
            })
            .collect();
        work.into_iter().try_for_each(|hand| hand.join().expect("a page is text made of text"))
    })
    .or_exit(Exit::Environment)
}

fn page(dir: &Path, block: &str, records: &[&CellRecord]) -> anyhow::Result<()> {
    let Some(first) = records.first() else { return Ok(()) };
    let path = dir.join("report/traces").join(trace_place(first).0);
    if is_current(&path, &trace_stamp(records)) {
        return Ok(());
    }
    let trajectories: Vec<Trajectory> =
        records.iter().map(|record| Trajectory::read(&dir.join(&record.dir))).collect();
    let attempts: Vec<Attempt<'_>> = (records.iter().zip(&trajectories))
        .map(|(record, trajectory)| Attempt { record, trajectory })
        .collect();
    let said = |e: std::io::Error| {
        anyhow::anyhow!("trace {}: {e}; mend the permissions or free the disk", path.display())
    };
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(said)?;
    std::fs::write(&path, trace_page(block, &attempts)).map_err(said)
}

fn is_current(path: &Path, stamp: &str) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).contains(&format!("bench-evidence {stamp}"))
}
