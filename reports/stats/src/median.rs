//! Median with an order-statistic interval, and plain quantiles for display.

use crate::distribution::fair_cdf;
use crate::tables::Interval;

/// A median and, where one exists at the level, its order-statistic interval with its exact coverage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Median {
    /// The median.
    pub median: f64,
    /// Order-statistic limits; `None` when no interval of this level exists (n <= 4 at 90%).
    pub limits: Option<Interval>,
    /// Exact coverage of the limits.
    pub coverage: Option<f64>,
}

/// The median and its two-sided interval: limits are the k-th smallest and largest, k the largest with
/// P(Bin(n, 1/2) < k) <= (1 - level)/2. `None` without values.
pub fn median_ci(values: &[f64], level: f64) -> Option<Median> {
    let median = quantile(values, 0.5)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let tail = (1.0 - level) / 2.0;
    let k = (1..=n / 2).take_while(|&k| fair_cdf(k as u64 - 1, n as u64) <= tail + 1e-15).last();
    Some(Median {
        median,
        limits: k.map(|k| Interval { lower: sorted[k - 1], upper: sorted[n - k] }),
        coverage: k.map(|k| 1.0 - 2.0 * fair_cdf(k as u64 - 1, n as u64)),
    })
}

/// Quantile of type 7 (linear between order statistics, as R's default); `None` without values or with NaN.
pub fn quantile(values: &[f64], level: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, level)
}

/// The same of values that are sorted by `f64::total_cmp`.
pub fn quantile_of_sorted(sorted: &[f64], level: f64) -> Option<f64> {
    if sorted.is_empty() || sorted.iter().any(|v| v.is_nan()) {
        return None;
    }
    let place = level.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    Some(sorted[below] + (place - below as f64) * (sorted[above] - sorted[below]))
}
