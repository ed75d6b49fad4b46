//! One arm over its cells: passes, metrics, endings, first request, tools paid for and never called. Descriptive only.

use std::collections::{BTreeMap, HashMap};

use bench_core::ledger::ToolEntry;
use bench_core::{ContrastRole, Metric};
use bench_record::CellRecord;
use bench_stats::median::{quantile, quantile_of_sorted};
use bench_stats::proportion::wilson;

use crate::analysis::{
    ArmSummary, FirstRequestSummary, MetricSummary, NeverCalled, PassSummary, ToolSummary,
};
use crate::protocol::{ArmEntry, Protocol};
use crate::reliability::reliability;
use crate::selection::Selection;

/// Two-sided level of displayed pass rates.
const PASS_LEVEL: f64 = 0.95;

/// The summary of the arm at this place of the lock.
pub(crate) fn arm_summary(protocol: &Protocol, selection: &Selection<'_>, arm: usize) -> ArmSummary {
    let entry = &protocol.arms[arm];
    let records = selection.valid_of(arm);
    let tools = tools(&records);
    ArmSummary {
        name: entry.name.to_string(),
        role: role(protocol, entry).to_owned(),
        pass: pass(&records),
        metrics: Metric::ALL
            .into_iter()
            .filter(|metric| !metric.is_rate())
            .filter_map(|metric| Some((metric, metric_summary(&records, metric)?)))
            .collect(),
        endings: endings(selection.settled().filter(|record| record.arm == entry.name)),
        tools_never_called: never_called(&records, &tools),
        first_request: first_request(&records, tools),
        duplicate_transcripts: (!protocol.is_deterministic()).then(|| duplicates(&records)),
        reliability: reliability(protocol, &records),
    }
}

/// Records by kind of ending.
pub(crate) fn endings<'a>(records: impl Iterator<Item = &'a CellRecord>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for record in records {
        *counts.entry(record.ending.kind.word().to_owned()).or_default() += 1;
    }
    counts
}

fn role(protocol: &Protocol, arm: &ArmEntry) -> &'static str {
    if protocol.contrasts.iter().any(|c| c.control == arm.name) {
        return "control";
    }
    let as_candidate = protocol.contrasts.iter().filter(|c| c.candidate == arm.name);
    let roles: Vec<ContrastRole> = as_candidate.map(|c| c.role).collect();
    if roles.is_empty() {
        "other"
    } else if roles.iter().all(|role| *role == ContrastRole::NegativeControl) {
        "negative-control"
    } else {
        "candidate"
    }
}

fn pass(records: &[&CellRecord]) -> PassSummary {
    let n = records.len() as u64;
    let passed = records.iter().filter(|record| record.passed() == Some(true)).count() as u64;
    let limits = wilson(passed as f64, n as f64, PASS_LEVEL);
    PassSummary {
        passed,
        n,
        lower: limits.map(|i| i.lower),
        upper: limits.map(|i| i.upper),
        level: PASS_LEVEL,
    }
}

fn metric_summary(records: &[&CellRecord], metric: Metric) -> Option<MetricSummary> {
    let mut values: Vec<f64> =
        records.iter().filter_map(|record| record.metric(metric)).filter(|v| v.is_finite()).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.sort_by(f64::total_cmp);
    let at = |level| quantile_of_sorted(&values, level);
    Some(MetricSummary {
        n: values.len() as u64,
        mean,
        median: at(0.5)?,
        p90: at(0.9)?,
        min: at(0.0)?,
        max: at(1.0)?,
    })
}

fn first_request(records: &[&CellRecord], tools: Vec<ToolSummary>) -> Option<FirstRequestSummary> {
    let firsts: Vec<_> = records.iter().filter_map(|record| record.first_request.as_ref()).collect();
    let median = |value: fn(&bench_core::FirstRequest) -> u64| {
        quantile(&firsts.iter().map(|first| value(first) as f64).collect::<Vec<_>>(), 0.5)
    };
    Some(FirstRequestSummary {
        n: firsts.len() as u64,
        body_tokens: median(|f| f.body_tokens)?,
        system_tokens: median(|f| f.system.tokens)?,
        messages_tokens: median(|f| f.messages.tokens)?,
        tools_tokens: median(|f| f.tools.tokens)?,
        tools_entries: median(|f| u64::from(f.tools.entries))?,
        tools_callable: median(|f| u64::from(f.tools.callable))?,
        tools: tools.into_iter().filter(|tool| tool.in_first_request).collect(),
    })
}

/// Tools of all cells in the order in which they were first offered.
fn tools(records: &[&CellRecord]) -> Vec<ToolSummary> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut named: Vec<(&str, Vec<&ToolEntry>)> = Vec::new();
    for tool in records.iter().flat_map(|record| &record.tools) {
        let place = *places.entry(&tool.name).or_insert(named.len());
        match named.get_mut(place) {
            Some((_, same)) => same.push(tool),
            None => named.push((&tool.name, vec![tool])),
        }
    }
    named
        .into_iter()
        .filter_map(|(name, same)| {
            Some(ToolSummary {
                name: name.to_owned(),
                tokens: quantile(&same.iter().map(|tool| tool.tokens as f64).collect::<Vec<_>>(), 0.5)?,
                calls: same.iter().map(|tool| u64::from(tool.calls)).sum(),
                cells: same.len() as u64,
                in_first_request: same.iter().any(|tool| tool.first_offered_turn == 1),
            })
        })
        .collect()
}

fn never_called(records: &[&CellRecord], tools: &[ToolSummary]) -> NeverCalled {
    let unused: Vec<ToolSummary> = tools.iter().filter(|tool| tool.calls == 0).cloned().collect();
    let carried = |record: &CellRecord| -> u64 {
        let last = record.metrics.turns.map_or(0, |turns| u32::try_from(turns).unwrap_or(u32::MAX - 1));
        let idle = record.tools.iter().filter(|tool| unused.iter().any(|u| tool.name == u.name));
        idle.map(|tool| tool.tokens * u64::from((last + 1).saturating_sub(tool.first_offered_turn))).sum()
    };
    NeverCalled {
        tokens_total: records.iter().map(|record| carried(record)).sum(),
        // An empty sum of floats is -0 in Rust.
        tokens_per_request: unused.iter().fold(0.0, |sum, tool| sum + tool.tokens),
        tools: unused,
    }
}

fn duplicates(records: &[&CellRecord]) -> u64 {
    let mut seen = std::collections::BTreeSet::new();
    records.iter().filter(|record| !seen.insert((&record.task, &record.transcript_sha256))).count() as u64
}
