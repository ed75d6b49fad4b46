//! Bootstrap by cluster: a sensitivity line beside the t interval, never a gate (it is too narrow with few clusters).
//!
//! Up to ten clusters every multiset of clusters is enumerated with its multinomial weight, so the answer has no seed;
//! beyond, [`ChaCha8Rng`] with a named stream, which gives the same draws on every machine. BCa: Efron 1987, bias by
//! mid-rank, acceleration by jackknife.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::distribution::{normal_cdf, normal_quantile};
use crate::tables::{CostPair, Interval};

/// Clusters up to which all resamples are enumerated: 92,378 of them at ten.
pub const ENUMERATE_UP_TO: usize = 10;

/// Resamples drawn beyond that.
pub const RESAMPLES: usize = 10_000;

/// Clusters below which the interval is labelled unreliable.
pub const RELIABLE_FROM: usize = 12;

/// A seed and the stream of one comparison in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// The experiment's seed.
    pub seed: u64,
    /// The comparison's own stream.
    pub stream: u64,
}

impl Stream {
    /// Its generator.
    pub fn rng(self) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(self.stream);
        rng
    }
}

/// How resamples were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// All of them; the number of distinct values.
    Enumerated {
        /// Distinct values of the statistic.
        atoms: usize,
    },
    /// So many draws.
    Drawn {
        /// Resamples.
        resamples: usize,
    },
}

/// A bootstrap of one statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// The statistic on the data.
    pub theta: f64,
    /// Mean over resamples.
    pub mean: f64,
    /// Standard deviation over resamples.
    pub sd: f64,
    /// Percentile limits, `alpha` in each tail.
    pub percentile: Interval,
    /// Share of resamples below the statistic, ties half.
    pub p0: f64,
    /// Bias correction; `None` when `p0` is 0 or 1 or nothing varies.
    pub z0: Option<f64>,
    /// Acceleration; `None` when nothing varies.
    pub acceleration: Option<f64>,
    /// BCa levels; `None` where BCa is undefined.
    pub bca_levels: Option<Interval>,
    /// BCa limits.
    pub bca: Option<Interval>,
    /// How.
    pub method: Method,
}

/// Bootstrap of any statistic of `n` units, given the units of a resample by index. Enumerated when `n` is at most
/// [`ENUMERATE_UP_TO`]. `None` when the statistic is undefined on the data or on any resample that comes up.
pub fn bootstrap(
    n: usize,
    statistic: impl Fn(&[usize]) -> Option<f64>,
    alpha: f64,
    stream: Stream,
) -> Option<Bootstrap> {
    if n == 0 || n > ENUMERATE_UP_TO {
        return bootstrap_drawn(n, statistic, alpha, stream);
    }
    let theta = on_data(n, &statistic)?;
    Some(Distribution::enumerated(n, &statistic)?.summarised(theta, acceleration(n, &statistic), alpha))
}

/// The same, always by drawing [`RESAMPLES`] resamples.
pub fn bootstrap_drawn(
    n: usize,
    statistic: impl Fn(&[usize]) -> Option<f64>,
    alpha: f64,
    stream: Stream,
) -> Option<Bootstrap> {
    if n == 0 {
        return None;
    }
    let theta = on_data(n, &statistic)?;
    Some(Distribution::drawn(n, &statistic, stream)?.summarised(theta, acceleration(n, &statistic), alpha))
}

fn on_data(n: usize, statistic: &impl Fn(&[usize]) -> Option<f64>) -> Option<f64> {
    let identity: Vec<usize> = (0..n).collect();
    statistic(&identity).filter(|v| v.is_finite())
}

/// Bootstrap of the mean of independent values.
pub fn bootstrap_mean(values: &[f64], alpha: f64, stream: Stream) -> Option<Bootstrap> {
    let mean = |units: &[usize]| Some(units.iter().map(|&i| values[i]).sum::<f64>() / units.len() as f64);
    bootstrap(values.len(), mean, alpha, stream)
}

