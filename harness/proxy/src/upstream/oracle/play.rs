//! What the oracle does next: a pure function of script, fault and request.

use bench_core::{Action, ActionKind, Ending, EndingKind};
use bench_wire::{CallForm, ModelRequest};
use serde_json::{Value, json};

use super::book::OracleScript;
use super::call_id::{CallId, Role};
use super::choice::{Discovery, Offered, Way, together, ways};
use super::fault::Fault;
use super::history::{History, Progress};
use crate::upstream::OracleStep;

/// What is said when the plan has no answer of its own.
const NOTHING_LEFT: &str = "Done.";
/// What is said when the profile gives up.
const GIVING_UP: &str = "I could not finish this task.";

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Move {
    /// Say the final answer.
    Say {
        /// The answer.
        text: String,
        /// The whole plan was played, or the profile gave up here.
        finished: bool,
        /// For the trace.
        step: OracleStep,
    },
    /// Call tools.
    Call(Vec<PlannedCall>),
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedCall {
    pub(super) id: CallId,
    pub(super) tool: String,
    pub(super) namespace: Option<String>,
    pub(super) form: CallForm,
    pub(super) arguments: String,
    /// For trace and evidence.
    pub(super) step: OracleStep,
    /// What of the profile's fault this call shows.
    pub(super) fault: Option<&'static str>,
}

/// What a turn is decided from.
pub(super) struct Table<'a> {
    pub(super) script: &'a OracleScript,
    pub(super) fault: &'a Fault,
    pub(super) history: &'a History,
    pub(super) request: &'a ModelRequest,
}

