//! The pass-rate gate: is the candidate at most a margin worse, for clusters like these and on these clusters?
//!
//! Critical value t_{1-alpha, G-1}·sqrt(deff) in Tango's score limits, which is Tango with Korn & Graubard's (1998)
//! effective sample size. Docs: `docs/methodology`.

use crate::distribution::{normal_quantile, t_quantile};
use crate::paired_difference::{Discordance, tango};
use crate::tables::{Interval, PairTable, Tendency};

/// What a table per cluster says about a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NonInferiority {
    /// Pairs.
    pub pairs: u64,
    /// Clusters with pairs.
    pub clusters: usize,
    /// candidate - control; `None` without pairs.
    pub difference: Option<f64>,
    /// Clusters with a discordant pair.
    pub discordant_clusters: usize,
    /// Design effect; `None` with one cluster.
    pub deff: Option<f64>,
    /// Critical value used; `None` with one cluster.
    pub critical: Option<f64>,
    /// Limits for clusters like these; `None` with one cluster.
    pub limits: Option<Interval>,
    /// Limits on these clusters: pooled Tango with z.
    pub these: Option<Interval>,
    /// Holds when the lower limit is above -margin; broken when an upper limit is below it.
    pub tendency: Tendency,
}

/// The gate with a design effect from the data. deff = clip(Vcl/Viid, 1, m), Vcl = G/(G-1) Σ(D_t - n_t·d)²/N²,
/// Viid = (b + c - (c - b)²/N)/(N(N - 1)), m = Σn_t²/N; deff = m when fewer than three clusters have a discordant pair,
/// since then nothing is known about whether a broken task breaks in all its repeats. One pair per cluster everywhere:
/// z and deff 1. One cluster: never `Holds`.
pub fn non_inferiority(tables: &[PairTable], margin: f64, alpha: f64) -> NonInferiority {
    let tables: Vec<PairTable> = tables.iter().copied().filter(|t| t.n() > 0).collect();
    let pooled = PairTable::pooled(&tables);
    let clusters = tables.len();
    let discordant_clusters = tables.iter().filter(|t| t.discordant() > 0).count();
    let z = normal_quantile(1.0 - alpha);
    let these = tango(pooled, z);
    let deff = design_effect(&tables, pooled, discordant_clusters);
    let critical = match deff {
        Some(_) if tables.iter().all(|t| t.n() == 1) => Some(z),
        Some(deff) => t_quantile(1.0 - alpha, clusters as f64 - 1.0).map(|t| t * deff.sqrt()),
        None => None,
    };
    let limits = critical.and_then(|critical| tango(pooled, critical));
    NonInferiority {
        pairs: pooled.n(),
        clusters,
        difference: pooled.difference(),
        discordant_clusters,
        deff,
        critical,
        limits,
        these,
        tendency: margin_tendency(limits, these, margin),
    }
}

/// Holds: lower > -margin. Broken: the smaller upper limit < -margin.
pub fn margin_tendency(random: Option<Interval>, these: Option<Interval>, margin: f64) -> Tendency {
    if random.is_some_and(|limits| limits.lower > -margin) {
        return Tendency::Holds;
    }
    let uppers = [random, these].into_iter().flatten().map(|limits| limits.upper);
    if uppers.fold(f64::INFINITY, f64::min) < -margin { Tendency::Broken } else { Tendency::Open }
}

fn design_effect(tables: &[PairTable], pooled: PairTable, discordant_clusters: usize) -> Option<f64> {
    let g = tables.len() as f64;
    if tables.len() < 2 {
        return None;
    }
    if tables.iter().all(|t| t.n() == 1) {
        return Some(1.0);
    }
    let n = pooled.n() as f64;
    let mean = pooled.difference()?;
    let largest = tables.iter().map(|t| (t.n() as f64).powi(2)).sum::<f64>() / n;
    let independent = (pooled.discordant() as f64 - n * mean * mean) / (n * (n - 1.0));
    if discordant_clusters < 3 || independent <= 0.0 {
        return Some(largest);
    }
    let spread = |t: &PairTable| t.candidate_only as f64 - t.control_only as f64 - t.n() as f64 * mean;
    let clustered = g / (g - 1.0) * tables.iter().map(|t| spread(t).powi(2)).sum::<f64>() / (n * n);
    Some((clustered / independent).clamp(1.0, largest))
}

