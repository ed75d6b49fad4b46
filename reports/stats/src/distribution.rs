//! Distribution functions and their inverses, guarded where the library underneath is not trustworthy.
//!
//! The regularised incomplete beta function is our own continued fraction: `statrs` 0.19.1 returns values outside 0..1
//! for shapes beyond 1e4 and its inverse can hang in tiny tails. Inverses are found by bisection on the cdf, which
//! cannot leave its bracket.

use statrs::distribution::{ContinuousCDF as _, Normal};
use statrs::function::gamma::{gamma_ur, ln_gamma};

/// Halvings of a bracket: enough for every double between 0 and 1 at working precision.
const HALVINGS: u32 = 200;

/// Upper tail of the standard normal, through the incomplete gamma function: the library's `erfc` is good to 1e-11 only.
pub fn normal_sf(z: f64) -> f64 {
    if z.is_infinite() {
        return if z > 0.0 { 0.0 } else { 1.0 };
    }
    let tail = if z == 0.0 { 0.5 } else { 0.5 * gamma_ur(0.5, 0.5 * z * z) };
    if z >= 0.0 { tail } else { 1.0 - tail }
}

/// Standard normal cdf.
pub fn normal_cdf(z: f64) -> f64 {
    normal_sf(-z)
}

/// Standard normal quantile; infinite at 0 and 1.
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let start = Normal::standard().inverse_cdf(p);
    // Two Newton steps: the library's own inverse is good to about 1e-9.
    (0..2).fold(start, |z, _| {
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        if density > 1e-300 { z - (normal_cdf(z) - p) / density } else { z }
    })
}

/// Upper tail of chi-square with `df` degrees of freedom.
pub fn chi_square_sf(x: f64, df: f64) -> f64 {
    if x <= 0.0 { 1.0 } else { gamma_ur(df / 2.0, x / 2.0) }
}

/// Regularised incomplete beta function I_x(a, b) by the modified Lentz method (Press et al. 2007, section 6.4).
/// `None` when a shape is not positive or the fraction does not settle.
pub fn incomplete_beta(a: f64, b: f64, x: f64) -> Option<f64> {
    if !(a > 0.0 && b > 0.0) || x.is_nan() {
        return None;
    }
    if x <= 0.0 {
        return Some(0.0);
    }
    if x >= 1.0 {
        return Some(1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    let value = if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x)? / a
    } else {
        1.0 - front * beta_fraction(b, a, 1.0 - x)? / b
    };
    Some(value.clamp(0.0, 1.0))
}

fn beta_fraction(a: f64, b: f64, x: f64) -> Option<f64> {
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..100_000u32 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        let step = d * c;
        h *= step;
        if (step - 1.0).abs() < 1e-16 {
            return Some(h);
        }
    }
    None
}

/// Quantile of the beta distribution by bisection.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&p) {
        return None;
    }
    incomplete_beta(a, b, 0.5)?;
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if incomplete_beta(a, b, middle)? < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high))
}

/// Upper tail of Student's t; `None` when `df` is not positive.
pub fn t_sf(t: f64, df: f64) -> Option<f64> {
    if t.is_infinite() {
        return Some(if t > 0.0 { 0.0 } else { 1.0 });
    }
    let tail = 0.5 * incomplete_beta(df / 2.0, 0.5, df / (df + t * t))?;
    Some(if t >= 0.0 { tail } else { 1.0 - tail })
}

/// Quantile of Student's t: bisection on the upper tail; `None` when `df` is not positive or `p` not inside 0..1.
pub fn t_quantile(p: f64, df: f64) -> Option<f64> {
    if !(df > 0.0 && p > 0.0 && p < 1.0) {
        return None;
    }
    if p < 0.5 {
        return t_quantile(1.0 - p, df).map(|t| -t);
    }
    let (mut low, mut high) = (0.0_f64, 2.0_f64);
    while t_sf(high, df)? > 1.0 - p && high < 1e300 {
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if t_sf(middle, df)? > 1.0 - p {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high))
}

