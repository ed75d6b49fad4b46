//! Several candidates in one run: which of them may be claimed, by Holm or in a fixed sequence.
//!
//! Within a candidate every gate must pass (an intersection-union test, no correction), so its p is the largest of its
//! gates'; over candidates "any one of them" needs Holm, and a fixed sequence ends at the first that does not pass.

use bench_core::experiment::Candidates;
use bench_core::{ContrastRole, Decision};
use bench_stats::holm::holm;

use crate::analysis::CandidateClaim;
use crate::gate_decision::{GateContext, decide};
use crate::pairing::BothWays;
use crate::protocol::{ContrastEntry, Protocol};
use crate::selection::Selection;

/// Halvings of the search for a gate's p: far finer than anyone reads it.
const HALVINGS: u32 = 24;

/// The claims; empty when every candidate must hold.
pub(crate) fn claims(protocol: &Protocol, selection: &Selection<'_>, contended: bool) -> Vec<CandidateClaim> {
    if protocol.rules.candidates == Candidates::All {
        return Vec::new();
    }
    let gated: Vec<_> = protocol.contrasts.iter().filter(|c| c.role == ContrastRole::Gate).collect();
    let p: Vec<f64> =
        gated.iter().map(|contrast| p_of_contrast(protocol, selection, contrast, contended)).collect();
    let alpha = protocol.rules.alpha;
    let adjusted = match protocol.rules.candidates {
        Candidates::Holm => holm(&p),
        Candidates::FixedSequence | Candidates::All => None,
    };
    let mut open = true;
    gated
        .iter()
        .enumerate()
        .map(|(index, contrast)| {
            let holm_p = adjusted.as_ref().map(|adjusted| adjusted[index]);
            open &= p[index] <= alpha;
            let claimed = holm_p.map_or(open, |holm_p| holm_p <= alpha);
            CandidateClaim { contrast: contrast.id.to_string(), p: p[index], holm_p, claimed }
        })
        .collect()
}

fn p_of_contrast(
    protocol: &Protocol,
    selection: &Selection<'_>,
    contrast: &ContrastEntry,
    contended: bool,
) -> f64 {
    let both = BothWays::of(protocol, selection, contrast);
    let gates: Vec<_> = protocol.gates_of(contrast).map(|gate| (gate, both.on_track(gate.track))).collect();
    let mut trial = protocol.clone();
    least_level(|alpha| {
        trial.rules.alpha = alpha;
        let context = GateContext { protocol: &trial, selection, contrast, contended, cannot_pass: &[] };
        let mut asked = false;
        for (gate, both) in &gates {
            match decide(&context, gate, both).decision {
                Decision::Pass => asked = true,
                Decision::NotApplicable => {}
                Decision::NoData | Decision::InvalidRun | Decision::Fail | Decision::Inconclusive => {
                    return false;
                }
            }
        }
        asked
    })
}

/// The least one-sided level at which it holds; 1 where it does not at any below one half.
fn least_level(mut holds: impl FnMut(f64) -> bool) -> f64 {
    let (mut below, mut above) = (1e-9, 0.499_999);
    if !holds(above) {
        return 1.0;
    }
    for _ in 0..HALVINGS {
        let middle = (below * above).sqrt();
        if holds(middle) { above = middle } else { below = middle }
    }
    above
}
