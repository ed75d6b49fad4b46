//! Which plan is played for whom: credential to script, filled by the runner before an agent starts. Beside each script
//! stands what the oracle remembers of its own play, as a cross-check only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bench_core::experiment::Profile;
use bench_core::ledger::{OracleEvidence, Substitution};
use bench_core::{ActionKind, Ending, EndingKind, Lexicon, Plan};
use bench_wire::ModelRequest;

use super::call_id::{CallId, LARGEST};
use super::choice::{Discovery, Offered, ways};
use super::fault::Fault;
use super::history::{History, marker};
use super::play::{Move, PlannedCall, Table};
use super::speak::{self, Spoken};
use crate::ledger::saturating_u32;
use crate::upstream::OracleStep;

/// What is played for one attempt.
#[derive(Debug, Clone)]
pub struct OracleScript {
    /// The task's reference plan, through the core tools alone.
    pub plan: Arc<Plan>,
    /// Its plan through the capability that it asks for; played where the surface has that.
    pub capability: Option<Arc<Plan>>,
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
    evidence: OracleEvidence,
    main: Option<Player>,
    /// By the name of the second agent.
    children: BTreeMap<String, Player>,
}

/// One agent's play of one plan.
#[derive(Debug)]
struct Player {
    plan: Arc<Plan>,
    minted: BTreeSet<CallId>,
    /// The same in order: how calls are known on a wire without ids.
    order: Vec<CallId>,
    steps_done: u32,
    turns: u32,
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
        let page = Page { script, fault, evidence, main: None, children: BTreeMap::new() };
        self.pages().insert(credential.into(), page);
    }

    /// The attempt is over: how it was played. `None` when nothing was entered, or it has left before.
    pub fn leave(&self, credential: &str) -> Option<OracleEvidence> {
        self.pages().remove(credential).map(|page| page.evidence)
    }

    /// Plays a turn.
    pub(super) fn turn(
        &self,
        credential: &str,
        agent: Option<&str>,
        request: &ModelRequest,
    ) -> Result<Spoken, Ending> {
        let mut pages = self.pages();
        let page = pages.get_mut(credential).ok_or_else(|| lost("no plan was entered for this attempt"))?;
        page.turn(agent, request)
    }

    /// Answers a compaction: whatever is left out, the place in the plan is said.
    pub(super) fn summary(
        &self,
        credential: &str,
        agent: Option<&str>,
        request: &ModelRequest,
    ) -> Result<Spoken, Ending> {
        let mut pages = self.pages();
        let page = pages.get_mut(credential).ok_or_else(|| lost("no plan was entered for this attempt"))?;
        let prefixes = page.script.lexicon.error_prefixes.clone();
        let player = page.player(agent, request)?;
        let echoed = History::of(request, &player.order).step(&player.plan, &prefixes) - 1;
        Ok(speak::summary(&marker(echoed.max(player.steps_done))))
    }

    fn pages(&self) -> MutexGuard<'_, BTreeMap<String, Page>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Page {
    /// Who plays for this agent; begins with its first request.
    fn player(&mut self, agent: Option<&str>, request: &ModelRequest) -> Result<&mut Player, Ending> {
        if self.main.is_none() {
            let plan = self.chosen(request);
            self.evidence.steps = saturating_u32(plan.steps.len());
            self.main = Some(Player::of(plan));
        }
        let main = self.main.as_mut().expect("it was made above");
        let Some(name) = agent else { return Ok(main) };
        if !self.children.contains_key(name) {
            let plan = main.plan.children.get(name).cloned();
            let plan = plan.ok_or_else(|| lost(format!("the plan has nothing for the agent {name:?}")))?;
            self.children.insert(name.to_owned(), Player::of(Arc::new(plan)));
        }
        Ok(self.children.get_mut(name).expect("it was made above"))
    }

    /// The capability's plan where its first use can be played on this surface, else that of the core tools.
    fn chosen(&self, request: &ModelRequest) -> Arc<Plan> {
        let Some(plan) = &self.script.capability else { return Arc::clone(&self.script.plan) };
        let discovery =
            if self.fault == Fault::NeverDiscovers { Discovery::Ruled } else { Discovery::Allowed };
        let uses = plan.steps.iter().flat_map(|step| &step.actions);
        let first = uses.into_iter().find(|action| action.kind() == ActionKind::Use);
        let offered = Offered { script: &self.script, request };
        let playable = first.is_none_or(|action| !ways(&offered, action, discovery).is_empty());
        Arc::clone(if playable { plan } else { &self.script.plan })
    }

    fn turn(&mut self, agent: Option<&str>, request: &ModelRequest) -> Result<Spoken, Ending> {
        let script = self.script.clone();
        // A profile's fault is the main agent's.
        let fault = if agent.is_none() { self.fault.clone() } else { Fault::None };
        let player = self.player(agent, request)?;
        let history = History::of(request, &player.order);
        let steps_done = player.advance(&history, &script.lexicon.error_prefixes)?;
        // One id a turn: agents join turns of one id. A request that is sent again gets the same.
        let id = format!("p{steps_done:02}{:02}", history.ids().count());
        let plan = Arc::clone(&player.plan);
        let table = Table { script: &script, plan: &plan, fault: &fault, history: &history, request };
        let next = table.next_move()?;
        if agent.is_none() {
            self.evidence.steps_played = self.evidence.steps_played.max(steps_done.min(self.evidence.steps));
        }
        Ok(match next {
            Move::Say { text, finished, step } => {
                self.said(agent, finished, &step);
                speak::answer(&id, text, step)
            }
            Move::Call(calls) => {
                calls.iter().for_each(|call| self.remember(agent, call));
                speak::calls(&id, calls)
            }
        })
    }

    fn said(&mut self, agent: Option<&str>, finished: bool, step: &OracleStep) {
        if agent.is_some() {
            return;
        }
        let steps = self.evidence.steps;
        if finished {
            self.evidence.steps_played = steps;
        } else {
            let fault = format!("gives-up: answered before step {} of {steps}", step.step);
            self.evidence.fault.get_or_insert(fault);
        }
    }

    fn remember(&mut self, agent: Option<&str>, call: &PlannedCall) {
        if let Some(fault) = call.fault {
            self.evidence.fault.get_or_insert_with(|| fault.to_owned());
        }
        let player = match agent {
            None => self.main.as_mut(),
            Some(name) => self.children.get_mut(name),
        };
        // A request that is sent again mints the same ids: its substitutions are not new ones.
        if player.is_none_or(|player| !player.mint(call.id)) {
            return;
        }
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

impl Player {
    fn of(plan: Arc<Plan>) -> Self {
        Self { plan, minted: BTreeSet::new(), order: Vec::new(), steps_done: 0, turns: 0 }
    }

    /// Steps done by what a request shows; an ending where that cannot be.
    fn advance(&mut self, history: &History, error_prefixes: &[String]) -> Result<u32, Ending> {
        let steps_done = history.step(&self.plan, error_prefixes) - 1;
        check_plan(&self.plan)?;
        if let Some(strange) = history.ids().find(|id| !self.minted.contains(id)) {
            return Err(lost(format!("the request echoes {strange}, which was never called")));
        }
        if steps_done < self.steps_done {
            return Err(lost(format!("{} steps were done, the request shows {steps_done}", self.steps_done)));
        }
        let cap = turn_cap(&self.plan);
        if self.turns >= cap {
            return Err(lost(format!("{cap} turns were played and the plan is not at its end")));
        }
        self.turns += 1;
        self.steps_done = steps_done;
        Ok(steps_done)
    }

    /// A call is made; false when it was made before.
    fn mint(&mut self, id: CallId) -> bool {
        let is_new = self.minted.insert(id);
        if is_new {
            self.order.push(id);
        }
        is_new
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
