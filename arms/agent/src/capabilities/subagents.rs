//! Second agents: each a conversation of its own with a context and a surface of its own, in a thread of its own, over the
//! same door. How deep, how many and how dear is capped; a cancelled one stops in whatever it does.
//!
//! A child stays on the list until its end has been told: that is its episode.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bench_core::Delegation;
use serde::Deserialize;

use super::bell::{Bell, Cancel, Waited};
use super::marks::{Marks, Phase, Subject};

/// Seconds that a wait lasts where it does not say, and the most that it may say.
const USUAL: f64 = 600.0;
const LONGEST: f64 = 3600.0;
/// How long a cancelled child is waited for.
const GRACE: Duration = Duration::from_secs(10);
/// Longest name, in characters: it stands in a header of every request.
const NAME: usize = 40;

/// What a child is to do.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) name: String,
    pub(crate) prompt: String,
    pub(crate) folder: PathBuf,
    pub(crate) model: Option<String>,
    pub(crate) effort: Option<String>,
}

/// Holds a child's conversation and returns its last message.
pub(crate) type Hands = Arc<dyn Fn(&Order, &Arc<Link>) -> Result<String, String> + Send + Sync>;

/// Arguments of `subagent_spawn`.
#[derive(Debug, Deserialize)]
pub(crate) struct Spawn {
    prompt: String,
    name: String,
    harness: Option<String>,
    working_dir: Option<String>,
    model: Option<String>,
    reasoning_effort: Option<String>,
}

/// Arguments of `subagent_wait`.
#[derive(Debug, Deserialize)]
pub(crate) struct Wait {
    names: Option<Vec<String>>,
    timeout: Option<f64>,
}

/// Arguments of `subagent_send`.
#[derive(Debug, Deserialize)]
pub(crate) struct Message {
    name: String,
    message: String,
}

/// Arguments of `subagent_check` and `subagent_cancel`.
#[derive(Debug, Deserialize)]
pub(crate) struct Which {
    name: String,
}

/// What ties a child to its parent: messages one way, progress the other, the wish to stop, and what all children of a
/// parent may spend together.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) cancel: Cancel,
    limits: Delegation,
    spent_by_all: Arc<AtomicU64>,
    state: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    messages: Vec<String>,
    turns: u32,
    tokens: u64,
    doing: String,
}

#[derive(Debug)]
struct Child {
    name: String,
    link: Arc<Link>,
    end: Mutex<Option<Result<String, String>>>,
}

/// The children of one conversation.
pub(crate) struct Subagents {
    hands: Option<Hands>,
    limits: Delegation,
    folder: PathBuf,
    cancel: Cancel,
    marks: Marks,
    spent: Arc<AtomicU64>,
    list: Mutex<Children>,
}

#[derive(Debug, Default)]
struct Children {
    alive: Vec<Arc<Child>>,
    named: BTreeSet<String>,
}

impl std::fmt::Debug for Subagents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subagents")
            .field("limits", &self.limits)
            .field("list", &self.list)
            .finish_non_exhaustive()
    }
}

impl Link {
    /// What the parent said since the last turn. An `Err` is why the child has to stop now.
    pub(crate) fn before_turn(&self) -> Result<Vec<String>, String> {
        if self.cancel.is_wished() {
            return Err("it was cancelled".to_owned());
        }
        let mut state = self.state();
        if state.turns >= self.limits.turns {
            return Err(format!("it was stopped after {} turns without an end", self.limits.turns));
        }
        if self.spent_by_all.load(Ordering::Acquire) >= self.limits.tokens {
            return Err(format!("the {} tokens of all second agents are spent", self.limits.tokens));
        }
        state.turns += 1;
        Ok(std::mem::take(&mut state.messages))
    }

    /// A turn is there.
    pub(crate) fn after_turn(&self, tokens: u64, doing: &str) {
        self.spent_by_all.fetch_add(tokens, Ordering::AcqRel);
        let mut state = self.state();
        state.tokens += tokens;
        doing.clone_into(&mut state.doing);
    }

