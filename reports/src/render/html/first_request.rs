//! First-request bars: what each arm pays before a word is said, part by part; what is never used is hatched.

use minijinja::Value;
use serde::Serialize;

use super::page::made;
use super::svg::{Scale, Svg};
use crate::analysis::{Analysis, ArmSummary, FirstRequestSummary};
use crate::render::estimate::grouped;

const HEIGHT: f64 = 30.0;
/// Kinds of tool segments told apart by shade, in turn.
pub(in crate::render) const SHADES: usize = 4;

/// The bar of one arm.
#[derive(Serialize)]
pub(super) struct Bar {
    arm: String,
    body: String,
    n: u64,
    bar: Value,
    system: String,
    messages: String,
    tools_tokens: String,
    rest: String,
    callable: String,
    tools: Vec<ToolLine>,
    idle: usize,
    idle_tokens: String,
    idle_total: String,
}

#[derive(Serialize)]
struct ToolLine {
    name: String,
    tokens: String,
    calls: u64,
    cells: u64,
    never: bool,
    later: bool,
}

/// Arms with a first request, on one common scale.
pub(super) fn bars(analysis: &Analysis) -> Vec<Bar> {
    let first = |arm: &ArmSummary| arm.first_request.as_ref().map(|first| first.body_tokens);
    let most = analysis.arms.iter().filter_map(first).fold(0.0, f64::max);
    let scale = Scale::linear((0.0, most), (0.0, 100.0));
    analysis.arms.iter().filter_map(|arm| bar(arm, &scale)).collect()
}

fn bar(arm: &ArmSummary, scale: &Scale) -> Option<Bar> {
    let first = arm.first_request.as_ref()?;
    let offered = first.tools.iter().map(|tool| (tool, false));
    let loaded = arm.tools_never_called.tools.iter().filter(|tool| !tool.in_first_request);
    let lines = offered.chain(loaded.map(|tool| (tool, true))).map(|(tool, later)| ToolLine {
        name: tool.name.clone(),
        tokens: grouped(tool.tokens),
        calls: tool.calls,
        cells: tool.cells,
        never: unused(arm, &tool.name),
        later,
    });
    Some(Bar {
        arm: arm.name.clone(),
        body: grouped(first.body_tokens),
        n: first.n,
        bar: made(drawn(arm, first, scale)),
        system: grouped(first.system_tokens),
        messages: grouped(first.messages_tokens),
        tools_tokens: grouped(first.tools_tokens),
        rest: grouped(rest(first)),
        callable: grouped(first.tools_callable),
        tools: lines.collect(),
        idle: arm.tools_never_called.tools.len(),
        idle_tokens: grouped(arm.tools_never_called.tokens_per_request),
        idle_total: grouped(arm.tools_never_called.tokens_total as f64),
    })
}

/// What of the body is neither system text, message nor tool: the JSON around them.
fn rest(first: &FirstRequestSummary) -> f64 {
    (first.body_tokens - first.system_tokens - first.messages_tokens - first.tools_tokens).max(0.0)
}

/// One segment of a bar.
pub(in crate::render) struct Part<'a> {
    pub(in crate::render) kind: PartKind,
    pub(in crate::render) tokens: f64,
    /// The tool's name; else what it is.
    pub(in crate::render) name: &'a str,
}

/// What a segment shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::render) enum PartKind {
    System,
    /// A tool, by its place in the order offered.
    Tool(usize),
    /// A tool that no cell of the arm ever called.
    NeverCalled,
    Frame,
    Messages,
}

/// The segments of an arm's bar, in order.
pub(in crate::render) fn parts<'a>(arm: &'a ArmSummary, first: &'a FirstRequestSummary) -> Vec<Part<'a>> {
    let part = |kind, tokens, name| Part { kind, tokens, name };
    // The array's own brackets and commas make the whole a little more than its tools.
    let each: f64 = first.tools.iter().map(|tool| tool.tokens).sum();
    let fit = if each > 0.0 { (first.tools_tokens / each).min(1.0) } else { 1.0 };
    let mut parts = vec![part(PartKind::System, first.system_tokens, "system text")];
    for (index, tool) in first.tools.iter().enumerate() {
        let kind = if unused(arm, &tool.name) { PartKind::NeverCalled } else { PartKind::Tool(index) };
        parts.push(part(kind, tool.tokens * fit, &tool.name));
    }
    let frame = (first.tools_tokens - each * fit).max(0.0) + rest(first);
    parts.push(part(PartKind::Frame, frame, "JSON around the parts"));
    parts.push(part(PartKind::Messages, first.messages_tokens, "messages"));
    parts
}

fn unused(arm: &ArmSummary, name: &str) -> bool {
    arm.tools_never_called.tools.iter().any(|tool| tool.name == name)
}

fn drawn(arm: &ArmSummary, first: &FirstRequestSummary, scale: &Scale) -> String {
    let label = format!("{}: first request {} tokens", arm.name, grouped(first.body_tokens));
    let mut svg = Svg::new(HEIGHT, "bar", Some(&label));
    let mut from = 0.0;
    for part in parts(arm, first) {
        let (class, what) = match part.kind {
            PartKind::System => ("seg system".to_owned(), ""),
            PartKind::Tool(index) => (format!("seg tool shade{}", index % SHADES), " (tool)"),
            PartKind::NeverCalled => ("seg tool never".to_owned(), " (paid for and never called)"),
            PartKind::Frame => ("seg frame".to_owned(), ""),
            PartKind::Messages => ("seg messages".to_owned(), ""),
        };
        let (start, end) = (scale.at(from), scale.at(from + part.tokens));
        let title = format!("{}{what}: {} tokens", part.name, grouped(part.tokens));
        svg.rect(&class, (start, end - start), (0.0, HEIGHT), &title);
        from += part.tokens;
    }
    svg.done()
}
