//! What the reference agent can do beyond reading, writing and running: other agents, workflows, programs that stay up,
//! goals, a debugger, language servers. Each part holds what lives longer than a call; all of it ends with the conversation.

mod background;
mod bell;
mod debugger;
mod framing;
mod goal;
mod language;
mod marks;
mod peer;
mod process;
mod subagents;
mod workflow;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bench_core::Delegation;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::background::Background;
use self::debugger::Debugger;
use self::goal::Goal;
use self::language::LanguageServers;
use self::subagents::Subagents;
use self::workflow::Workflows;

pub(crate) use self::bell::{Bell, Cancel};
pub(crate) use self::marks::Marks;
pub(crate) use self::process::{adopt_orphans, end_all_below};
pub(crate) use self::subagents::{Hands, Link, Order};
pub(crate) use self::workflow::Tools;

/// Tools that are carried out here.
pub(crate) const TOOLS: [&str; 19] = [
    "subagent_spawn",
    "subagent_wait",
    "subagent_send",
    "subagent_check",
    "subagent_cancel",
    "subagent_list",
    "workflow",
    "workflow_status",
    "workflow_stop",
    "bg_start",
    "bg_status",
    "bg_list",
    "bg_watch",
    "bg_kill",
    "create_goal",
    "get_goal",
    "update_goal",
    "debug",
    "lsp",
];

/// What the capabilities of a conversation are given.
#[derive(Default)]
pub(crate) struct Equipment {
    /// Everything stops when this wishes it.
    pub(crate) cancel: Cancel,
    /// Where beginnings and ends are marked.
    pub(crate) marks: Marks,
    /// Caps on other agents.
    pub(crate) delegation: Delegation,
    /// Who holds their conversations; none = nobody can be delegated to.
    pub(crate) hands: Option<Hands>,
    /// Who calls tools for the steps of a workflow; none = there are no workflows.
    pub(crate) tools: Option<Tools>,
}

/// What one conversation keeps running. Agents and workflows end first: they use the rest.
#[derive(Debug)]
pub(crate) struct Capabilities {
    subagents: Subagents,
    workflows: Workflows,
    background: Background,
    goal: Mutex<Goal>,
    debugger: Debugger,
    language: LanguageServers,
    cancel: Cancel,
}

impl Capabilities {
    pub(crate) fn new(folder: &Path, equipment: Equipment) -> Self {
        let Equipment { cancel, marks, delegation, hands, tools } = equipment;
        Self {
            subagents: Subagents::new(folder, delegation, &cancel, &marks, hands.clone()),
            workflows: Workflows::new(folder, delegation, &cancel, &marks, (hands, tools)),
            background: Background::in_folder(folder, &cancel, &marks),
            goal: Mutex::default(),
            debugger: Debugger::in_folder(folder, &cancel, &marks),
            language: LanguageServers::in_folder(folder, &cancel),
            cancel,
        }
    }

    /// Carries a tool of [`TOOLS`] out.
    pub(crate) fn run(&self, name: &str, given: Value) -> Result<String, String> {
        match name {
            "subagent_spawn" => self.subagents.spawn(taken(given)?),
            "subagent_wait" => self.subagents.wait(&taken(given)?),
            "subagent_send" => self.subagents.send(&taken(given)?),
            "subagent_check" => self.subagents.check(&taken(given)?),
            "subagent_cancel" => self.subagents.cancel(&taken(given)?),
            "subagent_list" => Ok(self.subagents.list_all()),
            "workflow" => self.workflows.start(taken(given)?),
            "workflow_status" => self.workflows.status(&taken(given)?),
            "workflow_stop" => self.workflows.stop(&taken(given)?),
            "bg_start" => self.background.start(&taken(given)?),
            "bg_status" => self.background.status(&taken(given)?),
            "bg_list" => Ok(self.background.list()),
            "bg_watch" => self.background.watch(&taken(given)?),
            "bg_kill" => self.background.kill(&taken(given)?),
            "create_goal" => self.goal().create(taken(given)?),
            "get_goal" => Ok(self.goal().get()),
            "update_goal" => self.goal().update(&taken(given)?),
            "debug" => self.debugger.run(&taken(given)?),
            "lsp" => self.language.run(&taken(given)?),
            other => Err(format!("{other} is not available in this build")),
        }
    }

    /// What tells the tools of this conversation to stop.
    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Is an agent on the list?
    pub(crate) fn has_subagents(&self) -> bool {
        self.subagents.is_alive()
    }

    /// Does a workflow run beside the conversation?
    pub(crate) fn has_workflow(&self) -> bool {
        self.workflows.is_alive()
    }

    /// Calls of tools that steps of workflows have made.
    pub(crate) fn workflow_calls(&self) -> u64 {
        self.workflows.calls()
    }

    /// Is a background command on the list?
    pub(crate) fn has_background(&self) -> bool {
        self.background.is_alive()
    }

    /// The goal. A call that panicked must not take it along.
    pub(crate) fn goal(&self) -> MutexGuard<'_, Goal> {
        self.goal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn taken<T: DeserializeOwned>(given: Value) -> Result<T, String> {
    serde_json::from_value(given).map_err(|error| error.to_string())
}
