//! The loop: plan, ask, carry out the calls of the turn, ask again, until a turn without calls.

use std::sync::Arc;

use bench_core::{Resource, Resources, Scheduling};
use bench_wire::{Call, Turn};

use crate::answer::{Job, Turning, access_of, job};
use crate::budget;
use crate::catalogue::Access;
use crate::code::{CodeCall, Scripts};
use crate::door::{Door, DoorError};
use crate::kin::Role;
use crate::offer::Offer;
use crate::pipeline::{Answered, Pipeline};
use crate::request::{Asked, Said, Shown};
use crate::schedule::waves;
use crate::start::Start;
use crate::surface_check::SurfaceError;
use crate::tally::{AgentEvent, say};
use crate::tools::{Desk, is_built};

/// Asked in the place of the next turn when the conversation has grown too long.
const SUMMARISE: &str = "Summarise the conversation so far for yourself: what was asked, what was found, what was done, \
                         what is left. Only the summary will be kept.";

/// Why a conversation ended without an answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConversationError {
    #[error(transparent)]
    Surface(#[from] SurfaceError),
    #[error(transparent)]
    Door(#[from] DoorError),
    #[error("{0}")]
    Stopped(String),
    #[error("code mode is on and its worker cannot be started: {0}")]
    Worker(std::io::Error),
    #[error("the runtime for network calls cannot be made: {0}")]
    Runtime(std::io::Error),
}

/// Holds the conversation and returns the model's final text.
pub(crate) fn hold(start: &Start) -> Result<String, ConversationError> {
    hold_as(start, Role::default())
}

/// The same for whoever the conversation belongs to.
pub(crate) fn hold_as(start: &Start, role: Role) -> Result<String, ConversationError> {
    let door = Door::to(&start.base_url, &start.api_key, start.wire)?.for_agent(role.name.as_deref());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(ConversationError::Runtime)?;
    runtime.block_on(Conversation::begin(start, &door, role)?.hold_to_the_end())
}

struct Conversation<'a> {
    start: &'a Start,
    door: &'a Door,
    role: Role,
    asked: Asked<'a>,
    offer: Offer,
    pipeline: Arc<Pipeline>,
    /// Where code mode is on.
    scripts: Option<Scripts>,
    system: String,
    said: Vec<Said>,
    /// Length of the conversation at the mark, with the turn of the mark itself.
    mark: Option<usize>,
    turn: u32,
}

impl<'a> Conversation<'a> {
    fn begin(start: &'a Start, door: &'a Door, role: Role) -> Result<Self, ConversationError> {
        let mut offer = Offer::of(&start.surface, &start.capabilities, start.wire)?;
        offer.preload(&start.surface, &start.instruction);
        let desk = Desk::equipped(&start.workspace, role.equipment(start, door.marks()));
        let pipeline = Pipeline::new(desk, start.surface.budget.as_ref());
        Ok(Self {
            asked: Asked {
                model: &start.model,
                settings: &start.settings,
                capabilities: &start.capabilities,
                wire: start.wire,
            },
            system: offer.system_text(&start.workspace.to_string_lossy()),
            said: vec![Said::User(start.instruction.clone())],
            pipeline: Arc::new(pipeline.of_agent(role.name.as_deref())),
            role,
            scripts: offer.code().map(Scripts::ready).transpose().map_err(ConversationError::Worker)?,
            mark: None,
            turn: 0,
            start,
            door,
            offer,
        })
    }

    async fn hold_to_the_end(mut self) -> Result<String, ConversationError> {
        loop {
            self.turn += 1;
            self.hear_parent()?;
            self.plan();
            let turn = self.next_turn().await?;
            self.tell_parent(&turn);
            let go_on = self.pipeline.desk.capabilities.goal().turn_over(turn.calls.len(), spent(&turn));
            if turn.calls.is_empty() {
                self.say_tally();
                let Some(words) = go_on else { return Ok(turn.text) };
                self.said.push(Said::Model(turn));
                self.said.push(Said::User(words));
                continue;
            }
            self.said.push(Said::Model(turn.clone()));
            let answered = self.carry_out(&turn).await;
            let mut turnings = Vec::new();
            for (call, answered) in turn.calls.into_iter().zip(answered) {
                turnings.extend(answered.turning);
                self.said.push(Said::Result { call, text: answered.text, schemas: answered.schemas });
            }
            self.said.extend(go_on.map(Said::User));
            self.say_tally();
            for turning in turnings {
                match turning {
                    Turning::Mark => self.mark = Some(self.said.len()),
                    Turning::Rewind(report) => self.rewind(&report),
                    Turning::Stop(text) => return Ok(text),
                }
            }
            self.offer.next_turn();
        }
    }

