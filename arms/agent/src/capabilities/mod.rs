//! What the reference agent can do beyond reading, writing and running: programs that stay up, goals, a debugger. Each
//! part holds what lives longer than a call; all of it ends with the conversation.

mod background;
mod bell;
mod debugger;
mod framing;
mod goal;
mod peer;
mod process;

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde_json::Value;

use self::background::Background;
use self::bell::{Bell, Cancel};
use self::debugger::Debugger;
use self::goal::Goal;

pub(crate) use self::process::{adopt_orphans, end_all_below};

/// Tools that are carried out here.
pub(crate) const TOOLS: [&str; 9] = [
    "bg_start",
    "bg_status",
    "bg_list",
    "bg_watch",
    "bg_kill",
    "create_goal",
    "get_goal",
    "update_goal",
    "debug",
];

/// What one conversation keeps running.
#[derive(Debug)]
pub(crate) struct Capabilities {
    background: Background,
    goal: Mutex<Goal>,
    debugger: Debugger,
    cancel: Cancel,
}

impl Capabilities {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let bell = Bell::default();
        let cancel = Cancel::with(&bell);
        Self {
            background: Background::in_folder(folder, &bell, &cancel),
            goal: Mutex::default(),
            debugger: Debugger::in_folder(folder, &bell, &cancel),
            cancel,
        }
    }

    /// Carries a tool of [`TOOLS`] out.
    pub(crate) fn run(&self, name: &str, given: Value) -> Result<String, String> {
        match name {
            "bg_start" => self.background.start(&taken(given)?),
            "bg_status" => self.background.status(&taken(given)?),
            "bg_list" => Ok(self.background.list()),
            "bg_watch" => self.background.watch(&taken(given)?),
            "bg_kill" => self.background.kill(&taken(given)?),
            "create_goal" => self.goal().create(taken(given)?),
            "get_goal" => Ok(self.goal().get()),
            "update_goal" => self.goal().update(&taken(given)?),
            "debug" => self.debugger.run(&taken(given)?),
            other => Err(format!("{other} is not available in this build")),
        }
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

impl Drop for Capabilities {
    fn drop(&mut self) {
        // Whoever still waits, on whatever, has nobody left to wait for.
        self.cancel.wish();
    }
}

fn taken<T: DeserializeOwned>(given: Value) -> Result<T, String> {
    serde_json::from_value(given).map_err(|error| error.to_string())
}