impl Table<'_> {
    /// The step to be played now, from 1.
    pub(super) fn step(&self) -> u32 {
        self.history.step(&self.script.plan, &self.script.lexicon.error_prefixes)
    }

    /// The next turn; an ending when the plan cannot be played on.
    pub(super) fn next_move(&self) -> Result<Move, Ending> {
        let step = self.step();
        if *self.fault == Fault::GivesUp(step) {
            return Ok(say(step, GIVING_UP, "give-up", false));
        }
        if let Some(extra) = self.extra(step) {
            return Ok(Move::Call(vec![extra]));
        }
        let Some(actions) = self.script.plan.steps.get(step as usize - 1).map(|step| &step.actions) else {
            return Ok(say(step, NOTHING_LEFT, ActionKind::Answer.word(), true));
        };
        if let Some(batch) = self.batch(step, actions) {
            return Ok(Move::Call(vec![batch]));
        }
        let mut calls = Vec::new();
        let mut answer = None;
        for (sub, action) in (0..).zip(actions) {
            if let Action::Answer { text } = action {
                answer = Some(text);
                continue;
            }
            match self.call(step, sub, action)? {
                None => {}
                // A load changes what is offered: it goes alone, and the rest is decided on the next request.
                Some(load) if load.id.role == Role::Discover => return Ok(Move::Call(vec![load])),
                Some(call) => calls.push(call),
            }
        }
        // Looks come before the step's own calls, which wait until all of them are answered.
        if calls.iter().any(|call: &PlannedCall| call.id.role == Role::Look) {
            calls.retain(|call| call.id.role == Role::Look);
        }
        if self.request.parallel_tool_calls == Some(false) {
            calls.truncate(1);
        }
        match answer {
            Some(text) if calls.is_empty() => Ok(say(step, text, ActionKind::Answer.word(), true)),
            Some(_) | None => Ok(Move::Call(calls)),
        }
    }

    /// All that a step does in one call, where it does several things and a tool takes code that does them.
    fn batch(&self, step: u32, actions: &[Action]) -> Option<PlannedCall> {
        let played: Vec<&Action> =
            actions.iter().filter(|action| action.kind() != ActionKind::Answer).collect();
        if played.len() < 2 || self.history.begun(step) {
            return None;
        }
        let way = together(&Offered { script: self.script, request: self.request }, &played)?;
        let id = CallId { step, sub: 0, role: Role::Batch };
        Some(planned(id, played[0], way, ("not_offered", false)))
    }

    /// The call that an action needs now; `None` when it is done.
    fn call(&self, step: u32, sub: u32, action: &Action) -> Result<Option<PlannedCall>, Ending> {
        let (role, refused) = match self.history.progress(step, sub, &self.script.lexicon.error_prefixes) {
            Progress::Done => return Ok(None),
            Progress::Open => (Role::First, None),
            Progress::RefusedOnce(tool) => (Role::Fallback, Some(tool)),
            Progress::RefusedTwice => return Err(self.refused(step, action, "and so was its one fallback")),
        };
        let tried = self.history.answered(step, sub, Role::Discover);
        let may_discover = !tried && *self.fault != Fault::NeverDiscovers;
        let discovery = if may_discover { Discovery::Allowed } else { Discovery::Ruled };
        let mut ways = self.ways(action, discovery);
        if let Some(refused) = &refused {
            self.drop_refused(&mut ways, refused.as_deref());
        }
        let Some(way) = ways.into_iter().next() else {
            return Err(match refused {
                Some(_) => self.refused(step, action, "and no other tool can play it"),
                None => self.no_such_tool(step, action),
            });
        };
        let why = if refused.is_some() { "refused" } else { "not_offered" };
        let skipped = *self.fault == Fault::NeverDiscovers
            && matches!(self.ways(action, Discovery::Allowed).first(), Some(Way::Load { .. }));
        if let Some(look) =
            self.look_first(&way, action).filter(|_| !self.history.answered(step, sub, Role::Look))
        {
            let id = CallId { step, sub, role: Role::Look };
            return Ok(Some(planned(id, action, look, (why, false))));
        }
        Ok(Some(planned(CallId { step, sub, role }, action, way, (why, skipped))))
    }

    fn ways(&self, action: &Action, discovery: Discovery) -> Vec<Way> {
        ways(&Offered { script: self.script, request: self.request }, action, discovery)
    }

    /// The read that a tool wants before it changes a file, unless the file was read.
    fn look_first(&self, way: &Way, action: &Action) -> Option<Way> {
        let Way::Call { reads_first: true, .. } = way else { return None };
        let (Action::Edit { path, .. } | Action::Write { path, .. }) = action else { return None };
        let read = Action::Read { path: path.clone(), offset: None, limit: None };
        let look = self.ways(&read, Discovery::Ruled).into_iter().next()?;
        match &look {
            Way::Call { tool, substitution: false, .. } if !self.history.has_read(tool, path) => Some(look),
            Way::Call { .. } | Way::Load { .. } => None,
        }
    }

    /// Takes out the tool that refused. Where the call itself is no longer echoed it was the best way.
    fn drop_refused(&self, ways: &mut Vec<Way>, refused: Option<&str>) {
        match refused {
            Some(refused) => ways.retain(|way| match way {
                Way::Call { tool, .. } => tool != refused,
                Way::Load { .. } => true,
            }),
            None if !ways.is_empty() => {
                ways.remove(0);
            }
            None => {}
        }
    }

    /// What the profile does before a step, once each; nothing when the step's own calls have begun.
    fn extra(&self, step: u32) -> Option<PlannedCall> {
        if self.history.begun(step) {
            return None;
        }
        let call = |role, tool: String, arguments: String, action: &str, fault| PlannedCall {
            id: CallId { step, sub: 0, role },
            step: OracleStep { step, action: action.to_owned(), tool: tool.clone(), substitution: None },
            tool,
            namespace: None,
            form: CallForm::Function,
            arguments,
            fault: Some(fault),
        };
        let open = |role: &Role| !self.history.answered(step, 0, *role);
        match self.fault {
            Fault::Wanders(times) => {
                let times = times.get(step as usize - 1).copied().unwrap_or(0);
                let role = (1..=times).map(Role::Wander).find(open)?;
                let (tool, arguments) = self.look_around(role)?;
                Some(call(role, tool, arguments, "look-around", "wanders: looked around between steps"))
            }
            Fault::WrongArguments(at) if *at == step && open(&Role::Wrong) => {
                let (tool, arguments) = self.misfitting(step)?;
                let fault = "wrong-arguments: left a required argument out";
                Some(call(Role::Wrong, tool, arguments, "wrong-arguments", fault))
            }
            Fault::InventsTools(at) if *at == step && open(&Role::Invent) => {
                let tool = self.invented();
                let fault = "invents-tools: called a tool that was never offered";
                Some(call(Role::Invent, tool, json!({"path": "."}).to_string(), "invent-tool", fault))
            }
            Fault::WrongArguments(_)
            | Fault::InventsTools(_)
            | Fault::None
            | Fault::GivesUp(_)
            | Fault::NeverDiscovers => None,
        }
    }

    /// A harmless look at the workspace through whatever is offered.
    fn look_around(&self, role: Role) -> Option<(String, String)> {
        let command = if role == Role::Wander(1) { "ls" } else { "ls -la" };
        let looks = [
            Action::Run { command: command.to_owned() },
            Action::Find { pattern: "*".to_owned(), path: ".".to_owned() },
            Action::Search { pattern: "TODO".to_owned(), path: ".".to_owned() },
        ];
        let reads = self.script.plan.steps.iter().flat_map(|step| &step.actions);
        let reads = reads.filter(|action| action.kind() == ActionKind::Read);
        looks.iter().chain(reads).find_map(|action| self.offered_call(action))
    }

    fn offered_call(&self, action: &Action) -> Option<(String, String)> {
        self.ways(action, Discovery::Ruled).into_iter().find_map(|way| match way {
            Way::Call { tool, arguments, .. } => Some((tool, arguments)),
            Way::Load { .. } => None,
        })
    }

    /// The step's first call without one of the arguments that the tool requires.
    fn misfitting(&self, step: u32) -> Option<(String, String)> {
        let actions = self.script.plan.steps.get(step as usize - 1)?.actions.iter();
        let (tool, arguments) = actions.into_iter().find_map(|action| self.offered_call(action))?;
        let Ok(Value::Object(mut arguments)) = serde_json::from_str(&arguments) else { return None };
        let required = self.request.tool(&tool)?.schema.as_ref().and_then(|p| p.get("required"));
        let required = required.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let missing = required.map(str::to_owned).find(|key| arguments.contains_key(key));
        let missing = missing.or_else(|| arguments.keys().next().cloned())?;
        arguments.shift_remove(&missing);
        Some((tool, Value::Object(arguments).to_string()))
    }

    fn invented(&self) -> String {
        let mut name = "workspace_inspector".to_owned();
        while self.request.tool(&name).is_some() {
            name.push_str("_2");
        }
        name
    }

    fn no_such_tool(&self, step: u32, action: &Action) -> Ending {
        let offered: Vec<&str> = self.request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
        let (lexicon, kind) = (&self.script.lexicon.name, action.kind().word());
        let detail = format!(
            "step {step} ({kind}) cannot be played: lexicon {lexicon} has no rule for a tool that is offered (offered: {offered})"
        );
        Ending::because(EndingKind::NoSuchTool, detail)
    }

    fn refused(&self, step: u32, action: &Action, more: &str) -> Ending {
        let kind = action.kind().word();
        Ending::because(
            EndingKind::ToolRefused,
            format!("the call of step {step} ({kind}) was refused, {more}"),
        )
    }
}

fn planned(id: CallId, action: &Action, way: Way, (why, skipped): (&str, bool)) -> PlannedCall {
    let fault = skipped.then_some("never-discovers: did not load the tool of a step");
    match way {
        Way::Load { tool, arguments } => PlannedCall {
            id: CallId { role: Role::Discover, ..id },
            step: OracleStep {
                step: id.step,
                action: "discover".to_owned(),
                tool: tool.clone(),
                substitution: None,
            },
            tool,
            namespace: None,
            form: CallForm::Function,
            arguments,
            fault,
        },
        Way::Call { tool, namespace, form, arguments, substitution, .. } => {
            let kind = if id.role == Role::Look { "look" } else { action.kind().word() };
            let substitution = substitution.then(|| why.to_owned());
            let step =
                OracleStep { step: id.step, action: kind.to_owned(), tool: tool.clone(), substitution };
            PlannedCall { id, tool, namespace, form, arguments, step, fault }
        }
    }
}

fn say(step: u32, text: &str, action: &str, finished: bool) -> Move {
    let step = OracleStep { step, action: action.to_owned(), tool: String::new(), substitution: None };
    Move::Say { text: text.to_owned(), finished, step }
}
