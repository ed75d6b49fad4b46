//! What a design can show: chance to pass, the largest cost that still passes, pairs that a pass-rate gate needs.

use bench_stats::mcnemar::{PairedDesign, mcnemar_power};
use bench_stats::power::{RatioDesign, largest_passing_ratio, pairs_for_margin, pass_probability};
use serde::{Deserialize, Serialize};

/// A chance that is usually asked for.
const POWER: f64 = 0.80;
/// More tasks than this are not looked for.
const MOST_TASKS: u64 = 2_000;

/// A design.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PowerDesign {
    /// Tasks (clusters).
    pub tasks: u64,
    /// Standard deviation of a task's mean log ratio.
    pub sd: f64,
    /// Ratio limit.
    pub limit: f64,
    /// Non-inferiority margin.
    pub margin: f64,
    /// Share of pairs that differ in outcome.
    pub discordant: f64,
    /// One-sided error per gate.
    pub alpha: f64,
}

/// What it can show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PowerTable {
    /// The design.
    pub design: PowerDesign,
    /// By true cost ratio: the chance of a PASS, and the tasks for 80 %; null beyond 2,000.
    pub ratios: Vec<RatioPower>,
    /// The largest true ratio that still passes with 80 %; null when not even a cheap arm would.
    pub largest_ratio_for_80: Option<f64>,
    /// Independent pairs for a PASS of the margin when the arms pass equally often; null beyond reach.
    pub pairs_for_margin: Option<u64>,
    /// By true loss of the pass rate: the chance that exact McNemar (two-sided) sees it in as many pairs as there are tasks.
    pub losses: Vec<LossPower>,
    /// The smallest loss that exact McNemar sees with 80 % in as many pairs; null when none does.
    pub least_loss_for_80: Option<f64>,
}

/// One true ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatioPower {
    /// candidate / control.
    pub true_ratio: f64,
    /// Chance of a PASS.
    pub pass: Option<f64>,
    /// Tasks for 80 %.
    pub tasks_for_80: Option<u64>,
}

/// One true loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LossPower {
    /// control - candidate of the pass rates.
    pub true_loss: f64,
    /// Chance that it is seen.
    pub seen: f64,
}

/// The table of a design.
pub fn power_table(design: PowerDesign) -> PowerTable {
    let ratio =
        RatioDesign { clusters: design.tasks, sd: design.sd, limit: design.limit, alpha: design.alpha };
    let ratios = [1.0, 1.05, 1.10, 1.15, 1.20, design.limit]
        .into_iter()
        .map(|true_ratio| RatioPower {
            true_ratio,
            pass: pass_probability(ratio, true_ratio),
            tasks_for_80: tasks_for(ratio, true_ratio),
        })
        .collect();
    let seen = |loss: f64| {
        let control_only = (design.discordant + loss) / 2.0;
        let design = PairedDesign {
            pairs: design.tasks,
            control_only,
            candidate_only: (design.discordant - loss).max(0.0) / 2.0,
            alpha: design.alpha,
        };
        mcnemar_power(design).exact_two_sided
    };
    let losses = [0.05, 0.10, 0.15, 0.20]
        .into_iter()
        .filter(|loss| *loss <= design.discordant)
        .map(|true_loss| LossPower { true_loss, seen: seen(true_loss) })
        .collect();
    let steps = (design.discordant * 100.0).floor() as u32;
    PowerTable {
        ratios,
        largest_ratio_for_80: largest_passing_ratio(ratio, POWER),
        pairs_for_margin: pairs_for_margin(design.margin, design.discordant, design.alpha, POWER),
        losses,
        least_loss_for_80: (1..=steps).map(|step| f64::from(step) / 100.0).find(|loss| seen(*loss) >= POWER),
        design,
    }
}

/// Tasks for a PASS with 80 % at a true ratio; `None` beyond 2,000.
pub(crate) fn tasks_for(design: RatioDesign, true_ratio: f64) -> Option<u64> {
    if true_ratio >= design.limit {
        return None;
    }
    let enough = |clusters: u64| {
        pass_probability(RatioDesign { clusters, ..design }, true_ratio).is_some_and(|p| p >= POWER)
    };
    // The chance grows with the tasks: halve the range instead of walking it.
    if !enough(MOST_TASKS) {
        return None;
    }
    let (mut below, mut above) = (1, MOST_TASKS);
    while above - below > 1 {
        let middle = below.midpoint(above);
        if enough(middle) { above = middle } else { below = middle }
    }
    Some(above)
}