    fn state(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Child {
    fn end(&self) -> MutexGuard<'_, Option<Result<String, String>>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn word(&self) -> String {
        let state = self.link.state();
        match &*self.end() {
            None => format!("working, {} turns, {} tokens{}", state.turns, state.tokens, said(&state.doing)),
            Some(Ok(_)) => format!("done after {} turns, {} tokens", state.turns, state.tokens),
            Some(Err(reason)) => format!("failed: {reason}"),
        }
    }

    fn told(&self) -> String {
        match &*self.end() {
            None => format!("## {}: {}", self.name, self.word()),
            Some(Ok(text)) => format!("## {}\n{text}", self.name),
            Some(Err(reason)) => format!("## {} failed: {reason}", self.name),
        }
    }
}

fn said(doing: &str) -> String {
    if doing.is_empty() { String::new() } else { format!(", last: {doing}") }
}

impl Subagents {
    pub(crate) fn new(
        folder: &Path,
        limits: Delegation,
        cancel: &Cancel,
        marks: &Marks,
        hands: Option<Hands>,
    ) -> Self {
        Self {
            hands,
            limits,
            folder: folder.to_owned(),
            cancel: cancel.clone(),
            marks: marks.clone(),
            spent: Arc::default(),
            list: Mutex::default(),
        }
    }

    /// Is a child on the list?
    pub(crate) fn is_alive(&self) -> bool {
        !self.list().alive.is_empty()
    }

    pub(crate) fn spawn(&self, given: Spawn) -> Result<String, String> {
        if let Some(harness) = &given.harness {
            return Err(format!("the program {harness} is not available here; leave harness out"));
        }
        let folder = self.folder.join(given.working_dir.as_deref().unwrap_or("."));
        if !folder.is_dir() {
            return Err(format!("{}: there is no such folder", given.working_dir.as_deref().unwrap_or(".")));
        }
        let order = Order {
            name: given.name,
            prompt: given.prompt,
            folder,
            model: given.model,
            effort: given.reasoning_effort,
        };
        self.start(order).map(|name| format!("Started {name}."))
    }

    /// Starts a child and returns its name; its end is told by a wait.
    pub(crate) fn start(&self, order: Order) -> Result<String, String> {
        let hands = self.hands.clone().filter(|_| self.limits.depth > 0);
        let hands = hands.ok_or("an agent at this depth cannot start further ones; do the work yourself")?;
        let fits = |c: char| c.is_ascii_graphic() && c != '/' && c != '"';
        if order.name.is_empty() || order.name.len() > NAME || !order.name.chars().all(fits) {
            return Err(format!("name must be 1 to {NAME} letters, digits or signs without spaces"));
        }
        let mut list = self.list();
        if list.alive.iter().filter(|child| child.end().is_none()).count() >= self.limits.at_once as usize {
            return Err(format!("{} agents are working already; wait for one first", self.limits.at_once));
        }
        if list.named.len() >= self.limits.agents as usize {
            return Err(format!("all {} agents of this conversation have been started", self.limits.agents));
        }
        if !list.named.insert(order.name.clone()) {
            return Err(format!("the name {} is taken; choose another", order.name));
        }
        let link = Arc::new(Link {
            cancel: Cancel::with(&Bell::default()),
            limits: self.limits,
            spent_by_all: Arc::clone(&self.spent),
            state: Mutex::default(),
        });
        let child = Arc::new(Child { name: order.name.clone(), link, end: Mutex::default() });
        list.alive.push(Arc::clone(&child));
        drop(list);
        let name = order.name.clone();
        self.marks.mark(Subject::Subagent, &name, Phase::Begin, "");
        let (bell, marks) = (self.cancel.bell().clone(), self.marks.clone());
        std::thread::spawn(move || {
            let held = catch_unwind(AssertUnwindSafe(|| hands(&order, &child.link)));
            let end = held.unwrap_or_else(|_| Err("it crashed".to_owned()));
            marks.mark(
                Subject::Subagent,
                &order.name,
                Phase::End,
                if end.is_ok() { "done" } else { "failed" },
            );
            *child.end() = Some(end);
            bell.ring();
        });
        Ok(name)
    }

