//! The whole chain: lock and journal to [`Analysis`].

use std::collections::BTreeMap;

use bench_core::{Decision, GateRule, Margin, Metric};
use bench_record::CellRecord;
use bench_stats::PairTable;
use bench_stats::mcnemar::{least_exact_p, mcnemar};
use bench_stats::non_inferiority::non_inferiority;
use serde_json::Value;

use crate::a_a::a_a;
use crate::analysis::{
    Analysis, BlockCounts, CellCounts, ContrastSummary, Exploratory, FORMAT_VERSION, Flip, GateOutcome,
    LookSummary, McNemarSummary, NotGated, PairCounts, PassDifference, UpstreamSummary,
};
use crate::arm_summary::{arm_summary, endings};
use crate::candidates::claims;
use crate::comparison::compare;
use crate::gate_decision::{GateContext, gate_outcome};
use crate::looks::looks;
use crate::order::order_summary;
use crate::overall::overall;
use crate::pairing::{BothWays, Pairs};
use crate::preflight::{Preflight, preflight};
use crate::protocol::{AnalysisError, ContrastEntry, Protocol};
use crate::provenance::provenance;
use crate::scope::{scope, tokens_summary, warnings};
use crate::segments::segments;
use crate::selection::{BlockState, Selection};
use crate::task_table::task_table;

/// Metrics that every contrast either gates or says why not.
pub(crate) const MAIN_METRICS: [Metric; 6] = [
    Metric::FirstRequestTokens,
    Metric::TotalTokens,
    Metric::Turns,
    Metric::ToolCalls,
    Metric::PassRate,
    Metric::WallMs,
];

/// The margin at which a design is looked at when no pass-rate gate names one.
const DEFAULT_MARGIN: f64 = 0.10;

/// Analyses a run from its lock (as read back) and its journal's records, and nothing else. Errors: a lock of another
/// version or with missing fields, a gate that does not fit its metric, a record of a cell that the lock does not plan.
pub fn analyse(lock: &Value, records: &[CellRecord]) -> Result<Analysis, AnalysisError> {
    let protocol = Protocol::read(lock)?;
    let selection = Selection::of(&protocol, records)?;
    let looks = looks(&protocol, &selection);
    if looks.is_empty() {
        return at_the_end(protocol, records);
    }
    let mut last = None;
    for look in looks {
        let analysis = at_a_look(&protocol, records, look)?;
        let decides = matches!(analysis.overall.decision, Decision::Pass | Decision::Fail);
        last = Some(analysis);
        if decides {
            break;
        }
    }
    Ok(last.expect("a list that is not empty"))
}

/// The numbers of a look's repeats, as if no more had been planned, at its own level.
fn at_a_look(
    protocol: &Protocol,
    records: &[CellRecord],
    look: LookSummary,
) -> Result<Analysis, AnalysisError> {
    let mut protocol = protocol.clone();
    protocol.rules.alpha = look.alpha;
    protocol.repeats = look.repeats;
    let seen: Vec<CellRecord> =
        records.iter().filter(|record| record.repeat <= look.repeats).cloned().collect();
    let mut analysis = at_the_end(protocol, &seen)?;
    let open = analysis.overall.decision == Decision::Inconclusive;
    let more = if open && look.number < look.of { "; the run goes on" } else { "" };
    let words = &mut analysis.overall.sentence;
    *words = format!("look {} of {}, one-sided level {:.4}: {words}{more}", look.number, look.of, look.alpha);
    analysis.look = Some(look);
    Ok(analysis)
}

fn at_the_end(protocol: Protocol, records: &[CellRecord]) -> Result<Analysis, AnalysisError> {
    let selection = Selection::of(&protocol, records)?;
    let preflight = preflight(clusters(&selection), protocol.repeats, &protocol.gates, &protocol.rules);
    let contended = contended(&selection);
    let judge = |selection: &Selection<'_>| -> Vec<ContrastSummary> {
        let context = |contrast| GateContext {
            protocol: &protocol,
            selection,
            contrast,
            contended,
            cannot_pass: &preflight.cannot_pass,
        };
        protocol.contrasts.iter().map(|contrast| contrast_summary(&context(contrast), &preflight)).collect()
    };
    let segments = segments(&protocol, &selection, &judge)?;
    let mut contrasts = judge(&selection);
    let cells = cell_counts(&protocol, &selection);
    let blocks = block_counts(&protocol, &selection);
    for contrast in &mut contrasts {
        contrast.a_a = a_a(contrast, &blocks);
    }
    let candidates = claims(&protocol, &selection, contended);
    let tokens = tokens_summary(&protocol, &selection);
    let level = selection.settled().map(|r| r.isolation.level).min().unwrap_or(protocol.isolation_level);
    Ok(Analysis {
        format_version: FORMAT_VERSION,
        upstream: UpstreamSummary {
            kind: protocol.upstream.clone(),
            deterministic: protocol.is_deterministic(),
            imperfect_arms: protocol.imperfect_arms().iter().map(|arm| arm.name.to_string()).collect(),
        },
        exploratory: exploratory(&protocol, &selection),
        attempts_with_this_hash: None,
        scope: scope(&protocol, level, tokens.as_ref()),
        tokens,
        isolation_level: level,
        isolation_missing: missing_walls(&selection),
        warnings: warnings(&protocol, &selection, &contrasts),
        overall: overall(&protocol, &cells, &blocks, &contrasts, &candidates),
        look: None,
        candidates,
        providers: selection.providers as u64,
        segments,
        cells,
        blocks,
        skipped_tasks: protocol.skipped.clone(),
        preflight,
        arms: (0..protocol.arms.len()).map(|arm| arm_summary(&protocol, &selection, arm)).collect(),
        contrasts,
        provenance: provenance(&protocol, &selection, records),
        experiment: protocol.experiment,
        lock_sha256: protocol.lock_sha256,
    })
}