/// The decision with all invalid blocks completed against the candidate, for it, and left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MissingBounds {
    /// Difference with every invalid block counted as control-only.
    pub worst_difference: f64,
    /// Difference with every invalid block counted as candidate-only.
    pub best_difference: f64,
    /// Lower limit of the worst completion.
    pub worst_lower: f64,
    /// Upper limit of the best completion.
    pub best_upper: f64,
    /// What the valid pairs say; `None` without any.
    pub observed: Option<Tendency>,
    /// What the worst completion says.
    pub worst: Tendency,
    /// What the best completion says.
    pub best: Tendency,
    /// The common answer, else `Open`; `None` without a valid pair.
    pub agreed: Option<Tendency>,
    /// Do the three differ?
    pub sensitive: bool,
}

/// Worst and best completion of invalid blocks (Manski; Horowitz & Manski 2000), pooled Tango. `None` without any block.
pub fn missing_bounds(
    table: PairTable,
    invalid_blocks: u64,
    margin: f64,
    alpha: f64,
) -> Option<MissingBounds> {
    let z = normal_quantile(1.0 - alpha);
    let worst = PairTable { control_only: table.control_only + invalid_blocks, ..table };
    let best = PairTable { candidate_only: table.candidate_only + invalid_blocks, ..table };
    let says = |t: PairTable| {
        let limits = tango(t, z);
        margin_tendency(limits, limits, margin)
    };
    let (at_worst, at_best) = (says(worst), says(best));
    let observed = (table.n() > 0).then(|| says(table));
    let sensitive = observed.is_none_or(|seen| seen != at_worst) || at_worst != at_best;
    Some(MissingBounds {
        worst_difference: worst.difference()?,
        best_difference: best.difference()?,
        worst_lower: tango(worst, z)?.lower,
        best_upper: tango(best, z)?.upper,
        observed,
        worst: at_worst,
        best: at_best,
        agreed: observed.map(|seen| if sensitive { Tendency::Open } else { seen }),
        sensitive,
    })
}

/// About how many clusters it takes to decide, if further ones look like these: the smallest G at which the limit on
/// the side of the estimate clears -margin with a reserve of z_.80, pair counts scaled by G. `None` when the estimate
/// lies at the margin or 10,000 clusters would not do.
pub fn clusters_needed(result: &NonInferiority, pooled: PairTable, margin: f64, alpha: f64) -> Option<usize> {
    let (difference, deff) = (result.difference?, result.deff?);
    let reserve = normal_quantile(0.80);
    let pairs = Discordance::from(pooled);
    let decided = |g: usize| {
        let scale = g as f64 / result.clusters as f64;
        let scaled = Discordance {
            control_only: pairs.control_only * scale,
            candidate_only: pairs.candidate_only * scale,
            n: pairs.n * scale,
        };
        let critical = (t_quantile(1.0 - alpha, g as f64 - 1.0)? + reserve) * deff.sqrt();
        let limits = tango(scaled, critical)?;
        Some(if difference > -margin { limits.lower > -margin } else { limits.upper < -margin })
    };
    crate::power::smallest(result.clusters + 1, 10_000, |g| decided(g) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cluster_never_holds() {
        let result = non_inferiority(&[PairTable { both: 10_000, ..PairTable::default() }], 0.1, 0.05);
        assert_eq!((result.tendency, result.limits), (Tendency::Open, None));
    }

    #[test]
    fn relabelling_and_reordering_clusters_changes_nothing() {
        let tables = [
            PairTable { both: 2, control_only: 1, candidate_only: 0, neither: 0 },
            PairTable { both: 1, control_only: 1, candidate_only: 1, neither: 0 },
            PairTable { both: 0, control_only: 0, candidate_only: 2, neither: 1 },
        ];
        let mut turned = tables;
        turned.reverse();
        assert_eq!(non_inferiority(&tables, 0.1, 0.05), non_inferiority(&turned, 0.1, 0.05));
    }

    #[test]
    fn more_clusters_are_needed_than_there_are_and_a_number_comes_out() {
        let tables = vec![PairTable { both: 2, ..PairTable::default() }; 6];
        let result = non_inferiority(&tables, 0.1, 0.05);
        let needed = clusters_needed(&result, PairTable::pooled(&tables), 0.1, 0.05).unwrap();
        assert!(needed > 27, "zero discordance at 27 x 2 is the least that can pass; got {needed}");
    }
}
