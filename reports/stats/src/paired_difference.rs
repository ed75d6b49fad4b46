//! Limits of the difference of two paired proportions, candidate - control.
//!
//! Tango's score limits (Tango 1998) are the ones that gates use: they work at zero discordance. Newcombe's method 10
//! (Newcombe 1998) is the second opinion, Wald is here for comparison only.

use crate::proportion::wilson_with;
use crate::tables::{Interval, PairTable};

/// Wald limits: d ± z sqrt(b + c - (c - b)²/N) / N. Zero width at zero discordance: never a gate.
pub fn wald(table: PairTable, z: f64) -> Option<Interval> {
    let d = table.difference()?;
    let n = table.n() as f64;
    let half = z * (table.discordant() as f64 - n * d * d).max(0.0).sqrt() / n;
    Some(Interval { lower: d - half, upper: d + half })
}

/// Newcombe's method 10: square-and-add of two Wilson intervals with a continuity-corrected phi.
pub fn newcombe(table: PairTable, z: f64) -> Option<Interval> {
    let d = table.difference()?;
    let n = table.n() as f64;
    let [a, b, c, e] =
        [table.both, table.control_only, table.candidate_only, table.neither].map(|v| v as f64);
    let candidate = wilson_with(a + c, n, z)?;
    let control = wilson_with(a + b, n, z)?;
    let (p1, p2) = ((a + c) / n, (a + b) / n);
    let margins = (a + b) * (c + e) * (a + c) * (b + e);
    let cross = a * e - b * c;
    let corrected = if cross > 0.0 { (cross - n / 2.0).max(0.0) } else { cross };
    let phi = if margins > 0.0 { corrected / margins.sqrt() } else { 0.0 };
    let leg = |x: f64, y: f64| (x * x - 2.0 * phi * x * y + y * y).max(0.0).sqrt();
    Some(Interval {
        lower: d - leg(p1 - candidate.lower, control.upper - p2),
        upper: d + leg(candidate.upper - p1, p2 - control.lower),
    })
}

/// Discordant pairs and pairs as real numbers: an effective sample size scales all three.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Discordance {
    /// Pairs in which only the control passed.
    pub control_only: f64,
    /// Pairs in which only the candidate passed.
    pub candidate_only: f64,
    /// Pairs.
    pub n: f64,
}

impl From<PairTable> for Discordance {
    fn from(table: PairTable) -> Self {
        Self {
            control_only: table.control_only as f64,
            candidate_only: table.candidate_only as f64,
            n: table.n() as f64,
        }
    }
}

/// Tango's score limits with any critical value (z for independent pairs, t·sqrt(deff) for clusters): both solutions of
/// T(D) = ±crit, T(D) = (c - b - N·D) / sqrt(N(2q + D(1 - D))), q the restricted estimate of P(only the control
/// passes). T falls in D, so each limit is found by bisection. `None` without pairs or without a positive critical value.
pub fn tango(pairs: impl Into<Discordance>, critical: f64) -> Option<Interval> {
    let pairs = pairs.into();
    if !(pairs.n > 0.0 && critical > 0.0 && critical.is_finite()) {
        return None;
    }
    let lower = tango_lower(pairs, critical);
    let mirrored =
        Discordance { control_only: pairs.candidate_only, candidate_only: pairs.control_only, n: pairs.n };
    Some(Interval { lower, upper: -tango_lower(mirrored, critical) })
}

fn tango_lower(pairs: Discordance, critical: f64) -> f64 {
    let difference = (pairs.candidate_only - pairs.control_only) / pairs.n;
    let (mut low, mut high) = (-1.0, difference);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if tango_statistic(pairs, middle) > critical {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

fn tango_statistic(pairs: Discordance, d: f64) -> f64 {
    let Discordance { control_only: b, candidate_only: c, n } = pairs;
    let linear = -b - c + (2.0 * n - c + b) * d;
    let constant = -b * d * (1.0 - d);
    let q = ((linear * linear - 8.0 * n * constant).max(0.0).sqrt() - linear) / (4.0 * n);
    let variance = n * (2.0 * q + d * (1.0 - d));
    if variance <= 0.0 { f64::INFINITY } else { (c - b - n * d) / variance.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table() -> impl Strategy<Value = PairTable> {
        (0u64..40, 0u64..12, 0u64..12, 0u64..40).prop_map(|(both, control_only, candidate_only, neither)| {
            PairTable { both, control_only, candidate_only, neither }
        })
    }

    proptest! {
        #[test]
        fn swapping_the_arms_mirrors_every_interval(t in table()) {
            prop_assume!(t.n() > 0);
            for limits in [tango as fn(PairTable, f64) -> Option<Interval>, newcombe, wald] {
                let one = limits(t, 1.645).unwrap();
                let other = limits(t.swapped(), 1.645).unwrap();
                prop_assert!((one.lower + other.upper).abs() < 1e-9);
                prop_assert!((one.upper + other.lower).abs() < 1e-9);
            }
        }

        #[test]
        fn a_larger_critical_value_never_narrows_tango(t in table(), z in 0.5f64..4.0) {
            prop_assume!(t.n() > 0);
            let (narrow, wide) = (tango(t, z).unwrap(), tango(t, z + 0.5).unwrap());
            prop_assert!(wide.lower <= narrow.lower + 1e-12 && wide.upper >= narrow.upper - 1e-12);
            let d = t.difference().unwrap();
            prop_assert!(narrow.lower <= d + 1e-12 && narrow.upper >= d - 1e-12);
        }
    }

    #[test]
    fn zero_discordance_has_its_closed_form() {
        let t = PairTable { both: 12, ..PairTable::default() };
        let c2 = 1.6448536269514722_f64.powi(2);
        let limits = tango(t, c2.sqrt()).unwrap();
        assert!((limits.lower + c2 / (12.0 + c2)).abs() < 1e-12);
        assert_eq!(tango(PairTable::default(), 1.6), None);
    }
}
