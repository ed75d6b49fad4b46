//! Carries a run out: wave after wave of the steps whose needs are done.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};
use std::time::Instant;

use serde_json::{Value, json};

use super::run::Run;
use super::script::{Step, Values, holds, items, plain};
use super::{AT_ONCE, LONGEST, RESULT, Tools};
use crate::capabilities::marks::{Marks, Phase, Subject};
use crate::capabilities::subagents::{Order, Subagents};
use crate::catalogue::{Access, access};

/// What running steps share.
pub(super) struct Crew {
    pub(super) folder: PathBuf,
    pub(super) tools: Tools,
    pub(super) agents: Subagents,
    pub(super) gate: RwLock<()>,
    pub(super) marks: Marks,
    pub(super) deadline: Instant,
}

/// How one step came out.
enum Came {
    Done(Value),
    Without(String),
    Failed(String),
}

impl Crew {
    /// Carries out what is left, wave after wave; the result, or which step failed and why.
    pub(super) fn carry_out(&self, run: &Run) -> Result<String, String> {
        loop {
            let wave = self.ready(run);
            if wave.is_empty() {
                return self.result(run);
            }
            run.state().running = wave.iter().map(|step| step.id.clone()).collect();
            let came: Vec<(String, Came)> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    wave.iter().map(|step| scope.spawn(|| (step.id.clone(), self.step(run, step)))).collect();
                threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
            });
            let mut state = run.state();
            state.running.clear();
            let missing = wave.len() - came.len();
            let mut failed = (missing > 0).then(|| "a step crashed".to_owned());
            for (id, came) in came {
                match came {
                    Came::Done(value) => {
                        state.done.insert(id, value);
                    }
                    Came::Without(why) => {
                        state.without.insert(id, why);
                    }
                    Came::Failed(why) => failed = failed.or(Some(format!("step {id} failed: {why}"))),
                }
            }
            drop(state);
            if let Some(failed) = failed {
                let hint = format!(
                    "what is done is kept: call again with resume = {:?}, with or without other steps",
                    run.id
                );
                return Err(format!("{failed}. {hint}"));
            }
        }
    }

    /// The next steps: everything they need is there. At most so many as run at once.
    fn ready<'a>(&self, run: &'a Run) -> Vec<&'a Step> {
        let state = run.state();
        let steps = &run.script.steps;
        let is_over = |at: &usize| {
            let id = &steps[*at].id;
            state.done.contains_key(id) || state.without.contains_key(id)
        };
        let ready = (0..steps.len()).filter(|at| !is_over(at) && run.script.after[*at].iter().all(is_over));
        ready.take(AT_ONCE).map(|at| &steps[at]).collect()
    }

    fn result(&self, run: &Run) -> Result<String, String> {
        let text = match &run.script.result {
            Some(text) => plain(&run.values().fill_text(text)?),
            None => {
                let last = run.script.steps.last().and_then(|step| run.state().done.get(&step.id).cloned());
                last.map(|value| plain(&value)).unwrap_or_else(|| "[No result.]".to_owned())
            }
        };
        if text.len() <= RESULT {
            return Ok(text);
        }
        let cut = text.floor_char_boundary(RESULT);
        Ok(format!("{}\n[{} of {} bytes shown.]", &text[..cut], cut, text.len()))
    }

    fn step(&self, run: &Run, step: &Step) -> Came {
        self.marks.mark(Subject::Step, &format!("{}.{}", run.id, step.id), Phase::Begin, "");
        let came = self.tried(run, step);
        let word = match &came {
            Came::Done(_) => "done",
            Came::Without(_) => "left out",
            Came::Failed(_) => "failed",
        };
        self.marks.mark(Subject::Step, &format!("{}.{}", run.id, step.id), Phase::End, word);
        came
    }

    fn tried(&self, run: &Run, step: &Step) -> Came {
        let values = run.values();
        let condition = step.when.as_ref().map(|when| values.fill_text(when));
        match condition {
            Some(Ok(condition)) if !holds(&condition) => {
                return Came::Without("its condition does not hold".into());
            }
            Some(Err(why)) => return Came::Failed(why),
            Some(Ok(_)) | None => {}
        }
        let worked = match &step.each {
            None => self.once_or_again(run, step, &values, None).map(Value::from),
            Some(each) => self.for_each(run, step, &values, each),
        };
        match worked {
            Ok(value) => Came::Done(value),
            Err(why) if step.optional && !run.cancel.is_wished() => Came::Without(why),
            Err(why) => Came::Failed(why),
        }
    }

    /// Once for each item, several at once; results stand in the order of the items.
    fn for_each(&self, run: &Run, step: &Step, values: &Values, each: &Value) -> Result<Value, String> {
        let items = items(values.fill(each)?)?;
        let numbered: Vec<(usize, Value)> = items.into_iter().enumerate().collect();
        let mut results = Vec::with_capacity(numbered.len());
        for some in numbered.chunks(AT_ONCE) {
            let came: Vec<Result<String, String>> = std::thread::scope(|scope| {
                let one = |(at, item): &(usize, Value)| {
                    let mut values = values.clone();
                    values.0.insert("item".to_owned(), item.clone());
                    values.0.insert("index".to_owned(), json!(at));
                    self.once_or_again(run, step, &values, Some(*at))
                };
                let threads: Vec<_> = some.iter().map(|item| scope.spawn(move || one(item))).collect();
                let crashed = || Err("it crashed".to_owned());
                threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| crashed())).collect()
            });
            for (came, (at, _)) in came.into_iter().zip(some) {
                results.push(Value::from(came.map_err(|why| format!("item {at}: {why}"))?));
            }
        }
        Ok(Value::Array(results))
    }

    fn once_or_again(
        &self,
        run: &Run,
        step: &Step,
        values: &Values,
        item: Option<usize>,
    ) -> Result<String, String> {
        let mut tries = 0;
        loop {
            if run.cancel.is_wished() {
                return Err("it was stopped".to_owned());
            }
            if Instant::now() >= self.deadline {
                return Err(format!("the run has lasted {} minutes", LONGEST.as_secs() / 60));
            }
            let came = match (&step.tool, &step.agent) {
                (Some(tool), _) => self.call(run, tool, values.fill(&step.arguments)?),
                (None, Some(prompt)) => {
                    let prompt = plain(&values.fill_text(prompt)?);
                    self.delegate(run, step, prompt, (item, tries))
                }
                (None, None) => Err("it has nothing to do".to_owned()),
            };
            match came {
                Err(_) if tries < step.retries && !run.cancel.is_wished() => tries += 1,
                other => return other,
            }
        }
    }

    fn call(&self, run: &Run, tool: &str, arguments: Value) -> Result<String, String> {
        run.state().calls += 1;
        match access(tool) {
            Access::Shared => {
                let _beside = self.gate.read().unwrap_or_else(PoisonError::into_inner);
                (self.tools)(tool, arguments, &run.cancel)
            }
            Access::Exclusive => {
                let _alone = self.gate.write().unwrap_or_else(PoisonError::into_inner);
                (self.tools)(tool, arguments, &run.cancel)
            }
        }
    }

    fn delegate(
        &self,
        run: &Run,
        step: &Step,
        prompt: String,
        (item, tries): (Option<usize>, u32),
    ) -> Result<String, String> {
        let mut name = format!("{}.{}", run.id, step.id);
        if let Some(item) = item {
            name.push_str(&format!(".{item}"));
        }
        if tries > 0 {
            name.push_str(&format!("-{tries}"));
        }
        let order =
            Order { name, prompt, folder: self.folder.clone(), model: step.model.clone(), effort: None };
        let name = self.agents.start(order)?;
        self.agents.outcome(&name)
    }
}