/// Upper tail of the non-central t, P(T >= t), for t >= 0: the normal tail averaged over the chi distribution of the
/// standard deviation (composite Simpson over its central mass).
pub fn noncentral_t_sf(t: f64, df: f64, ncp: f64) -> Option<f64> {
    if df <= 0.0 || !df.is_finite() || !t.is_finite() || !ncp.is_finite() {
        return None;
    }
    // s = sqrt(chi2/df); density of s, with its mass within mean +- 12 standard deviations, all of them above 0.
    let log_norm = std::f64::consts::LN_2 + 0.5 * df * (df / 2.0).ln() - ln_gamma(df / 2.0);
    let density = |s: f64| {
        if s <= 0.0 {
            return if df == 1.0 { log_norm.exp() } else { 0.0 };
        }
        (log_norm + (df - 1.0) * s.ln() - 0.5 * df * s * s).exp()
    };
    let spread = 12.0 / (2.0 * df).sqrt();
    let (low, high) = ((1.0 - spread).max(0.0), 1.0 + spread);
    let steps = 4000_u32;
    let h = (high - low) / f64::from(steps);
    let sum: f64 = (0..=steps)
        .map(|i| {
            let s = low + h * f64::from(i);
            let weight = if i == 0 || i == steps {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * density(s) * normal_sf(t * s - ncp)
        })
        .sum();
    Some((sum * h / 3.0).clamp(0.0, 1.0))
}

/// Probability of at most `k` heads in `n` fair throws; exact integer sums up to 120 throws, logarithms beyond.
pub fn fair_cdf(k: u64, n: u64) -> f64 {
    if k >= n {
        return 1.0;
    }
    if n <= 120 {
        let mut term: u128 = 1;
        let mut sum: u128 = 1;
        for i in 0..k {
            // Divide first where it goes: the product of two coefficients of 120 does not fit otherwise.
            term = mul_div(term, u128::from(n - i), u128::from(i + 1));
            sum += term;
        }
        return sum as f64 * 0.5_f64.powi(i32::try_from(n).expect("at most 120"));
    }
    (0..=k).map(|i| fair_pmf(i, n)).sum::<f64>().min(1.0)
}

fn mul_div(a: u128, b: u128, c: u128) -> u128 {
    let (whole, rest) = (a / c, a % c);
    whole * b + rest * b / c
}

/// Probability of exactly `k` heads in `n` fair throws.
pub fn fair_pmf(k: u64, n: u64) -> f64 {
    if k > n {
        return 0.0;
    }
    if n <= 120 {
        let below = if k == 0 { 0.0 } else { fair_cdf(k - 1, n) };
        return fair_cdf(k, n) - below;
    }
    (ln_choose(n, k) - n as f64 * std::f64::consts::LN_2).exp()
}

/// Probability of exactly `k` successes in `n` trials of probability `p`.
pub fn binomial_pmf(k: u64, n: u64, p: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    if p <= 0.0 {
        return if k == 0 { 1.0 } else { 0.0 };
    }
    if p >= 1.0 {
        return if k == n { 1.0 } else { 0.0 };
    }
    (ln_choose(n, k) + k as f64 * p.ln() + (n - k) as f64 * (-p).ln_1p()).exp()
}

/// Logarithm of the binomial coefficient.
pub fn ln_choose(n: u64, k: u64) -> f64 {
    ln_gamma(n as f64 + 1.0) - ln_gamma(k as f64 + 1.0) - ln_gamma((n - k) as f64 + 1.0)
}

/// Logarithm of the beta function.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_tables() {
        assert!((t_quantile(0.95, 3.0).unwrap() - 2.353_363_434_801_823).abs() < 1e-12);
        assert!((t_quantile(0.95, 1.0).unwrap() - 6.313_751_514_675_037).abs() < 1e-10);
        assert!((normal_quantile(0.95) - 1.644_853_626_951_472_2).abs() < 1e-13);
        assert!((chi_square_sf(3.841_458_820_694_124, 1.0) - 0.05).abs() < 1e-12);
    }

    #[test]
    fn beta_stays_a_probability_where_the_library_does_not() {
        for shape in [1e4, 1e6, 1e8] {
            let middle = incomplete_beta(shape, shape, 0.5).unwrap();
            assert!((middle - 0.5).abs() < 1e-6, "I_0.5({shape}, {shape}) = {middle}");
        }
        assert_eq!(incomplete_beta(0.0, 1.0, 0.5), None);
    }

    #[test]
    fn fair_throws_are_exact_and_both_ways_of_counting_agree() {
        assert_eq!(fair_cdf(2, 11), 67.0 / 2048.0);
        assert_eq!(fair_pmf(5, 10), 252.0 / 1024.0);
        let long: f64 = (0..=60).map(|k| (ln_choose(121, k) - 121.0 * std::f64::consts::LN_2).exp()).sum();
        assert!((long - 0.5).abs() < 1e-12);
    }
}
