//! The scripts of a conversation, from the call that hands one over to the text that the model gets back. A script that a
//! shape lets run on stays here until it is over or the conversation is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bench_code::{CallRecord, Engine, Limits, Outcome, Running, Script, ScriptEnding, Waited};
use bench_core::CodeLimits;
use serde_json::Value;

use super::bridge::ThroughPipeline;
use super::graph::{self, Graph};
use super::shown::CodeOffer;
use super::{joined, launch};
use crate::pipeline::Pipeline;
use crate::tally::{AgentEvent, say};

/// How long `wait` waits where the call does not say.
const WAIT: Duration = Duration::from_secs(10);
/// The first line by which a script says how it wants to be run.
const OPTIONS: &str = "// @exec:";

/// A call that concerns scripts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CodeCall {
    /// Run one to its end.
    Run(Value),
    /// Run one, and leave it running when it takes long.
    Begin(Value),
    /// Wait for one that was left running, or end it.
    Wait(Value),
}

/// The scripts of one conversation.
#[derive(Debug)]
pub(crate) struct Scripts {
    engine: Engine,
    running: BTreeMap<u64, (Running, usize)>,
    next: u64,
    /// Did the script before this one fail?
    failed: bool,
}

impl Scripts {
    /// Starts the worker, so that its absence is known before the model relies on it.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn ready(offer: &CodeOffer) -> std::io::Result<Self> {
        let mut engine = Engine::new(launch(), offer.keeps());
        engine.warm()?;
        Ok(Self { engine, running: BTreeMap::new(), next: 1, failed: false })
    }

    /// Carries a call out. An `Err` is what the model is told of one that failed.
    pub(crate) fn carry_out(
        &mut self,
        turn: u32,
        call: &CodeCall,
        offer: &CodeOffer,
        pipeline: &Arc<Pipeline>,
    ) -> Result<String, String> {
        match call {
            CodeCall::Run(given) => {
                if given["reset"] == true {
                    self.engine.reset();
                }
                let limits = limits(&offer.mode.limits, given);
                let graph = graph::read(given, offer.functions());
                let mut running = self.begin(text(given, "code"), &limits, offer, pipeline)?;
                running.wait(None);
                let outcome = self.engine.finish(running);
                self.told(turn, outcome, graph.as_ref(), pipeline)
            }
            CodeCall::Begin(given) => {
                let (options, script) = options(text(given, "input"))?;
                let limits = limits(&offer.mode.limits, given);
                let mut running = self.begin(script, &limits, offer, pipeline)?;
                let yield_ms = options["yield_time_ms"].as_u64().unwrap_or(offer.mode.limits.yield_ms);
                match running.wait(Some(Duration::from_millis(yield_ms))) {
                    Waited::Over => {
                        let outcome = self.engine.finish(running);
                        self.told(turn, outcome, None, pipeline)
                    }
                    Waited::Runs => {
                        let id = self.next;
                        self.next += 1;
                        let shown = running.take_output();
                        self.running.insert(id, (running, 0));
                        Ok(still(id, &shown))
                    }
                }
            }
            CodeCall::Wait(given) => self.wait(turn, given, pipeline),
        }
    }

    fn begin(
        &mut self,
        text: &str,
        limits: &Limits,
        offer: &CodeOffer,
        pipeline: &Arc<Pipeline>,
    ) -> Result<Running, String> {
        let (functions, preludes) = (Arc::clone(offer.functions()), offer.preludes());
        let bridge = ThroughPipeline {
            pipeline: Arc::clone(pipeline),
            tools: offer.definitions(),
            nested_bytes: offer.mode.limits.nested_bytes,
        };
        let script =
            Script { text, functions: &functions, globals: offer.globals(), preludes: &preludes, limits };
        let mut tally = pipeline.tally();
        tally.scripts += 1;
        tally.script_retries += u64::from(self.failed);
        drop(tally);
        self.engine
            .start(&script, Arc::new(bridge))
            .map_err(|error| format!("no code worker can be started: {error}"))
    }

    fn wait(&mut self, turn: u32, given: &Value, pipeline: &Arc<Pipeline>) -> Result<String, String> {
        let id = given["script_id"].as_u64().unwrap_or_default();
        let Some((mut running, _)) = self.running.remove(&id) else {
            let known: Vec<String> = self.running.keys().map(u64::to_string).collect();
            let known = if known.is_empty() {
                "none runs".to_owned()
            } else {
                format!("running: {}", known.join(", "))
            };
            return Err(format!("there is no script {id} that runs; {known}"));
        };
        let patience = given["yield_time_ms"].as_u64().map_or(WAIT, Duration::from_millis);
        if given["terminate"] != true && running.wait(Some(patience)) == Waited::Runs {
            let shown = running.take_output();
            self.running.insert(id, (running, 0));
            return Ok(still(id, &shown));
        }
        let outcome = self.engine.finish(running);
        self.told(turn, outcome, None, pipeline)
    }

    /// What the model is told of a script that is over; counts and records it.
    fn told(
        &mut self,
        turn: u32,
        outcome: Outcome,
        graph: Option<&Graph>,
        pipeline: &Arc<Pipeline>,
    ) -> Result<String, String> {
        let result = text_of(&outcome, graph);
        self.failed = result.is_err();
        let told = result.as_ref().unwrap_or_else(|told| told);
        let nested: usize = outcome.calls.iter().map(|call| call.bytes).sum();
        let mut tally = pipeline.tally();
        tally.concurrent_nested_calls +=
            outcome.calls.iter().filter(|call| call.beside_others).count() as u64;
        tally.script_errors += u64::from(result.is_err());
        tally.script_timeouts += u64::from(outcome.ending == ScriptEnding::TimedOut);
        tally.bytes_kept_out += nested.saturating_sub(told.len()) as u64;
        drop(tally);
        say(&AgentEvent::Script { turn, ending: word(&outcome.ending), calls: calls(&outcome.calls), graph });
        result
    }
}

