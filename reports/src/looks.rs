//! Looking before the planned end without lying: planned looks, each after as many whole repeats, the error of every gate
//! shared out among them (O'Brien & Fleming, Pocock). The first look that decides holds; what comes after it cannot take
//! it back, and a run without planned looks decides at its end alone.
//!
//! Repeats of one task share its effect, so the looks depend on each other more than the equal steps of information that
//! the bounds are made for: the error stays below the planned one.

use bench_core::experiment::{LookShape, Rules};
use bench_stats::sequential::{Shape, look_levels};

use crate::analysis::LookSummary;
use crate::protocol::Protocol;
use crate::selection::{BlockState, Selection};

/// One-sided level of each planned look, in order; one level where no looks were planned.
pub fn levels_of_looks(rules: &Rules) -> Vec<f64> {
    let shape = match rules.look_shape {
        LookShape::ObrienFleming => Shape::ObrienFleming,
        LookShape::Pocock => Shape::Pocock,
    };
    look_levels(shape, rules.looks, rules.alpha).unwrap_or_else(|| vec![rules.alpha])
}

/// The looks that the settled blocks allow, in order: all blocks of its repeats are settled. Empty where no looks were
/// planned, and before the first.
pub(crate) fn looks(protocol: &Protocol, selection: &Selection<'_>) -> Vec<LookSummary> {
    let planned = protocol.rules.looks;
    if planned < 2 || !protocol.repeats.is_multiple_of(planned) {
        return Vec::new();
    }
    let step = protocol.repeats / planned;
    let pending = selection.blocks.iter().filter(|block| block.state == BlockState::Pending);
    let settled = pending.map(|block| block.repeat - 1).min().unwrap_or(protocol.repeats);
    levels_of_looks(&protocol.rules)
        .into_iter()
        .zip(1u32..)
        .map(|(alpha, number)| LookSummary {
            number,
            of: planned,
            repeats: number * step,
            planned_repeats: protocol.repeats,
            alpha,
        })
        .take_while(|look| look.repeats <= settled)
        .collect()
}
