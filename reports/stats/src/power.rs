//! Power of the cost gate: the chance of a PASS at a true ratio, and the largest ratio that still passes. Of the pass-rate
//! gate: the pairs with which equal arms pass.

use crate::distribution::{binomial_pmf, fair_cdf, noncentral_t_sf, normal_quantile, t_quantile};
use crate::paired_difference::{Discordance, tango};

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

/// The chance rises like a saw, since tables are whole numbers: so many pairs more must pass as well.
const SAW: u64 = 24;
/// Independent pairs that are looked at, at most.
const MOST_PAIRS: u64 = 20_000;

/// P(PASS) of a margin with `pairs` independent pairs when the arms pass equally often and a share `discordant` of the pairs
/// differs: the chance that Tango's lower limit lies above -margin, summed over every table that can come.
pub fn margin_pass_probability(pairs: u64, margin: f64, discordant: f64, alpha: f64) -> f64 {
    let z = normal_quantile(1.0 - alpha);
    let passes = |control_only: u64, differing: u64| {
        let table = Discordance {
            control_only: control_only as f64,
            candidate_only: (differing - control_only) as f64,
            n: pairs as f64,
        };
        tango(table, z).is_some_and(|limits| limits.lower > -margin)
    };
    let mut sum = 0.0;
    for differing in 0..=pairs {
        let chance = binomial_pmf(differing, pairs, discordant);
        if chance < 1e-12 {
            continue;
        }
        // The limit falls with every pair that only the control passed: the tables that pass are those up to one of them.
        let (mut few, mut many) = (0, differing + 1);
        while few < many {
            let middle = few.midpoint(many);
            if passes(middle, differing) { few = middle + 1 } else { many = middle }
        }
        sum += chance * if few == 0 { 0.0 } else { fair_cdf(few - 1, differing) };
    }
    sum
}

/// The fewest independent pairs from which on equal arms PASS a margin with probability `power`; `None` beyond 20,000.
pub fn pairs_for_margin(margin: f64, discordant: f64, alpha: f64, power: f64) -> Option<u64> {
    let reach = (normal_quantile(1.0 - alpha) + normal_quantile(power)).powi(2);
    // The normal approximation is never so far too high.
    let least = (0.5 * reach * discordant / (margin * margin)).floor().max(1.0);
    if least > MOST_PAIRS as f64 {
        return None;
    }
    let passes = |pairs: u64| margin_pass_probability(pairs, margin, discordant, alpha) >= power;
    let (mut found, mut pairs) = (None, least as u64);
    while pairs <= MOST_PAIRS {
        if !passes(pairs) {
            found = None;
        } else if pairs - *found.get_or_insert(pairs) >= SAW {
            break;
        }
        pairs += 1;
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_arms_need_as_many_pairs_as_the_design_of_the_gates_says() {
        // Share of differing pairs, margin, pairs: rounded shares must not be taken for one another.
        for (discordant, margin, pairs) in [
            (0.05, 0.10, 51),
            (0.10, 0.10, 78),
            (0.20, 0.10, 131),
            (0.30, 0.10, 189),
            (0.10, 0.15, 39),
            (0.30, 0.20, 52),
        ] {
            let found = pairs_for_margin(margin, discordant, 0.05, 0.8).unwrap();
            // The design's own are of a coarser grid.
            assert!(
                found.abs_diff(pairs) * 100 <= 8 * pairs,
                "{discordant} at {margin}: {found}, not {pairs}"
            );
            assert!(margin_pass_probability(found, margin, discordant, 0.05) >= 0.8);
        }
        assert_eq!(pairs_for_margin(0.001, 0.3, 0.05, 0.8), None);
    }
}
