//! The loop: plan, ask, carry out the calls of the turn, ask again, until a turn without calls.

use std::sync::Arc;

use bench_core::Scheduling;
use bench_wire::{Call, Turn};

use crate::answer::{Job, Turning, access_of, job};
use crate::budget;
use crate::catalogue::ToolDefinition;
use crate::door::{Door, DoorError};
use crate::offer::Offer;
use crate::registry::Resources;
use crate::request::{Asked, Said, Shown};
use crate::schedule::waves;
use crate::start::Start;
use crate::surface_check::SurfaceError;
use crate::tally::{AgentEvent, Tally, say};
use crate::tools::{Access, Desk, is_built};

/// With this begins the result of every call that was refused or failed; the lexicon knows it.
const REFUSED: &str = "Error: ";
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
    #[error("the runtime for network calls cannot be made: {0}")]
    Runtime(std::io::Error),
}

/// Holds the conversation and returns the model's final text.
pub(crate) fn hold(start: &Start) -> Result<String, ConversationError> {
    let door = Door::to(&start.base_url, &start.api_key, start.wire)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(ConversationError::Runtime)?;
    runtime.block_on(Conversation::begin(start, &door)?.to_its_end())
}

struct Conversation<'a> {
    start: &'a Start,
    door: &'a Door,
    asked: Asked<'a>,
    offer: Offer,
    desk: Desk<'a>,
    system: String,
    said: Vec<Said>,
    /// Length of the conversation at the mark, with the turn of the mark itself.
    mark: Option<usize>,
    tally: Tally,
    turn: u32,
}

/// The result of a call and what came with it.
#[derive(Default)]
struct Answered {
    text: String,
    schemas: Vec<Arc<ToolDefinition>>,
    turning: Option<Turning>,
}

impl<'a> Conversation<'a> {
    fn begin(start: &'a Start, door: &'a Door) -> Result<Self, SurfaceError> {
        let mut offer = Offer::of(&start.surface, &start.capabilities, start.wire)?;
        offer.preload(&start.surface, &start.instruction);
        Ok(Self {
            asked: Asked {
                model: &start.model,
                settings: &start.settings,
                capabilities: &start.capabilities,
                wire: start.wire,
            },
            system: offer.system_text(&start.workspace.to_string_lossy()),
            said: vec![Said::User(start.instruction.clone())],
            desk: Desk::in_workspace(&start.workspace),
            mark: None,
            tally: Tally::default(),
            turn: 0,
            start,
            door,
            offer,
        })
    }

