//! Tools as a request shows them: defined, or only told of in a tool's description, in system text or in a user message.
//! A catalogue that is told of costs tokens as definitions do, and a count of `tools` alone does not see it.

use std::collections::BTreeMap;

use bench_core::ledger::Size;
use bench_tokens::Counter;
use bench_wire::{Api, ModelRequest};

use super::measure::{ToolSize, size, tool_size};

/// Words between which the name of a tool of an MCP server stands in every agent seen.
const MCP: &str = "mcp__";
/// The longest name that is taken for one.
const LONGEST: usize = 128;

/// Sizes of the tools that `is_new` takes for new: those that are defined, then those that are only told of.
pub(crate) fn tool_sizes(
    counter: &Counter,
    request: &ModelRequest,
    mut is_new: impl FnMut(String) -> bool,
) -> Vec<ToolSize> {
    let defined = request.tools.iter().filter(|tool| is_new(tool.full_name()));
    let mut sizes: Vec<ToolSize> = defined.map(|tool| tool_size(counter, tool)).collect();
    for told in told(request) {
        let known = request.tool(&told.name).is_some();
        if !known && is_new(format!("{}:{}", told.place, told.name)) {
            sizes.push(told.size(counter));
        }
    }
    sizes
}

/// A tool that is told of.
struct Told {
    name: String,
    /// The tool whose description tells of it.
    holder: Option<String>,
    place: &'static str,
    /// The text that tells of it.
    text: String,
}

impl Told {
    fn size(self, counter: &Counter) -> ToolSize {
        let whole = size(counter, &self.text);
        ToolSize {
            name: self.name,
            kind: "listed".to_owned(),
            exposure: if self.holder.is_some() { "code" } else { "deferred" }.to_owned(),
            namespace: self.holder,
            place: self.place.to_owned(),
            description: whole,
            schema: Size::default(),
            whole,
        }
    }
}

fn told(request: &ModelRequest) -> Vec<Told> {
    let mut found = Vec::new();
    for tool in &request.tools {
        let holder = tool.name.clone();
        let nested = nested(&tool.description).into_iter();
        let told = |(name, text)| Told { name, holder: Some(holder.clone()), place: "description", text };
        found.extend(nested.map(told));
    }
    for message in request.messages.iter().filter(|m| m.calls.is_empty() && m.results.is_empty()) {
        let place = if message.is_instruction() { "system" } else { "message" };
        // An assistant's own words list nothing.
        if message.role != "assistant" && (request.api != Api::Chat || message.role != "tool") {
            let names = mcp_names(&message.text);
            found.extend(names.into_iter().map(|(name, text)| Told { name, holder: None, place, text }));
        }
    }
    found
}

/// Functions that a tool's description declares for code that it runs: each with its declaration's text.
///
/// Three dialects are known: `declare const tools: { NAME(args: …): …; }` and lines `NAME(args: …): Promise<…>;`, both with
/// any indentation, and headings ``### `NAME` ``.
fn nested(description: &str) -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut under: Option<String> = None;
    for line in description.lines() {
        if let Some(name) = heading(line) {
            under = Some(name.to_owned());
        } else if line.starts_with('#') {
            under = None;
        }
        if let Some(name) = under.as_deref().or_else(|| declared(line)) {
            let text = found.entry(name.to_owned()).or_default();
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

/// The name in a heading ``### `NAME` ``, alone or with its native name after it.
fn heading(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("### ")?.strip_prefix('`')?;
    let (name, _) = rest.split_once('`')?;
    is_name(name).then_some(name)
}

/// The name in a line that declares a function returning a promise.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = ["tools.", "function ", "async function ", "- "]
        .iter()
        .find_map(|prefix| line.strip_prefix(prefix))
        .unwrap_or(line);
    let (name, rest) = line.split_once('(')?;
    (is_name(name) && rest.contains("Promise<")).then_some(name)
}

fn is_name(text: &str) -> bool {
    let part = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || b == b'$';
    !text.is_empty()
        && text.len() <= LONGEST
        && text.bytes().all(part)
        && !text.as_bytes()[0].is_ascii_digit()
}

/// Names of MCP tools in a text, each with the line on which it first stands.
fn mcp_names(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if !text.contains(MCP) {
        return found;
    }
    for line in text.lines() {
        for (at, _) in line.match_indices(MCP) {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let name = &line[at..];
            let name = &name[..name.find(|c| !is_part(c)).unwrap_or(name.len())];
            let inner = &name[MCP.len()..];
            let is_tool =
                inner.split_once("__").is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty());
            if is_tool && name.len() <= LONGEST && !found.contains_key(name) {
                found.insert(name.to_owned(), line.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn catalogues_are_found_where_they_hide() {
        let description = "Runs code.\n\n### `exec_command`\nRuns a command.\ndeclare const tools: {};\n## Other\n\
            read(args: { path: string }): Promise<unknown>;\nnot_one(x)\n";
        let body = json!({"model": "m",
            "tools": [{"type": "custom", "name": "exec", "description": description}],
            "instructions": "Servers: mcp__git__log, mcp__git__show and mcp__git.",
            "input": [{"role": "user", "content": "<system-reminder>\nmcp__fs__read_file\nmcp__fs__read_file\n</system-reminder>"}]});
        let request =
            ModelRequest::read(Api::Responses, "/v1/responses", body.to_string().as_bytes()).unwrap();
        let counter = Counter::new("o200k_base").unwrap();
        let sizes = tool_sizes(&counter, &request, |_| true);
        let told: Vec<_> =
            sizes.iter().map(|s| (s.name.as_str(), s.place.as_str(), s.exposure.as_str())).collect();
        assert_eq!(
            told,
            [
                ("exec", "tools", "direct"),
                ("exec_command", "description", "code"),
                ("read", "description", "code"),
                ("mcp__git__log", "system", "deferred"),
                ("mcp__git__show", "system", "deferred"),
                ("mcp__fs__read_file", "message", "deferred"),
            ]
        );
        assert!(sizes[1].whole.bytes > 20);
    }
}
