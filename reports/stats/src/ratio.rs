//! The cost gate: geometric mean ratio of paired costs by cluster, with a t interval over clusters.
//!
//! L_tr = ln(candidate/control), L_t their mean in a cluster, theta the mean over clusters (equal weights),
//! SE = sd(L_t)/sqrt(G), bounds exp(theta ∓ t_{1-alpha, G-1}·SE). Exact for lognormal costs; with few clusters t on
//! cluster means stays conservative (Bakirov & Székely 2005; Ibragimov & Müller 2010).

use crate::LIMIT_TOLERANCE;
use crate::distribution::{normal_quantile, t_quantile, t_sf};
use crate::tables::{CostPair, Interval, Tendency};

/// A geometric mean ratio with its two intervals.
#[derive(Debug, Clone, PartialEq)]
pub struct MeanRatio {
    /// Pairs.
    pub pairs: usize,
    /// Clusters.
    pub clusters: usize,
    /// Mean over clusters of the mean log ratio.
    pub log_ratio: f64,
    /// exp of it.
    pub ratio: f64,
    /// Standard error of the log; `None` with one cluster.
    pub standard_error: Option<f64>,
    /// Limits of the ratio for clusters like these; `None` with one cluster.
    pub limits: Option<Interval>,
    /// Standard error of the log on these clusters; `None` with fewer than two degrees of freedom.
    pub these_standard_error: Option<f64>,
    /// Degrees of freedom within clusters.
    pub these_df: usize,
    /// Limits of the ratio on these clusters.
    pub these: Option<Interval>,
    /// Sum of cluster means of the candidate / of the control.
    pub ratio_of_means: f64,
    /// The largest ratio of a pair.
    pub largest_pair_ratio: f64,
    /// Mean log ratio of each cluster, in the order given.
    pub cluster_logs: Vec<f64>,
    /// No spread between clusters at all.
    pub degenerate: bool,
}

/// Spread below which log ratios count as equal: sums of logs of equal ratios differ in the last digits.
const ZERO_SPREAD: f64 = 1e-12;

/// The ratio of paired costs, one slice of pairs per cluster; `None` without pairs or when a cost is not positive and
/// finite (use [`crate::ratio_of_means::linearised`] then).
pub fn mean_ratio(clusters: &[Vec<CostPair>], alpha: f64) -> Option<MeanRatio> {
    let clusters: Vec<&Vec<CostPair>> = clusters.iter().filter(|c| !c.is_empty()).collect();
    let all = || clusters.iter().flat_map(|c| c.iter());
    let usable = |v: f64| v > 0.0 && v.is_finite();
    if clusters.is_empty() || all().any(|p| !usable(p.control) || !usable(p.candidate)) {
        return None;
    }
    let log = |p: &CostPair| (p.candidate / p.control).ln();
    let cluster_logs: Vec<f64> = clusters.iter().map(|c| mean(c.iter().map(log))).collect();
    let log_ratio = mean(cluster_logs.iter().copied());
    let standard_error = standard_error(&cluster_logs, log_ratio);
    let g = clusters.len() as f64;
    let limits = standard_error.and_then(|se| exp_limits(log_ratio, se, g - 1.0, alpha));
    let within: f64 = clusters
        .iter()
        .zip(&cluster_logs)
        .map(|(c, centre)| c.iter().map(|p| (log(p) - centre).powi(2)).sum::<f64>())
        .sum();
    let these_df: usize = clusters.iter().map(|c| c.len() - 1).sum();
    let these_standard_error = (these_df >= 2).then(|| {
        let inverse: f64 = clusters.iter().map(|c| 1.0 / c.len() as f64).sum();
        clean((within / these_df as f64 * inverse).sqrt() / g)
    });
    let these = these_standard_error.and_then(|se| exp_limits(log_ratio, se, these_df as f64, alpha));
    let side = |pick: fn(&CostPair) -> f64| clusters.iter().map(|c| mean(c.iter().map(pick))).sum::<f64>();
    Some(MeanRatio {
        pairs: all().count(),
        clusters: clusters.len(),
        log_ratio,
        ratio: log_ratio.exp(),
        standard_error,
        limits,
        these_standard_error,
        these_df,
        these,
        ratio_of_means: side(|p| p.candidate) / side(|p| p.control),
        largest_pair_ratio: all().map(|p| p.candidate / p.control).fold(f64::NEG_INFINITY, f64::max),
        cluster_logs,
        degenerate: standard_error == Some(0.0),
    })
}

impl MeanRatio {
    /// Holds: upper <= limit. Broken: the larger lower limit > limit. Ties within 1e-12 (relative) count as equal.
    pub fn tendency(&self, limit: f64) -> Tendency {
        ratio_tendency(self.limits, self.these, limit)
    }

    /// One-sided p of "the ratio is at least `limit`": P(T <= (theta - ln limit)/SE). `None` without a standard error.
    pub fn p_at_least(&self, limit: f64) -> Option<f64> {
        let se = self.standard_error?;
        let gap = self.log_ratio - limit.ln();
        if se == 0.0 {
            return (gap.abs() > ZERO_SPREAD).then_some(if gap < 0.0 { 0.0 } else { 1.0 });
        }
        t_sf(-gap / se, self.clusters as f64 - 1.0)
    }