    async fn to_its_end(mut self) -> Result<String, ConversationError> {
        loop {
            self.turn += 1;
            self.plan();
            let turn = self.next_turn().await?;
            if turn.calls.is_empty() {
                return Ok(turn.text);
            }
            self.said.push(Said::Model(turn.clone()));
            let answered = self.carry_out(&turn).await;
            let mut turnings = Vec::new();
            for (call, answered) in turn.calls.into_iter().zip(answered) {
                turnings.extend(answered.turning);
                self.said.push(Said::Result { call, text: answered.text, schemas: answered.schemas });
            }
            say(&AgentEvent::Tally { turn: self.turn, tally: &self.tally });
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

    /// The tools of the next request, held against what can be carried out.
    fn plan(&mut self) {
        self.offer.plan(Resources { task_list: self.desk.has_tasks(), checkpoint: self.mark.is_some() });
        let collisions = self.offer.collisions().iter();
        say(&AgentEvent::Plan {
            turn: self.turn,
            tools: self.offer.tools().iter().map(|tool| tool.name.as_str()).collect(),
            undispatchable: self.offer.undispatchable(is_built),
            collisions: collisions
                .map(|c| format!("{}: {:?} before {:?}", c.tool, c.kept, c.refused))
                .collect(),
        });
    }

    /// Asks the model; first for a summary when the conversation fills its share of the window.
    async fn next_turn(&mut self) -> Result<Turn, DoorError> {
        let body = self.body();
        if !self.is_too_long(&body) {
            return self.door.ask(body).await;
        }
        let mut said = self.said.clone();
        said.push(Said::User(SUMMARISE.to_owned()));
        let shown = Shown { system: &self.system, said: &said, offer: None };
        let summary = self.door.ask(self.asked.request(&shown)).await?;
        self.compact(&summary.text);
        self.door.ask(self.body()).await
    }

    fn body(&self) -> Vec<u8> {
        self.asked.request(&Shown { system: &self.system, said: &self.said, offer: Some(&self.offer) })
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
        self.tally.compactions += 1;
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
        say(&AgentEvent::Waves {
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

    /// The calls of one wave beside one another.
    async fn wave(&mut self, calls: &[Call]) -> Vec<Answered> {
        let mut jobs = Vec::with_capacity(calls.len());
        for call in calls {
            self.tally.call(&call.name, &call.arguments, calls.len() > 1);
            let job = job(&mut self.offer, call, self.mark.is_some());
            jobs.push(match job {
                Job::Ask(question) => Job::Done(self.door.ask_person(&question).await),
                other => other,
            });
        }
        for job in &jobs {
            match job {
                Job::Loaded(loaded) => {
                    self.tally.discovery_calls += 1;
                    self.tally.loaded(&loaded.tools);
                }
                Job::Run { tool, .. } => {
                    self.tally.used(tool);
                    self.tally.archive_reads += u64::from(tool == "archive_read");
                }
                Job::Done(_) | Job::Ask(_) | Job::Turn(_) => {}
            }
        }
        let answered = run_all(&self.desk, jobs);
        let bounded = calls.iter().zip(answered).map(|(call, answered)| self.bounded(call, answered));
        bounded.collect()
    }

    /// Cuts a result to the surface's budget and keeps the original as evidence.
    fn bounded(&mut self, call: &Call, mut answered: Answered) -> Answered {
        self.tally.failed_calls += u64::from(answered.text.starts_with(REFUSED));
        let Some(budget) = self.start.surface.budget.as_ref() else { return answered };
        // What a search found must stay whole, and a part of the archive is small by itself.
        if !answered.schemas.is_empty()
            || call.name == "archive_read"
            || !budget::exceeds(budget, &answered.text)
        {
            return answered;
        }
        let text = std::mem::take(&mut answered.text);
        let reference = budget.archive.then(|| self.desk.kept().archive.keep(text.clone()));
        say(&AgentEvent::Original {
            turn: self.turn,
            tool: &call.name,
            reference: reference.as_deref(),
            text: &text,
        });
        answered.text = budget::cut(budget, &text, reference.as_deref());
        self.tally.results_cut += 1;
        self.tally.bytes_kept_out += (text.len() - answered.text.len()) as u64;
        answered
    }
}

/// Runs what has to run, each call in a thread of its own where there are several.
fn run_all(desk: &Desk<'_>, jobs: Vec<Job>) -> Vec<Answered> {
    let running = jobs.iter().filter(|job| matches!(job, Job::Run { .. })).count();
    if running < 2 {
        return jobs.into_iter().map(|job| finished(desk, job)).collect();
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = jobs.into_iter().map(|job| scope.spawn(|| finished(desk, job))).collect();
        let crashed = |_| Answered { text: format!("{REFUSED}the tool crashed"), ..Answered::default() };
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(crashed)).collect()
    })
}

fn finished(desk: &Desk<'_>, job: Job) -> Answered {
    let (result, schemas, turning) = match job {
        Job::Done(result) => (result, Vec::new(), None),
        Job::Loaded(loaded) => (Ok(loaded.text), loaded.schemas, None),
        Job::Run { tool, given } => (desk.run(&tool, given), Vec::new(), None),
        Job::Ask(_) => (Err("the user was not asked".to_owned()), Vec::new(), None),
        Job::Turn(turning) => {
            let told = match &turning {
                Turning::Mark => "Marked. A rewind takes out what comes after this.",
                Turning::Rewind(_) => "Rewound.",
                Turning::Stop(_) => "Handed over.",
            };
            (Ok(told.to_owned()), Vec::new(), Some(turning))
        }
    };
    Answered { text: result.unwrap_or_else(|reason| format!("{REFUSED}{reason}")), schemas, turning }
}

/// The texts that a wave of jobs gives.
#[cfg(test)]
pub(crate) fn told_by(desk: &Desk<'_>, jobs: Vec<Job>) -> Vec<String> {
    run_all(desk, jobs).into_iter().map(|answered| answered.text).collect()
}
