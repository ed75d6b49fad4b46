//! What a design can show at best, before anything is run: bounds if the arms behave identically.

use crate::distribution::{normal_quantile, t_quantile};

/// The best that a design of so many clusters with so many pairs each can give.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DesignBounds {
    /// Lower limit of the pass difference at zero discordance, clusters like these: -c²/(N + c²).
    pub ni_lower_random: Option<f64>,
    /// The same on these clusters.
    pub ni_lower_these: Option<f64>,
    /// Least one-sided p of a sign-flip over clusters: 2^-G.
    pub sign_flip_min_p: f64,
    /// Can it reach alpha?
    pub sign_flip_can_reject: bool,
    /// Lower limit of a rate when all were found, clusters like these: alpha^(1/n_effective).
    pub rate_lower_random: Option<f64>,
    /// The same on these clusters.
    pub rate_lower_these: Option<f64>,
    /// t_{1-alpha, G-1}; `None` with one cluster.
    pub t_multiplier: Option<f64>,
    /// Is a percentile bootstrap's bound nothing but the most extreme cluster (G^-G >= alpha)?
    pub percentile_is_extreme_cluster: bool,
}

/// Closed forms of a balanced design; bounds are `None` where one cluster leaves them undefined.
pub fn design_bounds(clusters: u64, pairs_per_cluster: u64, alpha: f64) -> DesignBounds {
    let g = clusters as f64;
    let k = pairs_per_cluster as f64;
    let n = g * k;
    let z = normal_quantile(1.0 - alpha);
    let t = t_quantile(1.0 - alpha, g - 1.0);
    let single = pairs_per_cluster == 1;
    let best = |critical: f64| -critical * critical / (n + critical * critical);
    let random = if single { (clusters > 1).then_some(z) } else { t.map(|t| t * k.sqrt()) };
    let effective = if single { (clusters > 0).then_some(n) } else { t.map(|t| g * (z / t).powi(2)) };
    let some = n > 0.0;
    let min_p = 0.5_f64.powf(g);
    DesignBounds {
        ni_lower_random: random.filter(|_| some).map(best),
        ni_lower_these: some.then(|| best(z)),
        sign_flip_min_p: min_p,
        sign_flip_can_reject: min_p <= alpha,
        rate_lower_random: effective.filter(|_| some).map(|n| alpha.powf(1.0 / n)),
        rate_lower_these: some.then(|| alpha.powf(1.0 / n)),
        t_multiplier: t,
        percentile_is_extreme_cluster: clusters > 0 && g.powf(-g) >= alpha,
    }
}
