//! What a run may cost, before anything is paid: caps that hold in any case, and what earlier cells of the same arms cost.

use std::collections::BTreeMap;
use std::path::Path;

use bench_core::{Endpoint, Schedule, Upstream};
use bench_record::{CellRecord, RunDir, read_journal};
use bench_runner::RunPlan;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure, fail};
use crate::say;

/// What is known of a run's cost. Null = unknown, never zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Estimate {
    /// May it cost money at all?
    pub(crate) paid: bool,
    /// Cells that are still to be run.
    pub(crate) cells: u64,
    /// US dollars that it cannot exceed.
    pub(crate) at_most_usd: Option<f64>,
    /// Tokens that it cannot exceed.
    pub(crate) at_most_tokens: Option<u64>,
    /// US dollars by the means of earlier cells of the same arms.
    pub(crate) expected_usd: Option<f64>,
    /// Earlier cells that the expectation is taken from.
    pub(crate) by_cells: u64,
    /// Why it cannot be said, where it cannot.
    pub(crate) unpriced: Vec<String>,
}

impl Estimate {
    /// For the cells of a schedule, with what earlier runs below a folder have cost.
    pub(crate) fn of(plan: &RunPlan, open: &Schedule, runs: &Path) -> Self {
        let experiment = &plan.experiment;
        let cells = open.len() as u64;
        let per_cell = experiment.limits.cost_usd.map(|usd| usd * cells as f64);
        let caps = [per_cell, experiment.run_limits.cost_usd];
        let tokens_per_cell = experiment.limits.total_tokens.map(|tokens| tokens.saturating_mul(cells));
        let token_caps = [tokens_per_cell, experiment.run_limits.total_tokens];
        let earlier = earlier_costs(plan, runs);
        let unpriced = experiment
            .arms
            .iter()
            .filter(|arm| experiment.prices.of(&arm.model).is_none())
            .map(|arm| arm.model.clone())
            .collect::<std::collections::BTreeSet<_>>();
        Self {
            paid: may_cost(plan),
            cells,
            at_most_usd: caps.into_iter().flatten().reduce(f64::min),
            at_most_tokens: token_caps.into_iter().flatten().min(),
            expected_usd: expected(open, &earlier),
            by_cells: earlier.values().map(|costs| costs.len() as u64).sum(),
            unpriced: unpriced.into_iter().collect(),
        }
    }

    /// For people: what holds in any case, and what earlier cells let expect.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.headline()];
        if self.paid {
            lines.extend(self.by_earlier_cells());
        }
        lines
    }

    /// Who is paid at all, and how much at most.
    pub(crate) fn headline(&self) -> String {
        if !self.paid {
            return format!("cost: none, {} cells are answered without a provider", self.cells);
        }
        let cap = match (self.at_most_usd, self.at_most_tokens) {
            (Some(usd), _) => format!("at most ${usd:.2}"),
            (None, Some(tokens)) => format!("at most {tokens} tokens"),
            (None, None) => "no cap (keys limits.cost-usd and run-limits.cost-usd set one)".to_owned(),
        };
        format!("cost: {} cells of a real model, {cap}", self.cells)
    }

    fn by_earlier_cells(&self) -> Vec<String> {
        let mut lines = Vec::new();
        match self.expected_usd {
            Some(usd) => lines.push(format!(
                "  about ${usd:.2} by the mean of {} earlier cells of these arms below runs/",
                self.by_cells
            )),
            None => lines.push(
                "  no earlier cell of these arms to go by; --like RUN takes those of another run, or one block tells: --task TASK --set repeats=1 --set stage=smoke"
                    .to_owned(),
            ),
        }
        if !self.unpriced.is_empty() {
            lines.push(format!(
                "  no [[price]] names {}: what it costs will be unknown",
                self.unpriced.join(", ")
            ));
        }
        lines
    }

    /// For other programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "paid": self.paid,
            "cells": self.cells,
            "at_most_usd": self.at_most_usd,
            "at_most_tokens": self.at_most_tokens,
            "expected_usd": self.expected_usd,
            "by_cells": self.by_cells,
            "unpriced": self.unpriced,
        })
    }

    /// Asks a person before money is spent. Where nobody can be asked, `--yes` must have been said.
    pub(crate) fn agree(&self, yes: bool) -> Result<(), Failure> {
        if yes || !self.paid || self.cells == 0 {
            return Ok(());
        }
        let words = self.lines().join("\n");
        match say::ask(&format!("{words}\nRun it? [y/N] ")).as_deref() {
            Some("y" | "Y" | "yes" | "Yes") => Ok(()),
            Some(_) => fail(Exit::Usage, "not run: nothing was started and nothing paid"),
            None => fail(
                Exit::Usage,
                format!("this run may cost money and nobody can be asked; say --yes to run it\n{words}"),
            ),
        }
    }
}

