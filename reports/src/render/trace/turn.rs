//! One request and its answer, as the page shows them.

use bench_core::lifecycle::{Violation, ViolationKind};
use bench_trajectory::{Exchange, Script, SurfaceChange, Tool, ToolCall, Trajectory, TurnNotes};
use serde::Serialize;

use super::Clipped;
use crate::render::estimate::grouped;

/// Characters of a call's arguments beside its name.
const GIST: usize = 90;

/// A request and what came of it.
#[derive(Serialize)]
pub(super) struct Turn {
    name: String,
    class: String,
    aside: bool,
    numbers: String,
    said: Vec<Said>,
    dropped: usize,
    surface: Option<Surface>,
    violations: Vec<String>,
    reasoning: Option<Clipped>,
    text: Option<Clipped>,
    finish: Option<String>,
    trouble: Option<String>,
    calls: Vec<Call>,
    notes: Vec<String>,
    cut: Vec<Cut>,
    scripts: Vec<ScriptLines>,
    request: u32,
}

#[derive(Serialize)]
struct Said {
    role: String,
    text: Clipped,
}

#[derive(Serialize)]
struct Surface {
    first: bool,
    offered: usize,
    added: Vec<Offered>,
    changed: Vec<Offered>,
    removed: Vec<String>,
}

#[derive(Serialize)]
struct Offered {
    name: String,
    kind: String,
    definition: Clipped,
}

#[derive(Serialize)]
struct Call {
    name: String,
    /// The beginning of its arguments, on one line.
    gist: String,
    arguments: Clipped,
    result: Option<Clipped>,
    failed: bool,
}

