//! Numbers only: McNemar, Tango, t on log ratios, bootstrap, and what a design can show; knows no arm, no file, no
//! decision of a run.
//!
//! Every function is pure and says its formula, its source and what it does at the edges. Where a number is undefined
//! the answer is `None`, never NaN, never zero: a caller that must decide treats `None` as "cannot tell". Direction
//! everywhere: difference = candidate - control, ratio = candidate / control. Levels are one-sided `alpha` per limit
//! unless a name says otherwise. Golden values: `tests/golden/`.

pub mod bootstrap;
pub mod clustered_mcnemar;
pub mod clustered_se;
pub mod cost_bootstrap;
pub mod crossover;
pub mod discovery;
pub mod distribution;
pub mod holm;
pub mod mcnemar;
pub mod median;
pub mod non_inferiority;
pub mod paired_difference;
pub mod pass_at_k;
pub mod power;
pub mod preflight;
pub mod proportion;
pub mod ratio;
pub mod ratio_of_means;
pub mod sequential;
pub mod sign_flip;

mod tables;

pub use tables::{ClusterTrials, CostPair, Interval, PairTable, Tendency};

/// Relative tolerance with which a ratio's bound is compared with its limit: `exp(ln 1.25)` exceeds 1.25 in floating
/// point, and a tie counts as equal.
pub const LIMIT_TOLERANCE: f64 = 1e-12;