    /// Waits until children have ended and tells what they said last.
    pub(crate) fn wait(&self, given: &Wait) -> Result<String, String> {
        let seconds = given.timeout.unwrap_or(USUAL);
        if !(0.0..=LONGEST).contains(&seconds) {
            return Err(format!("timeout must be at most {LONGEST} seconds but is {seconds}"));
        }
        let children = match &given.names {
            Some(names) => names.iter().map(|name| self.child(name)).collect::<Result<Vec<_>, _>>()?,
            None => self.list().alive.clone(),
        };
        let deadline = Instant::now() + Duration::from_secs_f64(seconds);
        let waited = self.cancel.bell().wait(deadline, &self.cancel, || {
            children.iter().all(|child| child.end().is_some()).then_some(())
        });
        if waited == Waited::Cancelled {
            return Err("the wait was cancelled; the agents work on".to_owned());
        }
        let told: Vec<String> = children.iter().map(|child| child.told()).collect();
        self.forget(&children);
        Ok(told.join("\n\n"))
    }

    /// Waits for one child and returns what it said last.
    pub(crate) fn outcome(&self, name: &str) -> Result<String, String> {
        let child = self.child(name)?;
        let far = Instant::now() + Duration::from_secs_f64(LONGEST);
        self.cancel.bell().wait(far, &self.cancel, || child.end().is_some().then_some(()));
        let end = child.end().clone();
        self.forget(&[child]);
        end.unwrap_or_else(|| Err("it was not waited for to its end".to_owned()))
    }

    pub(crate) fn send(&self, given: &Message) -> Result<String, String> {
        let child = self.child(&given.name)?;
        if child.end().is_some() {
            return Err(format!("{} has ended; wait for it to read what it said", given.name));
        }
        child.link.state().messages.push(given.message.clone());
        Ok(format!("{} reads it before its next turn.", given.name))
    }

    pub(crate) fn check(&self, given: &Which) -> Result<String, String> {
        let child = self.child(&given.name)?;
        Ok(format!("{}: {}", child.name, child.word()))
    }

    /// Stops a child in whatever it does, and tells how it ended.
    pub(crate) fn cancel(&self, given: &Which) -> Result<String, String> {
        let child = self.child(&given.name)?;
        let told =
            if self.stop(&child) { child.word() } else { "it does not stop; it is left alone".to_owned() };
        self.forget(&[child]);
        Ok(format!("{}: {told}", given.name))
    }

    /// Every child with its state.
    pub(crate) fn list_all(&self) -> String {
        let lines: Vec<String> =
            self.list().alive.iter().map(|child| format!("{}: {}", child.name, child.word())).collect();
        if lines.is_empty() { "[None.]".to_owned() } else { lines.join("\n") }
    }

    fn stop(&self, child: &Child) -> bool {
        child.link.cancel.wish();
        let patient = Cancel::with(self.cancel.bell());
        let ended = || child.end().is_some().then_some(());
        self.cancel.bell().wait(Instant::now() + GRACE, &patient, ended) == Waited::Ready(())
    }

    fn child(&self, name: &str) -> Result<Arc<Child>, String> {
        let list = self.list();
        let found = list.alive.iter().find(|child| child.name == name).cloned();
        found.ok_or_else(|| {
            let known: Vec<&str> = list.alive.iter().map(|child| child.name.as_str()).collect();
            let known = if known.is_empty() { "nobody".to_owned() } else { known.join(", ") };
            format!("there is no agent {name}; the list holds {known}")
        })
    }

    /// Those of them that have ended leave the list.
    fn forget(&self, told: &[Arc<Child>]) {
        let over =
            |child: &Arc<Child>| child.end().is_some() && told.iter().any(|told| told.name == child.name);
        self.list().alive.retain(|child| !over(child));
    }