    /// About how many clusters it takes to decide, if further ones look like these: the smallest G with
    /// (t_{1-alpha, G-1} + z_.80)·sd/sqrt(G) <= |theta - ln limit|. `None` when the estimate lies at the limit, nothing
    /// varies, or 10,000 would not do.
    pub fn clusters_needed(&self, limit: f64, alpha: f64) -> Option<usize> {
        let sd = self.standard_error? * (self.clusters as f64).sqrt();
        let gap = (self.log_ratio - limit.ln()).abs();
        if sd == 0.0 || gap < ZERO_SPREAD {
            return None;
        }
        let reserve = normal_quantile(0.80);
        crate::power::smallest(self.clusters + 1, 10_000, |g| {
            t_quantile(1.0 - alpha, g as f64 - 1.0)
                .is_some_and(|t| (t + reserve) * sd / (g as f64).sqrt() <= gap)
        })
    }
}

/// Holds: upper <= limit. Broken: the larger lower limit > limit.
pub fn ratio_tendency(random: Option<Interval>, these: Option<Interval>, limit: f64) -> Tendency {
    let slack = limit * (1.0 + LIMIT_TOLERANCE);
    let highest = [random, these].into_iter().flatten().map(|i| i.lower).fold(f64::NEG_INFINITY, f64::max);
    if highest > slack {
        return Tendency::Broken;
    }
    if random.is_some_and(|i| i.upper <= slack) { Tendency::Holds } else { Tendency::Open }
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), v| (sum + v, count + 1));
    sum / count as f64
}

/// Standard error of the mean; `None` with fewer than two values; exactly 0 when they agree to working precision.
fn standard_error(values: &[f64], centre: f64) -> Option<f64> {
    let g = values.len() as f64;
    (values.len() >= 2).then(|| {
        let squares: f64 = values.iter().map(|v| (v - centre).powi(2)).sum();
        clean((squares / (g - 1.0) / g).sqrt())
    })
}

fn clean(spread: f64) -> f64 {
    if spread < ZERO_SPREAD { 0.0 } else { spread }
}

fn exp_limits(centre: f64, se: f64, df: f64, alpha: f64) -> Option<Interval> {
    let half = t_quantile(1.0 - alpha, df)? * se;
    Some(Interval { lower: (centre - half).exp(), upper: (centre + half).exp() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn costs() -> impl Strategy<Value = Vec<Vec<CostPair>>> {
        let pair =
            (1.0f64..1e5, 1.0f64..1e5).prop_map(|(control, candidate)| CostPair { control, candidate });
        prop::collection::vec(prop::collection::vec(pair, 1..4), 2..8)
    }

    proptest! {
        #[test]
        fn swapping_the_arms_inverts_ratio_and_limits(costs in costs()) {
            let swapped: Vec<Vec<CostPair>> = costs
                .iter()
                .map(|c| c.iter().map(|p| CostPair { control: p.candidate, candidate: p.control }).collect())
                .collect();
            let (one, other) = (mean_ratio(&costs, 0.05).unwrap(), mean_ratio(&swapped, 0.05).unwrap());
            prop_assert!((one.ratio * other.ratio - 1.0).abs() < 1e-9);
            let (a, b) = (one.limits.unwrap(), other.limits.unwrap());
            prop_assert!((a.lower.ln() + b.upper.ln()).abs() < 1e-6 * (1.0 + a.lower.ln().abs()));
        }

        #[test]
        fn order_of_clusters_and_unit_change_nothing(costs in costs(), unit in 0.01f64..100.0) {
            let mut turned: Vec<Vec<CostPair>> = costs
                .iter()
                .map(|c| c.iter().map(|p| CostPair {
                    control: p.control * unit, candidate: p.candidate * unit,
                }).collect())
                .collect();
            turned.reverse();
            let (one, other) = (mean_ratio(&costs, 0.05).unwrap(), mean_ratio(&turned, 0.05).unwrap());
            prop_assert!((one.log_ratio - other.log_ratio).abs() < 1e-9);
            prop_assert!((one.ratio_of_means / other.ratio_of_means - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_zero_or_missing_cost_gives_no_ratio() {
        let pair = |control, candidate| CostPair { control, candidate };
        assert!(mean_ratio(&[vec![pair(0.0, 1.0)], vec![pair(1.0, 1.0)]], 0.05).is_none());
        assert!(mean_ratio(&[vec![pair(f64::NAN, 1.0)], vec![pair(1.0, 1.0)]], 0.05).is_none());
        assert!(mean_ratio(&[], 0.05).is_none());
    }

    #[test]
    fn a_ratio_of_exactly_the_limit_everywhere_holds() {
        let pair = CostPair { control: 4.0, candidate: 5.0 };
        let ratio = mean_ratio(&[vec![pair], vec![pair], vec![pair]], 0.05).unwrap();
        assert!(ratio.degenerate);
        assert_eq!(ratio.tendency(1.25), Tendency::Holds);
    }

    #[test]
    fn one_cluster_never_holds() {
        let pair = CostPair { control: 4.0, candidate: 4.0 };
        assert_eq!(mean_ratio(&[vec![pair; 9]], 0.05).unwrap().tendency(1.25), Tendency::Open);
    }
}
