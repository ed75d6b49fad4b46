//! `lsp`: what a language server knows of the sources, asked one question at a time. The server stays up between calls and
//! sees every file as it is on disk at the call, whoever changed it; a rename is shown before it is made.

mod client;
mod documents;
mod edits;
mod positions;
mod server;
#[cfg(test)]
mod tests;
mod view;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use self::positions::Place;
use self::server::Server;
use super::bell::Cancel;

/// Seconds that a call waits where it does not say.
const USUAL: f64 = 20.0;
/// Bounds of what it may say, in seconds.
const SHORTEST: f64 = 5.0;
const LONGEST: f64 = 300.0;

/// Arguments of `lsp`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Asked {
    action: String,
    file: String,
    line: Option<usize>,
    column: Option<usize>,
    symbol: Option<String>,
    new_name: Option<String>,
    apply: bool,
    server: Option<String>,
    timeout: Option<f64>,
}

/// The language servers of one conversation. They are started by the first question and end with it.
#[derive(Debug)]
pub(crate) struct LanguageServers {
    running: Mutex<Vec<Server>>,
    folder: PathBuf,
    cancel: Cancel,
}

impl LanguageServers {
    pub(crate) fn in_folder(folder: &Path, cancel: &Cancel) -> Self {
        // Servers name files by their real paths.
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Self { running: Mutex::default(), folder, cancel: cancel.clone() }
    }

    /// Answers one question.
    pub(crate) fn run(&self, asked: &Asked) -> Result<String, String> {
        let seconds = asked.timeout.unwrap_or(USUAL);
        if seconds.is_nan() {
            return Err("timeout is not a number".to_owned());
        }
        let deadline = Instant::now() + Duration::from_secs_f64(seconds.clamp(SHORTEST, LONGEST));
        let full = documents::inside(&self.folder, &asked.file)?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.server_for(&mut running, asked, &full, deadline)?;
        let told = answer(&mut running[at], asked, &full, deadline);
        if !running[at].is_alive() {
            // The next question starts another one.
            running.remove(at);
        }
        told
    }

    /// Is a server up?
    #[cfg(test)]
    fn is_alive(&self) -> bool {
        !self.running.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn server_for(
        &self,
        running: &mut Vec<Server>,
        asked: &Asked,
        full: &Path,
        deadline: Instant,
    ) -> Result<usize, String> {
        let choice = server::choose(asked.server.as_deref(), full, &self.folder)?;
        if let Some(at) = running.iter().position(|server| server.is(&choice)) {
            return Ok(at);
        }
        running.push(Server::start(choice, &self.folder, &self.cancel, deadline)?);
        Ok(running.len() - 1)
    }
}

fn answer(server: &mut Server, asked: &Asked, full: &Path, deadline: Instant) -> Result<String, String> {
    server.look_again(full)?;
    server.settle(deadline)?;
    match asked.action.as_str() {
        "diagnostics" => Ok(view::diagnostics(server, full)),
        "definition" => {
            let place = place(server, asked, full)?;
            let found = server.ask("textDocument/definition", place, deadline)?;
            view::locations(server, &found, "No definition is known.")
        }
        "references" => {
            let mut place = place(server, asked, full)?;
            place["context"] = json!({"includeDeclaration": true});
            let found = server.ask("textDocument/references", place, deadline)?;
            view::locations(server, &found, "No references are known.")
        }
        "rename" => rename(server, asked, full, deadline),
        other => Err(format!(
            "there is no action {other:?}; the actions are definition, references, diagnostics, rename"
        )),
    }
}

fn rename(server: &mut Server, asked: &Asked, full: &Path, deadline: Instant) -> Result<String, String> {
    let new_name = asked.new_name.as_deref().filter(|name| !name.trim().is_empty());
    let new_name = new_name.ok_or("rename needs new_name")?;
    let mut place = place(server, asked, full)?;
    place["newName"] = json!(new_name);
    let edit = server.ask("textDocument/rename", place, deadline)?;
    let changes = edits::read(&edit, server)?;
    if changes.is_empty() {
        return Err("the server would change nothing".to_owned());
    }
    let shown = view::changes(server, &changes);
    if !asked.apply {
        return Ok(format!("{shown}Nothing has been changed yet. Call again with apply = true to make it."));
    }
    edits::write(&changes)?;
    server.look_again(full)?;
    Ok(format!("{shown}All of it has been made."))
}

/// The place that a question is about, as the protocol writes it.
fn place(server: &Server, asked: &Asked, full: &Path) -> Result<Value, String> {
    let text = server.text_of(full);
    let place = Place { line: asked.line, column: asked.column, symbol: asked.symbol.as_deref() };
    let (line, column) = place.in_text(text).map_err(|fault| format!("{}: {fault}", asked.file))?;
    let character = server.encoding().units(text, line, column);
    Ok(json!({
        "textDocument": {"uri": documents::uri(full)},
        "position": {"line": line, "character": character},
    }))
}
