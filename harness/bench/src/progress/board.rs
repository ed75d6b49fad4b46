//! What is known of a run while it runs: per arm what is settled, per worker what it does. Filled from the event stream of
//! this process or from the journal of another one; knows no terminal and no clock (times come in as milliseconds).

use std::collections::BTreeMap;

use bench_core::{Counting, EndingKind, RunEvent, Schedule};
use bench_record::CellRecord;

/// A run as it stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board {
    /// Run directory, as the person named it.
    pub(crate) run: String,
    /// Who answers and where: one short line.
    pub(crate) about: String,
    /// Cells that take part.
    pub(crate) cells: u32,
    /// Arms in the order of the experiment.
    pub(crate) arms: Vec<ArmBoard>,
    /// Cells in flight, in the order in which they were begun.
    pub(crate) workers: Vec<Worker>,
    /// What was said meanwhile, newest last.
    pub(crate) notices: Vec<String>,
    /// When this process began to look, in milliseconds.
    pub(crate) started_ms: f64,
    /// Cells that were settled by then.
    settled_before: u32,
    gists: BTreeMap<String, Gist>,
}

/// One arm.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ArmBoard {
    /// Its name.
    pub(crate) name: String,
    /// Cells that take part.
    pub(crate) planned: u32,
    /// Cells that are settled.
    pub(crate) settled: u32,
    /// Of these, cells with an outcome.
    pub(crate) judged: u32,
    /// Of these, cells that passed.
    pub(crate) passed: u32,
    /// Settled cells without a valid outcome.
    pub(crate) invalid: u32,
    /// Mean tokens of the first request over the settled cells that know it.
    pub(crate) first_request: Option<u64>,
    /// Tokens of the settled cells, as far as they are known.
    pub(crate) tokens: Option<u64>,
    /// US dollars of the settled cells, as far as they are known.
    pub(crate) cost_usd: Option<f64>,
}

/// A cell in flight.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Worker {
    /// `task/r01/arm`.
    pub(crate) cell: String,
    /// From 1.
    pub(crate) attempt: u32,
    /// What happens now.
    pub(crate) stage: Stage,
    /// Since when the attempt is under way, in milliseconds.
    pub(crate) since_ms: f64,
    /// Requests recorded so far; unknown where nobody counted.
    pub(crate) requests: Option<u64>,
}

/// Where an attempt stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Workspace, recorder and walls are made.
    Setup,
    /// The agent works.
    Agent,
    /// The hidden check looks at what it left.
    Verifying,
    /// The record is written.
    Recording,
}

impl Stage {
    /// For people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Setup => "setting up",
            Self::Agent => "agent at work",
            Self::Verifying => "verifying",
            Self::Recording => "recording",
        }
    }
}

/// What the board keeps of a settled cell.
#[derive(Debug, Clone)]
struct Gist {
    arm: String,
    ending: EndingKind,
    passed: Option<bool>,
    tokens: Option<u64>,
    first_request: Option<u64>,
    cost_usd: Option<f64>,
}

impl Board {
    /// An empty board for these cells.
    pub(crate) fn new(run: &str, about: &str, schedule: &Schedule, now_ms: f64) -> Self {
        let mut arms: Vec<ArmBoard> = Vec::new();
        for cell in schedule.cells() {
            let name = cell.arm.to_string();
            match arms.iter_mut().find(|arm| arm.name == name) {
                Some(arm) => arm.planned += 1,
                None => arms.push(ArmBoard { name, planned: 1, ..ArmBoard::default() }),
            }
        }
        Self {
            run: run.to_owned(),
            about: about.to_owned(),
            cells: schedule.len() as u32,
            arms,
            started_ms: now_ms,
            ..Self::default()
        }
    }

    /// The arms in this order; those that are not named keep theirs, behind.
    pub(crate) fn order_arms(&mut self, names: &[String]) {
        let place = |arm: &ArmBoard| names.iter().position(|name| *name == arm.name).unwrap_or(names.len());
        self.arms.sort_by_key(place);
    }

