//! Intervals of one proportion: Wilson (for display) and exact Clopper–Pearson (for gates), with real-valued counts so
//! that an effective sample size can be put in.

use crate::distribution::{beta_quantile, normal_quantile};
use crate::tables::Interval;

/// Wilson score limits at a two-sided level (Wilson 1927); `None` without trials.
pub fn wilson(successes: f64, n: f64, level_two_sided: f64) -> Option<Interval> {
    wilson_with(successes, n, normal_quantile(0.5 + level_two_sided / 2.0))
}

/// Wilson score limits with any critical value.
pub fn wilson_with(successes: f64, n: f64, z: f64) -> Option<Interval> {
    if n <= 0.0 || n.is_nan() {
        return None;
    }
    let p = successes / n;
    let z2 = z * z;
    let centre = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = z * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).max(0.0).sqrt() / (1.0 + z2 / n);
    let lower = if successes <= 0.0 { 0.0 } else { (centre - half).max(0.0) };
    let upper = if successes >= n { 1.0 } else { (centre + half).min(1.0) };
    Some(Interval { lower, upper })
}

/// Exact one-sided Clopper–Pearson lower bound: the beta quantile alpha of (x, n - x + 1); 0 at x = 0.
pub fn clopper_pearson_lower(successes: f64, n: f64, alpha: f64) -> Option<f64> {
    if n <= 0.0 || n.is_nan() {
        return None;
    }
    if successes <= 0.0 {
        return Some(0.0);
    }
    beta_quantile(alpha, successes, n - successes + 1.0)
}

/// Exact one-sided Clopper–Pearson upper bound: the beta quantile 1 - alpha of (x + 1, n - x); 1 at x = n.
pub fn clopper_pearson_upper(successes: f64, n: f64, alpha: f64) -> Option<f64> {
    if n <= 0.0 || n.is_nan() {
        return None;
    }
    if successes >= n {
        return Some(1.0);
    }
    beta_quantile(1.0 - alpha, successes + 1.0, n - successes)
}

/// Exact two-sided limits (Clopper & Pearson 1934): half of the error on each side.
pub fn clopper_pearson(successes: f64, n: f64, level_two_sided: f64) -> Option<Interval> {
    let tail = (1.0 - level_two_sided) / 2.0;
    Some(Interval {
        lower: clopper_pearson_lower(successes, n, tail)?,
        upper: clopper_pearson_upper(successes, n, tail)?,
    })
}
