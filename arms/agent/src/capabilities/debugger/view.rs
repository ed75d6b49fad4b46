//! What a stopped program shows, in words for the model: place, stack, variables, memory.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::client::NoAnswer;
use super::session::Session;
use super::state::Stop;

/// Frames in the report of a stop.
const FRAMES: usize = 8;
/// Variables of one list.
const VARIABLES: usize = 60;
/// Members shown of an aggregate inside a list.
const MEMBERS: usize = 16;
/// Aggregates of a list whose members are shown.
const AGGREGATES: usize = 12;
/// Characters of one value.
const VALUE: usize = 300;

/// The stop, the frames and the local variables of the innermost frame.
pub(super) fn stop(
    session: &Session,
    stop: &Stop,
    folder: &Path,
    deadline: Instant,
) -> Result<String, NoAnswer> {
    let why =
        if stop.text.is_empty() { stop.reason.clone() } else { format!("{}: {}", stop.reason, stop.text) };
    let Some(thread) = stop.thread else { return Ok(format!("Stopped ({why}).")) };
    let frames = frames(session, thread, FRAMES, deadline)?;
    let Some(top) = frames.first() else { return Ok(format!("Stopped ({why}).")) };
    // Threads are known by numbers of the system, which no answer of a tool holds unasked.
    let mut told = format!("Stopped ({why}) in {}", place(top, folder));
    if let Some(line) = source_line(top) {
        told.push_str(&format!("\n> {}", line.trim_end()));
    }
    if let Some(scope) = scopes(session, &top["id"], deadline)?.into_iter().find(is_cheap) {
        let name = scope["name"].as_str().unwrap_or("Locals");
        let list = variables(session, &scope["variablesReference"], deadline)?;
        if !list.is_empty() {
            told.push_str(&format!("\n{name}:\n{list}"));
        }
    }
    told.push_str("\nStack:\n");
    told.push_str(&stack(&frames, folder));
    Ok(told)
}

/// The frames of a thread, innermost first.
pub(super) fn frames(
    session: &Session,
    thread: i64,
    levels: usize,
    deadline: Instant,
) -> Result<Vec<Value>, NoAnswer> {
    let arguments = json!({"threadId": thread, "startFrame": 0, "levels": levels});
    let body = session.client.ask("stackTrace", arguments, deadline)?;
    Ok(body["stackFrames"].as_array().cloned().unwrap_or_default())
}

/// Frames, one a line.
pub(super) fn stack(frames: &[Value], folder: &Path) -> String {
    let line =
        |(at, frame): (usize, &Value)| format!("#{at} {} (frame {})\n", place(frame, folder), frame["id"]);
    frames.iter().enumerate().map(line).collect()
}

/// Function, file and line of a frame; paths below the working directory are shortened.
fn place(frame: &Value, folder: &Path) -> String {
    let name = frame["name"].as_str().unwrap_or("?");
    let path = frame["source"]["path"].as_str().or_else(|| frame["source"]["name"].as_str());
    let Some(path) = path else { return name.to_owned() };
    let shown = Path::new(path).strip_prefix(folder).map_or(path.into(), Path::to_string_lossy);
    format!("{name} at {shown}:{}", frame["line"])
}

fn source_line(frame: &Value) -> Option<String> {
    let text = std::fs::read_to_string(frame["source"]["path"].as_str()?).ok()?;
    let line = usize::try_from(frame["line"].as_u64()?).ok()?;
    text.lines().nth(line.checked_sub(1)?).map(str::to_owned)
}

/// The scopes of a frame.
pub(super) fn scopes(session: &Session, frame: &Value, deadline: Instant) -> Result<Vec<Value>, NoAnswer> {
    let body = session.client.ask("scopes", json!({"frameId": frame}), deadline)?;
    Ok(body["scopes"].as_array().cloned().unwrap_or_default())
}

fn is_cheap(scope: &Value) -> bool {
    scope["expensive"] != true
}

/// The variables behind a reference, one a line; small aggregates with their members.
pub(super) fn variables(session: &Session, reference: &Value, deadline: Instant) -> Result<String, NoAnswer> {
    let list = members(session, reference, deadline)?;
    let mut told = String::new();
    let mut aggregates = 0;
    for variable in list.iter().take(VARIABLES) {
        told.push_str(&shown(variable));
        let reference = &variable["variablesReference"];
        if reference.as_i64().is_some_and(|reference| reference > 0) {
            aggregates += 1;
            let inner = match aggregates <= AGGREGATES && says_little(variable) {
                true => members(session, reference, deadline)?,
                false => Vec::new(),
            };
            let words: Vec<String> = inner.iter().take(MEMBERS).map(brief).collect();
            let more = if inner.len() > MEMBERS { ", …" } else { "" };
            if !words.is_empty() {
                told.push_str(&format!(" {{{}{more}}}", words.join(", ")));
            }
            told.push_str(&format!(" (reference {reference})"));
        }
        told.push('\n');
    }
    if list.len() > VARIABLES {
        told.push_str(&format!("[{} more]\n", list.len() - VARIABLES));
    }
    Ok(told)
}

fn members(session: &Session, reference: &Value, deadline: Instant) -> Result<Vec<Value>, NoAnswer> {
    let body = session.client.ask("variables", json!({"variablesReference": reference}), deadline)?;
    Ok(body["variables"].as_array().cloned().unwrap_or_default())
}

/// Is a value only its type and where it lies?
fn says_little(variable: &Value) -> bool {
    let value = variable["value"].as_str().unwrap_or_default();
    value.is_empty() || value.contains(" @ 0x") || Some(value) == variable["type"].as_str()
}

fn shown(variable: &Value) -> String {
    let kind = variable["type"].as_str().map(|kind| format!(": {kind}")).unwrap_or_default();
    format!("  {}{kind} = {}", variable["name"].as_str().unwrap_or("?"), value_of(variable))
}

fn brief(variable: &Value) -> String {
    format!("{}: {}", variable["name"].as_str().unwrap_or("?"), value_of(variable))
}

fn value_of(variable: &Value) -> String {
    let value = variable["value"].as_str().unwrap_or_default();
    let shown: String = value.chars().take(VALUE).collect();
    if shown.len() < value.len() { format!("{shown}…") } else { shown }
}

/// Disassembled instructions, one a line.
pub(super) fn instructions(body: &Value) -> String {
    let line = |one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        format!("{} {}\n", text("address"), text("instruction"))
    };
    body["instructions"].as_array().into_iter().flatten().map(line).collect()
}

/// Any list of named things, one a line.
pub(super) fn list(items: &Value, keys: &[&str]) -> String {
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = |item: &Value| {
        let words: Vec<String> =
            keys.iter().filter_map(|key| item.get(*key)).filter(|value| !value.is_null()).map(word).collect();
        format!("{}\n", words.join(" "))
    };
    items.as_array().into_iter().flatten().take(200).map(line).collect()
}
