//! Looking early without lying: e-values, confidence sequences, group-sequential bounds.

use crate::distribution::{incomplete_beta, ln_beta, normal_cdf, normal_sf};
use crate::tables::Interval;

/// E-values on independent discordant pairs; reject at 1/alpha at any time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EValues {
    /// Two-sided: B(b+1, c+1)·2^(b+c), a uniform mixture over the probability.
    pub two_sided: f64,
    /// For a worse candidate: a uniform mixture over (1/2, 1).
    pub candidate_worse: f64,
    /// min(1, 1/two_sided): valid at any time.
    pub anytime_p: f64,
}

/// The e-values of McNemar's null. `None` beyond what a double holds.
pub fn mcnemar_e_values(control_only: u64, candidate_only: u64) -> Option<EValues> {
    let (b, c) = (control_only as f64, candidate_only as f64);
    let mixture = (ln_beta(b + 1.0, c + 1.0) + (b + c) * std::f64::consts::LN_2).exp();
    // The upper half of Beta(b+1, c+1) is the lower half of Beta(c+1, b+1): no cancellation in the small tail.
    let upper_half = incomplete_beta(c + 1.0, b + 1.0, 0.5)?;
    mixture.is_finite().then(|| EValues {
        two_sided: mixture,
        candidate_worse: 2.0 * mixture * upper_half,
        anytime_p: (1.0 / mixture).min(1.0),
    })
}

/// Robbins' (1970) beta-binomial confidence sequence of a rate: all p at which the mixture ratio
/// B(s+1, f+1)/(p^s (1-p)^f) stays below 1/alpha. Valid at every look.
pub fn confidence_sequence(successes: u64, failures: u64, alpha: f64) -> Interval {
    let (s, f) = (successes as f64, failures as f64);
    let limit = ln_beta(s + 1.0, f + 1.0) + alpha.ln();
    let log_likelihood = |p: f64| {
        let part = |count: f64, p: f64| if count == 0.0 { 0.0 } else { count * p.ln() };
        part(s, p) + part(f, 1.0 - p)
    };
    let inside = |p: f64| log_likelihood(p) >= limit;
    let mode = if s + f > 0.0 { s / (s + f) } else { 0.5 };
    let edge = |outer: f64| {
        if inside(outer) {
            return outer;
        }
        let (mut out, mut within) = (outer, mode);
        for _ in 0..200 {
            let middle = 0.5 * (out + within);
            if inside(middle) {
                within = middle;
            } else {
                out = middle;
            }
        }
        0.5 * (out + within)
    };
    Interval { lower: edge(0.0), upper: edge(1.0) }
}

/// Shapes of group-sequential bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The same z at every look (Pocock 1977).
    Pocock,
    /// z falls as constant·sqrt(K/k) (O'Brien & Fleming 1979).
    ObrienFleming,
}

/// z bounds at equal information from a published constant (Jennison & Turnbull 2000).
pub fn sequential_bounds(shape: Shape, looks: u32, constant: f64) -> Vec<f64> {
    (1..=looks)
        .map(|k| match shape {
            Shape::Pocock => constant,
            Shape::ObrienFleming => constant * (f64::from(looks) / f64::from(k)).sqrt(),
        })
        .collect()
}

/// The one-sided levels of the looks whose chance to cross at any of them under the null is `alpha`: the constant of the
/// shape is found by bisection on [`crossing_probability`] of the two-sided bounds at 2 alpha. One look: `alpha`. `None`
/// without looks or with a level outside 0..1/2.
pub fn look_levels(shape: Shape, looks: u32, alpha: f64) -> Option<Vec<f64>> {
    if looks == 0 || !(alpha > 0.0 && alpha < 0.5) {
        return None;
    }
    if looks == 1 {
        return Some(vec![alpha]);
    }
    // Coarser than the published check below: its error of 1e-7 is far below the third digit of a level.
    let crosses = |constant: f64| crossing(&sequential_bounds(shape, looks, constant), 201);
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..48 {
        let middle = 0.5 * (low + high);
        if crosses(middle) > 2.0 * alpha { low = middle } else { high = middle }
    }
    Some(sequential_bounds(shape, looks, high).into_iter().map(normal_sf).collect())
}

/// Chance of crossing two-sided z bounds at any of their looks under the null: recursive integration of the density of
/// the running sum over the continuation region (Armitage, McPherson & Rowe 1969), equal information steps.
pub fn crossing_probability(z_bounds: &[f64]) -> f64 {
    crossing(z_bounds, 801)
}

fn crossing(z_bounds: &[f64], points: usize) -> f64 {
    let mut stayed: Vec<(f64, f64)> = vec![(0.0, 1.0)];
    let mut crossed = 0.0;
    for (look, z) in (1u32..).zip(z_bounds) {
        // The sum has variance `look`; one step adds variance 1.
        let bound = z * f64::from(look).sqrt();
        crossed += stayed
            .iter()
            .map(|(at, mass)| mass * (normal_sf(bound - at) + normal_cdf(-bound - at)))
            .sum::<f64>();
        let h = 2.0 * bound / (points - 1) as f64;
        stayed = (0..points)
            .map(|i| {
                let x = -bound + h * i as f64;
                let simpson = match i {
                    0 => 1.0,
                    i if i == points - 1 => 1.0,
                    i if i % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                let density: f64 =
                    stayed.iter().map(|(at, mass)| mass * (-0.5 * (x - at).powi(2)).exp()).sum();
                (x, density / (2.0 * std::f64::consts::PI).sqrt() * h / 3.0 * simpson)
            })
            .collect();
    }
    crossed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::normal_quantile;

    #[test]
    fn levels_of_looks_are_those_of_the_published_constants() {
        // Jennison & Turnbull 2000, tables 2.1 and 2.3, two-sided .05 and .10: constants of the last look.
        for (shape, looks, alpha, constant) in [
            (Shape::Pocock, 2, 0.025, 2.178),
            (Shape::Pocock, 5, 0.025, 2.413),
            (Shape::ObrienFleming, 2, 0.025, 1.977),
            (Shape::ObrienFleming, 5, 0.025, 2.040),
            (Shape::Pocock, 3, 0.05, 1.992),
            (Shape::ObrienFleming, 3, 0.05, 1.710),
        ] {
            let levels = look_levels(shape, looks, alpha).unwrap();
            let last = -normal_quantile(*levels.last().unwrap());
            assert!((last - constant).abs() < 1e-3, "{shape:?} {looks}: {last}, not {constant}");
        }
    }

    #[test]
    fn one_look_spends_everything_and_nonsense_is_undefined() {
        assert_eq!(look_levels(Shape::Pocock, 1, 0.05), Some(vec![0.05]));
        assert_eq!(look_levels(Shape::Pocock, 0, 0.05), None);
        assert_eq!(look_levels(Shape::Pocock, 3, f64::NAN), None);
    }
}