    /// Said after every turn, one without calls too: what was counted to be nothing is known, and not missing.
    fn say_tally(&self) {
        self.pipeline.tally().workflow_calls = self.pipeline.desk.capabilities.workflow_calls();
        self.say(&AgentEvent::Tally { turn: self.turn, tally: &self.pipeline.tally() });
    }

    /// What the agent that started this one has said meanwhile; an `Err` when this one has to stop.
    fn hear_parent(&mut self) -> Result<(), ConversationError> {
        let Some(link) = &self.role.link else { return Ok(()) };
        let messages = link.before_turn().map_err(ConversationError::Stopped)?;
        let heard = messages.iter().map(|text| format!("From the agent that started you: {text}"));
        self.said.extend(heard.map(Said::User));
        Ok(())
    }

    fn tell_parent(&self, turn: &Turn) {
        if let Some(link) = &self.role.link {
            let calls: Vec<&str> = turn.calls.iter().map(|call| call.name.as_str()).collect();
            link.after_turn(spent(turn), &calls.join(", "));
        }
    }

    /// Asks the model, unless this agent is to stop while it waits.
    async fn ask(&self, body: Vec<u8>) -> Result<Turn, ConversationError> {
        let Some(link) = &self.role.link else { return Ok(self.door.ask(body).await?) };
        tokio::select! {
            turn = self.door.ask(body) => Ok(turn?),
            () = link.cancel.wished() => Err(ConversationError::Stopped("it was cancelled".to_owned())),
        }
    }

    fn say(&self, event: &AgentEvent<'_>) {
        say(self.role.name.as_deref(), event);
    }

    /// The tools of the next request, held against what can be carried out.
    fn plan(&mut self) {
        let resources = self.resources();
        self.offer.plan(&resources);
        let collisions = self.offer.collisions().iter();
        self.say(&AgentEvent::Plan {
            turn: self.turn,
            resources: &resources,
            tools: self.offer.tools().iter().map(|tool| tool.name.as_str()).collect(),
            undispatchable: self.offer.undispatchable(is_built),
            collisions: collisions
                .map(|c| format!("{}: {:?} before {:?}", c.tool, c.kept, c.refused))
                .collect(),
        });
    }

    /// What exists for tools to work on.
    fn resources(&self) -> Resources {
        let exists = |resource: &Resource| match resource {
            Resource::TaskList => self.pipeline.desk.has_tasks(),
            Resource::Checkpoint => self.mark.is_some(),
            Resource::Background => self.pipeline.desk.capabilities.has_background(),
            Resource::Subagent => self.pipeline.desk.capabilities.has_subagents(),
            Resource::Workflow => self.pipeline.desk.capabilities.has_workflow(),
            Resource::Goal => self.pipeline.desk.capabilities.goal().is_open(),
        };
        Resource::ALL.into_iter().filter(exists).collect()
    }

    /// Asks the model; first for a summary when the conversation fills its share of the window.
    async fn next_turn(&mut self) -> Result<Turn, ConversationError> {
        let body = self.body();
        let repeated = self.each_turn().map_or(0, str::len) as u64;
        self.pipeline.tally().repeated_guidance_bytes += repeated;
        if !self.is_too_long(&body) {
            return self.ask(body).await;
        }
        let mut said = self.said.clone();
        said.push(Said::User(SUMMARISE.to_owned()));
        let shown = Shown { system: &self.system, said: &said, offer: None };
        let summary = self.ask(self.asked.request(&shown)).await?;
        self.compact(&summary.text);
        self.ask(self.body()).await
    }

    fn body(&self) -> Vec<u8> {
        let shown = |said: &[Said]| {
            self.asked.request(&Shown { system: &self.system, said, offer: Some(&self.offer) })
        };
        match self.each_turn() {
            None => shown(&self.said),
            Some(text) => {
                let mut said = self.said.clone();
                said.push(Said::User(text.to_owned()));
                shown(&said)
            }
        }
    }

