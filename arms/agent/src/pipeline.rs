//! The way of every call to its tool and of what it returns into the conversation, whoever made the call: the model, or a
//! tool that the model called (a device, code). Counts it, runs it, cuts the result and keeps the original as evidence.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use bench_code::Stop;
use bench_core::ResultBudget;
use bench_wire::Call;
use serde_json::Value;

use crate::answer::{Job, Turning};
use crate::budget;
use crate::catalogue::{Access, ToolDefinition, access};
use crate::tally::{AgentEvent, Tally, say};
use crate::tools::Desk;

/// With this begins the result of every call that was refused or failed; the lexicon knows it.
pub(crate) const REFUSED: &str = "Error: ";

/// Who made a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The model.
    Model,
    /// A tool that the model called.
    Tool,
    /// A script. What it awaits it has put in order itself, so that its commands may run beside one another.
    Code,
}

/// A call of a tool whose arguments fit its schema.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(crate) tool: String,
    pub(crate) given: Value,
    pub(crate) origin: Origin,
}

/// The result of a call and what came with it.
#[derive(Debug, Default)]
pub(crate) struct Answered {
    pub(crate) text: String,
    pub(crate) schemas: Vec<Arc<ToolDefinition>>,
    pub(crate) turning: Option<Turning>,
}

/// What all calls of one conversation share.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) desk: Desk,
    budget: Option<ResultBudget>,
    tally: Mutex<Tally>,
    /// Calls that tools make wait here for one another as the calls of a turn do in their waves.
    gate: RwLock<()>,
}

impl Pipeline {
    pub(crate) fn new(desk: Desk, budget: Option<&ResultBudget>) -> Self {
        Self { desk, budget: budget.cloned(), tally: Mutex::default(), gate: RwLock::default() }
    }

    /// The counts. A call that panicked must not take those of the others with it.
    pub(crate) fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls of one wave beside one another, each in a thread of its own where several have to run. Results stand in
    /// the order of the calls, and so do the references of the archive.
    pub(crate) fn wave(&self, turn: u32, calls: &[Call], jobs: Vec<Job>) -> Vec<Answered> {
        let answered = self.run_all(jobs);
        calls.iter().zip(answered).map(|(call, answered)| self.bounded(turn, call, answered)).collect()
    }

    fn run_all(&self, jobs: Vec<Job>) -> Vec<Answered> {
        let running = jobs.iter().filter(|job| matches!(job, Job::Run(_))).count();
        if running < 2 {
            return jobs.into_iter().map(|job| self.finished(job)).collect();
        }
        std::thread::scope(|scope| {
            let threads: Vec<_> = jobs.into_iter().map(|job| scope.spawn(|| self.finished(job))).collect();
            let crashed = |_| Answered { text: format!("{REFUSED}the tool crashed"), ..Answered::default() };
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(crashed)).collect()
        })
    }

    fn finished(&self, job: Job) -> Answered {
        let (result, schemas, turning) = match job {
            Job::Done(result) => (result, Vec::new(), None),
            Job::Loaded(loaded) => (Ok(loaded.text), loaded.schemas, None),
            Job::Run(reach) => (self.reach(reach), Vec::new(), None),
            Job::Code(_) => (Err("nothing runs code here".to_owned()), Vec::new(), None),
            Job::Ask(_) => (Err("the user was not asked".to_owned()), Vec::new(), None),
            Job::Turn(turning) => (Ok(turning.told().to_owned()), Vec::new(), Some(turning)),
        };
        Answered { text: result.unwrap_or_else(|reason| format!("{REFUSED}{reason}")), schemas, turning }
    }

    /// One call, whole. What a tool calls waits for its turn here: code may start many calls at once.
    pub(crate) fn reach(&self, reach: Reach) -> Result<String, String> {
        self.reach_until(reach, None)
    }

    /// The same, given up when it is said.
    pub(crate) fn reach_until(&self, reach: Reach, stop: Option<&Stop>) -> Result<String, String> {
        self.tally().reached(&reach.tool, reach.origin);
        let run = || self.desk.run_until(&reach.tool, reach.given, stop);
        match (reach.origin, access(&reach.tool)) {
            (Origin::Model, Access::Shared | Access::Exclusive) => run(),
            // A command may run for as long as its script: whoever waits for it would wait for the script.
            (Origin::Code, Access::Exclusive) if reach.tool == "bash" => run(),
            (Origin::Tool | Origin::Code, Access::Shared) => {
                let _beside = self.gate.read().unwrap_or_else(PoisonError::into_inner);
                run()
            }
            (Origin::Tool | Origin::Code, Access::Exclusive) => {
                let _alone = self.gate.write().unwrap_or_else(PoisonError::into_inner);
                run()
            }
        }
    }

    /// Cuts a result to the surface's budget and keeps the original as evidence.
    fn bounded(&self, turn: u32, call: &Call, mut answered: Answered) -> Answered {
        self.tally().failed_calls += u64::from(answered.text.starts_with(REFUSED));
        let Some(budget) = &self.budget else { return answered };
        // What a search found must stay whole, and a part of the archive is small by itself.
        if !answered.schemas.is_empty()
            || call.name == "archive_read"
            || !budget::exceeds(budget, &answered.text)
        {
            return answered;
        }
        let text = std::mem::take(&mut answered.text);
        let reference = budget.archive.then(|| self.desk.kept().archive.keep(text.clone()));
        say(&AgentEvent::Original { turn, tool: &call.name, reference: reference.as_deref(), text: &text });
        answered.text = budget::cut(budget, &text, reference.as_deref());
        let mut tally = self.tally();
        tally.results_cut += 1;
        tally.bytes_kept_out += (text.len() - answered.text.len()) as u64;
        answered
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn through_a_tool(tool: &str, given: Value) -> Reach {
        Reach { tool: tool.to_owned(), given, origin: Origin::Tool }
    }

    /// Two calls that wait for one another end only when they run beside one another.
    #[test]
    fn calls_of_one_wave_really_run_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (dir, mode) = (rustix::fs::CWD, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR);
        rustix::fs::mknodat(dir, folder.path().join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let job = |command: &str| {
            let given = json!({"command": command});
            Job::Run(Reach { tool: "bash".into(), given, origin: Origin::Model })
        };
        let pipeline = Pipeline::new(Desk::in_workspace(folder.path()), None);
        let calls = [Call::default(), Call::default()];
        let told = pipeline.wave(1, &calls, vec![job("cat pipe"), job("echo met > pipe")]);
        let told: Vec<&str> = told.iter().map(|answered| answered.text.as_str()).collect();
        assert_eq!(told, ["met\n", "[No output.]"]);
    }

    #[test]
    fn calls_that_tools_make_never_run_beside_one_that_changes_something() {
        let folder = tempfile::tempdir().unwrap();
        let pipeline = Pipeline::new(Desk::in_workspace(folder.path()), None);
        // Every call takes the lock or waits for it: two at once would find it there.
        let alone = "mkdir lock && seq 20000 | sort > /dev/null && rmdir lock && echo alone";
        let told: Vec<_> = std::thread::scope(|scope| {
            let call = || pipeline.reach(through_a_tool("bash", json!({"command": alone})));
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(told, vec![Ok("alone\n".to_owned()); 4]);
        assert_eq!(pipeline.tally().nested_calls, 4);
    }
}