    fn list(&self) -> MutexGuard<'_, Children> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Subagents {
    fn drop(&mut self) {
        let alive = std::mem::take(&mut self.list().alive);
        alive.iter().for_each(|child| child.link.cancel.wish());
        for child in &alive {
            self.stop(child);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Children that loop until they are stopped, say what they were told, or crash, as their prompt asks.
    fn hands() -> Hands {
        Arc::new(|order, link| match order.prompt.as_str() {
            "crash" => panic!("asked for"),
            "loop" => loop {
                link.before_turn()?;
                link.after_turn(10, "bash");
            },
            "wait" => {
                let far = Instant::now() + Duration::from_secs(600);
                let cancel = &link.cancel;
                cancel.bell().wait(far, cancel, || None::<()>);
                link.before_turn().map(|_| "never".to_owned())
            }
            text => {
                link.before_turn()?;
                link.after_turn(7, "");
                Ok(format!("did {text}"))
            }
        })
    }

    fn subagents(limits: Delegation) -> (tempfile::TempDir, Subagents) {
        let folder = tempfile::tempdir().unwrap();
        let cancel = Cancel::with(&Bell::default());
        let subagents = Subagents::new(folder.path(), limits, &cancel, &Marks::default(), Some(hands()));
        (folder, subagents)
    }

    fn given<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    fn spawn(subagents: &Subagents, name: &str, prompt: &str) -> Result<String, String> {
        subagents.spawn(given(json!({"name": name, "prompt": prompt})))
    }

    #[test]
    fn children_work_beside_one_another_and_each_end_is_told_once() {
        let (_folder, subagents) = subagents(Delegation::default());
        assert_eq!(spawn(&subagents, "north", "a").unwrap(), "Started north.");
        spawn(&subagents, "south", "crash").unwrap();
        assert!(spawn(&subagents, "north", "b").unwrap_err().contains("name north is taken"));
        let told = subagents.wait(&given(json!({}))).unwrap();
        assert_eq!(told, "## north\ndid a\n\n## south failed: it crashed");
        assert!(!subagents.is_alive());
        let gone = subagents.wait(&given(json!({"names": ["north"]}))).unwrap_err();
        assert_eq!(gone, "there is no agent north; the list holds nobody");
    }

    #[test]
    fn a_cancelled_child_stops_in_its_wait() {
        let (_folder, subagents) = subagents(Delegation::default());
        spawn(&subagents, "idle", "wait").unwrap();
        assert!(
            subagents.check(&given(json!({"name": "idle"}))).unwrap().starts_with("idle: working, 0 turns")
        );
        assert_eq!(
            subagents.send(&given(json!({"name": "idle", "message": "m"}))).unwrap(),
            "idle reads it before its next turn."
        );
        let told = subagents.cancel(&given(json!({"name": "idle"}))).unwrap();
        assert_eq!(told, "idle: failed: it was cancelled");
    }

    #[test]
    fn turns_tokens_number_and_depth_have_ends() {
        let limits = Delegation { turns: 3, ..Delegation::default() };
        let (_folder, subagents) = subagents(limits);
        spawn(&subagents, "round", "loop").unwrap();
        let told = subagents.wait(&given(json!({}))).unwrap();
        assert_eq!(told, "## round failed: it was stopped after 3 turns without an end");
        let (_folder, few) =
            subagents_of(Delegation { tokens: 25, agents: 2, at_once: 1, ..Delegation::default() });
        spawn(&few, "dear", "loop").unwrap();
        assert_eq!(few.outcome("dear").unwrap_err(), "the 25 tokens of all second agents are spent");
        spawn(&few, "idle", "wait").unwrap();
        assert!(spawn(&few, "more", "a").unwrap_err().contains("1 agents are working already"));
        few.cancel(&given(json!({"name": "idle"}))).unwrap();
        assert!(spawn(&few, "third", "a").unwrap_err().contains("all 2 agents"));
        let (_folder, flat) = subagents_of(Delegation { depth: 0, ..Delegation::default() });
        assert!(spawn(&flat, "a", "a").unwrap_err().contains("cannot start further ones"));
        assert!(spawn(&few, "a b", "a").unwrap_err().contains("name must be"));
    }

    fn subagents_of(limits: Delegation) -> (tempfile::TempDir, Subagents) {
        subagents(limits)
    }
}
