//! `workflow`: a small script of dependent steps over tools and agents. Steps whose needs are done run beside one another;
//! what they returned is kept, so that a run which failed can be taken up again where it stopped.

mod crew;
mod run;
mod script;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bench_core::Delegation;
use serde::Deserialize;
use serde_json::{Value, json};

use self::crew::Crew;
use self::run::{Run, State};
use self::script::{Script, Step};
use super::bell::{Bell, Cancel, Waited};
use super::marks::{Marks, Phase, Subject};
use super::subagents::{Hands, Subagents};

/// Steps and items that run at once.
const AT_ONCE: usize = 4;
/// Agents of one run.
const AGENTS: u32 = 100;
/// A run may last so long.
const LONGEST: Duration = Duration::from_secs(3600);
/// Bytes of the result that come back.
const RESULT: usize = 20 << 10;

/// Calls a tool for a step.
pub(crate) type Tools = Arc<dyn Fn(&str, Value, &Cancel) -> Result<String, String> + Send + Sync>;

/// Arguments of `workflow`.
#[derive(Debug, Deserialize)]
pub(crate) struct Given {
    #[serde(default)]
    steps: Vec<Step>,
    result: Option<String>,
    args: Option<Value>,
    #[serde(default)]
    background: bool,
    resume: Option<String>,
}

/// Arguments of `workflow_status` and `workflow_stop`.
#[derive(Debug, Deserialize)]
pub(crate) struct Which {
    id: String,
}

/// The workflows of one conversation.
pub(crate) struct Workflows {
    folder: PathBuf,
    cancel: Cancel,
    marks: Marks,
    limits: Delegation,
    hands: Option<Hands>,
    tools: Option<Tools>,
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    started: u32,
    all: BTreeMap<String, Arc<Run>>,
}

impl std::fmt::Debug for Workflows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workflows").field("runs", &self.runs).finish_non_exhaustive()
    }
}

impl Workflows {
    pub(crate) fn new(
        folder: &Path,
        limits: Delegation,
        cancel: &Cancel,
        marks: &Marks,
        (hands, tools): (Option<Hands>, Option<Tools>),
    ) -> Self {
        Self {
            folder: folder.to_owned(),
            cancel: cancel.clone(),
            marks: marks.clone(),
            limits,
            hands,
            tools,
            runs: Mutex::default(),
        }
    }

    /// Does a run go on whose end has not been told?
    pub(crate) fn is_alive(&self) -> bool {
        self.runs().all.values().any(|run| run.state().followed)
    }

    /// Calls of tools that steps have made.
    pub(crate) fn calls(&self) -> u64 {
        self.runs().all.values().map(|run| run.state().calls).sum()
    }

    /// Runs a script, or takes a run up again where it stopped.
    pub(crate) fn start(&self, given: Given) -> Result<String, String> {
        let tools = self.tools.clone().ok_or("an agent at this depth cannot run workflows")?;
        let background = given.background;
        let run = self.prepared(given)?;
        let crew = Crew {
            folder: self.folder.clone(),
            tools,
            agents: self.agents(&run.cancel),
            gate: RwLock::default(),
            marks: self.marks.clone(),
            deadline: Instant::now() + LONGEST,
        };
        run.state().followed = background;
        let bell = self.cancel.bell().clone();
        let work = {
            let run = Arc::clone(&run);
            move || {
                crew.marks.mark(Subject::Workflow, &run.id, Phase::Begin, "");
                let end = crew.carry_out(&run);
                crew.marks.mark(
                    Subject::Workflow,
                    &run.id,
                    Phase::End,
                    if end.is_ok() { "done" } else { "failed" },
                );
                run.state().end = Some(end);
                bell.ring();
            }
        };
        std::thread::spawn(work);
        if background {
            return Ok(format!("Started {}.", run.id));
        }
        let far = Instant::now() + LONGEST + LONGEST;
        let waited = self.cancel.bell().wait(far, &self.cancel, || run.state().end.clone());
        match waited {
            Waited::Ready(Ok(text)) => Ok(text),
            Waited::Ready(Err(reason)) => Err(format!("{}: {reason}", run.id)),
            Waited::TimedOut | Waited::Cancelled => {
                run.cancel.wish();
                Err(format!("{}: it was cancelled", run.id))
            }
        }
    }

    fn prepared(&self, given: Given) -> Result<Arc<Run>, String> {
        let mut runs = self.runs();
        let (id, before) = match &given.resume {
            None => {
                runs.started += 1;
                (format!("wf-{}", runs.started), None)
            }
            Some(id) => {
                let before = runs.all.get(id).cloned().ok_or_else(|| format!("there is no run {id}"))?;
                match &before.state().end {
                    None => return Err(format!("{id} is still running")),
                    Some(Ok(_)) => return Err(format!("{id} was done; there is nothing left to do")),
                    Some(Err(_)) => {}
                }
                (id.clone(), Some(before))
            }
        };
        let script = match (&before, given.steps.is_empty()) {
            (Some(before), true) => before.script.clone(),
            (Some(_) | None, _) => Script::of(given.steps, given.result)?,
        };
        let args = given.args.or_else(|| before.as_ref().map(|before| before.args.clone()));
        let mut state = State::default();
        if let Some(before) = before {
            let old = before.state();
            // A step that is written otherwise now is done again.
            let same = |id: &str| {
                let find = |script: &Script| script.steps.iter().find(|step| step.id == id).cloned();
                find(&script) == find(&before.script)
            };
            state.done =
                old.done.iter().filter(|(id, _)| same(id)).map(|(k, v)| (k.clone(), v.clone())).collect();
            state.calls = old.calls;
        }
        let cancel = Cancel::with(&Bell::default());
        let run = Arc::new(Run {
            id: id.clone(),
            script,
            args: args.unwrap_or_else(|| json!({})),
            cancel,
            state: Mutex::new(state),
        });
        runs.all.insert(id, Arc::clone(&run));
        Ok(run)
    }

    fn agents(&self, cancel: &Cancel) -> Subagents {
        let limits = Delegation { agents: AGENTS, at_once: AT_ONCE as u32, ..self.limits };
        Subagents::new(&self.folder, limits, cancel, &self.marks, self.hands.clone())
    }

    pub(crate) fn status(&self, given: &Which) -> Result<String, String> {
        let run = self.run(&given.id)?;
        let told = run.told();
        let mut state = run.state();
        state.followed &= state.end.is_none();
        Ok(told)
    }

    pub(crate) fn stop(&self, given: &Which) -> Result<String, String> {
        let run = self.run(&given.id)?;
        run.cancel.wish();
        let patient = Cancel::with(self.cancel.bell());
        let ended = || run.state().end.is_some().then_some(());
        self.cancel.bell().wait(Instant::now() + Duration::from_secs(20), &patient, ended);
        run.state().followed = false;
        Ok(run.told())
    }

    fn run(&self, id: &str) -> Result<Arc<Run>, String> {
        let runs = self.runs();
        runs.all.get(id).cloned().ok_or_else(|| {
            let known: Vec<&str> = runs.all.keys().map(String::as_str).collect();
            format!("there is no run {id}; there is {}", known.join(", "))
        })
    }

    fn runs(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Workflows {
    fn drop(&mut self) {
        let runs = std::mem::take(&mut self.runs().all);
        runs.values().for_each(|run| run.cancel.wish());
        let patient = Cancel::with(self.cancel.bell());
        let deadline = Instant::now() + Duration::from_secs(20);
        let over = || runs.values().all(|run| run.state().end.is_some()).then_some(());
        self.cancel.bell().wait(deadline, &patient, over);
    }
}

#[cfg(test)]
mod tests;
