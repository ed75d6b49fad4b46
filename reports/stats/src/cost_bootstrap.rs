//! Bootstrap by cluster of a cost's two ratios, geometric mean and ratio of means, from the same resamples: a sensitivity
//! line beside the t interval, never a gate.
//!
//! Up to [`ENUMERATE_UP_TO`] clusters enumerated, beyond drawn in one pass over sums, which is what makes thousands of
//! clusters cheap. The studentized interval (bootstrap-t, Davison & Hinkley 1997, section 5.2) is the one that keeps its
//! level when only one arm has blow-ups, but it is infinite at two clusters and far too wide at four.

use crate::bootstrap::{
    Bootstrap, Distribution, ENUMERATE_UP_TO, RESAMPLES, Stream, bootstrap_mean, bootstrap_ratio_of_means,
    each_drawn, jackknife_acceleration,
};
use crate::tables::{CostPair, Interval};

/// Bootstraps on the scale of the logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostBootstrap {
    /// Of the mean log ratio; `None` where a cost is zero.
    pub ratio: Option<Bootstrap>,
    /// Studentized limits of the same; `None` up to [`ENUMERATE_UP_TO`] clusters and where a resample has no spread.
    pub studentized: Option<Interval>,
    /// Of the log ratio of means; `None` where a resample can have a zero sum.
    pub ratio_of_means: Option<Bootstrap>,
}

/// Sums over the clusters of a resample.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    log: f64,
    square: f64,
    control: f64,
    candidate: f64,
}

/// Both bootstraps from the mean log ratio (`None` where a cost is zero) and the mean costs of each cluster, in the same
/// order. `None` with fewer than two clusters, lengths that differ or a value that is not finite.
pub fn bootstrap_costs(
    logs: Option<&[f64]>,
    means: &[CostPair],
    alpha: f64,
    stream: Stream,
) -> Option<CostBootstrap> {
    let n = means.len();
    let finite = means.iter().all(|p| p.control.is_finite() && p.candidate.is_finite())
        && logs.is_none_or(|logs| logs.iter().all(|log| log.is_finite()));
    if n < 2 || logs.is_some_and(|logs| logs.len() != n) || !finite {
        return None;
    }
    if n <= ENUMERATE_UP_TO {
        return Some(CostBootstrap {
            ratio: logs.and_then(|logs| bootstrap_mean(logs, alpha, stream)),
            studentized: None,
            ratio_of_means: bootstrap_ratio_of_means(means, alpha, stream),
        });
    }
    let rows: Vec<Sums> = (0..n)
        .map(|i| {
            let log = logs.map_or(0.0, |logs| logs[i]);
            let CostPair { control, candidate } = means[i];
            Sums { log, square: log * log, control, candidate }
        })
        .collect();
    let resamples = drawn(&rows, stream);
    let all = summed(rows.iter());
    let ratio = logs.map(|_| ratio(&rows, all, &resamples, alpha));
    Some(CostBootstrap {
        studentized: logs.and_then(|_| studentized(all, &resamples, n, alpha)),
        ratio,
        ratio_of_means: ratio_of_means(&rows, all, &resamples, alpha),
    })
}

fn drawn(rows: &[Sums], stream: Stream) -> Vec<Sums> {
    let mut rng = stream.rng();
    (0..RESAMPLES)
        .map(|_| {
            let mut sums = Sums::default();
            each_drawn(&mut rng, rows.len(), |unit| sums.add(rows[unit]));
            sums
        })
        .collect()
}

impl Sums {
    #[inline]
    fn add(&mut self, row: Self) {
        self.log += row.log;
        self.square += row.square;
        self.control += row.control;
        self.candidate += row.candidate;
    }

    /// log(candidate / control); `None` where a sum is zero.
    fn log_ratio(&self) -> Option<f64> {
        (self.control > 0.0 && self.candidate > 0.0).then(|| (self.candidate / self.control).ln())
    }

    /// Standard error of the mean log over `n` clusters; 0 where only rounding is left.
    fn standard_error(&self, n: f64) -> f64 {
        let centred = self.square - self.log * self.log / n;
        if centred <= 1e-12 * self.square { 0.0 } else { (centred / (n - 1.0) / n).sqrt() }
    }
}

fn summed<'a>(rows: impl Iterator<Item = &'a Sums>) -> Sums {
    rows.fold(Sums::default(), |mut sums, row| {
        sums.add(*row);
        sums
    })
}

fn ratio(rows: &[Sums], all: Sums, resamples: &[Sums], alpha: f64) -> Bootstrap {
    let n = rows.len() as f64;
    let without: Vec<f64> = rows.iter().map(|row| (all.log - row.log) / (n - 1.0)).collect();
    let values = resamples.iter().map(|sums| sums.log / n).collect();
    Distribution::of_draws(values).summarised(all.log / n, jackknife_acceleration(&without), alpha)
}

