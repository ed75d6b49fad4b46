//! Effect of order: cross-over estimates on log costs, the block as unit. A diagnostic, never a gate.

use bench_core::Metric;
use bench_stats::crossover::{Periods, Sequence, crossover};

use crate::analysis::OrderSummary;
use crate::pairing::{Pair, Pairs};
use crate::protocol::Protocol;

/// Metrics in which an order effect is looked for, the first usable one is taken. Wall time is not among them: it has
/// its own noise and would make two equal runs differ.
const LOOKED_AT: [Metric; 4] = [Metric::TotalTokens, Metric::Turns, Metric::ToolCalls, Metric::OutputTokens];

/// The estimates; `None` under a deterministic upstream (nothing can carry over), when no metric is positive
/// everywhere, or with fewer than two blocks of an order.
pub(crate) fn order_summary(protocol: &Protocol, pairs: &Pairs<'_>) -> Option<OrderSummary> {
    let stochastic = LOOKED_AT.into_iter().filter(|metric| !protocol.nature(*metric).deterministic);
    let (metric, units) = stochastic.filter_map(|metric| Some((metric, units(pairs, metric)?))).next()?;
    let result = crossover(&units, 0.95)?;
    Some(OrderSummary {
        metric,
        n_ab: result.candidate_first as u64,
        n_ba: result.control_first as u64,
        period_adjusted_gmr: result.treatment.estimate.exp(),
        period_effect_ratio: result.period.estimate.exp(),
        period_p: result.period.p,
        carry_over_p: result.carry_over.p,
    })
}

fn units(pairs: &Pairs<'_>, metric: Metric) -> Option<Vec<Periods>> {
    let all: Option<Vec<Periods>> = pairs.iter().map(|pair| unit(pair, metric)).collect();
    all.filter(|units| !units.is_empty())
}

fn unit(pair: &Pair<'_>, metric: Metric) -> Option<Periods> {
    let (control, candidate) = pair.values(metric).filter(|(x, y)| *x > 0.0 && *y > 0.0)?;
    let (control, candidate) = (control.ln(), candidate.ln());
    Some(if pair.candidate.position < pair.control.position {
        Periods { sequence: Sequence::CandidateFirst, first: candidate, second: control }
    } else {
        Periods { sequence: Sequence::ControlFirst, first: control, second: candidate }
    })
}
