//! What a design can show at best, and which gates it therefore cannot pass; asked before a run and printed after it.

use bench_core::experiment::Rules;
use bench_core::{GateRule, GateScope, Margin, Metric};
use bench_stats::preflight::{DesignBounds, design_bounds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the design can show at best if the arms behave identically. Bounds are null where one task leaves them undefined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preflight {
    /// Tasks (clusters).
    pub tasks: u64,
    /// Pairs per task.
    pub repeats: u64,
    /// One-sided level.
    pub alpha: f64,
    /// Gates that cannot pass, whatever the arms do.
    pub cannot_pass: Vec<CannotPass>,
    /// Best lower limit of the pass difference, tasks like these.
    pub ni_lower_zero_discordance_random_tasks: Option<f64>,
    /// The same on these tasks.
    pub ni_lower_zero_discordance_these_tasks: Option<f64>,
    /// Least one-sided p of a sign-flip over tasks.
    pub task_signflip_min_one_sided_p: f64,
    /// Can it reach alpha?
    pub task_signflip_can_reject: bool,
    /// Lower limit of a rate when all were found, tasks like these.
    pub discovery_lower_all_found_random_tasks: Option<f64>,
    /// The same on these tasks.
    pub discovery_lower_all_found_these_tasks: Option<f64>,
    /// t multiplier of cost intervals.
    pub t_multiplier: Option<f64>,
    /// Is a percentile bootstrap's bound nothing but the most extreme task?
    pub percentile_bootstrap_bound_is_extreme_task: bool,
    /// Does each pair of arms stand AB and BA equally often within each task?
    pub order_balanced_within_tasks: bool,
}

/// A gate that cannot pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CannotPass {
    /// The gate.
    pub gate: String,
    /// Its metric.
    pub metric: Metric,
    /// The best bound that the design can give; null when there is none at all.
    pub bound: Option<f64>,
    /// What the bound would have to clear.
    pub limit: f64,
    /// In words.
    pub why: String,
}

/// What a design of `tasks` clusters and `repeats` pairs each can show, and which of the gates it cannot pass.
pub fn preflight(tasks: usize, repeats: u32, gates: &[GateRule], rules: &Rules) -> Preflight {
    let bounds = design_bounds(tasks as u64, u64::from(repeats), rules.alpha);
    let cannot_pass = gates.iter().filter_map(|gate| cannot_pass(gate, tasks, repeats, &bounds)).collect();
    Preflight {
        tasks: tasks as u64,
        repeats: u64::from(repeats),
        alpha: rules.alpha,
        cannot_pass,
        ni_lower_zero_discordance_random_tasks: bounds.ni_lower_random,
        ni_lower_zero_discordance_these_tasks: bounds.ni_lower_these,
        task_signflip_min_one_sided_p: bounds.sign_flip_min_p,
        task_signflip_can_reject: bounds.sign_flip_can_reject,
        discovery_lower_all_found_random_tasks: bounds.rate_lower_random,
        discovery_lower_all_found_these_tasks: bounds.rate_lower_these,
        t_multiplier: bounds.t_multiplier,
        percentile_bootstrap_bound_is_extreme_task: bounds.percentile_is_extreme_cluster,
        order_balanced_within_tasks: repeats.is_multiple_of(2) && repeats > 0,
    }
}

impl Preflight {
    /// The best lower limit of the pass difference that this design can give in a scope.
    pub fn best_pass_difference(&self, scope: GateScope) -> Option<f64> {
        match scope {
            GateScope::TasksLikeThese => self.ni_lower_zero_discordance_random_tasks,
            GateScope::TheseTasks => self.ni_lower_zero_discordance_these_tasks,
        }
    }
}

fn cannot_pass(gate: &GateRule, tasks: usize, repeats: u32, bounds: &DesignBounds) -> Option<CannotPass> {
    let entry = |bound: Option<f64>, limit: f64, why: String| {
        Some(CannotPass { gate: gate.id.to_string(), metric: gate.metric, bound, limit, why })
    };
    match &gate.margin {
        Margin::NonInferior { margin } => {
            let bound = match gate.scope {
                GateScope::TasksLikeThese => bounds.ni_lower_random,
                GateScope::TheseTasks => bounds.ni_lower_these,
            };
            match bound {
                Some(bound) if bound > -*margin => None,
                Some(best) => entry(
                    bound,
                    -*margin,
                    format!(
                        "with no discordant pair at all, {tasks} tasks × {repeats} repeats give a lower limit of {:+.0} points; it would have to be above {:+.0}",
                        best * 100.0,
                        -*margin * 100.0
                    ),
                ),
                None => entry(None, -*margin, "one task shows nothing about other tasks".to_owned()),
            }
        }
        Margin::RatioAtMost { limit } => match gate.scope {
            GateScope::TasksLikeThese if bounds.t_multiplier.is_none() => {
                entry(None, *limit, "one task shows nothing about other tasks".to_owned())
            }
            GateScope::TasksLikeThese | GateScope::TheseTasks => None,
        },
        Margin::RateAtLeast { least } => {
            let bound = match gate.scope {
                GateScope::TasksLikeThese => bounds.rate_lower_random,
                GateScope::TheseTasks => bounds.rate_lower_these,
            };
            let best = bound.unwrap_or(0.0);
            let why = format!(
                "with every cell found, {tasks} tasks × {repeats} repeats give a lower limit of {:.0} %; it would have to reach {:.0} %",
                best * 100.0,
                least * 100.0
            );
            if best >= *least { None } else { entry(bound, *least, why) }
        }
        Margin::NeverAbove { .. } | Margin::AnyBetter { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_core::GateId;

    fn pass_gate(margin: f64, scope: GateScope) -> GateRule {
        GateRule {
            id: GateId::new("pass").unwrap(),
            metric: Metric::PassRate,
            margin: Margin::NonInferior { margin },
            contrasts: Vec::new(),
            scope,
            track: None,
        }
    }

    #[test]
    fn six_tasks_twice_cannot_pass_ten_points_and_twenty_seven_can() {
        let gates = [pass_gate(0.10, GateScope::TasksLikeThese)];
        let small = preflight(6, 2, &gates, &Rules::default());
        let bound = small.cannot_pass[0].bound.unwrap();
        assert!((bound + 0.40).abs() < 0.005, "{bound}");
        assert!(preflight(27, 2, &gates, &Rules::default()).cannot_pass.is_empty());
        assert!(small.order_balanced_within_tasks);
        assert!(!preflight(6, 3, &gates, &Rules::default()).order_balanced_within_tasks);
    }

    #[test]
    fn one_task_passes_nothing_for_tasks_like_these() {
        let gate = GateRule {
            margin: Margin::RatioAtMost { limit: 1.25 },
            metric: Metric::TotalTokens,
            ..pass_gate(0.1, GateScope::TasksLikeThese)
        };
        assert_eq!(preflight(1, 4, &[gate], &Rules::default()).cannot_pass.len(), 1);
    }
}
