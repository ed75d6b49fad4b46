//! The small tables that the functions of this crate take and give.

/// Outcomes of pairs: same cluster and repeat under two arms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PairTable {
    /// Both passed.
    pub both: u64,
    /// Only the control passed.
    pub control_only: u64,
    /// Only the candidate passed.
    pub candidate_only: u64,
    /// Neither passed.
    pub neither: u64,
}

impl PairTable {
    /// Pairs.
    pub fn n(&self) -> u64 {
        self.both + self.control_only + self.candidate_only + self.neither
    }

    /// Pairs in which exactly one arm passed.
    pub fn discordant(&self) -> u64 {
        self.control_only + self.candidate_only
    }

    /// (candidate only - control only) / n; `None` without pairs.
    pub fn difference(&self) -> Option<f64> {
        let n = self.n();
        (n > 0).then(|| (self.candidate_only as f64 - self.control_only as f64) / n as f64)
    }

    /// The same pairs with the arms swapped.
    pub fn swapped(&self) -> Self {
        Self { control_only: self.candidate_only, candidate_only: self.control_only, ..*self }
    }

    /// All pairs of several tables.
    pub fn pooled(tables: &[Self]) -> Self {
        tables.iter().fold(Self::default(), |sum, t| Self {
            both: sum.both + t.both,
            control_only: sum.control_only + t.control_only,
            candidate_only: sum.candidate_only + t.candidate_only,
            neither: sum.neither + t.neither,
        })
    }
}

/// Costs of one pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostPair {
    /// Under the control.
    pub control: f64,
    /// Under the candidate.
    pub candidate: f64,
}

/// Successes among the trials of one cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterTrials {
    /// Successes.
    pub found: u64,
    /// Trials.
    pub needed: u64,
}

/// Two limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower limit.
    pub lower: f64,
    /// Upper limit.
    pub upper: f64,
}

/// What an interval says about a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tendency {
    /// The rule holds.
    Holds,
    /// The rule is broken.
    Broken,
    /// The interval contains the limit, or there is no interval.
    Open,
}
