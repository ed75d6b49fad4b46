//! Which plan is played for whom: credential to script, filled by the runner before an agent starts. Beside each script
//! stands what the oracle remembers of its own play, as a cross-check only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bench_core::experiment::Profile;
use bench_core::ledger::{OracleEvidence, Substitution};
use bench_core::{Ending, EndingKind, Lexicon, Plan};
use bench_wire::ModelRequest;

use super::call_id::{CallId, LARGEST};
use super::fault::Fault;
use super::history::{History, marker};
use super::play::{Move, PlannedCall, Table};
use super::speak::{self, Spoken};
use crate::ledger::saturating_u32;

/// What is played for one attempt.
#[derive(Debug, Clone)]
pub struct OracleScript {
    /// The task's reference plan.
    pub plan: Arc<Plan>,
    /// How its actions are played through tools.
    pub lexicon: Arc<Lexicon>,
    /// How well.
    pub profile: Profile,
    /// The experiment's seed.
    pub seed: u64,
    /// The workspace as the agent sees it, for tools that want absolute paths.
    pub workspace: String,
    /// The cell's id: with the seed it decides what an imperfect profile does.
    pub cell: String,
}

/// Scripts by credential.
#[derive(Debug, Default)]
pub struct OracleBook {
    pages: Mutex<BTreeMap<String, Page>>,
}

#[derive(Debug)]
struct Page {
    script: OracleScript,
    fault: Fault,
    minted: BTreeSet<CallId>,
    /// The same in order: how calls are known on a wire without ids.
    order: Vec<CallId>,
    steps_done: u32,
    turns: u32,
    evidence: OracleEvidence,
}

impl OracleBook {
    /// An empty book.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The attempt with this credential is played by this script from now on.
    pub fn enter(&self, credential: impl Into<String>, script: OracleScript) {
        let fault = Fault::draw(&script.profile, script.seed, &script.cell, &script.plan);
        let evidence =
            OracleEvidence { steps: saturating_u32(script.plan.steps.len()), ..OracleEvidence::default() };
        let page = Page {
            script,
            fault,
            minted: BTreeSet::new(),
            order: Vec::new(),
            steps_done: 0,
            turns: 0,
            evidence,
        };
        self.pages().insert(credential.into(), page);
    }

    /// The attempt is over: how it was played. `None` when nothing was entered, or it has left before.
    pub fn leave(&self, credential: &str) -> Option<OracleEvidence> {
        self.pages().remove(credential).map(|page| page.evidence)
    }

    /// Plays a turn.
    pub(super) fn turn(&self, credential: &str, request: &ModelRequest) -> Result<Spoken, Ending> {
        let mut pages = self.pages();
        let page = pages.get_mut(credential).ok_or_else(|| lost("no plan was entered for this attempt"))?;
        page.turn(request)
    }

    /// Answers a compaction: whatever is left out, the place in the plan is said.
    pub(super) fn summary(&self, credential: &str, request: &ModelRequest) -> Result<Spoken, Ending> {
        let mut pages = self.pages();
        let page = pages.get_mut(credential).ok_or_else(|| lost("no plan was entered for this attempt"))?;
        let echoed = History::of(request, &page.order)
            .step(&page.script.plan, &page.script.lexicon.error_prefixes)
            - 1;
        Ok(speak::summary(&marker(echoed.max(page.steps_done))))
    }

    fn pages(&self) -> MutexGuard<'_, BTreeMap<String, Page>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Page {
    fn turn(&mut self, request: &ModelRequest) -> Result<Spoken, Ending> {
        let history = History::of(request, &self.order);
        let steps_done = history.step(&self.script.plan, &self.script.lexicon.error_prefixes) - 1;
        check_plan(&self.script.plan)?;
        if let Some(strange) = history.ids().find(|id| !self.minted.contains(id)) {
            return Err(lost(format!("the request echoes {strange}, which was never called")));
        }
        if steps_done < self.steps_done {
            return Err(lost(format!("{} steps were done, the request shows {steps_done}", self.steps_done)));
        }
        let cap = turn_cap(&self.script.plan);
        if self.turns >= cap {
            return Err(lost(format!("{cap} turns were played and the plan is not at its end")));
        }
        self.turns += 1;
        self.steps_done = steps_done;
        let steps = self.evidence.steps;
        self.evidence.steps_played = self.evidence.steps_played.max(steps_done.min(steps));
        let table = Table { script: &self.script, fault: &self.fault, history: &history, request };
        Ok(match table.next_move()? {
            Move::Say { text, finished, step } => {
                if finished {
                    self.evidence.steps_played = steps;
                } else {
                    let fault = format!("gives-up: answered before step {} of {steps}", step.step);
                    self.evidence.fault.get_or_insert(fault);
                }
                speak::answer(steps_done, text, step)
            }
            Move::Call(calls) => {
                calls.iter().for_each(|call| self.remember(call));
                speak::calls(steps_done, calls)
            }
        })
    }

    fn remember(&mut self, call: &PlannedCall) {
        if let Some(fault) = call.fault {
            self.evidence.fault.get_or_insert_with(|| fault.to_owned());
        }
        // A request that is sent again mints the same ids: its substitutions are not new ones.
        if !self.minted.insert(call.id) {
            return;
        }
        self.order.push(call.id);
        if let Some(why) = &call.step.substitution {
            self.evidence.substitutions.push(Substitution {
                step: call.step.step,
                action: call.step.action.clone(),
                tool: call.tool.clone(),
                why: why.clone(),
            });
        }
    }
}

/// Turns after which a plan should be at its end, whatever fallbacks and loads it took.
fn turn_cap(plan: &Plan) -> u32 {
    let actions: usize = plan.steps.iter().map(|step| step.actions.len()).sum();
    3 * saturating_u32(plan.steps.len().max(actions)) + 10
}

/// Call ids have two digits for the step and two for the action.
fn check_plan(plan: &Plan) -> Result<(), Ending> {
    let largest = plan.steps.iter().map(|step| step.actions.len()).max().unwrap_or(0).max(plan.steps.len());
    if largest > LARGEST as usize {
        return Err(lost(format!(
            "the plan has {largest} steps, or actions in one step; {LARGEST} can be named"
        )));
    }
    Ok(())
}

fn lost(detail: impl Into<String>) -> Ending {
    Ending::because(EndingKind::OracleLost, detail)
}