/// Distinct clusters in the plan (a task without a record is its own).
fn clusters(selection: &Selection<'_>) -> usize {
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for block in &selection.blocks {
        let task = block.task.as_str();
        let cluster = block.cluster();
        if cluster != task || !names.contains_key(task) {
            names.insert(task, cluster);
        }
    }
    let mut distinct: Vec<&str> = names.into_values().collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.len()
}

/// Did cells run side by side? Then wall time is not the arm's alone.
fn contended(selection: &Selection<'_>) -> bool {
    let mut slots = selection.settled().map(|record| record.slot);
    slots.next().is_some_and(|first| slots.any(|slot| slot != first))
}

fn exploratory(protocol: &Protocol, selection: &Selection<'_>) -> Exploratory {
    let other = selection.settled().filter(|r| r.lock_sha256.as_str() != protocol.lock_sha256).count();
    let other_lock = (other > 0).then(|| {
        format!("{other} cells ran under another lock: a rule, a task or an arm was changed in between")
    });
    let why = protocol.exploratory.clone().or(other_lock);
    Exploratory { yes: why.is_some(), why }
}

fn missing_walls(selection: &Selection<'_>) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for gap in selection.settled().flat_map(|record| &record.isolation.missing) {
        if !missing.iter().any(|known| gap == known) {
            missing.push(gap.to_string());
        }
    }
    missing
}

fn cell_counts(protocol: &Protocol, selection: &Selection<'_>) -> CellCounts {
    let valid = selection.count(|state| state == BlockState::Valid);
    CellCounts {
        planned: (selection.blocks.len() * protocol.arms.len()) as u64,
        attempted: selection.settled().count() as u64,
        valid: (valid * protocol.arms.len()) as u64,
        by_ending: endings(selection.settled()),
    }
}

fn block_counts(protocol: &Protocol, selection: &Selection<'_>) -> BlockCounts {
    let mut invalid_by_reason: BTreeMap<String, u64> = BTreeMap::new();
    for block in &selection.blocks {
        let reason = match block.state {
            BlockState::Valid | BlockState::Pending => continue,
            BlockState::Outside => "outside_access",
            BlockState::Invalid(reason) => reason,
        };
        *invalid_by_reason.entry(reason.to_owned()).or_default() += 1;
    }
    BlockCounts {
        total: selection.blocks.len() as u64,
        valid: selection.count(|state| state == BlockState::Valid) as u64,
        pending: selection.count(|state| state == BlockState::Pending) as u64,
        invalid_by_reason,
        invalid_only: protocol
            .arms
            .iter()
            .enumerate()
            .map(|(index, arm)| (arm.name.to_string(), selection.invalid_only(index)))
            .collect(),
    }
}

fn contrast_summary(context: &GateContext<'_>, preflight: &Preflight) -> ContrastSummary {
    let GateContext { protocol, selection, contrast, .. } = *context;
    let both = BothWays::of(protocol, selection, contrast);
    let pairs = &both.strict;
    let tables = pairs.tables();
    let table = PairTable::pooled(&tables);
    let gates: Vec<GateOutcome> =
        protocol.gates_of(contrast).map(|gate| gate_outcome(context, gate, &both)).collect();
    ContrastSummary {
        name: contrast.id.to_string(),
        control: contrast.control.to_string(),
        candidate: contrast.candidate.to_string(),
        factor: contrast.factor,
        role: contrast.role,
        pairs: PairCounts {
            both: table.both,
            control_only: table.control_only,
            candidate_only: table.candidate_only,
            neither: table.neither,
            n: table.n(),
            tasks: pairs.tasks() as u64,
            clusters: tables.len() as u64,
            duplicates: pairs.duplicates() as u64,
        },
        mcnemar: mcnemar_summary(table),
        pass_difference: pass_difference(protocol, contrast, &tables),
        metrics: Metric::ALL
            .into_iter()
            .filter(|metric| !metric.is_rate())
            .filter_map(|metric| Some((metric, compare(protocol, contrast, pairs, metric)?)))
            .collect(),
        not_gated: not_gated(protocol, &gates, preflight),
        gates,
        order: order_summary(protocol, pairs),
        flips: flips(contrast, pairs),
        tasks: task_table(protocol, contrast, pairs),
        a_a: None,
    }
}