fn text<'v>(given: &'v Value, key: &str) -> &'v str {
    given[key].as_str().unwrap_or_default()
}

fn limits(surface: &CodeLimits, given: &Value) -> Limits {
    let most = Duration::from_millis(surface.time_ms);
    let asked = given["timeout"].as_f64().filter(|seconds| *seconds > 0.0 && *seconds < most.as_secs_f64());
    Limits {
        time: asked.map_or(most, Duration::from_secs_f64),
        memory_bytes: surface.memory_bytes,
        output_bytes: surface.output_bytes,
        value_bytes: surface.value_bytes,
        calls: surface.calls,
        drain: Duration::from_millis(surface.drain_ms),
    }
}

/// The options of a script's first line, and the script.
fn options(script: &str) -> Result<(Value, &str), String> {
    let first = script.lines().next().unwrap_or_default();
    match first.trim().strip_prefix(OPTIONS) {
        None => Ok((Value::Null, script)),
        Some(options) => serde_json::from_str(options)
            .map(|options| (options, script))
            .map_err(|error| format!("the options of the first line are not JSON: {error}")),
    }
}

fn still(id: u64, shown: &str) -> String {
    joined(&[shown, &format!("[Script {id} still runs; wait takes it up.]")])
}

fn word(ending: &ScriptEnding) -> &'static str {
    match ending {
        ScriptEnding::Returned(_) => "returned",
        ScriptEnding::Threw(_) => "threw",
        ScriptEnding::TimedOut => "timed_out",
        ScriptEnding::Stopped => "stopped",
        ScriptEnding::Died(_) => "died",
    }
}

fn calls(records: &[CallRecord]) -> Vec<Value> {
    let one = |call: &CallRecord| {
        serde_json::json!({
            "tool": call.tool, "beside_others": call.beside_others, "succeeded": call.succeeded, "bytes": call.bytes,
        })
    };
    records.iter().map(one).collect()
}

/// Output, value and remarks as one text; an `Err` for a script that did not come to its own good end.
fn text_of(outcome: &Outcome, graph: Option<&Graph>) -> Result<String, String> {
    let mut remarks: Vec<String> = outcome.remarks.iter().map(|remark| format!("[{remark}]")).collect();
    remarks.extend(
        graph.into_iter().flat_map(|graph| &graph.faults).map(|fault| format!("[tool_graph: {fault}]")),
    );
    if outcome.state_lost {
        remarks.push("[The names of earlier scripts are gone.]".to_owned());
    }
    let remarks = remarks.join("\n");
    let failed = |why: String| Err(joined(&[&why, &outcome.output, &remarks]));
    match &outcome.ending {
        ScriptEnding::Returned(None) if outcome.output.is_empty() => {
            Ok(joined(&["[The script returned nothing.]", &remarks]))
        }
        ScriptEnding::Returned(value) => {
            Ok(joined(&[&outcome.output, value.as_deref().unwrap_or_default(), &remarks]))
        }
        ScriptEnding::Threw(error) => failed(format!("the script failed: {error}")),
        ScriptEnding::TimedOut => {
            failed("the script was ended when its time was over, and its calls with it".to_owned())
        }
        ScriptEnding::Stopped => failed("the script was ended, and its calls with it".to_owned()),
        ScriptEnding::Died(how) => failed(format!(
            "the code worker {how}: memory or stack ran out, most likely; the next script gets another"
        )),
    }
}
