//! First-request bars: what each arm pays before a word is said, part by part; what is never used is hatched.

use minijinja::Value;
use serde::Serialize;

use super::page::made;
use super::svg::{Scale, Svg};
use crate::analysis::{Analysis, ArmSummary, FirstRequestSummary};
use crate::render::estimate::grouped;

const HEIGHT: f64 = 30.0;
/// Kinds of tool segments told apart by shade, in turn.
const SHADES: usize = 4;

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
    let unused = |name: &str| arm.tools_never_called.tools.iter().any(|tool| tool.name == name);
    let offered = first.tools.iter().map(|tool| (tool, false));
    let loaded = arm.tools_never_called.tools.iter().filter(|tool| !tool.in_first_request);
    let lines = offered.chain(loaded.map(|tool| (tool, true))).map(|(tool, later)| ToolLine {
        name: tool.name.clone(),
        tokens: grouped(tool.tokens),
        calls: tool.calls,
        cells: tool.cells,
        never: unused(&tool.name),
        later,
    });
    Some(Bar {
        arm: arm.name.clone(),
        body: grouped(first.body_tokens),
        n: first.n,
        bar: made(drawn(arm, first, scale, unused)),
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

fn drawn(
    arm: &ArmSummary,
    first: &FirstRequestSummary,
    scale: &Scale,
    unused: impl Fn(&str) -> bool,
) -> String {
    let label = format!("{}: first request {} tokens", arm.name, grouped(first.body_tokens));
    let mut svg = Svg::new(HEIGHT, "bar", Some(&label));
    let mut from = 0.0;
    let mut part = |class: &str, tokens: f64, title: &str| {
        let (start, end) = (scale.at(from), scale.at(from + tokens));
        svg.rect(class, (start, end - start), (0.0, HEIGHT), &format!("{title}: {} tokens", grouped(tokens)));
        from += tokens;
    };
    part("seg system", first.system_tokens, "system text");
    // The array's own brackets and commas make the whole a little more than its tools.
    let each: f64 = first.tools.iter().map(|tool| tool.tokens).sum();
    let fit = if each > 0.0 { (first.tools_tokens / each).min(1.0) } else { 1.0 };
    for (index, tool) in first.tools.iter().enumerate() {
        let never = unused(&tool.name);
        let class =
            if never { "seg tool never".to_owned() } else { format!("seg tool shade{}", index % SHADES) };
        let what = if never { "paid for and never called" } else { "tool" };
        part(&class, tool.tokens * fit, &format!("{} ({what})", tool.name));
    }
    part("seg frame", (first.tools_tokens - each * fit).max(0.0) + rest(first), "JSON around the parts");
    part("seg messages", first.messages_tokens, "messages");
    svg.done()
}
