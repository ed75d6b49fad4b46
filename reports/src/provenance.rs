//! What differs between two runs of the same deterministic experiment: kept apart, so that the rest can be compared byte
//! for byte.

use std::collections::BTreeSet;

use bench_record::{CellRecord, CpuMs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::Protocol;
use crate::selection::Selection;

/// What differs between two runs of the same deterministic experiment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// When.
    pub times: Times,
    /// Machines, as digests.
    pub hosts: Vec<String>,
    /// Harness versions with revision.
    pub versions: Vec<String>,
    /// Kernel release, as locked.
    pub kernel: Option<String>,
    /// Hosts and models that answered.
    pub upstream_hosts: Vec<String>,
    /// Model ids as answered.
    pub models_answered: Vec<String>,
    /// Attempts that were stopped with the harness.
    pub interruptions: u64,
    /// What they had spent.
    pub spent_by_interrupted: Spent,
    /// Settled attempts that a later one replaced.
    pub superseded: Spent,
    /// Blocks that a later process continued.
    pub blocks_split: u64,
    /// Highest attempt number.
    pub highest_attempt: u32,
    /// CPU of cells that count, milliseconds.
    pub cpu_ms: CpuTotals,
}

/// When.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// Start of the first attempt, RFC 3339 UTC.
    pub first_started_at: Option<String>,
    /// End of the last.
    pub last_ended_at: Option<String>,
}

/// What attempts spent that do not count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// Attempts.
    pub attempts: u64,
    /// Of these, with unknown tokens.
    pub unknown: u64,
    /// Known tokens, input plus output.
    pub total_tokens: u64,
}

/// CPU sums; null when no record knows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTotals {
    /// Agents' cells.
    pub agent: Option<f64>,
    /// Verifiers' cells.
    pub verifier: Option<f64>,
    /// The harness.
    pub harness: Option<f64>,
}

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
        None => record.harness.version.to_string(),
    };
    let split: BTreeSet<&str> =
        selection.settled().filter(|r| r.block_split).map(|r| r.block.as_str()).collect();
    Provenance {
        times: Times {
            // RFC 3339 in UTC sorts as text.
            first_started_at: records.iter().map(|r| r.started_at.clone()).min(),
            last_ended_at: records.iter().map(|r| r.ended_at.clone()).max(),
        },
        hosts: distinct(&mut records.iter().map(|r| r.host_id.to_string())),
        versions: distinct(&mut records.iter().map(version)),
        kernel: protocol.kernel.clone(),
        upstream_hosts: distinct(
            &mut records.iter().filter_map(|r| r.upstream.host.as_deref().map(str::to_owned)),
        ),
        models_answered: distinct(
            &mut records.iter().flat_map(|r| r.upstream.models_answered.iter().map(|name| name.to_string())),
        ),
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
