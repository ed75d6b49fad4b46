//! Power of the cost gate: the chance of a PASS at a true ratio, and the largest ratio that still passes.

use crate::distribution::{noncentral_t_sf, t_quantile};

/// A design whose cost gate is asked about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioDesign {
    /// Clusters.
    pub clusters: u64,
    /// Standard deviation of a cluster's mean log ratio: sqrt(tau² + 2 sigma²/K).
    pub sd: f64,
    /// The gate's limit.
    pub limit: f64,
    /// One-sided level.
    pub alpha: f64,
}

/// P(PASS) at a true ratio: P(T' >= t_{1-alpha, G-1}), T' non-central t with ncp = (ln limit - ln ratio)/(sd/sqrt(G)).
/// `None` with fewer than two clusters or without spread.
pub fn pass_probability(design: RatioDesign, true_ratio: f64) -> Option<f64> {
    let g = design.clusters as f64;
    if !(design.sd > 0.0 && true_ratio > 0.0) {
        return None;
    }
    let t = t_quantile(1.0 - design.alpha, g - 1.0)?;
    let ncp = (design.limit.ln() - true_ratio.ln()) / (design.sd / g.sqrt());
    noncentral_t_sf(t, g - 1.0, ncp)
}

/// The largest true ratio that passes with probability `power`, by bisection on its logarithm.
pub fn largest_passing_ratio(design: RatioDesign, power: f64) -> Option<f64> {
    let (mut low, mut high) = (design.limit.ln() - 200.0 * design.sd, design.limit.ln());
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if pass_probability(design, middle.exp())? >= power {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some((0.5 * (low + high)).exp())
}

/// The smallest number in `from..=to` of which a condition that stays true once true holds.
pub(crate) fn smallest(from: usize, to: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    if !holds(to) {
        return None;
    }
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}
