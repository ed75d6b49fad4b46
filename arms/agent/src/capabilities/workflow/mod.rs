//! `workflow`: a small script of dependent steps over tools and agents. Steps whose needs are done run beside one another;
//! what they returned is kept, so that a run which failed can be taken up again where it stopped.

mod script;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bench_core::Delegation;
use serde::Deserialize;
use serde_json::{Value, json};

use self::script::{Script, Step, Values, holds, items, plain};
use super::bell::{Bell, Cancel, Waited};
use super::marks::{Marks, Phase, Subject};
use super::subagents::{Hands, Order, Subagents};
use crate::catalogue::{Access, access};

/// Steps and items that run at once.
const AT_ONCE: usize = 4;
/// Agents of one run.
const AGENTS: u32 = 100;
/// A run may last so long.
const LONGEST: Duration = Duration::from_secs(3600);
/// Bytes of the result that come back.
const RESULT: usize = 20 << 10;
/// Bytes of a step's result that a status shows.
const SHOWN: usize = 200;

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

/// One run: its script, what is done, how it ended.
#[derive(Debug)]
struct Run {
    id: String,
    script: Script,
    args: Value,
    cancel: Cancel,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Results by step.
    done: BTreeMap<String, Value>,
    /// Steps that were passed over, or failed and were optional.
    without: BTreeMap<String, String>,
    running: Vec<String>,
    end: Option<Result<String, String>>,
    calls: u64,
    /// Runs beside the conversation, and its end has not been told.
    followed: bool,
}

impl std::fmt::Debug for Workflows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workflows").field("runs", &self.runs).finish_non_exhaustive()
    }
}

/// What running steps share.
struct Crew {
    folder: PathBuf,
    tools: Tools,
    agents: Subagents,
    gate: RwLock<()>,
    marks: Marks,
    deadline: Instant,
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

impl Run {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn told(&self) -> String {
        let state = self.state();
        let word = match &state.end {
            None => "running".to_owned(),
            Some(Ok(text)) => format!("done. Result:\n{text}"),
            Some(Err(reason)) => format!("failed: {reason}"),
        };
        let line = |step: &Step| {
            let how = match (state.done.get(&step.id), state.without.get(&step.id)) {
                (Some(value), _) => {
                    let text = plain(value);
                    let cut = text.floor_char_boundary(SHOWN);
                    format!("done: {}{}", text[..cut].trim_end(), if cut < text.len() { "…" } else { "" })
                }
                (None, Some(why)) => format!("left out: {why}"),
                (None, None) if state.running.contains(&step.id) => "running".to_owned(),
                (None, None) => "waiting".to_owned(),
            };
            format!("- {}: {how}", step.id)
        };
        let lines: Vec<String> = self.script.steps.iter().map(line).collect();
        format!("{}: {word}\n{}", self.id, lines.join("\n"))
    }

    fn values(&self) -> Values {
        let state = self.state();
        let mut values: serde_json::Map<String, Value> =
            state.done.iter().map(|(id, value)| (id.clone(), value.clone())).collect();
        for id in state.without.keys() {
            values.insert(id.clone(), Value::from(""));
        }
        values.insert("args".to_owned(), self.args.clone());
        Values(values)
    }
}

/// How one step came out.
enum Came {
    Done(Value),
    Without(String),
    Failed(String),
}

impl Crew {
    /// Carries out what is left, wave after wave; the result, or which step failed and why.
    fn carry_out(&self, run: &Run) -> Result<String, String> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn workflows() -> (tempfile::TempDir, Workflows) {
        let folder = tempfile::tempdir().unwrap();
        let cancel = Cancel::with(&Bell::default());
        let hands: Hands = Arc::new(|order, link| {
            link.before_turn()?;
            Ok(format!("{} said: {}", order.name, order.prompt))
        });
        let failing = Mutex::new(true);
        let tools: Tools = Arc::new(move |name, given, cancel| match name {
            "echo" => Ok(plain(&given["text"])),
            "once" if std::mem::replace(&mut *failing.lock().unwrap(), false) => Err("not yet".to_owned()),
            "once" => Ok("at last".to_owned()),
            "hang" => {
                let far = Instant::now() + Duration::from_secs(600);
                cancel.bell().wait(far, cancel, || None::<()>);
                Err("cancelled".to_owned())
            }
            _ => Err(format!("no {name}")),
        });
        let workflows = Workflows::new(
            folder.path(),
            Delegation::default(),
            &cancel,
            &Marks::default(),
            (Some(hands), Some(tools)),
        );
        (folder, workflows)
    }

    fn run(workflows: &Workflows, given: Value) -> Result<String, String> {
        workflows.start(serde_json::from_value(given).unwrap())
    }

    fn which(id: &str) -> Which {
        Which { id: id.into() }
    }

    #[test]
    fn results_flow_from_step_to_step_and_items_keep_their_order() {
        let (_folder, workflows) = workflows();
        let steps = json!([
            {"id": "names", "tool": "echo", "arguments": {"text": "a\nb\nc\nd\ne\n"}},
            {"id": "look", "agent": "look at ${item} (${index})", "each": "${names}"},
            {"id": "never", "tool": "nothing", "when": "none"},
            {"id": "maybe", "tool": "nothing", "optional": true},
            {"id": "sum", "tool": "echo", "arguments": {"text": "${look.4}|${never}|${args.x}"}},
        ]);
        let told = run(&workflows, json!({"steps": steps, "args": {"x": 3}})).unwrap();
        assert_eq!(told, "wf-1.look.4 said: look at e (4)||3");
        assert_eq!(workflows.calls(), 3);
        assert!(!workflows.is_alive());
    }

    #[test]
    fn a_failed_step_ends_the_run_which_is_taken_up_where_it_stopped() {
        let (_folder, workflows) = workflows();
        let steps = json!([
            {"id": "first", "agent": "work"},
            {"id": "second", "tool": "once", "needs": ["first"]},
            {"id": "third", "tool": "echo", "arguments": {"text": "${first} and ${second}"}},
        ]);
        let told = run(&workflows, json!({"steps": steps})).unwrap_err();
        assert!(told.starts_with("wf-1: step second failed: not yet."), "{told}");
        assert!(told.contains("resume = \"wf-1\""), "{told}");
        assert!(workflows.status(&which("wf-1")).unwrap().contains("- third: waiting"));
        let told = run(&workflows, json!({"resume": "wf-1"})).unwrap();
        assert_eq!(told, "wf-1.first said: work and at last");
        assert!(run(&workflows, json!({"resume": "wf-1"})).unwrap_err().contains("nothing left to do"));
        assert!(run(&workflows, json!({"resume": "wf-9"})).unwrap_err().contains("no run wf-9"));
    }

    #[test]
    fn a_retry_hides_a_failure_that_passes() {
        let (_folder, workflows) = workflows();
        let steps = json!([{"id": "a", "tool": "once", "retries": 1}]);
        assert_eq!(run(&workflows, json!({"steps": steps})).unwrap(), "at last");
    }

    #[test]
    fn a_run_beside_the_conversation_is_stopped_in_whatever_it_does() {
        let (_folder, workflows) = workflows();
        let steps = json!([{"id": "a", "tool": "hang"}, {"id": "b", "tool": "hang", "optional": true}]);
        assert_eq!(run(&workflows, json!({"steps": steps, "background": true})).unwrap(), "Started wf-1.");
        assert!(workflows.is_alive());
        let told = workflows.stop(&which("wf-1")).unwrap();
        assert!(told.starts_with("wf-1: failed: step a failed: "), "{told}");
        assert!(!workflows.is_alive());
    }
}
