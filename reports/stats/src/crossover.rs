//! AB/BA cross-over estimates on log costs (Hills & Armitage 1979).
//!
//! The carry-over contrast (Grizzle 1965) is a diagnostic: the analysis is never switched on it (Freeman 1989, Senn 2022).

use crate::distribution::{t_quantile, t_sf};
use crate::tables::Interval;

/// Which arm ran first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequence {
    /// The candidate.
    CandidateFirst,
    /// The control.
    ControlFirst,
}

/// One unit: what the first and the second period gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Periods {
    /// Which arm ran first.
    pub sequence: Sequence,
    /// First period.
    pub first: f64,
    /// Second period.
    pub second: f64,
}

/// An estimate with standard error and two-sided p; p is `None` without spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contrast {
    /// Estimate.
    pub estimate: f64,
    /// Standard error.
    pub standard_error: f64,
    /// Two-sided p.
    pub p: Option<f64>,
}

/// The cross-over's three contrasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossover {
    /// Units with the candidate first.
    pub candidate_first: usize,
    /// Units with the control first.
    pub control_first: usize,
    /// (d_AB - d_BA)/2, d = first - second: candidate - control, adjusted for period.
    pub treatment: Contrast,
    /// Its limits.
    pub limits: Interval,
    /// (d_AB + d_BA)/2: first - second period.
    pub period: Contrast,
    /// Mean sum of AB - mean sum of BA: diagnostic only.
    pub carry_over: Contrast,
    /// Degrees of freedom.
    pub df: usize,
}

/// The contrasts at a two-sided level; `None` with fewer than two units of either sequence.
pub fn crossover(units: &[Periods], level: f64) -> Option<Crossover> {
    let of = |sequence: Sequence, f: fn(&Periods) -> f64| -> Vec<f64> {
        units.iter().filter(|u| u.sequence == sequence).map(f).collect()
    };
    let difference: fn(&Periods) -> f64 = |u| u.first - u.second;
    let sum: fn(&Periods) -> f64 = |u| u.first + u.second;
    let (ab, ba) = (of(Sequence::CandidateFirst, difference), of(Sequence::ControlFirst, difference));
    if ab.len() < 2 || ba.len() < 2 {
        return None;
    }
    let df = ab.len() + ba.len() - 2;
    let se = pooled_se(&ab, &ba);
    let test = |estimate: f64, standard_error: f64| {
        let p = (standard_error > 1e-12 * estimate.abs().max(1e-3))
            .then(|| t_sf((estimate / standard_error).abs(), df as f64).map(|tail| 2.0 * tail))
            .flatten();
        Contrast { estimate, standard_error, p }
    };
    let treatment = test((mean(&ab) - mean(&ba)) / 2.0, se / 2.0);
    let (sums_ab, sums_ba) = (of(Sequence::CandidateFirst, sum), of(Sequence::ControlFirst, sum));
    let half = t_quantile(0.5 + level / 2.0, df as f64)? * se / 2.0;
    Some(Crossover {
        candidate_first: ab.len(),
        control_first: ba.len(),
        treatment,
        limits: Interval { lower: treatment.estimate - half, upper: treatment.estimate + half },
        period: test((mean(&ab) + mean(&ba)) / 2.0, se / 2.0),
        carry_over: test(mean(&sums_ab) - mean(&sums_ba), pooled_se(&sums_ab, &sums_ba)),
        df,
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn pooled_se(a: &[f64], b: &[f64]) -> f64 {
    let squares = |v: &[f64]| {
        let centre = mean(v);
        v.iter().map(|x| (x - centre).powi(2)).sum::<f64>()
    };
    let (n, m) = (a.len() as f64, b.len() as f64);
    ((squares(a) + squares(b)) / (n + m - 2.0) * (1.0 / n + 1.0 / m)).sqrt()
}