    /// What is said at the end of every request.
    fn each_turn(&self) -> Option<&str> {
        self.offer.code().and_then(|code| code.mode.each_turn.as_deref())
    }

    /// Does the next request fill its share of the window, and is there anything to sum up?
    fn is_too_long(&self, body: &[u8]) -> bool {
        let Some(rule) = &self.start.surface.compaction else { return false };
        let tokens = body.len() / budget::BYTES_PER_TOKEN;
        tokens * 100 > rule.window_tokens * usize::from(rule.at_percent) && self.kept_from() > 2
    }

    /// Where the turns begin that stay as they are.
    fn kept_from(&self) -> usize {
        let keep = self.start.surface.compaction.as_ref().map_or(0, |rule| rule.keep_turns);
        let turns = self.said.iter().enumerate().filter(|(_, said)| matches!(said, Said::Model(_)));
        let starts: Vec<usize> = turns.map(|(at, _)| at).collect();
        let first = starts.len().saturating_sub(keep);
        starts.get(first).copied().unwrap_or(self.said.len())
    }

    /// Puts a summary in the place of all but the instruction and the last turns.
    fn compact(&mut self, summary: &str) {
        let kept = self.said.split_off(self.kept_from());
        self.said.truncate(1);
        self.said.push(Said::User(format!("Summary of the work so far:\n{summary}")));
        self.said.extend(kept);
        // The place of the mark is gone with what was summed up.
        self.mark = None;
        self.pipeline.tally().compactions += 1;
    }

    fn rewind(&mut self, report: &str) {
        if let Some(mark) = self.mark.take() {
            self.said.truncate(mark);
            self.said.push(Said::User(format!("What was found since the mark:\n{report}")));
        }
    }

    /// Carries out the calls of a turn; the results stand in the order of the calls.
    async fn carry_out(&mut self, turn: &Turn) -> Vec<Answered> {
        let access: Vec<Access> = turn.calls.iter().map(|call| access_of(&self.offer, call)).collect();
        // A model that may make one call a turn and made several is answered in order all the same.
        let one_at_a_time = self.start.capabilities.parallel_tool_calls == Some(false);
        let scheduling = if one_at_a_time { Scheduling::Serial } else { self.start.surface.scheduling };
        let waves = waves(scheduling, &access);
        self.say(&AgentEvent::Waves {
            turn: self.turn,
            waves: waves
                .iter()
                .map(|wave| turn.calls[wave.clone()].iter().map(|call| call.name.as_str()).collect())
                .collect(),
        });
        let mut answered = Vec::with_capacity(turn.calls.len());
        for wave in waves {
            answered.extend(self.wave(&turn.calls[wave]).await);
        }
        answered
    }

    /// A call that concerns scripts. It is never beside another one of its turn.
    fn script(&mut self, call: &CodeCall) -> Result<String, String> {
        match (&mut self.scripts, self.offer.code()) {
            (Some(scripts), Some(code)) => scripts.carry_out(self.turn, call, code, &self.pipeline),
            (Some(_) | None, _) => Err("code mode is off".to_owned()),
        }
    }

    /// The calls of one wave: asked for in their order, carried out beside one another.
    async fn wave(&mut self, calls: &[Call]) -> Vec<Answered> {
        let mut jobs = Vec::with_capacity(calls.len());
        for call in calls {
            self.pipeline.tally().call(&call.name, &call.arguments, calls.len() > 1);
            let job = job(&mut self.offer, call, self.mark.is_some());
            jobs.push(match job {
                Job::Ask(question) => Job::Done(self.door.ask_person(&question).await),
                Job::Code(call) => Job::Done(self.script(&call)),
                other @ (Job::Done(_) | Job::Loaded(_) | Job::Run(_) | Job::Turn(_)) => other,
            });
        }
        for job in &jobs {
            if let Job::Loaded(loaded) = job {
                self.pipeline.tally().found(&loaded.tools);
            }
        }
        self.pipeline.wave(self.turn, calls, jobs)
    }
}

/// Tokens that a turn cost, as far as its provider says.
fn spent(turn: &Turn) -> u64 {
    let usage = turn.usage.unwrap_or_default();
    usage.input_tokens.unwrap_or(0) + usage.output_tokens.unwrap_or(0)
}
