//! The rate gate: is a rate (a deferred tool found when it was needed) at least a threshold?
//!
//! Exact one-sided Clopper–Pearson; with several trials per cluster on Korn & Graubard's (1998) effective sample size
//! N/deff·(z/t)².

use crate::distribution::{normal_quantile, t_quantile};
use crate::proportion::{clopper_pearson_lower, clopper_pearson_upper};
use crate::tables::{ClusterTrials, Interval, Tendency};

/// What trials per cluster say about a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateGate {
    /// Successes / trials; `None` without trials.
    pub rate: Option<f64>,
    /// Trials.
    pub n: u64,
    /// Clusters with trials.
    pub clusters: usize,
    /// Design effect; `None` with one cluster of several trials.
    pub deff: Option<f64>,
    /// Effective sample size.
    pub n_effective: Option<f64>,
    /// One-sided limits for clusters like these.
    pub limits: Option<Interval>,
    /// One-sided limits on these clusters.
    pub these: Option<Interval>,
    /// Holds when the lower limit reaches the threshold; broken when an upper limit is below it.
    pub tendency: Tendency,
}

/// The gate. deff as in [`crate::non_inferiority`]: the largest possible one while fewer than three clusters have a
/// failure. One trial per cluster: plain Clopper–Pearson.
pub fn rate_gate(clusters: &[ClusterTrials], threshold: f64, alpha: f64) -> RateGate {
    let rows: Vec<(f64, f64)> = clusters
        .iter()
        .filter(|c| c.needed > 0)
        .map(|c| (c.found.min(c.needed) as f64, c.needed as f64))
        .collect();
    let n: f64 = rows.iter().map(|(_, n)| n).sum();
    let found: f64 = rows.iter().map(|(x, _)| x).sum();
    let bounds = |x: f64, n: f64| {
        Some(Interval {
            lower: clopper_pearson_lower(x, n, alpha)?,
            upper: clopper_pearson_upper(x, n, alpha)?,
        })
    };
    let these = bounds(found, n);
    let single = rows.iter().all(|(_, n)| *n == 1.0);
    let deff = if single { (n > 0.0).then_some(1.0) } else { design_effect(&rows, n, found) };
    let n_effective = deff.and_then(|deff| {
        if single {
            return Some(n);
        }
        let t = t_quantile(1.0 - alpha, rows.len() as f64 - 1.0)?;
        Some(n / deff * (normal_quantile(1.0 - alpha) / t).powi(2))
    });
    let rate = (n > 0.0).then(|| found / n);
    let limits = n_effective.zip(rate).and_then(|(size, rate)| bounds(rate * size, size));
    let lowest = [limits, these].into_iter().flatten().map(|i| i.upper).fold(f64::INFINITY, f64::min);
    let tendency = match limits {
        Some(limits) if limits.lower >= threshold => Tendency::Holds,
        Some(_) | None if lowest < threshold => Tendency::Broken,
        Some(_) | None => Tendency::Open,
    };
    RateGate { rate, n: n as u64, clusters: rows.len(), deff, n_effective, limits, these, tendency }
}

fn design_effect(rows: &[(f64, f64)], n: f64, found: f64) -> Option<f64> {
    if rows.len() < 2 {
        return None;
    }
    let g = rows.len() as f64;
    let p = found / n;
    let largest = rows.iter().map(|(_, n)| n * n).sum::<f64>() / n;
    let independent = p * (1.0 - p) / (n - 1.0);
    let with_failure = rows.iter().filter(|(x, n)| x < n).count();
    if with_failure < 3 || independent <= 0.0 {
        return Some(largest);
    }
    let clustered = g / (g - 1.0) * rows.iter().map(|(x, m)| (x - m * p).powi(2)).sum::<f64>() / (n * n);
    Some((clustered / independent).clamp(1.0, largest))
}
