//! What a plan is expected to spend: tokens by the cells of a run that is like it, priced by this experiment's own card,
//! and what its caps allow at most. Whatever is not known stays unknown; nothing is guessed from a model's name.

use std::collections::BTreeMap;

use bench_core::ledger::Usage;
use bench_core::{ArmId, TaskId};
use bench_record::CellRecord;
use bench_runner::RunPlan;
use serde::Serialize;

/// Expected and largest spending of a plan.
#[derive(Debug, Serialize)]
pub(crate) struct Expected {
    /// By arm; empty without a run to go by.
    pub(crate) arms: BTreeMap<ArmId, ArmSpend>,
    /// All arms together; null where an arm's is unknown.
    pub(crate) input_tokens: Option<f64>,
    /// Output tokens.
    pub(crate) output_tokens: Option<f64>,
    /// US dollars; null where an arm's is unknown.
    pub(crate) cost_usd: Option<f64>,
    /// Tokens that the caps per cell and per run leave at most; null without a cap.
    pub(crate) most_tokens: Option<u64>,
    /// US dollars that the caps leave at most; null without a cap.
    pub(crate) most_cost_usd: Option<f64>,
}

/// Expected spending of one arm.
#[derive(Debug, Serialize)]
pub(crate) struct ArmSpend {
    /// Cells of the plan.
    pub(crate) cells: usize,
    /// Of these, of tasks that the run holds under this arm; the others count as its mean task.
    pub(crate) known_tasks: usize,
    /// Input tokens, cached ones included; null when the run does not know.
    pub(crate) input_tokens: Option<f64>,
    /// Output tokens.
    pub(crate) output_tokens: Option<f64>,
    /// US dollars; null when the tokens are unknown or the model has no price.
    pub(crate) cost_usd: Option<f64>,
}

/// Mean tokens of cells.
#[derive(Debug, Clone, Copy, Default)]
struct Tokens {
    input: f64,
    cached: f64,
    output: f64,
}

impl Expected {
    /// The spending of a plan, by the records of a run that is like it.
    pub(crate) fn of(plan: &RunPlan, like: Option<&[CellRecord]>) -> Self {
        let arms: BTreeMap<ArmId, ArmSpend> = like
            .map(|records| {
                let of = |arm: &bench_core::experiment::Arm| (arm.id.clone(), arm_spend(plan, arm, records));
                plan.experiment.arms.iter().map(of).collect()
            })
            .unwrap_or_default();
        let sum = |part: fn(&ArmSpend) -> Option<f64>| {
            let all: Option<f64> = arms.values().map(part).sum();
            all.filter(|_| !arms.is_empty())
        };
        let experiment = &plan.experiment;
        let cells = plan.schedule.len() as u64;
        Self {
            input_tokens: sum(|arm| arm.input_tokens),
            output_tokens: sum(|arm| arm.output_tokens),
            cost_usd: sum(|arm| arm.cost_usd),
            most_tokens: least(
                experiment.limits.total_tokens.map(|cap| cap.saturating_mul(cells)),
                experiment.run_limits.total_tokens,
            ),
            most_cost_usd: least(
                experiment.limits.cost_usd.map(|cap| cap * cells as f64),
                experiment.run_limits.cost_usd,
            ),
            arms,
        }
    }

    /// The same for people, by the cells of the run `like`.
    pub(crate) fn lines(&self, like: &str) -> Vec<String> {
        let money =
            self.cost_usd.map_or("cost unknown (an arm is unpriced or not in the run)".to_owned(), |usd| {
                format!("{usd:.2} USD")
            });
        let mut lines = vec![format!(
            "  expected by the cells of {like}: {money}, input {}, output {}",
            tokens(self.input_tokens),
            tokens(self.output_tokens)
        )];
        for (arm, spend) in &self.arms {
            let priced = spend.cost_usd.map_or("unpriced".to_owned(), |usd| format!("{usd:.2} USD"));
            let strangers = spend.cells - spend.known_tasks;
            let note = if strangers > 0 && spend.input_tokens.is_some() {
                format!(" ({strangers} cells of tasks that the run does not hold count as its mean task)")
            } else {
                String::new()
            };
            lines.push(format!(
                "    {arm}: {} cells, input {}, output {}, {priced}{note}",
                spend.cells,
                tokens(spend.input_tokens),
                tokens(spend.output_tokens)
            ));
        }
        lines
    }
}

fn tokens(count: Option<f64>) -> String {
    count.map_or("unknown".to_owned(), |count| format!("{count:.0} tokens"))
}

fn least<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}

fn arm_spend(plan: &RunPlan, arm: &bench_core::experiment::Arm, records: &[CellRecord]) -> ArmSpend {
    let of_arm: Vec<&CellRecord> =
        records.iter().filter(|record| record.arm == arm.id && record.settles()).collect();
    let mut by_task: BTreeMap<&TaskId, Vec<&CellRecord>> = BTreeMap::new();
    for record in &of_arm {
        by_task.entry(&record.task).or_default().push(record);
    }
    let means: BTreeMap<&TaskId, Tokens> =
        by_task.iter().filter_map(|(task, records)| Some((*task, mean(records)?))).collect();
    let usual = mean(&of_arm);
    let (mut all, mut cells, mut known_tasks, mut unknown) = (Tokens::default(), 0, 0, false);
    for cell in plan.schedule.cells().filter(|cell| cell.arm == arm.id) {
        cells += 1;
        known_tasks += usize::from(means.contains_key(&cell.task));
        match means.get(&cell.task).copied().or(usual) {
            Some(tokens) => all.add(tokens),
            None => unknown = true,
        }
    }
    let all = (!unknown).then_some(all);
    let price = plan.experiment.prices.of(&arm.model);
    ArmSpend {
        cells,
        known_tasks,
        input_tokens: all.map(|tokens| tokens.input),
        output_tokens: all.map(|tokens| tokens.output),
        cost_usd: all.zip(price).and_then(|(tokens, price)| price.cost_usd(&tokens.usage())),
    }
}

impl Tokens {
    fn add(&mut self, other: Self) {
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
    }

    fn usage(self) -> Usage {
        Usage {
            input_tokens: Some(self.input.round() as u64),
            cached_input_tokens: Some(self.cached.round() as u64),
            output_tokens: Some(self.output.round() as u64),
            ..Usage::default()
        }
    }
}

/// Mean over the records that know their tokens; `None` when none does. What no provider says of its cache is not cached.
fn mean(records: &[&CellRecord]) -> Option<Tokens> {
    let known: Vec<Tokens> = records
        .iter()
        .filter_map(|record| {
            let metrics = &record.metrics;
            Some(Tokens {
                input: metrics.input_tokens? as f64,
                cached: metrics.cached_input_tokens.unwrap_or(0) as f64,
                output: metrics.output_tokens? as f64,
            })
        })
        .collect();
    let n = known.len() as f64;
    let mut sum = Tokens::default();
    known.iter().for_each(|tokens| sum.add(*tokens));
    (n > 0.0).then(|| Tokens { input: sum.input / n, cached: sum.cached / n, output: sum.output / n })
}