/// Bootstrap by cluster of the log ratio of sums: `None` on this scale when a resample can have a zero sum.
pub fn bootstrap_ratio_of_means(totals: &[CostPair], alpha: f64, stream: Stream) -> Option<Bootstrap> {
    let log_ratio = |units: &[usize]| {
        let control: f64 = units.iter().map(|&i| totals[i].control).sum();
        let candidate: f64 = units.iter().map(|&i| totals[i].candidate).sum();
        (control > 0.0 && candidate > 0.0).then(|| (candidate / control).ln())
    };
    bootstrap(totals.len(), log_ratio, alpha, stream)
}

/// One resample of `n` units: each unit drawn, in order. Every word of the generator gives two draws (multiply and shift,
/// Lemire 2019; without rejection it favours no unit by more than n / 2^32).
pub(crate) fn each_drawn(rng: &mut ChaCha8Rng, n: usize, mut take: impl FnMut(usize)) {
    let size = n as u64;
    let mut left = n;
    while left > 0 {
        let word = rng.next_u64();
        take((((word & 0xffff_ffff) * size) >> 32) as usize);
        if left > 1 {
            take((((word >> 32) * size) >> 32) as usize);
        }
        left = left.saturating_sub(2);
    }
}

/// Values of a statistic over resamples, ascending, with probabilities.
pub(crate) struct Distribution {
    atoms: Vec<(f64, f64)>,
    method: Method,
}

impl Distribution {
    fn enumerated(n: usize, statistic: &impl Fn(&[usize]) -> Option<f64>) -> Option<Self> {
        let factorials: Vec<f64> = (0..=n)
            .scan(1.0, |product, i| {
                *product *= if i == 0 { 1.0 } else { i as f64 };
                Some(*product)
            })
            .collect();
        let all = factorials[n] / (n as f64).powi(n as i32);
        let mut values = Vec::new();
        let mut units = vec![0usize; n];
        loop {
            let value = statistic(&units).filter(|v| v.is_finite())?;
            values.push((value, all / repetitions(&units, &factorials)));
            // Next non-decreasing sequence.
            let Some(place) = (0..n).rev().find(|&i| units[i] + 1 < n) else { break };
            let next = units[place] + 1;
            units[place..].fill(next);
        }
        let atoms = merged(values);
        let method = Method::Enumerated { atoms: atoms.len() };
        Some(Self { atoms, method })
    }

    fn drawn(n: usize, statistic: &impl Fn(&[usize]) -> Option<f64>, stream: Stream) -> Option<Self> {
        let mut rng = stream.rng();
        let mut units = vec![0usize; n];
        let mut values = Vec::with_capacity(RESAMPLES);
        for _ in 0..RESAMPLES {
            let mut place = 0;
            each_drawn(&mut rng, n, |unit| {
                units[place] = unit;
                place += 1;
            });
            values.push(statistic(&units).filter(|v| v.is_finite())?);
        }
        Some(Self::of_draws(values))
    }

    /// Values that were drawn, in any order.
    pub(crate) fn of_draws(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let (resamples, share) = (values.len(), 1.0 / values.len() as f64);
        let atoms = values.into_iter().map(|value| (value, share)).collect();
        Self { atoms, method: Method::Drawn { resamples } }
    }

    pub(crate) fn summarised(&self, theta: f64, acceleration: Option<f64>, alpha: f64) -> Bootstrap {
        let mean: f64 = self.atoms.iter().map(|(v, p)| v * p).sum();
        let sd = self.atoms.iter().map(|(v, p)| p * (v - mean).powi(2)).sum::<f64>().sqrt();
        let tie = tolerance(theta);
        let p0: f64 = self
            .atoms
            .iter()
            .map(|(v, p)| {
                if (v - theta).abs() <= tie {
                    p / 2.0
                } else if *v < theta {
                    *p
                } else {
                    0.0
                }
            })
            .sum();
        let z0 = (p0 > 0.0 && p0 < 1.0 && sd > 0.0).then(|| normal_quantile(p0));
        let bca_levels = z0.zip(acceleration).map(|(z0, a)| {
            let level = |p: f64| {
                let shifted = z0 + normal_quantile(p);
                normal_cdf(z0 + shifted / (1.0 - a * shifted))
            };
            Interval { lower: level(alpha), upper: level(1.0 - alpha) }
        });
        let between = |levels: Interval| Interval {
            lower: self.quantile(levels.lower),
            upper: self.quantile(levels.upper),
        };
        Bootstrap {
            theta,
            mean,
            sd,
            percentile: between(Interval { lower: alpha, upper: 1.0 - alpha }),
            p0,
            z0,
            acceleration,
            bca_levels,
            bca: bca_levels.map(between),
            method: self.method,
        }
    }

