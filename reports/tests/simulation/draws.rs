//! Populations from which cells are drawn. Log cost = level of the task + noise of the cell + (candidate) true log ratio and
//! an effect of the task; a pass = a coin with the rate of task and arm.

use std::collections::BTreeMap;

use bench_record::{CellRecord, Verdict};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng as _;

/// Level around which costs are drawn, so high that rounding to whole numbers does not show.
const LEVEL: f64 = 13.0;

/// Uniform in (0, 1).
fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// Box and Muller 1958.
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    (-2.0 * uniform(rng).ln()).sqrt() * (std::f64::consts::TAU * uniform(rng)).cos()
}

/// Costs of one kind: spread of a cell, spread of the effect between tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cost {
    /// .01, .03.
    FirstRequest,
    /// .35, .15.
    Tokens,
    /// .35, .35.
    UnequalEffects,
    /// .20, .10.
    Turns,
    /// .30, .15, and 8 % of the runs of both arms times exp(an exponential of mean .8).
    HeavyTails,
    /// .30, .15, and 10 % of the candidate's runs times 6.
    BlowUps,
}

impl Cost {
    fn spreads(self) -> (f64, f64) {
        match self {
            Self::FirstRequest => (0.01, 0.03),
            Self::Tokens => (0.35, 0.15),
            Self::UnequalEffects => (0.35, 0.35),
            Self::Turns => (0.20, 0.10),
            Self::HeavyTails | Self::BlowUps => (0.30, 0.15),
        }
    }

    /// What a run's tail adds to its log cost.
    fn tail(self, of_candidate: bool, rng: &mut ChaCha8Rng) -> f64 {
        match self {
            Self::HeavyTails if uniform(rng) < 0.08 => -0.8 * uniform(rng).ln(),
            Self::BlowUps if of_candidate && uniform(rng) < 0.1 => 6f64.ln(),
            Self::FirstRequest
            | Self::Tokens
            | Self::UnequalEffects
            | Self::Turns
            | Self::HeavyTails
            | Self::BlowUps => 0.0,
        }
    }

    /// What the candidate's tail is expected to add: part of its true geometric mean ratio.
    fn expected_tail(self) -> f64 {
        if self == Self::BlowUps { 0.1 * 6f64.ln() } else { 0.0 }
    }
}

/// Draws total tokens and turns with a true geometric mean ratio.
pub(crate) fn costs(cost: Cost, ratio: f64, cells: &mut [CellRecord], rng: &mut ChaCha8Rng) {
    let (sigma, tau) = cost.spreads();
    let effect = ratio.ln() - cost.expected_tail();
    let mut of_task: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for cell in cells {
        let (level, eta) =
            *of_task.entry(cell.task.to_string()).or_insert_with(|| (normal(rng) * 0.5, normal(rng) * tau));
        let of_candidate = cell.arm.as_str() == "cand";
        let mut log = LEVEL + level + sigma * normal(rng) + cost.tail(of_candidate, rng);
        if of_candidate {
            log += effect + eta;
        }
        cell.metrics.total_tokens = Some(log.exp().round() as u64);
        cell.metrics.turns = cell.metrics.total_tokens;
    }
}

/// Ways in which a candidate can lose passes, its mean loss being what is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Every task loses the same share of its rate; rates Beta(8, 2).
    Proportional,
    /// Effects of up to 25 points either way around the loss; rates uniform from .4 to .8.
    Unequal,
    /// Tasks of .95 of which few go to .15.
    Catastrophe,
    /// Half of the tasks are easy (.99), half hard (.01); easy ones turn hard.
    Bimodal,
}

impl Loss {
    /// In the order of the table.
    pub(crate) const ALL: [Self; 4] = [Self::Proportional, Self::Unequal, Self::Catastrophe, Self::Bimodal];

    /// Rates of one task under control and candidate.
    fn rates(self, loss: f64, rng: &mut ChaCha8Rng) -> (f64, f64) {
        match self {
            Self::Proportional => {
                let control = eighth_of_nine(rng);
                (control, control * (1.0 - loss / 0.8))
            }
            Self::Unequal => {
                let control = 0.4 + 0.4 * uniform(rng);
                (control, control - loss + 0.5 * uniform(rng) - 0.25)
            }
            Self::Catastrophe => (0.95, if uniform(rng) < loss / 0.8 { 0.15 } else { 0.95 }),
            Self::Bimodal if uniform(rng) < 0.5 => {
                (0.99, if uniform(rng) < loss / 0.49 { 0.01 } else { 0.99 })
            }
            Self::Bimodal => (0.01, 0.01),
        }
    }
}

