//! Lines of `report.md` that decide nothing but that a sceptical reader asks for: which tasks flipped, what one task can
//! do to an estimate, how far repeats agree, what a pass costs.

use std::fmt::Write as _;

use super::estimate::{grouped, p_value};
use super::markdown::capital;
use super::segments::segment_lines;
use super::table::escaped;
use super::words::{metric_words, plain};
use crate::analysis::{Analysis, ArmSummary, ContrastSummary};

/// Flipped blocks named a contrast.
const FLIPS_SHOWN: usize = 12;

/// Lines of one contrast.
pub(crate) fn contrast_lines(text: &mut String, contrast: &ContrastSummary) {
    for arm in [&contrast.control, &contrast.candidate] {
        let blocks: Vec<&str> = contrast
            .flips
            .iter()
            .filter(|flip| flip.passed == *arm)
            .map(|flip| flip.block.as_str())
            .collect();
        if blocks.is_empty() {
            continue;
        }
        let shown: Vec<String> = blocks.iter().take(FLIPS_SHOWN).map(|block| format!("`{block}`")).collect();
        let more = blocks.len().saturating_sub(FLIPS_SHOWN);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(text, "- only {arm} passed: {}{rest}.", shown.join(", "));
    }
    let ranges: Vec<String> = contrast
        .gates
        .iter()
        .filter_map(|gate| {
            let (least, most) = contrast.metrics.get(&gate.metric)?.leave_one_cluster_out?;
            Some(format!("{} {least:.3} to {most:.3}", metric_words(gate.metric)))
        })
        .collect();
    if !ranges.is_empty() {
        let _ = writeln!(text, "- ratio when any one task is left out: {}.", ranges.join(", "));
    }
    for gate in contrast.gates.iter().filter(|gate| !gate.outcomes.is_empty()) {
        let tests: Vec<String> = gate
            .outcomes
            .iter()
            .map(|test| {
                let p = test.p.map_or("n/a".to_owned(), p_value);
                format!("{} p = {p}, after Holm {}", metric_words(test.metric), p_value(test.holm_p))
            })
            .collect();
        let _ = writeln!(text, "- {}: {}.", gate.id, tests.join("; "));
    }
    if let Some(order) = &contrast.order {
        let _ = writeln!(
            text,
            "- order: {} costs {:.3} times as much in the first place of a block as in the second (p = {}); ratio adjusted for it {:.3}.",
            metric_words(order.metric),
            order.period_effect_ratio,
            order.period_p.map_or("n/a".to_owned(), p_value),
            order.period_adjusted_gmr
        );
    }
    if let Some(a_a) = &contrast.a_a {
        let words = if a_a.accepted { "looks like one".to_owned() } else { a_a.objections.join("; ") };
        let _ = writeln!(text, "- A/A, a comparison of equal arms: {}.", escaped(&plain(&words)));
    }
}

/// Lines about arms and about claims over several candidates.
pub(crate) fn run_lines(text: &mut String, analysis: &Analysis) {
    if let [what, each @ ..] = segment_lines(analysis).as_slice() {
        let _ = writeln!(text, "{}\n", escaped(&capital(what)));
        for line in each {
            let _ = writeln!(text, "- {}", escaped(&plain(line)));
        }
        text.push('\n');
    }
    for claim in &analysis.candidates {
        let holm = claim.holm_p.map_or(String::new(), |p| format!(", after Holm {}", p_value(p)));
        let word = if claim.claimed { "may be claimed" } else { "may not be claimed" };
        let _ = writeln!(text, "- {}: {word}, p = {}{holm}.", claim.contrast, p_value(claim.p));
    }
    if analysis.upstream.deterministic {
        return;
    }
    for arm in &analysis.arms {
        let _ = writeln!(text, "- {}: {}.", arm.name, reliability(arm, analysis.preflight.repeats));
    }
    text.push('\n');
}

fn reliability(arm: &ArmSummary, repeats: u64) -> String {
    let found = &arm.reliability;
    let share = |value: Option<f64>| value.map_or("n/a".to_owned(), |v| format!("{:.0} %", v * 100.0));
    let mut parts = vec![
        format!("all {repeats} repeats pass {}", share(found.pass_hat_k)),
        format!("two repeats differ {}", share(found.flip_rate)),
        format!("tokens per pass {}", found.tokens_per_pass.map_or("n/a".to_owned(), grouped)),
        format!(
            "cost per pass {}",
            found.cost_usd_per_pass.map_or("n/a".to_owned(), |usd| format!("{usd:.4} USD"))
        ),
    ];
    if let Some(distinct) = found.effective_repeats {
        parts.push(format!("distinct transcripts a task {distinct:.1} of {repeats}"));
    }
    let shares: Vec<String> = found
        .cache_read_share_by_position
        .iter()
        .filter_map(|(position, share)| Some(format!("place {position} {:.0} %", (*share)? * 100.0)))
        .collect();
    if !shares.is_empty() {
        parts.push(format!("input read from cache: {}", shares.join(", ")));
    }
    parts.join(", ")
}