fn ratio_of_means(rows: &[Sums], all: Sums, resamples: &[Sums], alpha: f64) -> Option<Bootstrap> {
    let theta = all.log_ratio()?;
    let values = resamples.iter().map(Sums::log_ratio).collect::<Option<Vec<f64>>>()?;
    let without: Option<Vec<f64>> = rows
        .iter()
        .map(|row| {
            let (control, candidate) = (all.control - row.control, all.candidate - row.candidate);
            Sums { control, candidate, ..Sums::default() }.log_ratio()
        })
        .collect();
    let acceleration = without.and_then(|without| jackknife_acceleration(&without));
    Some(Distribution::of_draws(values).summarised(theta, acceleration, alpha))
}

/// theta - t*·SE, t* the quantiles of (theta* - theta)/SE*.
fn studentized(all: Sums, resamples: &[Sums], clusters: usize, alpha: f64) -> Option<Interval> {
    let n = clusters as f64;
    let (theta, error) = (all.log / n, all.standard_error(n));
    let pivots: Option<Vec<f64>> = resamples
        .iter()
        .map(|sums| {
            let spread = sums.standard_error(n);
            (spread > 0.0).then(|| (sums.log / n - theta) / spread)
        })
        .collect();
    let pivots = Distribution::of_draws(pivots?);
    Some(Interval {
        lower: theta - pivots.quantile(1.0 - alpha) * error,
        upper: theta - pivots.quantile(alpha) * error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: Stream = Stream { seed: 1, stream: 2 };

    fn costs(n: usize) -> (Vec<f64>, Vec<CostPair>) {
        let means: Vec<CostPair> = (0..n)
            .map(|i| {
                let x = i as f64;
                CostPair {
                    control: 100.0 + 7.0 * x,
                    candidate: (100.0 + 7.0 * x) * (1.0 + 0.3 * (x * 1.7).sin()),
                }
            })
            .collect();
        (means.iter().map(|p| (p.candidate / p.control).ln()).collect(), means)
    }

    #[test]
    fn one_pass_over_sums_agrees_with_the_bootstrap_of_any_statistic() {
        let (logs, means) = costs(30);
        let both = bootstrap_costs(Some(&logs), &means, 0.05, STREAM).unwrap();
        let (one, other) = (both.ratio.unwrap(), bootstrap_mean(&logs, 0.05, STREAM).unwrap());
        assert!((one.percentile.lower - other.percentile.lower).abs() < 1e-12);
        assert!((one.bca.unwrap().upper - other.bca.unwrap().upper).abs() < 1e-12);
        let (one, other) =
            (both.ratio_of_means.unwrap(), bootstrap_ratio_of_means(&means, 0.05, STREAM).unwrap());
        assert!((one.percentile.upper - other.percentile.upper).abs() < 1e-12);
        assert!((one.bca.unwrap().lower - other.bca.unwrap().lower).abs() < 1e-9);
    }

    #[test]
    fn swapping_the_arms_mirrors_both_ratios() {
        let (logs, means) = costs(25);
        let mirrored: Vec<f64> = logs.iter().map(|log| -log).collect();
        let swapped: Vec<CostPair> =
            means.iter().map(|p| CostPair { control: p.candidate, candidate: p.control }).collect();
        let (there, back) = (
            bootstrap_costs(Some(&logs), &means, 0.05, STREAM).unwrap(),
            bootstrap_costs(Some(&mirrored), &swapped, 0.05, STREAM).unwrap(),
        );
        let mirrors =
            |a: Interval, b: Interval| (a.lower + b.upper).abs() < 1e-9 && (a.upper + b.lower).abs() < 1e-9;
        assert!(mirrors(there.ratio.unwrap().percentile, back.ratio.unwrap().percentile));
        assert!(mirrors(there.studentized.unwrap(), back.studentized.unwrap()));
        let (a, b) = (there.ratio_of_means.unwrap(), back.ratio_of_means.unwrap());
        assert!(mirrors(a.percentile, b.percentile));
    }

    #[test]
    fn zeros_no_spread_and_one_cluster_are_undefined_and_never_zero() {
        let (_, mut means) = costs(20);
        assert!(bootstrap_costs(None, &means[..1], 0.05, STREAM).is_none());
        means[3].control = f64::NAN;
        assert!(bootstrap_costs(None, &means, 0.05, STREAM).is_none());
        let zero = CostPair { control: 0.0, candidate: 0.0 };
        let none = bootstrap_costs(None, &[zero; 20], 0.05, STREAM).unwrap();
        assert_eq!((none.ratio, none.ratio_of_means), (None, None));
        let flat =
            bootstrap_costs(Some(&[0.1; 20]), &[CostPair { control: 1.0, candidate: 1.1 }; 20], 0.05, STREAM);
        assert_eq!(flat.unwrap().studentized, None);
    }
}
