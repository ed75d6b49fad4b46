//! One cost metric over the pairs of a contrast: estimates with both intervals, without any decision.

use bench_core::{Metric, Sha256Hex};
use bench_stats::bootstrap::{Bootstrap, Method, RELIABLE_FROM, Stream};
use bench_stats::cost_bootstrap::{CostBootstrap, bootstrap_costs};
use bench_stats::power::RatioDesign;
use bench_stats::ratio::{MeanRatio, mean_ratio};
use bench_stats::ratio_of_means::fieller;
use bench_stats::{CostPair, Interval};

use crate::analysis::{BootstrapSummary, Censored, MetricComparison, VarianceComponents};
use crate::pairing::{Pairs, is_censored};
use crate::power::tasks_for;
use crate::protocol::{ContrastEntry, Nature, Protocol};

/// Costs of a contrast with the estimator that fits them.
#[derive(Debug, Clone)]
pub(crate) struct Costs {
    /// By cluster.
    pub(crate) clusters: Vec<Vec<CostPair>>,
    /// Pairs in which a value is unknown.
    pub(crate) unknown: usize,
    /// The geometric mean ratio; `None` where a cost is zero or there is no pair.
    pub(crate) ratio: Option<MeanRatio>,
}

impl Costs {
    /// Costs of the pairs; candidates' cut-off ones times `factor`.
    pub(crate) fn of(pairs: &Pairs<'_>, metric: Metric, factor: Option<f64>, alpha: f64) -> Self {
        let (clusters, unknown) = pairs.costs(metric, factor);
        let ratio = mean_ratio(&clusters, alpha);
        Self { clusters, unknown, ratio }
    }

    /// Where nothing varies between clusters: takes the floor for the missing spread. Says whether it did.
    pub(crate) fn stand_on_floor(&mut self, floor: Option<f64>, alpha: f64) -> bool {
        let Some((floor, ratio)) = floor.zip(self.ratio.as_mut().filter(|ratio| ratio.degenerate)) else {
            return false;
        };
        let Some(t) = bench_stats::distribution::t_quantile(1.0 - alpha, ratio.clusters as f64 - 1.0) else {
            return false;
        };
        let reach = t * floor / (ratio.clusters as f64).sqrt();
        ratio.limits =
            Some(Interval { lower: (ratio.log_ratio - reach).exp(), upper: (ratio.log_ratio + reach).exp() });
        true
    }

    /// Pairs with both values.
    pub(crate) fn pairs(&self) -> usize {
        self.clusters.iter().map(Vec::len).sum()
    }

    /// Mean costs of each cluster.
    pub(crate) fn means(&self) -> Vec<CostPair> {
        let mean = |pairs: &Vec<CostPair>, side: fn(&CostPair) -> f64| {
            pairs.iter().map(side).sum::<f64>() / pairs.len() as f64
        };
        self.clusters
            .iter()
            .map(|pairs| CostPair {
                control: mean(pairs, |p| p.control),
                candidate: mean(pairs, |p| p.candidate),
            })
            .collect()
    }

    /// Sum of cluster means of the candidate / of the control; `None` when the control's is zero.
    pub(crate) fn ratio_of_means(&self) -> Option<f64> {
        let means = self.means();
        let (control, candidate) =
            means.iter().fold((0.0, 0.0), |(x, y), p| (x + p.control, y + p.candidate));
        (control > 0.0).then(|| candidate / control)
    }

    /// The interval on these tasks. A stochastic metric without any spread within tasks has none; a deterministic one
    /// is exact on its tasks, so its interval is the point.
    pub(crate) fn these(&self, nature: Nature) -> Option<Interval> {
        let ratio = self.ratio.as_ref()?;
        match (ratio.these, ratio.these_standard_error) {
            (Some(these), Some(se)) if se > 0.0 || nature.deterministic => Some(these),
            (None, _) if nature.deterministic => Some(Interval { lower: ratio.ratio, upper: ratio.ratio }),
            (Some(_) | None, _) => None,
        }
    }
}

/// The comparison; `None` when no pair knows the metric.
pub(crate) fn compare(
    protocol: &Protocol,
    contrast: &ContrastEntry,
    pairs: &Pairs<'_>,
    metric: Metric,
) -> Option<MetricComparison> {
    let alpha = protocol.rules.alpha;
    let nature = protocol.nature(metric);
    let costs = Costs::of(pairs, metric, None, alpha);
    if costs.pairs() == 0 {
        return None;
    }
    let ratio = costs.ratio.as_ref();
    let limits = ratio.and_then(|r| r.limits);
    let these = costs.these(nature);
    let means = costs.means();
    let fieller_limits = fieller(&means, alpha).and_then(|set| set.limits);
    let difference = means.iter().map(|p| p.candidate - p.control).sum::<f64>() / means.len() as f64;
    let (bootstrap, ratio_of_means_bootstrap) = bootstrapped(protocol, contrast, metric, &costs, &means);
    Some(MetricComparison {
        n_pairs: costs.pairs() as u64,
        n_unknown: costs.unknown as u64,
        n_tasks: pairs.tasks() as u64,
        n_clusters: costs.clusters.len() as u64,
        level: 1.0 - 2.0 * alpha,
        estimator: if ratio.is_some() { "gmr" } else { "linearised_rom" }.to_owned(),
        gmr: ratio.map(|r| r.ratio),
        lower: limits.map(|i| i.lower),
        upper: limits.map(|i| i.upper),
        these_tasks_lower: these.map(|i| i.lower),
        these_tasks_upper: these.map(|i| i.upper),
        ratio_of_means: costs.ratio_of_means(),
        ratio_of_means_lower: fieller_limits.map(|i| i.lower),
        ratio_of_means_upper: fieller_limits.map(|i| i.upper),
        max_pair_ratio: ratio.map(|r| r.largest_pair_ratio),
        mean_difference: difference,
        degenerate: ratio.map_or_else(|| flat(&means), |r| r.degenerate),
        reproducible: nature.deterministic.then(|| reproducible(pairs, metric)),
        censored: censored(pairs, metric),
        bootstrap,
        ratio_of_means_bootstrap,
        both_passed_ratio: both_passed_ratio(pairs, metric, alpha),
        leave_one_cluster_out: ratio.and_then(|r| leave_one_out(&r.cluster_logs)),
        variance: ratio.and_then(|r| variance(r, &costs.clusters, alpha)),
    })
}

