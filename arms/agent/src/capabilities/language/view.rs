//! What a server said in lines that a model can read and go on from: path, line and column from 1, and the text there.

use std::path::Path;

use serde_json::Value;

use super::documents::path_of;
use super::edits::Change;
use super::positions::nth_line;
use super::server::Server;

/// Most lines of one answer.
const MOST: usize = 100;

/// Places, one a line; `none` where there are none.
pub(super) fn locations(server: &Server, found: &Value, none: &str) -> Result<String, String> {
    let found: Vec<&Value> = match found.as_array() {
        Some(found) => found.iter().collect(),
        None => Some(found).filter(|found| !found.is_null()).into_iter().collect(),
    };
    let mut spots = Vec::with_capacity(found.len());
    for location in &found {
        let uri = location["uri"].as_str().or(location["targetUri"].as_str()).unwrap_or_default();
        let range = [&location["targetSelectionRange"], &location["range"]];
        let start = range.iter().find(|range| range.is_object()).map(|range| &range["start"]);
        let place = start.and_then(|start| Some((start["line"].as_u64()?, start["character"].as_u64()?)));
        let (Some(path), Some((line, character))) = (path_of(uri), place) else {
            return Err(format!("the server named a place that cannot be read: {location}"));
        };
        spots.push(Spot::of(server, &path, line as usize, character as usize));
    }
    spots.sort();
    spots.dedup();
    let lines = spots.into_iter().map(|spot| format!("{}: {}", spot.head(), spot.text)).collect();
    Ok(noted(server, bounded(lines, none)))
}

/// What is wrong with a file, one thing a line.
pub(super) fn diagnostics(server: &Server, file: &Path) -> String {
    let lines = server.diagnostics(file).into_iter().map(|said| {
        let start = &said["range"]["start"];
        let number = |key: &str| start[key].as_u64().unwrap_or_default() as usize;
        let severity = match said["severity"].as_u64() {
            Some(1) | None => "error",
            Some(2) => "warning",
            Some(3) => "information",
            Some(_) => "hint",
        };
        let spot = Spot::of(server, file, number("line"), number("character"));
        let message = said["message"].as_str().unwrap_or_default().to_owned();
        (spot, severity, message)
    });
    let mut found: Vec<_> = lines.collect();
    found.sort();
    let lines =
        found.into_iter().map(|(spot, severity, message)| format!("{}: {severity}: {message}", spot.head()));
    bounded(lines.collect(), "No diagnostics.")
}

/// Every changed line of every file before and after.
pub(super) fn changes(server: &Server, changes: &[Change]) -> String {
    let mut lines = Vec::new();
    for change in changes {
        let path = shown(server, &change.path);
        let pairs = change.before.lines().zip(change.after.lines()).enumerate();
        for (line, (before, after)) in pairs.filter(|(_, (before, after))| before != after) {
            lines.push(format!("{path}:{}\n- {before}\n+ {after}", line + 1));
        }
    }
    let head = format!("{} lines in {} files:\n", lines.len(), changes.len());
    noted(server, head + &bounded(lines, "")) + "\n"
}

/// A place with the text of its line.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    path: String,
    line: usize,
    column: usize,
    text: String,
}

impl Spot {
    fn of(server: &Server, path: &Path, line: usize, units: usize) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let content = nth_line(&text, line);
        let column = server.encoding().characters(content, units) + 1;
        Self { path: shown(server, path), line: line + 1, column, text: content.trim().to_owned() }
    }

    fn head(&self) -> String {
        format!("{}:{}:{}", self.path, self.line, self.column)
    }
}

fn shown(server: &Server, path: &Path) -> String {
    path.strip_prefix(server.folder()).unwrap_or(path).to_string_lossy().into_owned()
}

fn bounded(mut lines: Vec<String>, none: &str) -> String {
    if lines.is_empty() {
        return none.to_owned();
    }
    let surplus = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    let more = if surplus > 0 { format!("\n[{surplus} more are left out.]") } else { String::new() };
    lines.join("\n") + &more
}

/// Says where the answer rests on a part of the workspace.
fn noted(server: &Server, text: String) -> String {
    match server.left_out() {
        0 => text,
        count => format!("{text}\n[{count} files of the workspace were not looked into: it has too many.]"),
    }
}
