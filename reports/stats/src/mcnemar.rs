//! McNemar's test of "in no cluster do the arms differ" on discordant pairs, its power, and its companion by order.
//!
//! Sources: McNemar 1947; mid-p: Fagerland, Lydersen & Laake 2013 (BMC Med Res Methodol 13:91); by order: Mainland 1963,
//! Gart 1969.

use crate::distribution::{binomial_pmf, chi_square_sf, fair_cdf, fair_pmf, ln_choose};

/// p-values of a pair table's discordant pairs. Without any discordant pair every p is 1 and no statistic exists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct McNemar {
    /// 2 * P(X <= min(b, c)), at most 1; X ~ Bin(b + c, 1/2).
    pub exact_two_sided: f64,
    /// 2 * P(X <= min) - P(X = min); 1 - P(X = b) / 2 when b = c.
    pub midp_two_sided: f64,
    /// P(X <= c): small when the candidate is worse.
    pub exact_candidate_worse: f64,
    /// P(X <= b): small when the candidate is better.
    pub exact_candidate_better: f64,
    /// (b - c)^2 / (b + c) with its p.
    pub chi2: Option<(f64, f64)>,
    /// max(|b - c| - 1, 0)^2 / (b + c) with its p.
    pub chi2_corrected: Option<(f64, f64)>,
}

/// The test on `control_only` against `candidate_only` pairs.
pub fn mcnemar(control_only: u64, candidate_only: u64) -> McNemar {
    let (b, c) = (control_only, candidate_only);
    let n = b + c;
    if n == 0 {
        return McNemar {
            exact_two_sided: 1.0,
            midp_two_sided: 1.0,
            exact_candidate_worse: 1.0,
            exact_candidate_better: 1.0,
            chi2: None,
            chi2_corrected: None,
        };
    }
    let least = b.min(c);
    let tail = fair_cdf(least, n);
    let point = fair_pmf(least, n);
    let midp = if b == c { 1.0 - point / 2.0 } else { 2.0 * tail - point };
    let gap = b.abs_diff(c) as f64;
    let chi = |gap: f64| {
        let statistic = gap * gap / n as f64;
        Some((statistic, chi_square_sf(statistic, 1.0)))
    };
    McNemar {
        exact_two_sided: (2.0 * tail).min(1.0),
        midp_two_sided: midp,
        exact_candidate_worse: fair_cdf(c, n),
        exact_candidate_better: fair_cdf(b, n),
        chi2: chi(gap),
        chi2_corrected: chi((gap - 1.0).max(0.0)),
    }
}

/// The least exact two-sided p that this many discordant pairs can give: 2^(1-n), 1 without any. With five or fewer it
/// cannot reach .05.
pub fn least_exact_p(discordant: u64) -> f64 {
    if discordant == 0 { 1.0 } else { 2.0 * fair_cdf(0, discordant) }
}

/// A paired design whose power is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedDesign {
    /// Independent pairs.
    pub pairs: u64,
    /// Probability that only the control passes.
    pub control_only: f64,
    /// Probability that only the candidate passes.
    pub candidate_only: f64,
    /// Level at which p is compared.
    pub alpha: f64,
}

/// Power by test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct McNemarPower {
    /// Of the exact two-sided test, rejections in both directions.
    pub exact_two_sided: f64,
    /// Of the mid-p test.
    pub midp_two_sided: f64,
    /// Of the exact one-sided test for a worse candidate.
    pub exact_candidate_worse: f64,
}

/// Unconditional power by enumerating the trinomial of a design (as `powerPaired2x2` of R's exact2x2 does).
pub fn mcnemar_power(design: PairedDesign) -> McNemarPower {
    let psi = design.control_only + design.candidate_only;
    let share = if psi > 0.0 { design.control_only / psi } else { 0.0 };
    let mut power = McNemarPower { exact_two_sided: 0.0, midp_two_sided: 0.0, exact_candidate_worse: 0.0 };
    for discordant in 0..=design.pairs {
        let outer = binomial_pmf(discordant, design.pairs, psi);
        for b in 0..=discordant {
            let weight = outer * binomial_pmf(b, discordant, share);
            let test = mcnemar(b, discordant - b);
            let rejects = |p: f64| if p <= design.alpha { weight } else { 0.0 };
            power.exact_two_sided += rejects(test.exact_two_sided);
            power.midp_two_sided += rejects(test.midp_two_sided);
            power.exact_candidate_worse += rejects(test.exact_candidate_worse);
        }
    }
    power
}

/// Discordant pairs by order of execution and by who of the two, first or second, passed alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderedDiscordance {
    /// Candidate ran first, only the first passed.
    pub ab_first: u64,
    /// Candidate ran first, only the second passed.
    pub ab_second: u64,
    /// Control ran first, only the first passed.
    pub ba_first: u64,
    /// Control ran first, only the second passed.
    pub ba_second: u64,
}

/// Mainland–Gart: Fisher's exact two-sided p on discordant pairs by order. All tables as likely as the observed one or
/// less are summed (relative tolerance 1e-7, as R does).
pub fn mainland_gart(table: OrderedDiscordance) -> f64 {
    let row = table.ab_first + table.ab_second;
    let total = row + table.ba_first + table.ba_second;
    let column = table.ab_first + table.ba_first;
    let least = (row + column).saturating_sub(total);
    let log_all = ln_choose(total, column);
    let probability = |x: u64| (ln_choose(row, x) + ln_choose(total - row, column - x) - log_all).exp();
    let observed = probability(table.ab_first) * (1.0 + 1e-7);
    (least..=row.min(column)).map(probability).filter(|&p| p <= observed).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn swapping_the_arms_swaps_the_sides_and_keeps_the_rest(b in 0u64..200, c in 0u64..200) {
            let (one, other) = (mcnemar(b, c), mcnemar(c, b));
            prop_assert_eq!(one.exact_two_sided, other.exact_two_sided);
            prop_assert_eq!(one.midp_two_sided, other.midp_two_sided);
            prop_assert_eq!(one.exact_candidate_worse, other.exact_candidate_better);
            prop_assert!(one.exact_two_sided > 0.0 && one.exact_two_sided <= 1.0);
            prop_assert!(one.midp_two_sided <= one.exact_two_sided + 1e-12);
        }
    }

    #[test]
    fn the_seed_s_own_table() {
        assert_eq!(mcnemar(9, 2).exact_two_sided, 0.065_429_687_5);
        assert_eq!(mcnemar(0, 0).exact_two_sided, 1.0);
    }

    #[test]
    fn five_discordant_pairs_cannot_reach_five_percent_and_six_can() {
        assert!(least_exact_p(5) > 0.05 && least_exact_p(6) < 0.05);
        assert_eq!(least_exact_p(0), 1.0);
    }
}