/// Range of the ratio when one cluster is left out.
fn leave_one_out(logs: &[f64]) -> Option<(f64, f64)> {
    if logs.len() < 3 {
        return None;
    }
    let sum: f64 = logs.iter().sum();
    let without = logs.iter().map(|log| ((sum - log) / (logs.len() - 1) as f64).exp());
    Some(without.fold((f64::INFINITY, 0.0), |(least, most), ratio| (ratio.min(least), ratio.max(most))))
}

/// Spread within and between clusters: the variance of a cluster's mean is tau² + 2 sigma² / K.
fn variance(ratio: &MeanRatio, clusters: &[Vec<CostPair>], alpha: f64) -> Option<VarianceComponents> {
    let n = ratio.clusters as f64;
    let sd = ratio.standard_error? * n.sqrt();
    let inverse: f64 = clusters.iter().map(|pairs| 1.0 / pairs.len() as f64).sum();
    let within = ratio.these_standard_error?.powi(2) * n * n / inverse;
    let tau = (sd * sd - within * inverse / n).max(0.0).sqrt();
    let design = RatioDesign { clusters: ratio.clusters as u64, sd, limit: 1.25, alpha };
    let clusters_for_80 = if sd > 0.0 { tasks_for(design, 1.0) } else { None };
    Some(VarianceComponents { sigma: (within / 2.0).sqrt(), tau, sd, clusters_for_80 })
}

fn flat(means: &[CostPair]) -> bool {
    means.windows(2).all(|w| w[0] == w[1])
}

fn censored(pairs: &Pairs<'_>, metric: Metric) -> Censored {
    let mut censored = Censored { control: 0, candidate: 0, both: 0 };
    for pair in pairs.iter() {
        let (control, candidate) = (is_censored(pair.control, metric), is_censored(pair.candidate, metric));
        censored.control += u64::from(control);
        censored.candidate += u64::from(candidate);
        censored.both += u64::from(control && candidate);
    }
    censored
}

/// Do all repeats of each arm on each task agree?
fn reproducible(pairs: &Pairs<'_>, metric: Metric) -> bool {
    let mut first = std::collections::HashMap::new();
    let all = pairs.iter().filter_map(|pair| Some((pair.block.task, pair.values(metric)?)));
    all.into_iter().all(|(task, values)| *first.entry(task).or_insert(values) == values)
}

/// The ratio over the pairs that both arms passed: a selection by outcome, so it is shown and never judged.
fn both_passed_ratio(pairs: &Pairs<'_>, metric: Metric, alpha: f64) -> Option<f64> {
    let passed = pairs.both_passed();
    Costs::of(&passed, metric, None, alpha).ratio.map(|ratio| ratio.ratio)
}

/// The bootstraps by cluster, drawn (beyond ten clusters) from the experiment's seed in a stream named by contrast and
/// metric.
fn bootstrapped(
    protocol: &Protocol,
    contrast: &ContrastEntry,
    metric: Metric,
    costs: &Costs,
    means: &[CostPair],
) -> (Option<BootstrapSummary>, Option<BootstrapSummary>) {
    let stream = Stream { seed: protocol.seed, stream: stream_of(&format!("{}/{metric}", contrast.id)) };
    let logs = costs.ratio.as_ref().map(|ratio| ratio.cluster_logs.as_slice());
    let Some(CostBootstrap { ratio, studentized, ratio_of_means }) =
        bootstrap_costs(logs, means, protocol.rules.alpha, stream)
    else {
        return (None, None);
    };
    let summary = |found: Bootstrap, studentized: Option<Interval>| BootstrapSummary {
        lower: found.percentile.lower.exp(),
        upper: found.percentile.upper.exp(),
        bca_lower: found.bca.map(|i| i.lower.exp()),
        bca_upper: found.bca.map(|i| i.upper.exp()),
        studentized_lower: studentized.map(|i| i.lower.exp()),
        studentized_upper: studentized.map(|i| i.upper.exp()),
        method: match found.method {
            Method::Enumerated { .. } => "enumerated",
            Method::Drawn { .. } => "drawn",
        }
        .to_owned(),
        reliable: means.len() >= RELIABLE_FROM,
    };
    (ratio.map(|found| summary(found, studentized)), ratio_of_means.map(|found| summary(found, None)))
}

fn stream_of(name: &str) -> u64 {
    let digest = Sha256Hex::of(name);
    u64::from_str_radix(&digest.as_str()[..16], 16).expect("sixteen hex digits")
}
