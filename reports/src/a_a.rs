//! A/A: a comparison of two equal arms must look like one, or the instrument is not to be believed.

use bench_core::{Decision, Factor, Metric};

use crate::analysis::{AaSummary, BlockCounts, ContrastSummary};

/// Largest tolerated distance of an interval's ends from 1, as ratios.
const INSIDE: (f64, f64) = (0.80, 1.25);
/// Level of the period effect's test.
const PERIOD_ALPHA: f64 = 0.05;
/// The metrics whose intervals are looked at.
const LOOKED_AT: [Metric; 4] =
    [Metric::FirstRequestTokens, Metric::TotalTokens, Metric::Turns, Metric::ToolCalls];

/// The acceptance rules; `None` for a contrast in which something differs.
pub(crate) fn a_a(contrast: &ContrastSummary, blocks: &BlockCounts) -> Option<AaSummary> {
    if contrast.factor != Factor::None {
        return None;
    }
    let mut objections = Vec::new();
    for gate in contrast.gates.iter().filter(|gate| gate.decision == Decision::Fail) {
        objections.push(format!("gate {} fails between equal arms", gate.id));
    }
    for metric in LOOKED_AT {
        let limits = contrast.metrics.get(&metric).map(|c| (c.lower, c.upper));
        match limits {
            Some((Some(lower), Some(upper))) if lower >= INSIDE.0 && upper <= INSIDE.1 => {}
            Some((Some(lower), Some(upper))) => objections.push(format!(
                "{metric}: {lower:.3} to {upper:.3} is not inside {} to {}",
                INSIDE.0, INSIDE.1
            )),
            Some(_) => objections.push(format!("{metric}: no interval")),
            None => {}
        }
    }
    if let Some(order) = &contrast.order
        && order.period_p.is_some_and(|p| p < PERIOD_ALPHA)
    {
        objections.push(format!(
            "{}: the first place in a block costs {:.3} times the second",
            order.metric, order.period_effect_ratio
        ));
    }
    if contrast.pairs.duplicates > 0 {
        objections.push(format!("{} pairs repeat an earlier one word for word", contrast.pairs.duplicates));
    }
    let invalid: u64 = blocks.invalid_by_reason.values().sum();
    if invalid > 0 {
        objections.push(format!("{invalid} of {} blocks are out", blocks.total));
    }
    Some(AaSummary { accepted: objections.is_empty(), objections })
}
