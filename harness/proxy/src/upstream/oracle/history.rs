//! The oracle's own calls as a request echoes them, and the place in the plan that follows from them alone.

use std::collections::BTreeMap;

use bench_core::{Action, Plan};
use bench_wire::request::{ModelRequest, UNNAMED};

use super::call_id::{CallId, Role};

/// What the summary of a compaction carries, so that the place survives when the ids do not.
const MARKER: &str = "[plan position ";

/// A call as it is echoed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Echo {
    /// The tool, where the assistant's message is still there.
    pub(super) tool: Option<String>,
    /// Its arguments, where they are still there.
    pub(super) arguments: String,
    /// Its result, where one has come.
    pub(super) result: Option<String>,
}

/// The oracle's calls in a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct History {
    calls: BTreeMap<CallId, Echo>,
    /// Steps done before a compaction.
    marker: u32,
}

/// How far an action has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not called, or called without a result yet.
    Open,
    /// Refused once, by this tool where it is known; the fallback is open.
    RefusedOnce(Option<String>),
    /// Refused twice.
    RefusedTwice,
    /// Done.
    Done,
}

/// The marker for a number of steps done.
pub(super) fn marker(steps_done: u32) -> String {
    format!("{MARKER}{steps_done:02}]")
}

impl History {
    /// Reads a request. `minted` are the calls made so far, in order: a wire without ids knows them by that alone.
    pub(super) fn of(request: &ModelRequest, minted: &[CallId]) -> Self {
        let id_of = |text: &str| match text.strip_prefix(UNNAMED) {
            Some(order) => order.parse::<usize>().ok().and_then(|n| minted.get(n.checked_sub(1)?)).copied(),
            None => CallId::parse(text),
        };
        let mut history = Self::default();
        for message in &request.messages {
            for call in &message.calls {
                if let Some(id) = id_of(&call.id) {
                    let echo = history.calls.entry(id).or_default();
                    echo.tool = Some(call.name.clone());
                    echo.arguments.clone_from(&call.arguments);
                }
            }
            for result in &message.results {
                if let Some(id) = id_of(&result.id) {
                    history.calls.entry(id).or_default().result = Some(result.text.clone());
                }
            }
            history.marker = history.marker.max(marked(&message.text));
        }
        history
    }

    /// Has a file been read by this tool?
    pub(super) fn has_read(&self, tool: &str, path: &str) -> bool {
        self.calls.values().any(|echo| {
            echo.tool.as_deref() == Some(tool) && echo.result.is_some() && echo.arguments.contains(path)
        })
    }

    /// Every id echoed.
    pub(super) fn ids(&self) -> impl Iterator<Item = CallId> + '_ {
        self.calls.keys().copied()
    }

    /// Has a result come for this call?
    pub(super) fn answered(&self, step: u32, sub: u32, role: Role) -> bool {
        self.calls.get(&CallId { step, sub, role }).is_some_and(|echo| echo.result.is_some())
    }

    /// Has an action of this step been called?
    pub(super) fn begun(&self, step: u32) -> bool {
        self.calls
            .keys()
            .any(|id| id.step == step && matches!(id.role, Role::First | Role::Batch | Role::Fallback))
    }

    /// The call that carried an action together with others.
    fn batch(&self, step: u32, sub: u32) -> Option<&Echo> {
        let of_step = self.calls.iter().filter(|(id, _)| id.step == step && id.role == Role::Batch);
        of_step.filter(|(id, _)| id.sub <= sub).map(|(_, echo)| echo).next_back()
    }

    /// How far an action of a step has come. One whose id is gone while a later one of its step is echoed was done.
    pub(super) fn progress(&self, step: u32, sub: u32, error_prefixes: &[String]) -> Progress {
        let echo = |role| self.calls.get(&CallId { step, sub, role });
        let refused = |echo: &Echo| {
            echo.result
                .as_ref()
                .map(|result| error_prefixes.iter().any(|prefix| result.starts_with(prefix.as_str())))
        };
        let refused_by = || Progress::RefusedOnce(echo(Role::First).and_then(|first| first.tool.clone()));
        if let (None, None, Some(batch)) = (echo(Role::First), echo(Role::Fallback), self.batch(step, sub)) {
            // What was refused as a whole is played one by one.
            return if refused(batch) == Some(false) { Progress::Done } else { Progress::Open };
        }
        if let Some(fallback) = echo(Role::Fallback) {
            return match refused(fallback) {
                None => refused_by(),
                Some(true) => Progress::RefusedTwice,
                Some(false) => Progress::Done,
            };
        }
        match echo(Role::First).map(refused) {
            Some(None) => Progress::Open,
            Some(Some(true)) => refused_by(),
            Some(Some(false)) => Progress::Done,
            None => {
                let later = |id: &CallId| {
                    id.step == step && id.sub > sub && matches!(id.role, Role::First | Role::Fallback)
                };
                if self.calls.keys().any(later) { Progress::Done } else { Progress::Open }
            }
        }
    }

    /// The step that is to be played now, from 1; one more than the plan has when all of it is done.
    pub(super) fn step(&self, plan: &Plan, error_prefixes: &[String]) -> u32 {
        let last = self.calls.keys().map(|id| id.step).max().unwrap_or(0);
        let mut step = last.max(self.marker + 1).max(1);
        while let Some(actions) = plan.steps.get(step as usize - 1).map(|step| &step.actions) {
            let open = (0..).zip(actions).any(|(sub, action)| match action {
                Action::Answer { .. } => true,
                Action::Run { .. }
                | Action::Read { .. }
                | Action::Write { .. }
                | Action::Edit { .. }
                | Action::Search { .. }
                | Action::Find { .. } => self.progress(step, sub, error_prefixes) != Progress::Done,
            });
            if open {
                break;
            }
            step += 1;
        }
        step
    }
}

/// The largest number of steps that a text says were done.
fn marked(text: &str) -> u32 {
    let after = |(at, _): (usize, &str)| {
        let rest = &text[at + MARKER.len()..];
        rest.split_once(']').and_then(|(number, _)| number.parse::<u32>().ok())
    };
    text.match_indices(MARKER).filter_map(after).max().unwrap_or(0)
}
