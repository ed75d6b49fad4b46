//! Exact sign-flip test of cluster effects against a null value.

use crate::bootstrap::Stream;
use rand_chacha::rand_core::Rng as _;

/// Clusters up to which all 2^G signs are enumerated.
pub const ENUMERATE_UP_TO: usize = 20;

/// Random assignments beyond that.
const DRAWS: u64 = 100_000;

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
    let mut count = |sum: f64| {
        counts[0] += u64::from(sum >= observed - slack);
        counts[1] += u64::from(sum <= observed + slack);
        counts[2] += u64::from(sum.abs() >= observed.abs() - slack);
    };
    let assignments = if shifted.len() <= ENUMERATE_UP_TO {
        // Every assignment is one of the first half and one of the second: 2^10 sums each instead of 2^20 long ones.
        let (low, high) = shifted.split_at(shifted.len() / 2);
        let (low, high) = (all_sums(low), all_sums(high));
        high.iter().for_each(|h| low.iter().for_each(|l| count(h + l)));
        (low.len() * high.len()) as u64
    } else {
        let mut rng = stream.rng();
        let sum_of_draw = |_| {
            let words = shifted.chunks(64).map(|chunk| (chunk, rng.next_u64()));
            words.map(|(chunk, word)| signed_sum(chunk, word)).sum::<f64>()
        };
        count(observed);
        (0..DRAWS).map(sum_of_draw).for_each(&mut count);
        DRAWS + 1
    };
    let [p_greater, p_less, p_two_sided] = counts.map(|k| k as f64 / assignments as f64);
    Some(SignFlip { p_greater, p_less, p_two_sided, assignments })
}

fn all_sums(values: &[f64]) -> Vec<f64> {
    (0..1u64 << values.len()).map(|signs| signed_sum(values, signs)).collect()
}

/// Sum of at most 64 values, those of set bits negated.
fn signed_sum(values: &[f64], signs: u64) -> f64 {
    values.iter().enumerate().map(|(i, v)| if signs >> i & 1 == 1 { -v } else { *v }).sum()
}