fn mcnemar_summary(table: PairTable) -> McNemarSummary {
    let test = (table.n() > 0).then(|| mcnemar(table.control_only, table.candidate_only));
    McNemarSummary {
        exact_p: test.map(|t| t.exact_two_sided),
        midp_p: test.map(|t| t.midp_two_sided),
        discordant: table.discordant(),
        cannot_reach_05: least_exact_p(table.discordant()) > 0.05,
    }
}

fn pass_difference(protocol: &Protocol, contrast: &ContrastEntry, tables: &[PairTable]) -> PassDifference {
    let margin = protocol
        .gates_of(contrast)
        .find_map(|gate| match gate.margin {
            Margin::NonInferior { margin } => Some(margin),
            Margin::RatioAtMost { .. }
            | Margin::RateAtLeast { .. }
            | Margin::NeverAbove { .. }
            | Margin::AnyBetter { .. } => None,
        })
        .unwrap_or(DEFAULT_MARGIN);
    let result = non_inferiority(tables, margin, protocol.rules.alpha);
    PassDifference {
        point: result.difference,
        lower: result.limits.map(|i| i.lower),
        upper: result.limits.map(|i| i.upper),
        these_tasks_lower: result.these.map(|i| i.lower),
        these_tasks_upper: result.these.map(|i| i.upper),
        level: 1.0 - 2.0 * protocol.rules.alpha,
        deff: result.deff,
        critical_value: result.critical,
    }
}

/// Main metrics of a contrast that no gate decides on, with the reason.
fn not_gated(protocol: &Protocol, gates: &[GateOutcome], preflight: &Preflight) -> Vec<NotGated> {
    MAIN_METRICS
        .into_iter()
        .filter(|metric| !gates.iter().any(|gate| gate.metric == *metric))
        .map(|metric| reason_not_gated(protocol, metric, preflight))
        .collect()
}

fn reason_not_gated(protocol: &Protocol, metric: Metric, preflight: &Preflight) -> NotGated {
    let by_design = (metric == Metric::PassRate).then(|| pass_rate_by_design(preflight)).flatten();
    let bound = by_design.as_ref().and_then(|entry| entry.bound);
    let design = by_design.map(|entry| entry.why);
    if protocol.not_applicable(metric) {
        let mut why = if metric == Metric::PassRate {
            "not applicable (oracle): passing shows that the plan can be played, not that a model would solve the task"
        } else {
            "not applicable (oracle): nobody waits for a model"
        }
        .to_owned();
        if let Some(design) = design {
            why = format!("{why}; nor could it pass by this design: {design}");
        }
        return NotGated { metric, code: "not_applicable(oracle)".to_owned(), bound, why };
    }
    match design {
        Some(design) => NotGated {
            metric,
            code: "cannot_pass_by_design".to_owned(),
            bound,
            why: format!("cannot pass by this design: {design}"),
        },
        None => NotGated {
            metric,
            code: "not_asked".to_owned(),
            bound: None,
            why: "no gate of the experiment asks for it".to_owned(),
        },
    }
}

/// Could a pass-rate gate with the usual margin pass at all?
fn pass_rate_by_design(design: &Preflight) -> Option<crate::preflight::CannotPass> {
    let gate = GateRule {
        id: bench_core::GateId::new("pass-rate").expect("a usable name"),
        metric: Metric::PassRate,
        margin: Margin::NonInferior { margin: DEFAULT_MARGIN },
        contrasts: Vec::new(),
        scope: bench_core::GateScope::TasksLikeThese,
        track: None,
    };
    let rules = bench_core::experiment::Rules { alpha: design.alpha, ..Default::default() };
    let repeats = u32::try_from(design.repeats).unwrap_or(u32::MAX);
    preflight(design.tasks as usize, repeats, &[gate], &rules).cannot_pass.into_iter().next()
}

fn flips(contrast: &ContrastEntry, pairs: &Pairs<'_>) -> Vec<Flip> {
    let flip = |block: String, passed: &bench_core::ArmId, failed: &bench_core::ArmId| Flip {
        block,
        passed: passed.to_string(),
        failed: failed.to_string(),
    };
    pairs
        .iter()
        .filter_map(|pair| {
            let block = format!("{}/r{:02}", pair.block.task, pair.block.repeat);
            match pair.passed() {
                (true, false) => Some(flip(block, &contrast.control, &contrast.candidate)),
                (false, true) => Some(flip(block, &contrast.candidate, &contrast.control)),
                (true, true) | (false, false) => None,
            }
        })
        .collect()
}
