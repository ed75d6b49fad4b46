//! What `debug` shows of a program that rests: threads, frames, variables, memory, instructions; and what one request does.

use serde_json::{Value, json};

use super::actions::{Job, needed, told};
use super::session::Session;
use super::view;

/// Frames of a stack where the call does not say.
const FRAMES: usize = 50;
/// Bytes of memory, or instructions, where the call does not say.
const MEMORY: u64 = 64;
const INSTRUCTIONS: u64 = 16;

impl Job<'_> {
    pub(super) fn thread(&self, session: &Session) -> Result<i64, String> {
        if let Some(thread) = self.asked.thread_id.or_else(|| session.stopped()?.thread) {
            return Ok(thread);
        }
        let body = told(session.client.ask("threads", json!({}), self.deadline))?;
        body["threads"][0]["id"].as_i64().ok_or_else(|| "the program has no thread".to_owned())
    }

    pub(super) fn frame(&self, session: &Session) -> Result<i64, String> {
        if let Some(frame) = self.asked.frame_id {
            return Ok(frame);
        }
        if session.stopped().is_none() {
            return Err("the program runs; pause it, or let it reach a breakpoint first".to_owned());
        }
        let frames = told(view::frames(session, self.thread(session)?, 1, self.deadline))?;
        frames.first().and_then(|frame| frame["id"].as_i64()).ok_or_else(|| "there is no frame".to_owned())
    }

    /// Actions that one request carries out.
    pub(super) fn look(&self, session: &mut Session) -> Result<String, String> {
        let (asked, deadline) = (self.asked, self.deadline);
        let ask = |command: &str, arguments: Value| told(session.client.ask(command, arguments, deadline));
        let can = |capability: &str, what: &str| match session.can(capability) {
            true => Ok(()),
            false => Err(format!("the adapter {} cannot do this: {what}", session.adapter.name)),
        };
        match self.action() {
            "threads" => Ok(view::list(&ask("threads", json!({}))?["threads"], &["id", "name"])),
            "stack_trace" => {
                let levels = asked.count.map_or(FRAMES, |count| count as usize);
                let frames = told(view::frames(session, self.thread(session)?, levels, deadline))?;
                Ok(view::stack(&frames, self.folder))
            }
            "scopes" => {
                let scopes = told(view::scopes(session, &json!(self.frame(session)?), deadline))?;
                Ok(view::list(&json!(scopes), &["name", "variablesReference"]))
            }
            "variables" => {
                let reference = match asked.variables_reference {
                    Some(reference) => json!(reference),
                    None => {
                        let scopes = told(view::scopes(session, &json!(self.frame(session)?), deadline))?;
                        let wanted = asked.name.as_deref().unwrap_or_default();
                        let scope = scopes.iter().find(|scope| wanted.is_empty() || scope["name"] == wanted);
                        scope.ok_or("there is no such scope")?["variablesReference"].clone()
                    }
                };
                let list = told(view::variables(session, &reference, deadline))?;
                Ok(if list.is_empty() { "[No variables.]".to_owned() } else { list })
            }
            "evaluate" => {
                let expression = needed(asked.expression.as_deref(), "expression", "evaluate")?;
                let context = asked.context.as_deref().unwrap_or("watch");
                let arguments =
                    json!({"expression": expression, "frameId": self.frame(session)?, "context": context});
                let body = ask("evaluate", arguments)?;
                let kind = body["type"].as_str().map(|kind| format!(" ({kind})")).unwrap_or_default();
                let mut told_as = format!("{}{kind}", body["result"].as_str().unwrap_or_default());
                if body["variablesReference"].as_i64().is_some_and(|reference| reference > 0) {
                    let members = told(view::variables(session, &body["variablesReference"], deadline))?;
                    told_as.push_str(&format!("\n{members}"));
                }
                Ok(told_as)
            }
            "data_breakpoint_info" => {
                can("supportsDataBreakpoints", "breakpoints on data")?;
                let name = needed(asked.name.as_deref(), "name", "data_breakpoint_info")?;
                let body = self.data_info(session, name)?;
                let description = body["description"].as_str().unwrap_or_default();
                match body["dataId"].as_str() {
                    Some(id) => {
                        Ok(format!("{description}\ndata_id {id}, access types {}", body["accessTypes"]))
                    }
                    None => Err(format!("{name} cannot be watched: {description}")),
                }
            }
            "disassemble" => {
                can("supportsDisassembleRequest", "disassembling")?;
                let count = asked.count.unwrap_or(INSTRUCTIONS);
                let reference = self.instruction_reference(session)?;
                let arguments = json!({"memoryReference": reference, "instructionOffset": asked.offset.unwrap_or(0), "instructionCount": count, "resolveSymbols": true});
                Ok(view::instructions(&ask("disassemble", arguments)?))
            }
            "read_memory" => {
                can("supportsReadMemoryRequest", "reading memory")?;
                let reference = needed(asked.reference.as_deref(), "reference", "read_memory")?;
                let arguments = json!({"memoryReference": reference, "offset": asked.offset.unwrap_or(0), "count": asked.count.unwrap_or(MEMORY)});
                let body = ask("readMemory", arguments)?;
                let word = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
                Ok(format!("{} (base64): {}", word("address"), word("data")))
            }
            "write_memory" => {
                can("supportsWriteMemoryRequest", "writing memory")?;
                let reference = needed(asked.reference.as_deref(), "reference", "write_memory")?;
                let data = needed(asked.data.as_deref(), "data (base64)", "write_memory")?;
                let arguments =
                    json!({"memoryReference": reference, "offset": asked.offset.unwrap_or(0), "data": data});
                let body = ask("writeMemory", arguments)?;
                Ok(format!(
                    "Written{}.",
                    body["bytesWritten"].as_u64().map(|n| format!(": {n} bytes")).unwrap_or_default()
                ))
            }
            "modules" => {
                can("supportsModulesRequest", "listing modules")?;
                let body = ask("modules", json!({"startModule": 0, "moduleCount": 200}))?;
                Ok(view::list(&body["modules"], &["id", "name", "path"]))
            }
            "loaded_sources" => {
                can("supportsLoadedSourcesRequest", "listing sources")?;
                Ok(view::list(&ask("loadedSources", json!({}))?["sources"], &["name", "path"]))
            }
            "output" => {
                session.take_printed();
                let text = session.client.inbox().state.output.whole();
                Ok(if text.is_empty() { "[No output.]".to_owned() } else { text })
            }
            "custom_request" => {
                let command = needed(asked.command.as_deref(), "command", "custom_request")?;
                let body = ask(command, asked.arguments.clone().unwrap_or_else(|| json!({})))?;
                Ok(body.to_string())
            }
            other => Err(format!("{other:?} is no action of debug")),
        }
    }

    /// Where to disassemble: as asked, or at the innermost frame.
    pub(super) fn instruction_reference(&self, session: &Session) -> Result<String, String> {
        if let Some(reference) = &self.asked.reference {
            return Ok(reference.clone());
        }
        let frames = told(view::frames(session, self.thread(session)?, 1, self.deadline))?;
        let reference = frames.first().and_then(|frame| frame["instructionPointerReference"].as_str());
        reference.map(str::to_owned).ok_or_else(|| "disassemble needs reference".to_owned())
    }
}
