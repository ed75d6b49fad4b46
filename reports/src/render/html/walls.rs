//! At which level cells ran, what was tried beyond them, and by whom.

use std::collections::BTreeMap;

use bench_core::ArmId;
use bench_core::evidence::IsolationEvent;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::rows::Rows;

/// Lines of the table of attempts.
const SHOWN: usize = 40;

/// What stands about the walls.
#[derive(Serialize)]
pub(super) struct Walls {
    level: String,
    missing: Vec<String>,
    detectors: Vec<(String, u64)>,
    watched: u64,
    incomplete: u64,
    cells: u64,
    events: Vec<Event>,
    more: usize,
}

#[derive(Serialize)]
struct Event {
    arm: String,
    class: String,
    operation: String,
    path: String,
    process: String,
    denied: bool,
    count: u64,
    cells: u64,
}

impl Event {
    fn of(arm: &str, seen: &IsolationEvent) -> Self {
        Self {
            arm: arm.to_owned(),
            class: seen.class.clone(),
            operation: seen.operation.clone(),
            path: seen.path.clone(),
            process: seen.process.clone(),
            denied: seen.denied,
            count: seen.count,
            cells: 1,
        }
    }

    fn is(&self, seen: &IsolationEvent) -> bool {
        (&self.class, &self.operation, &self.process, self.denied)
            == (&seen.class, &seen.operation, &seen.process, seen.denied)
    }

    fn add(&mut self, seen: &IsolationEvent) {
        self.count += seen.count;
        self.cells += 1;
    }
}

/// Levels, detectors and attempts over the settled cells.
pub(super) fn walls(analysis: &Analysis, rows: &Rows<'_>) -> Walls {
    let mut events: BTreeMap<(&ArmId, &str), Vec<Event>> = BTreeMap::new();
    let mut detectors: BTreeMap<String, u64> = BTreeMap::new();
    let (mut watched, mut incomplete, mut cells) = (0, 0, 0);
    for (_, record) in rows.settled() {
        cells += 1;
        *detectors.entry(record.isolation.detector.to_string()).or_default() += 1;
        watched += u64::from(record.isolation.evidence_complete.is_some());
        incomplete += u64::from(record.isolation.evidence_complete == Some(false));
        for seen in &record.isolation.events {
            let same_path = events.entry((&record.arm, seen.path.as_str())).or_default();
            match same_path.iter_mut().find(|event| event.is(seen)) {
                Some(event) => event.add(seen),
                None => same_path.push(Event::of(record.arm.as_str(), seen)),
            }
        }
    }
    let mut lines: Vec<Event> = events.into_values().flatten().collect();
    // What invalidates comes first, then what is frequent.
    lines.sort_by_key(|e| (e.class != bench_core::evidence::OUTSIDE_ACCESS, std::cmp::Reverse(e.count)));
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    Walls {
        level: analysis.isolation_level.to_string(),
        missing: analysis.isolation_missing.clone(),
        detectors: detectors.into_iter().collect(),
        watched,
        incomplete,
        cells,
        events: lines,
        more,
    }
}
