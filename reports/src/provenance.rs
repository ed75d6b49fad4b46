//! What differs between two runs of the same deterministic experiment: kept apart, so that the rest can be compared byte
//! for byte.

use std::collections::BTreeSet;

use bench_record::{CellRecord, CpuMs};

use crate::analysis::{CpuTotals, Provenance, Spent, Times};
use crate::protocol::Protocol;
use crate::selection::Selection;

/// Where and when the records were made, and what was spent on attempts that do not count.
pub(crate) fn provenance(
    protocol: &Protocol,
    selection: &Selection<'_>,
    records: &[CellRecord],
) -> Provenance {
    let distinct = |values: &mut dyn Iterator<Item = String>| -> Vec<String> {
        values.collect::<BTreeSet<_>>().into_iter().collect()
    };
    let version = |record: &CellRecord| match &record.harness.revision {
        Some(revision) => format!("{} ({revision})", record.harness.version),
        None => record.harness.version.clone(),
    };
    let split: BTreeSet<&str> =
        selection.settled().filter(|r| r.block_split).map(|r| r.block.as_str()).collect();
    Provenance {
        times: Times {
            // RFC 3339 in UTC sorts as text.
            first_started_at: records.iter().map(|r| r.started_at.clone()).min(),
            last_ended_at: records.iter().map(|r| r.ended_at.clone()).max(),
        },
        hosts: distinct(&mut records.iter().map(|r| r.host_id.clone())),
        versions: distinct(&mut records.iter().map(version)),
        kernel: protocol.kernel.clone(),
        upstream_hosts: distinct(&mut records.iter().filter_map(|r| r.upstream.host.clone())),
        models_answered: distinct(&mut records.iter().flat_map(|r| r.upstream.models_answered.clone())),
        interruptions: selection.interrupted.len() as u64,
        spent_by_interrupted: spent(&selection.interrupted),
        superseded: spent(&selection.superseded),
        blocks_split: split.len() as u64,
        highest_attempt: records.iter().map(|r| r.attempt).max().unwrap_or(0),
        cpu_ms: cpu(selection),
    }
}

fn spent(records: &[&CellRecord]) -> Spent {
    Spent {
        attempts: records.len() as u64,
        unknown: records.iter().filter(|r| r.metrics.total_tokens.is_none()).count() as u64,
        total_tokens: records.iter().filter_map(|r| r.metrics.total_tokens).sum(),
    }
}

fn cpu(selection: &Selection<'_>) -> CpuTotals {
    let sum = |part: fn(&CpuMs) -> Option<f64>| {
        selection.settled().filter_map(|r| part(&r.cpu_ms)).reduce(|a, b| a + b)
    };
    CpuTotals { agent: sum(|c| c.agent), verifier: sum(|c| c.verifier), harness: sum(|c| c.harness) }
}