    /// What stands in the journal already counts as done before.
    pub(crate) fn begin_with<'r>(&mut self, records: impl IntoIterator<Item = &'r CellRecord>) {
        records.into_iter().for_each(|record| self.take_record(record));
        self.settled_before = self.settled();
    }

    /// A line of the journal. A block that was begun again starts from nothing.
    pub(crate) fn take_record(&mut self, record: &CellRecord) {
        if !record.settles() {
            return;
        }
        if record.round > 1 && record.position == 1 {
            self.forget_block(&record.block);
        }
        let gist = Gist {
            arm: record.arm.to_string(),
            ending: record.ending.kind,
            passed: record.passed(),
            tokens: record.metrics.total_tokens,
            first_request: record.metrics.first_request_tokens,
            cost_usd: record.metrics.cost_usd,
        };
        self.settle(record.cell_id(), gist);
    }

    /// An event of the run.
    pub(crate) fn take_event(&mut self, event: &RunEvent, now_ms: f64) {
        match event {
            RunEvent::RunStarted { .. } | RunEvent::RunEnded { .. } => {}
            RunEvent::AttemptStarted { cell, attempt } => self.workers.push(Worker {
                cell: cell.clone(),
                attempt: *attempt,
                stage: Stage::Setup,
                since_ms: now_ms,
                requests: None,
            }),
            RunEvent::AgentStarting { cell } => self.stage(cell, Stage::Agent),
            RunEvent::AgentEnded { cell, .. } => self.stage(cell, Stage::Verifying),
            RunEvent::Verified { cell, .. } | RunEvent::Appending { cell } => {
                self.stage(cell, Stage::Recording);
            }
            RunEvent::Settled { cell, ending, passed, total_tokens, first_request_tokens, cost_usd } => {
                self.workers.retain(|worker| worker.cell != *cell);
                if *ending == EndingKind::Interrupted {
                    return;
                }
                let gist = Gist {
                    arm: cell.rsplit('/').next().unwrap_or_default().to_owned(),
                    ending: *ending,
                    passed: *passed,
                    tokens: *total_tokens,
                    first_request: *first_request_tokens,
                    cost_usd: *cost_usd,
                };
                self.settle(cell.clone(), gist);
            }
            RunEvent::BlockRepeated { block, ending } => {
                self.forget_block(block);
                self.notices.push(format!("{block} is run again whole: {ending}"));
            }
        }
    }

    /// Cells that are settled.
    pub(crate) fn settled(&self) -> u32 {
        self.gists.len() as u32
    }

    /// Milliseconds until the last cell, as far as the cells settled by this process tell; unknown before three of them.
    pub(crate) fn left_ms(&self, now_ms: f64) -> Option<f64> {
        let here = self.settled().saturating_sub(self.settled_before);
        let left = self.cells.saturating_sub(self.settled());
        (here >= 3).then(|| (now_ms - self.started_ms) / f64::from(here) * f64::from(left))
    }

    /// Known US dollars of all arms, and whether some cell's are unknown.
    pub(crate) fn spent(&self) -> (Option<f64>, bool) {
        let known: Vec<f64> = self.gists.values().filter_map(|gist| gist.cost_usd).collect();
        let some = !known.is_empty();
        (some.then(|| known.iter().sum()), known.len() < self.gists.len())
    }

    fn stage(&mut self, cell: &str, stage: Stage) {
        for worker in self.workers.iter_mut().filter(|worker| worker.cell == cell) {
            worker.stage = stage;
        }
    }

    fn settle(&mut self, cell: String, gist: Gist) {
        let arm = gist.arm.clone();
        self.gists.insert(cell, gist);
        self.count(&arm);
    }

    fn forget_block(&mut self, block: &str) {
        let prefix = format!("{block}/");
        self.gists.retain(|cell, _| !cell.starts_with(&prefix));
        let names: Vec<String> = self.arms.iter().map(|arm| arm.name.clone()).collect();
        names.iter().for_each(|name| self.count(name));
    }

    /// Counts an arm anew from the cells that stand.
    fn count(&mut self, name: &str) {
        let of_arm: Vec<&Gist> = self.gists.values().filter(|gist| gist.arm == name).collect();
        let known = |value: fn(&Gist) -> Option<u64>| -> Vec<u64> {
            of_arm.iter().filter_map(|gist| value(gist)).collect()
        };
        let (first, tokens) = (known(|gist| gist.first_request), known(|gist| gist.tokens));
        let costs: Vec<f64> = of_arm.iter().filter_map(|gist| gist.cost_usd).collect();
        let valid = |gist: &&&Gist| match gist.ending.disposition().counting {
            Counting::AsGraded | Counting::AsFailed => true,
            Counting::HarnessInvalid | Counting::Missing => false,
        };
        let Some(arm) = self.arms.iter_mut().find(|arm| arm.name == name) else { return };
        arm.settled = of_arm.len() as u32;
        arm.judged = of_arm.iter().filter(valid).filter(|gist| gist.passed.is_some()).count() as u32;
        arm.passed = of_arm.iter().filter(valid).filter(|gist| gist.passed == Some(true)).count() as u32;
        arm.invalid = of_arm.iter().filter(|gist| !valid(gist)).count() as u32;
        arm.first_request = (!first.is_empty()).then(|| first.iter().sum::<u64>() / first.len() as u64);
        arm.tokens = (!tokens.is_empty()).then(|| tokens.iter().sum());
        arm.cost_usd = (!costs.is_empty()).then(|| costs.iter().sum());
    }
}
