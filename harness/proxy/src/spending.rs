//! What may be spent: per attempt by [`crate::RequestLimits`], per run by a [`RunBudget`] that all recorders of a run share.
//! Both are checked when a request is let in, with what it will surely cost put aside; what it did cost replaces that when
//! it is settled.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bench_core::{Clock, LimitHit, PriceCard, RunLimits, Usage};

/// Prices, and the budget of the whole run.
#[derive(Clone, Default)]
pub struct Spending {
    /// What tokens cost.
    pub prices: Arc<PriceCard>,
    /// What the run may still spend; none = no cap.
    pub run: Option<Arc<RunBudget>>,
}

/// What a run has spent so far, over all its attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Requests let in.
    pub requests: u64,
    /// Input plus output tokens.
    pub tokens: u64,
    /// US dollars, as far as they are known.
    pub cost_usd: f64,
}

/// The budget of a run.
pub struct RunBudget {
    limits: RunLimits,
    clock: Arc<dyn Clock>,
    started_ms: f64,
    spent: Mutex<Spent>,
}

impl RunBudget {
    /// A budget from which earlier commands have spent this much.
    pub fn new(limits: RunLimits, before: Spent, clock: Arc<dyn Clock>) -> Self {
        let started_ms = clock.monotonic_ms();
        Self { limits, clock, started_ms, spent: Mutex::new(before) }
    }

    /// Must be known what a request costs before it is let in?
    pub(crate) fn asks_what_it_costs(&self) -> bool {
        self.limits.total_tokens.is_some() || self.limits.cost_usd.is_some()
    }

    /// The cap that is reached, if one is.
    pub fn reached(&self) -> Option<LimitHit> {
        self.reached_with(0, 0.0)
    }

    /// The cap that a request of this size would break.
    fn reached_with(&self, tokens: u64, cost_usd: f64) -> Option<LimitHit> {
        let spent = *self.spent();
        let hit = |name: &str, value: f64, unit: &str| LimitHit {
            name: format!("run-limits.{name}"),
            value,
            unit: unit.to_owned(),
        };
        let limits = &self.limits;
        let elapsed_ms = self.clock.monotonic_ms() - self.started_ms;
        let requests = limits.requests.filter(|cap| spent.requests >= *cap);
        let total = limits.total_tokens.filter(|cap| spent.tokens + tokens.max(1) > *cap);
        let cost = limits.cost_usd.filter(|cap| spent.cost_usd + cost_usd >= *cap);
        let wall = limits.wall_ms.filter(|cap| elapsed_ms >= *cap as f64);
        None.or(requests.map(|cap| hit("requests", cap as f64, "requests")))
            .or(total.map(|cap| hit("total-tokens", cap as f64, "tokens")))
            .or(cost.map(|cap| hit("cost-usd", cap, "USD")))
            .or(wall.map(|cap| hit("wall-ms", cap as f64, "ms")))
    }

    /// Lets a request in and puts aside what it will surely cost, or names the cap that it would break.
    pub(crate) fn enter(&self, tokens: u64, cost_usd: f64) -> Result<(), LimitHit> {
        if let Some(hit) = self.reached_with(tokens, cost_usd) {
            return Err(hit);
        }
        let mut spent = self.spent();
        spent.requests += 1;
        spent.tokens += tokens;
        spent.cost_usd += cost_usd;
        Ok(())
    }

    /// A request is over: its tokens, and what it cost, both beyond what was put aside.
    pub(crate) fn settle(&self, more_tokens: u64, more_usd: f64) {
        let mut spent = self.spent();
        spent.tokens += more_tokens;
        spent.cost_usd += more_usd;
    }

    fn spent(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an attempt has cost so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bill {
    /// US dollars, as far as they are known.
    pub(crate) usd: f64,
    /// Could every answer so far be priced by its own usage?
    pub(crate) complete: bool,
}

impl Default for Bill {
    fn default() -> Self {
        Self { usd: 0.0, complete: true }
    }
}

impl Spending {
    /// What sending this many tokens to this model surely costs: all of them uncached, nothing answered.
    pub(crate) fn aside(&self, model: &str, body_tokens: u64) -> f64 {
        self.estimate(model, body_tokens, 0)
    }

    /// By local counts.
    pub(crate) fn estimate(&self, model: &str, input: u64, output: u64) -> f64 {
        let usage = Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() };
        self.prices.of(model).and_then(|price| price.cost_usd(&usage)).unwrap_or(0.0)
    }

    /// By the usage that was stated; `None` = unpriced or unsaid.
    pub(crate) fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        self.prices.of(model)?.cost_usd(usage)
    }
}

#[cfg(test)]
mod tests {
    use bench_core::SystemClock;

    use super::*;

    fn budget(limits: RunLimits, before: Spent) -> RunBudget {
        RunBudget::new(limits, before, Arc::new(SystemClock::default()))
    }

    #[test]
    fn what_was_spent_before_counts_and_the_cap_is_named() {
        let two = RunLimits { requests: Some(2), ..RunLimits::default() };
        let run = budget(two, Spent { requests: 1, ..Spent::default() });
        run.enter(10, 0.0).unwrap();
        let hit = run.enter(10, 0.0).unwrap_err();
        assert_eq!((hit.name.as_str(), hit.value), ("run-limits.requests", 2.0));
        assert_eq!(run.reached(), Some(hit));
    }

    #[test]
    fn tokens_and_dollars_are_put_aside_before_they_are_spent() {
        let limits = RunLimits { total_tokens: Some(100), cost_usd: Some(1.0), ..RunLimits::default() };
        let run = budget(limits, Spent::default());
        assert_eq!(run.enter(101, 0.0).unwrap_err().name, "run-limits.total-tokens");
        run.enter(60, 0.5).unwrap();
        assert_eq!(run.reached(), None);
        run.settle(40, 0.0);
        assert_eq!(run.reached().unwrap().name, "run-limits.total-tokens");
        let limits = RunLimits { cost_usd: Some(1.0), ..RunLimits::default() };
        let run = budget(limits, Spent::default());
        run.enter(1, 0.4).unwrap();
        run.settle(5, 0.6);
        assert_eq!(run.enter(1, 0.0).unwrap_err().name, "run-limits.cost-usd");
    }
}
