//! Exact sign-flip test of cluster effects against a null value.

use crate::bootstrap::Stream;
use rand_chacha::rand_core::Rng as _;

/// Clusters up to which all 2^G signs are enumerated.
pub const ENUMERATE_UP_TO: usize = 20;

/// p-values; identity included, so never below 2^-G (or 1/(B+1)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlip {
    /// Of an effect above the null value.
    pub p_greater: f64,
    /// Of an effect below it.
    pub p_less: f64,
    /// Of any.
    pub p_two_sided: f64,
    /// Assignments counted.
    pub assignments: u64,
}

/// Statistic: sum of (effect - null). Ties count with a relative tolerance of 1e-12. Beyond
/// [`ENUMERATE_UP_TO`] clusters, 100,000 random assignments with p = (k+1)/(B+1) (Phipson & Smyth 2010). `None` without
/// effects or with one that is not finite.
pub fn sign_flip(effects: &[f64], null_value: f64, stream: Stream) -> Option<SignFlip> {
    if effects.is_empty() || effects.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let shifted: Vec<f64> = effects.iter().map(|v| v - null_value).collect();
    let observed: f64 = shifted.iter().sum();
    let slack = 1e-12 * shifted.iter().map(|v| v.abs()).sum::<f64>().max(1e-300);
    let mut counts = [0u64; 3];
    let mut count = |signs: &dyn Fn(usize) -> bool| {
        let sum: f64 = shifted.iter().enumerate().map(|(i, v)| if signs(i) { -v } else { *v }).sum();
        counts[0] += u64::from(sum >= observed - slack);
        counts[1] += u64::from(sum <= observed + slack);
        counts[2] += u64::from(sum.abs() >= observed.abs() - slack);
    };
    let assignments = if shifted.len() <= ENUMERATE_UP_TO {
        let all = 1u64 << shifted.len();
        (0..all).for_each(|mask| count(&|i| mask >> i & 1 == 1));
        all
    } else {
        let mut rng = stream.rng();
        let draws = 100_000u64;
        count(&|_| false);
        for _ in 0..draws {
            let flips: Vec<bool> = shifted.iter().map(|_| rng.next_u64() >> 63 == 1).collect();
            count(&|i| flips[i]);
        }
        draws + 1
    };
    let [p_greater, p_less, p_two_sided] = counts.map(|k| k as f64 / assignments as f64);
    Some(SignFlip { p_greater, p_less, p_two_sided, assignments })
}