/// An endpoint costs money when a price says so, or when it is not on this machine.
fn may_cost(plan: &RunPlan) -> bool {
    match &plan.experiment.upstream {
        Upstream::Oracle | Upstream::Replay { .. } => false,
        Upstream::Endpoint(endpoint) => {
            let prices = &plan.experiment.prices;
            let priced = |model: &str| prices.of(model).is_some_and(|price| price.input + price.output > 0.0);
            !on_this_machine(endpoint) || plan.experiment.arms.iter().any(|arm| priced(&arm.model))
        }
    }
}

fn on_this_machine(endpoint: &Endpoint) -> bool {
    let host = endpoint.base_url.split_once("://").map_or("", |(_, rest)| rest);
    ["127.", "localhost:", "localhost/", "[::1]"].iter().any(|own| host.starts_with(own))
}

/// Costs of settled cells per arm, of every run below the folder whose arm is the same to the byte.
fn earlier_costs(plan: &RunPlan, runs: &Path) -> BTreeMap<String, Vec<f64>> {
    let mut costs: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let dirs = std::fs::read_dir(runs).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    for dir in dirs {
        let Ok((records, _)) =
            RunDir::open(&dir).map_err(drop).and_then(|run| read_journal(&run.journal()).map_err(drop))
        else {
            continue;
        };
        for record in records.iter().filter(|record| same_arm(plan, record)) {
            if let Some(cost) = record.metrics.cost_usd {
                costs.entry(record.arm.to_string()).or_default().push(cost);
            }
        }
    }
    costs
}

fn same_arm(plan: &RunPlan, record: &CellRecord) -> bool {
    record.settles() && plan.arms.get(&record.arm).is_some_and(|arm| arm.lock.sha256 == record.arm_sha256)
}

/// Mean cost of each arm times its cells; unknown as long as one arm has no earlier cell.
fn expected(open: &Schedule, earlier: &BTreeMap<String, Vec<f64>>) -> Option<f64> {
    let mut sum = 0.0;
    for cell in open.cells() {
        let costs = earlier.get(cell.arm.as_str())?;
        sum += costs.iter().sum::<f64>() / costs.len() as f64;
    }
    (sum > 0.0).then_some(sum)
}

#[cfg(test)]
mod tests {
    use bench_core::{ArmId, TaskId};

    use super::*;

    fn estimate(paid: bool) -> Estimate {
        Estimate {
            paid,
            cells: 16,
            at_most_usd: Some(8.0),
            at_most_tokens: Some(100),
            expected_usd: None,
            by_cells: 0,
            unpriced: vec!["m".into()],
        }
    }

    #[test]
    fn nobody_is_asked_for_what_is_free_and_nothing_is_paid_unasked() {
        assert!(estimate(false).agree(false).is_ok());
        assert!(estimate(true).agree(true).is_ok());
        let words = estimate(true).lines().join("\n");
        for part in ["16 cells", "at most $8.00", "no earlier cell", "no [[price]] names m"] {
            assert!(words.contains(part), "{part} is missing from\n{words}");
        }
    }

    #[test]
    fn an_expectation_needs_every_arm() {
        let arms = ["a", "b"].map(|name| ArmId::new(name).unwrap());
        let schedule = Schedule::plan(&[TaskId::new("t").unwrap()], &arms, 2, 1);
        let mut earlier = BTreeMap::from([("a".to_owned(), vec![1.0, 3.0])]);
        assert_eq!(expected(&schedule, &earlier), None);
        earlier.insert("b".to_owned(), vec![0.5]);
        assert_eq!(expected(&schedule, &earlier), Some(5.0));
    }
}
