//! McNemar's statistic for matched pairs in clusters, for many clusters (about 20 or more); with few, use
//! [`crate::sign_flip`].

use crate::distribution::chi_square_sf;
use crate::tables::PairTable;

/// A chi-square statistic with one degree of freedom and its p; `None` (p 1) where it is 0/0.
pub type Statistic = Option<(f64, f64)>;

/// Three statistics of the same null, and the pooled one that ignores clusters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusteredMcNemar {
    /// Obuchowski 1998: (K-1)/K (ΣD)² / ΣD², D = candidate only - control only.
    pub obuchowski: Statistic,
    /// Durkalski et al. 2003: (ΣD/n)² / Σ(D/n)².
    pub durkalski: Statistic,
    /// Yang, Sun & Hardin 2010: (K-1)/K (ΣD)² / ½Σ((D - n·mean)² + D²).
    pub yang: Statistic,
    /// (ΣD)² / discordant pairs; `None` without discordant pairs.
    pub pooled_chi2: Option<f64>,
}

/// The statistics of one table per cluster. Clusters without pairs are ignored.
pub fn clustered_mcnemar(tables: &[PairTable]) -> ClusteredMcNemar {
    let rows: Vec<(f64, f64)> = tables
        .iter()
        .filter(|t| t.n() > 0)
        .map(|t| (t.candidate_only as f64 - t.control_only as f64, t.n() as f64))
        .collect();
    let k = rows.len() as f64;
    let small = if k > 0.0 { (k - 1.0) / k } else { 0.0 };
    let sum: f64 = rows.iter().map(|(d, _)| d).sum();
    let squares: f64 = rows.iter().map(|(d, _)| d * d).sum();
    let mean = sum / rows.iter().map(|(_, n)| n).sum::<f64>();
    let centred: f64 = rows.iter().map(|(d, n)| (d - n * mean).powi(2)).sum();
    let rates: f64 = rows.iter().map(|(d, n)| d / n).sum();
    let rate_squares: f64 = rows.iter().map(|(d, n)| (d / n).powi(2)).sum();
    let discordant = PairTable::pooled(tables).discordant() as f64;
    ClusteredMcNemar {
        obuchowski: statistic(small * sum * sum, squares),
        durkalski: statistic(rates * rates, rate_squares),
        yang: statistic(small * sum * sum, 0.5 * (centred + squares)),
        pooled_chi2: (discordant > 0.0).then(|| sum * sum / discordant),
    }
}

fn statistic(numerator: f64, denominator: f64) -> Statistic {
    (denominator > 0.0).then(|| {
        let chi2 = numerator / denominator;
        (chi2, chi_square_sf(chi2, 1.0))
    })
}
