//! The tools themselves: arguments that fit the schema in, text out. An `Err` is the reason why the call failed, told
//! to the model. Results hold no time, process id or made-up name.

pub(crate) mod archive;
mod bash;
mod cut;
mod edit;
mod fd;
mod git;
mod hashline;
mod lists;
mod ls;
mod patch;
mod place;
mod read;
mod rg;
mod walk;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bench_code::Stop;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::capabilities::{self, Cancel, Capabilities, Equipment};
use crate::servers;

/// What tools keep from one call to the next.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    todo: Vec<lists::ListedStep>,
    tasks: Vec<lists::ListedStep>,
    pub(crate) archive: archive::Archive,
    snapshots: hashline::Snapshots,
}

/// Where tools work and what they keep. Calls that run beside one another share it.
#[derive(Debug)]
pub(crate) struct Desk {
    workspace: PathBuf,
    kept: Mutex<Kept>,
    pub(crate) capabilities: Capabilities,
}

/// Can a tool of this name be carried out by this build?
pub(crate) fn is_built(name: &str) -> bool {
    crate::catalogue::is_known(name) || servers::of_tool(name).is_some()
}

impl Desk {
    /// A desk with nobody to delegate to.
    #[cfg(test)]
    pub(crate) fn in_workspace(workspace: &Path) -> Self {
        Self::equipped(workspace, Equipment::default())
    }

    /// A desk whose tools stop when `cancel` wishes it.
    pub(crate) fn until(workspace: &Path, cancel: &Cancel) -> Self {
        Self::equipped(workspace, Equipment { cancel: cancel.clone(), ..Equipment::default() })
    }

    /// A desk with this equipment.
    pub(crate) fn equipped(workspace: &Path, equipment: Equipment) -> Self {
        let capabilities = Capabilities::new(workspace, equipment);
        Self { workspace: workspace.to_owned(), kept: Mutex::default(), capabilities }
    }

    /// What is kept. A call that panicked must not take the lists of the others with it.
    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is there a step on the task list?
    pub(crate) fn has_tasks(&self) -> bool {
        !self.kept().tasks.is_empty()
    }

    /// Runs a tool whose arguments have been checked against its schema.
    #[cfg(test)]
    pub(crate) fn run(&self, name: &str, given: Value) -> Result<String, String> {
        self.run_until(name, given, None)
    }

    /// Runs a tool whose arguments have been checked against its schema; what takes long ends when it is said.
    pub(crate) fn run_until(&self, name: &str, given: Value, stop: Option<&Stop>) -> Result<String, String> {
        let here = &self.workspace;
        match name {
            "read" => read::run(&taken(given)?, here),
            "bash" => {
                // A script's end stops what it called; the end of the conversation stops everything.
                bash::run(&taken(given)?, here, stop.or(self.capabilities.cancel().stop()))
            }
            "edit" => edit::run(&taken(given)?, here),
            "write" => write::run(&taken(given)?, here),
            "hashline_read" => self.kept().snapshots.read(&taken(given)?, here),
            "hashline_edit" => self.kept().snapshots.edit(&taken(given)?, here),
            "fd" => fd::run(&taken(given)?, here),
            "glob" => fd::run(&fd::Arguments::of_glob(taken(given)?), here),
            "rg" => rg::run(&taken(given)?, here),
            "grep" => rg::run(&rg::Arguments::of_grep(taken(given)?), here),
            "ls" => ls::run(&taken(given)?, here),
            "git_show" => git::show(&taken(given)?, here),
            "git_diff" => git::diff(&taken(given)?, here),
            "git_log" => git::log(&taken(given)?, here),
            "apply_patch" => patch::run(&taken(given)?, here),
            "think" => Ok("[Noted.]".to_owned()),
            "archive_read" => self.kept().archive.open(&taken(given)?),
            "todo" => lists::todo(&mut self.kept().todo, taken(given)?),
            "tasks_add" => Ok(lists::add(&mut self.kept().tasks, taken(given)?)),
            "tasks_update" => lists::update(&mut self.kept().tasks, &taken(given)?),
            "tasks_list" => Ok(lists::shown(&self.kept().tasks)),
            own if capabilities::TOOLS.contains(&own) => self.capabilities.run(own, given),
            other if servers::of_tool(other).is_some() => {
                Ok(servers::answer(other, &given)["content"][0]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned())
            }
            other => Err(format!("{other} is not available in this build")),
        }
    }
}

fn taken<T: DeserializeOwned>(given: Value) -> Result<T, String> {
    serde_json::from_value(given).map_err(|error| error.to_string())
}
