//! Ratio of mean costs: what the bill says. Fieller's set for display, the linearised test for metrics with zeros.

use crate::LIMIT_TOLERANCE;
use crate::distribution::{t_quantile, t_sf};
use crate::tables::{CostPair, Interval, Tendency};

/// Fieller's set of a ratio of means (Fieller 1954).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fieller {
    /// Sum of candidate / sum of control.
    pub ratio: f64,
    /// The set; `None` when it is unbounded (g >= 1: the control's mean cannot be told from 0).
    pub limits: Option<Interval>,
    /// t² Var(control mean) / (control mean)².
    pub g: f64,
}

/// Fieller's set from one pair of totals (or means) per cluster; `None` with fewer than two or a zero control mean.
pub fn fieller(totals: &[CostPair], alpha: f64) -> Option<Fieller> {
    let n = totals.len() as f64;
    let t = t_quantile(1.0 - alpha, n - 1.0)?;
    let x = totals.iter().map(|p| p.control).sum::<f64>() / n;
    let y = totals.iter().map(|p| p.candidate).sum::<f64>() / n;
    if x == 0.0 || !x.is_finite() || !y.is_finite() {
        return None;
    }
    let covariance = |a: fn(&CostPair) -> f64, ma: f64, b: fn(&CostPair) -> f64, mb: f64| {
        totals.iter().map(|p| (a(p) - ma) * (b(p) - mb)).sum::<f64>() / (n - 1.0) / n
    };
    let vxx = covariance(|p| p.control, x, |p| p.control, x);
    let vyy = covariance(|p| p.candidate, y, |p| p.candidate, y);
    let vxy = covariance(|p| p.control, x, |p| p.candidate, y);
    let g = t * t * vxx / (x * x);
    // Roots of (y - R x)² = t²(vyy - 2 R vxy + R² vxx).
    let (a, b, c) = (x * x - t * t * vxx, x * y - t * t * vxy, y * y - t * t * vyy);
    let limits = (g < 1.0).then(|| {
        let root = (b * b - a * c).max(0.0).sqrt();
        Interval { lower: (b - root) / a, upper: (b + root) / a }
    });
    Some(Fieller { ratio: y / x, limits, g })
}

/// One-sided t tests of mean(candidate - limit·control) over clusters: no division, zeros allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linearised {
    /// Mean of z = candidate - limit·control.
    pub mean: f64,
    /// Its standard error; `None` with one cluster.
    pub standard_error: Option<f64>,
    /// mean ∓ t·SE.
    pub limits: Option<Interval>,
    /// p of "ratio >= limit".
    pub p_at_least: Option<f64>,
    /// p of "ratio <= limit".
    pub p_at_most: Option<f64>,
    /// Holds: mean + t·SE <= 0. Broken: mean - t·SE > 0.
    pub tendency: Tendency,
}

/// The linearised test on one pair of means per cluster; `None` without clusters or with a value that is not finite.
pub fn linearised(means: &[CostPair], limit: f64, alpha: f64) -> Option<Linearised> {
    if means.is_empty() || means.iter().any(|p| !p.control.is_finite() || !p.candidate.is_finite()) {
        return None;
    }
    let n = means.len() as f64;
    let z: Vec<f64> = means.iter().map(|p| p.candidate - limit * p.control).collect();
    let mean = z.iter().sum::<f64>() / n;
    let scale = means.iter().map(|p| p.candidate.abs() + limit * p.control.abs()).sum::<f64>() / n;
    let slack = scale * LIMIT_TOLERANCE;
    let standard_error = (means.len() >= 2).then(|| {
        let se = (z.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        if se <= slack { 0.0 } else { se }
    });
    let limits = standard_error.and_then(|se| {
        let half = t_quantile(1.0 - alpha, n - 1.0)? * se;
        Some(Interval { lower: mean - half, upper: mean + half })
    });
    let p = |sign: f64| {
        let se = standard_error.filter(|se| *se > 0.0)?;
        t_sf(sign * mean / se, n - 1.0)
    };
    let tendency = match limits {
        Some(limits) if limits.lower > slack => Tendency::Broken,
        Some(limits) if limits.upper <= slack => Tendency::Holds,
        Some(_) | None => Tendency::Open,
    };
    Some(Linearised { mean, standard_error, limits, p_at_least: p(-1.0), p_at_most: p(1.0), tendency })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_zero_on_both_sides_is_decidable_but_has_no_spread() {
        let zero = CostPair { control: 0.0, candidate: 0.0 };
        let result = linearised(&[zero; 4], 1.25, 0.05).unwrap();
        assert_eq!((result.standard_error, result.tendency), (Some(0.0), Tendency::Holds));
        assert_eq!(fieller(&[zero; 4], 0.05), None);
    }
}