#[derive(Serialize)]
struct ScriptLines {
    ending: String,
    has_graph: bool,
    calls: Vec<(String, &'static str, String)>,
}

#[derive(Serialize)]
struct Cut {
    tool: String,
    reference: Option<String>,
    whole: Clipped,
}

/// Every request of an attempt, side conversations too.
pub(super) fn turns(trajectory: &Trajectory, violations: &[Violation]) -> Vec<Turn> {
    let notes = |turn: Option<u32>| trajectory.notes.iter().find(|notes| Some(notes.turn) == turn);
    let of = |exchange: &Exchange| {
        let here = violations.iter().filter(|found| found.request == exchange.record.request);
        Turn { violations: here.map(broken).collect(), ..turn(exchange, notes(exchange.turn)) }
    };
    trajectory.exchanges.iter().map(of).collect()
}

fn name(exchange: &Exchange) -> String {
    let request = exchange.record.request;
    match (exchange.turn, &exchange.record.agent) {
        (Some(turn), _) => format!("Turn {turn}"),
        (None, Some(agent)) => format!("Request {request}, by the second agent {agent}"),
        (None, None) => format!("Request {request}"),
    }
}

/// A violation of the tools' lifecycle, as a sentence.
fn broken(found: &Violation) -> String {
    let what = match found.kind {
        ViolationKind::Surplus => "is offered and should not be",
        ViolationKind::Missing => "is missing",
    };
    format!("{} {what}: {}", found.tool, found.why)
}

fn turn(exchange: &Exchange, notes: Option<&TurnNotes>) -> Turn {
    let record = &exchange.record;
    let answer = exchange.answer.as_ref();
    let text_of = |text: &str| (!text.is_empty()).then(|| Clipped::of(text));
    let said = exchange.said.iter().filter(|message| !message.text.is_empty());
    Turn {
        name: name(exchange),
        violations: Vec::new(),
        class: record.class.replace('_', " "),
        aside: exchange.turn.is_none(),
        numbers: numbers(exchange),
        said: said.map(|m| Said { role: m.role.clone(), text: Clipped::of(&m.text) }).collect(),
        dropped: exchange.dropped,
        surface: surface(&exchange.surface),
        reasoning: answer.and_then(|answer| text_of(&answer.reasoning)),
        text: answer.and_then(|answer| text_of(&answer.text)),
        finish: answer.and_then(|answer| answer.finish.clone()),
        trouble: answer
            .map_or_else(|| Some("no readable answer".to_owned()), |answer| answer.trouble.clone()),
        calls: answer.iter().flat_map(|answer| &answer.calls).map(call).collect(),
        notes: notes.map(noted).unwrap_or_default(),
        cut: notes
            .iter()
            .flat_map(|notes| &notes.cut)
            .map(|cut| Cut {
                tool: cut.tool.clone(),
                reference: cut.reference.clone(),
                whole: Clipped::of(&cut.text),
            })
            .collect(),
        scripts: notes.iter().flat_map(|notes| &notes.scripts).map(script).collect(),
        request: record.request,
    }
}

fn numbers(exchange: &Exchange) -> String {
    let record = &exchange.record;
    let usage = record.usage.as_ref();
    let input = usage.and_then(|usage| usage.input_tokens).or(record.body_tokens);
    let output = usage.and_then(|usage| usage.output_tokens).or(record.response_tokens);
    let count = |value: Option<u64>| value.map_or("unknown".to_owned(), |v| grouped(v as f64));
    let mut words = vec![format!("{} tokens in, {} out", count(input), count(output))];
    if let Some(ms) = record.last_byte_ms {
        words.push(format!("{ms:.0} ms"));
    }
    match record.status {
        Some(200) => {}
        Some(status) => words.push(format!("status {status}")),
        None => words.push("no answer".to_owned()),
    }
    if let Some(earlier) = record.retry_of {
        words.push(format!("repeats request {earlier}"));
    }
    words.join(" · ")
}

fn surface(change: &SurfaceChange) -> Option<Surface> {
    let first = change.added.len() == change.offered && change.removed.is_empty();
    (!change.is_empty()).then(|| Surface {
        first,
        offered: change.offered,
        added: change.added.iter().map(offered).collect(),
        changed: change.changed.iter().map(offered).collect(),
        removed: change.removed.clone(),
    })
}

fn offered(tool: &Tool) -> Offered {
    let schema = tool.schema.as_ref().and_then(|schema| serde_json::to_string_pretty(schema).ok());
    let definition = format!("{}\n\n{}", tool.description, schema.unwrap_or_default());
    Offered { name: tool.name.clone(), kind: tool.kind.clone(), definition: Clipped::of(definition.trim()) }
}

fn call(call: &ToolCall) -> Call {
    let pretty = serde_json::from_str::<serde_json::Value>(&call.arguments)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| call.arguments.clone());
    let flat = call.arguments.split_whitespace().collect::<Vec<_>>().join(" ");
    Call {
        name: call.name.clone(),
        gist: flat.chars().take(GIST).collect(),
        arguments: Clipped::of(&pretty),
        result: call.result.as_ref().map(|result| Clipped::of(&result.text)),
        failed: call.result.as_ref().is_some_and(|result| result.failed == Some(true)),
    }
}

fn script(script: &Script) -> ScriptLines {
    let calls = script.calls.iter().map(|call| {
        let word = match call.succeeded {
            Some(true) => "succeeded",
            Some(false) => "failed",
            None => "given up with the script",
        };
        let beside = if call.beside_others { ", beside others" } else { "" };
        let bytes =
            call.bytes.map_or(String::new(), |bytes| format!("{} bytes{beside}", grouped(bytes as f64)));
        (call.tool.clone(), word, bytes)
    });
    ScriptLines {
        ending: script.ending.replace('_', " "),
        has_graph: script.has_graph,
        calls: calls.collect(),
    }
}

fn noted(notes: &TurnNotes) -> Vec<String> {
    let mut lines = Vec::new();
    if notes.waves.iter().any(|wave| wave.len() > 1) {
        let waves: Vec<String> = notes.waves.iter().map(|wave| wave.join(" + ")).collect();
        lines.push(format!("ran side by side: {}", waves.join(", then ")));
    }
    for (count, what) in [
        (notes.nested_calls, "calls made by tools"),
        (notes.archive_reads, "reads of the archive"),
        (notes.bytes_kept_out, "bytes of results kept out of the context"),
        (notes.compactions, "compactions"),
    ] {
        if count > 0 {
            lines.push(format!("{} {what}", grouped(count as f64)));
        }
    }
    lines
}