    /// Inverse of the cdf for an enumerated distribution, type 7 (linear between order statistics) for a drawn one.
    pub(crate) fn quantile(&self, level: f64) -> f64 {
        match self.method {
            Method::Enumerated { .. } => {
                let mut sum = 0.0;
                for (value, p) in &self.atoms {
                    sum += p;
                    if sum >= level - 1e-12 {
                        return *value;
                    }
                }
                self.atoms[self.atoms.len() - 1].0
            }
            Method::Drawn { .. } => {
                let last = self.atoms.len() - 1;
                let place = level.clamp(0.0, 1.0) * last as f64;
                let below = place.floor() as usize;
                let above = (below + 1).min(last);
                let (low, high) = (self.atoms[below].0, self.atoms[above].0);
                low + (place - below as f64) * (high - low)
            }
        }
    }
}

fn tolerance(value: f64) -> f64 {
    1e-11 * value.abs().max(1e-3)
}

fn repetitions(units: &[usize], factorials: &[f64]) -> f64 {
    units.chunk_by(|a, b| a == b).map(|same| factorials[same.len()]).product()
}

/// Sorted values, those equal to working precision merged.
fn merged(mut values: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut atoms: Vec<(f64, f64)> = Vec::with_capacity(values.len());
    for (value, p) in values {
        match atoms.last_mut() {
            Some(last) if (value - last.0).abs() <= tolerance(value) => last.1 += p,
            Some(_) | None => atoms.push((value, p)),
        }
    }
    atoms
}

/// Jackknife acceleration Σ(m - v)³ / (6 (Σ(m - v)²)^1.5).
fn acceleration(n: usize, statistic: &impl Fn(&[usize]) -> Option<f64>) -> Option<f64> {
    let without: Vec<f64> = (0..n)
        .map(|left_out| statistic(&(0..n).filter(|&i| i != left_out).collect::<Vec<_>>()))
        .collect::<Option<_>>()?;
    jackknife_acceleration(&without)
}

/// The same from the statistic with each unit left out.
pub(crate) fn jackknife_acceleration(without: &[f64]) -> Option<f64> {
    let n = without.len();
    let mean = without.iter().sum::<f64>() / n as f64;
    let (squares, cubes) = without.iter().fold((0.0, 0.0), |(s, c), v| {
        let d: f64 = mean - v;
        (s + d * d, c + d * d * d)
    });
    let scale = 1e-24 * mean.abs().max(1.0);
    (squares > scale).then(|| cubes / (6.0 * f64::powf(squares, 1.5)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_pinned() {
        let mut rng = Stream { seed: 42, stream: 7 }.rng();
        let first: Vec<u64> = (0..8).map(|_| rng.next_u64()).collect();
        let mut other = Stream { seed: 42, stream: 8 }.rng();
        assert_ne!(first[0], other.next_u64());
        assert_eq!(first, PINNED);
    }

    const PINNED: [u64; 8] = [
        2_370_525_664_269_707_216,
        6_019_739_031_913_071_421,
        11_352_947_354_031_309_824,
        9_109_578_469_052_101_476,
        7_243_313_879_750_256_913,
        4_062_747_356_348_347_385,
        4_162_815_495_977_061_980,
        4_639_319_543_949_580_345,
    ];

    #[test]
    fn the_same_stream_draws_the_same_and_nothing_varies_gives_no_bca() {
        let values: Vec<f64> = (0..20).map(f64::from).collect();
        let stream = Stream { seed: 1, stream: 2 };
        assert_eq!(bootstrap_mean(&values, 0.05, stream), bootstrap_mean(&values, 0.05, stream));
        let flat = bootstrap_mean(&[3.0; 6], 0.05, stream).unwrap();
        assert_eq!((flat.bca, flat.percentile), (None, Interval { lower: 3.0, upper: 3.0 }));
    }
}