/// Beta(8, 2), mean .8: the eighth of nine uniforms in order.
fn eighth_of_nine(rng: &mut ChaCha8Rng) -> f64 {
    let mut all: Vec<f64> = (0..9).map(|_| uniform(rng)).collect();
    all.sort_by(f64::total_cmp);
    all[7]
}

/// Draws verdicts with a true mean loss.
pub(crate) fn passes(kind: Loss, loss: f64, cells: &mut [CellRecord], rng: &mut ChaCha8Rng) {
    let mut of_task: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for cell in cells {
        let (control, candidate) =
            *of_task.entry(cell.task.to_string()).or_insert_with(|| kind.rates(loss, rng));
        let rate = if cell.arm.as_str() == "cand" { candidate } else { control };
        cell.verdict = Some(if uniform(rng) < rate { Verdict::Passed } else { Verdict::Failed });
    }
}

/// What is true of the candidate under all six gates of the default track.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Truth {
    /// Ratio of total tokens, turns, tool calls and wall time.
    costs: f64,
    /// Ratio of the first request.
    first: f64,
    /// Loss of the pass rate.
    loss: f64,
}

/// The first request of a candidate with one more tool, as long as nothing else is said.
const USUAL_FIRST: f64 = 1.1;

impl Truth {
    pub(crate) const fn costs(costs: f64) -> Self {
        Self { costs, first: USUAL_FIRST, loss: 0.0 }
    }

    pub(crate) const fn loses(loss: f64) -> Self {
        Self { costs: 1.0, first: USUAL_FIRST, loss }
    }

    pub(crate) const fn first_request(first: f64) -> Self {
        Self { costs: 1.0, first, loss: 0.0 }
    }

    /// Would a PASS be right?
    pub(crate) fn is_within_limits(self) -> bool {
        self.costs < 1.25 && self.first < 1.25 && self.loss < 0.10
    }

    pub(crate) fn name(self) -> String {
        format!("costs {}, first {}, loss {}", self.costs, self.first, self.loss)
    }
}

/// Costs that the default track gates.
pub(crate) const SIX_GATES_COSTS: [&str; 5] =
    ["first_request_tokens", "total_tokens", "turns", "tool_calls", "wall_ms"];

/// Share of a cell's noise that its costs have in common: correlation .7.
const SHARED: f64 = 0.7;

/// Draws everything that the six gates look at.
pub(crate) fn whole(truth: Truth, cells: &mut [CellRecord], rng: &mut ChaCha8Rng) {
    passes(Loss::Proportional, truth.loss, cells, rng);
    // First request, tokens, turns, tool calls, wall time: spread of a cell and of the effect.
    let spreads = [(0.01, 0.03), (0.35, 0.15), (0.20, 0.10), (0.35, 0.15), (0.30, 0.15)];
    let ratios = [truth.first, truth.costs, truth.costs, truth.costs, truth.costs].map(f64::ln);
    let mut of_task: BTreeMap<String, [f64; 5]> = BTreeMap::new();
    for cell in cells {
        let effects = *of_task
            .entry(cell.task.to_string())
            .or_insert_with(|| spreads.map(|(_, tau)| tau * normal(rng)));
        let common = normal(rng);
        let mut values = [0.0; 5];
        for (i, value) in values.iter_mut().enumerate() {
            let noise = SHARED.sqrt() * common + (1.0 - SHARED).sqrt() * normal(rng);
            let mut log = LEVEL + spreads[i].0 * noise;
            if cell.arm.as_str() == "cand" {
                log += ratios[i] + effects[i];
            }
            *value = log.exp();
        }
        let [first, tokens, turns, calls, wall] = values;
        let whole = |value: f64| Some(value.round() as u64);
        cell.metrics.first_request_tokens = whole(first);
        cell.metrics.total_tokens = whole(tokens);
        cell.metrics.turns = whole(turns);
        cell.metrics.tool_calls = whole(calls);
        cell.metrics.wall_ms = Some(wall);
    }
}
