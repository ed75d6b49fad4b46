//! Is a ratio of first requests a matter of the surface or of the tokenizer? Where another tokenizer would put it on the
//! other side of its limit, or turn the order of the arms, the reader is told so. Gates know one count only.

use bench_core::ledger::TokenizerIdentity;
use bench_core::{FirstRequest, Margin, Metric};
use bench_record::CellRecord;

use crate::protocol::{ContrastEntry, Protocol};
use crate::selection::Selection;

/// The limit of ratios that no gate decides on.
const USUAL_LIMIT: f64 = 1.25;

/// One sentence per contrast on which the two tokenizers disagree.
pub(crate) fn disagreements(protocol: &Protocol, selection: &Selection<'_>) -> Vec<String> {
    let of = |contrast: &ContrastEntry| disagreement(protocol, selection, contrast);
    protocol.contrasts.iter().filter_map(of).collect()
}

fn disagreement(protocol: &Protocol, selection: &Selection<'_>, contrast: &ContrastEntry) -> Option<String> {
    let records = |wanted: &str| {
        let at = protocol.arms.iter().position(|arm| arm.name.as_str() == wanted)?;
        Some(selection.valid_of(at))
    };
    let (controls, candidates) = (records(contrast.control.as_str())?, records(contrast.candidate.as_str())?);
    let ratio = |tokens: fn(&FirstRequest) -> Option<u64>| mean_ratio(&controls, &candidates, tokens);
    let first = ratio(|first| first.prompt_tokens.is_none().then_some(first.body_tokens))?;
    let second = ratio(|first| first.second_body_tokens)?;
    let limit = limit(protocol, contrast);
    let what = if (first <= limit) != (second <= limit) {
        format!("they fall on different sides of {limit}")
    } else if (first < 1.0) != (second < 1.0) {
        "they order the arms differently".to_owned()
    } else {
        return None;
    };
    let name = &protocol.tokenizer.name;
    Some(format!(
        "{}: first requests are {first:.3} times the control's by {name} and {second:.3} times by {}: {what}, so this ratio is the tokenizer's as much as the surface's",
        contrast.id,
        TokenizerIdentity::second(name)
    ))
}

/// The limit that a gate holds the ratio against.
fn limit(protocol: &Protocol, contrast: &ContrastEntry) -> f64 {
    let gates = protocol
        .gates
        .iter()
        .filter(|gate| gate.metric == Metric::FirstRequestTokens && gate.contrasts.contains(&contrast.id));
    let limits = gates.filter_map(|gate| match gate.margin {
        Margin::RatioAtMost { limit } => Some(limit),
        Margin::NonInferior { .. }
        | Margin::RateAtLeast { .. }
        | Margin::NeverAbove { .. }
        | Margin::AnyBetter { .. } => None,
    });
    limits.min_by(f64::total_cmp).unwrap_or(USUAL_LIMIT)
}

/// Geometric mean of the ratios of paired cells; `None` where a cell of either arm has no count.
fn mean_ratio(
    controls: &[&CellRecord],
    candidates: &[&CellRecord],
    tokens: impl Fn(&FirstRequest) -> Option<u64>,
) -> Option<f64> {
    // Every valid block holds both.
    let pairs = controls.iter().zip(candidates);
    let counted = |record: &CellRecord| record.first_request.as_ref().and_then(&tokens).filter(|n| *n > 0);
    let logs: Vec<f64> = pairs
        .map(|(control, candidate)| Some((counted(candidate)? as f64).ln() - (counted(control)? as f64).ln()))
        .collect::<Option<_>>()?;
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}
