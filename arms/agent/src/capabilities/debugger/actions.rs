//! The actions of `debug`, one function each where one request does not do.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::adapters;
use super::breakpoints::Kind;
use super::client::NoAnswer;
use super::session::{Beginning, Rest, Session};
use super::view;
use super::{Asked, Debugger, Inner, Wanted};

/// Frames of a stack where the call does not say.
const FRAMES: usize = 50;
/// Bytes of memory, or instructions, where the call does not say.
const MEMORY: u64 = 64;
const INSTRUCTIONS: u64 = 16;
/// After so long a pause that had no effect is asked for again.
const PAUSE_AGAIN: Duration = Duration::from_secs(2);

/// One call with everything it needs.
struct Job<'a> {
    debugger: &'a Debugger,
    asked: &'a Asked,
    folder: &'a Path,
    deadline: Instant,
}

pub(super) fn carry_out(
    debugger: &Debugger,
    inner: &mut Inner,
    asked: &Asked,
    deadline: Instant,
) -> Result<String, String> {
    let job = Job { debugger, asked, folder: &debugger.folder, deadline };
    match asked.action.as_str() {
        "launch" => job.begin(inner, "launch"),
        "attach" => job.begin(inner, "attach"),
        "sessions" => Ok(job.sessions(inner)),
        "terminate" => job.terminate(inner),
        "set_breakpoint" | "remove_breakpoint" => job.breakpoint(inner),
        "set_instruction_breakpoint" | "remove_instruction_breakpoint" => job.instruction_breakpoint(inner),
        "set_data_breakpoint" | "remove_data_breakpoint" => job.data_breakpoint(inner),
        "continue" | "step_over" | "step_in" | "step_out" | "pause" => job.go(inner),
        _ => {
            let at = job.chosen(inner)?;
            let told = job.look(&mut inner.sessions[at]);
            job.with_news(inner, at, told)
        }
    }
}

/// A required argument.
fn needed<'a>(value: Option<&'a str>, name: &str, action: &str) -> Result<&'a str, String> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| format!("{action} needs {name}"))
}

fn told<T>(answer: Result<T, NoAnswer>) -> Result<T, String> {
    answer.map_err(NoAnswer::told)
}

impl Job<'_> {
    fn action(&self) -> &str {
        &self.asked.action
    }

    fn absolute(&self, file: &str) -> String {
        self.folder.join(file).to_string_lossy().into_owned()
    }

    /// Starts or attaches; there is one root at a time.
    fn begin(&self, inner: &mut Inner, request: &'static str) -> Result<String, String> {
        if let Some(root) = inner.sessions.first() {
            return Err(format!("{} is being debugged already; end it with terminate first", root.program));
        }
        match request {
            "launch" if self.asked.module.is_none() => {
                let program = needed(self.asked.program.as_deref(), "program", "launch")?;
                if !self.folder.join(program).is_file() {
                    return Err(format!("{program}: there is no such file to launch"));
                }
            }
            "attach" if self.asked.process_id.is_none() => return Err("attach needs process_id".to_owned()),
            _ => {}
        }
        inner.remark = None;
        self.take_wanted(inner)?;
        let adapter = adapters::choose(self.asked)?;
        let folder = self.folder.to_string_lossy();
        let printed = std::env::temp_dir().join("debug-output");
        let file = match (adapter.dialect, request) {
            (adapters::Dialect::Lldb, "launch") => {
                let made = std::fs::File::create(&printed).and_then(|_| std::fs::File::open(&printed));
                Some(made.map_err(|error| format!("{}: {error}", printed.display()))?)
            }
            _ => None,
        };
        let arguments = match request {
            "launch" => adapter.launch(self.asked, &folder, &printed.to_string_lossy()),
            _ => adapter.attach(self.asked, &folder),
        };
        let place = ("main", self.folder, self.debugger.cancel.bell(), &self.debugger.cancel);
        let beginning = Beginning { request, arguments, printed: file };
        let session = Session::begin(adapter, beginning, place, &inner.breakpoints, self.deadline)?;
        if inner.sessions.is_empty() {
            self.debugger.watch_idleness();
        }
        inner.sessions.push(session);
        let waits = self.asked.stop_on_entry || inner.breakpoints != super::Breakpoints::default();
        let head = format!(
            "{} under {}.",
            if request == "launch" { "Launched" } else { "Attached" },
            inner.sessions[0].adapter.name
        );
        if !waits && request == "launch" {
            return self.with_news(inner, 0, Ok(format!("{head} It runs.")));
        }
        // Stops are counted from the start of the session: one that came during the handshake is seen as well.
        let deadline = if waits { self.deadline } else { Instant::now() };
        let rest = inner.sessions[0].rest(0, deadline);
        let said = self.rested(inner, 0, &rest);
        self.with_news(inner, 0, said.map(|said| format!("{head} {said}")))
    }

    fn take_wanted(&self, inner: &mut Inner) -> Result<(), String> {
        for wanted in &self.asked.breakpoints {
            let Wanted { file, line, function, condition, hit_condition } = wanted;
            let mut breakpoint = serde_json::Map::new();
            for (key, value) in [("condition", condition), ("hitCondition", hit_condition)] {
                if let Some(value) = value {
                    breakpoint.insert(key.to_owned(), json!(value));
                }
            }
            match (file, line, function) {
                (Some(file), Some(line), _) => {
                    breakpoint.insert("line".to_owned(), json!(line));
                    inner.breakpoints.add_line(&self.absolute(file), Value::Object(breakpoint));
                }
                (_, _, Some(function)) => {
                    breakpoint.insert("name".to_owned(), json!(function));
                    inner.breakpoints.add(Kind::Function, "name", Value::Object(breakpoint));
                }
                _ => return Err("a breakpoint needs file and line, or function".to_owned()),
            }
        }
        Ok(())
    }

    /// The session that is meant: by name, or the stopped one, or the root.
    fn chosen(&self, inner: &Inner) -> Result<usize, String> {
        let names =
            || inner.sessions.iter().map(|session| session.name.as_str()).collect::<Vec<_>>().join(", ");
        if let Some(name) = &self.asked.session {
            let found = inner.sessions.iter().position(|session| &session.name == name);
            return found.ok_or_else(|| format!("there is no session {name:?}; there is {}", names()));
        }
        if inner.sessions.is_empty() {
            let remark = inner.remark.as_ref().map(|remark| format!(" ({remark})")).unwrap_or_default();
            return Err(format!("nothing is being debugged{remark}; launch a program first"));
        }
        Ok(inner.sessions.iter().position(|session| session.stopped().is_some()).unwrap_or(0))
    }

    /// Lets the program go, or halts it, and tells where it comes to rest.
    fn go(&self, inner: &mut Inner) -> Result<String, String> {
        let at = self.chosen(inner)?;
        let session = &mut inner.sessions[at];
        let thread = self.thread(session)?;
        let rest = match self.action() {
            "pause" => self.pause(session, thread)?,
            action => {
                let command = match action {
                    "step_over" => "next",
                    "step_in" => "stepIn",
                    "step_out" => "stepOut",
                    _ => "continue",
                };
                told(session.go(command, json!({"threadId": thread}), self.deadline))?
            }
        };
        self.open_children(inner)?;
        let said = self.rested(inner, at, &rest);
        self.with_news(inner, at, said)
    }

    /// Halts the program. Asked again where nothing comes of it: adapters lose a pause that reaches them while the program
    /// is only just starting, and a second one does no harm.
    fn pause(&self, session: &mut Session, thread: i64) -> Result<Rest, String> {
        let before = session.client.inbox().state.stops;
        loop {
            told(session.client.ask("pause", json!({"threadId": thread}), self.deadline))?;
            let soon = self.deadline.min(Instant::now() + PAUSE_AGAIN);
            let rest = session.rest(before, soon);
            if rest != Rest::Running || soon == self.deadline || self.debugger.cancel.is_wished() {
                return Ok(rest);
            }
        }
    }

    /// What a rest is told as; a program that is over takes its session along.
    fn rested(&self, inner: &mut Inner, at: usize, rest: &Rest) -> Result<String, String> {
        match rest {
            Rest::Stopped(stop) => told(view::stop(&inner.sessions[at], stop, self.folder, self.deadline)),
            Rest::Running => {
                Ok("It still runs; pause it, or wait with continue after the next stop.".to_owned())
            }
            Rest::Over => Ok(over(&inner.sessions[at])),
        }
    }

    /// Sessions that the adapter asked for.
    fn open_children(&self, inner: &mut Inner) -> Result<(), String> {
        let wanted: Vec<(adapters::Adapter, Value)> = inner
            .sessions
            .iter_mut()
            .flat_map(|session| {
                let adapter = session.adapter.clone();
                std::mem::take(&mut session.children).into_iter().map(move |child| (adapter.clone(), child))
            })
            .collect();
        for (adapter, child) in wanted {
            let name = format!("child-{}", inner.sessions.len());
            let request = if child["request"] == "attach" { "attach" } else { "launch" };
            let arguments = child["configuration"].clone();
            let beginning = Beginning { request, arguments, printed: None };
            let place = (name.as_str(), self.folder, self.debugger.cancel.bell(), &self.debugger.cancel);
            inner.sessions.push(Session::begin(
                adapter,
                beginning,
                place,
                &inner.breakpoints,
                self.deadline,
            )?);
        }
        Ok(())
    }

    /// Adds what the program printed since the last look, and what was answered late; forgets sessions that are over.
    fn with_news(
        &self,
        inner: &mut Inner,
        at: usize,
        said: Result<String, String>,
    ) -> Result<String, String> {
        let session = &mut inner.sessions[at];
        session.take_printed();
        let (printed, late) = {
            let mut inbox = session.client.inbox();
            (inbox.state.output.news(), std::mem::take(&mut inbox.late))
        };
        let is_over = session.client.inbox().state.is_over() || session.client.peer.closed().is_some();
        let add = |text: String| {
            let mut text = text;
            late.iter().for_each(|line| text.push_str(&format!("\n[{line}]")));
            if !printed.is_empty() && self.action() != "output" {
                text.push_str(&format!("\nOutput:\n{printed}"));
            }
            text
        };
        let said = said.map(&add).map_err(add);
        if is_over {
            inner.remark = Some(over(&inner.sessions[at]).trim_end_matches('.').to_owned());
            inner.sessions.remove(at);
            // Children do not outlive their root.
            if at == 0 {
                inner.sessions.clear();
            }
        }
        said
    }

    fn sessions(&self, inner: &mut Inner) -> String {
        if inner.sessions.is_empty() {
            let remark =
                inner.remark.as_ref().map(|remark| format!(" The last one: {remark}.")).unwrap_or_default();
            return format!("Nothing is being debugged.{remark}");
        }
        let line = |session: &Session| {
            let state = match (session.stopped(), session.client.inbox().state.is_over()) {
                (_, true) => "has ended".to_owned(),
                (Some(stop), _) => format!("stopped ({})", stop.reason),
                (None, false) => "runs".to_owned(),
            };
            let open = match session.client.unanswered() {
                0 => String::new(),
                some => format!(", {some} requests without an answer"),
            };
            let late = std::mem::take(&mut session.client.inbox().late).join("; ");
            let late = if late.is_empty() { late } else { format!(", {late}") };
            format!(
                "{}: {} under {}, {state}{open}{late}",
                session.name, session.program, session.adapter.name
            )
        };
        inner.sessions.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn terminate(&self, inner: &mut Inner) -> Result<String, String> {
        let at = self.chosen(inner)?;
        let mut session = inner.sessions.remove(at);
        session.end();
        session.take_printed();
        let printed = session.client.inbox().state.output.news();
        // Without its root no child has an adapter that would answer.
        if at == 0 {
            inner.sessions.clear();
            inner.breakpoints = super::Breakpoints::default();
        }
        inner.remark = Some("it was ended by terminate".to_owned());
        let printed = if printed.is_empty() { printed } else { format!("\nOutput:\n{printed}") };
        Ok(format!("Ended {}.{printed}", session.name))
    }

    fn breakpoint(&self, inner: &mut Inner) -> Result<String, String> {
        let asked = self.asked;
        let adds = self.action() == "set_breakpoint";
        let (what, kind) = match (&asked.file, &asked.function) {
            (Some(file), _) => (self.absolute(file), None),
            (None, Some(function)) => (function.clone(), Some(Kind::Function)),
            (None, None) => return Err(format!("{} needs file and line, or function", self.action())),
        };
        let before = inner.breakpoints.clone();
        let mut breakpoint = serde_json::Map::new();
        let extras = [
            ("condition", &asked.condition, "supportsConditionalBreakpoints"),
            ("hitCondition", &asked.hit_condition, "supportsHitConditionalBreakpoints"),
            ("logMessage", &asked.log_message, "supportsLogPoints"),
        ];
        for (key, value, capability) in extras {
            let Some(value) = value else { continue };
            self.capable(inner, capability, key)?;
            breakpoint.insert(key.to_owned(), json!(value));
        }
        let found = match (kind, adds) {
            (None, true) => {
                let line = asked.line.ok_or("set_breakpoint needs line beside file")?;
                breakpoint.insert("line".to_owned(), json!(line));
                inner.breakpoints.add_line(&what, Value::Object(breakpoint));
                true
            }
            (None, false) => inner.breakpoints.remove_lines(&what, asked.line),
            (Some(kind), true) => {
                self.capable(inner, "supportsFunctionBreakpoints", "breakpoints on functions")?;
                breakpoint.insert("name".to_owned(), json!(what));
                inner.breakpoints.add(kind, "name", Value::Object(breakpoint));
                true
            }
            (Some(kind), false) => inner.breakpoints.remove(kind, "name", Some(&what)),
        };
        if !found {
            return Err("there is no breakpoint there".to_owned());
        }
        self.applied(inner, before, kind, &what)
    }

    fn instruction_breakpoint(&self, inner: &mut Inner) -> Result<String, String> {
        let reference = needed(self.asked.reference.as_deref(), "reference", self.action())?;
        self.capable(inner, "supportsInstructionBreakpoints", "breakpoints on instructions")?;
        let before = inner.breakpoints.clone();
        if self.action() == "set_instruction_breakpoint" {
            let mut breakpoint = json!({"instructionReference": reference});
            if let Some(offset) = self.asked.offset {
                breakpoint["offset"] = json!(offset);
            }
            if let Some(condition) = &self.asked.condition {
                breakpoint["condition"] = json!(condition);
            }
            inner.breakpoints.add(Kind::Instruction, "instructionReference", breakpoint);
        } else if !inner.breakpoints.remove(Kind::Instruction, "instructionReference", Some(reference)) {
            return Err("there is no breakpoint there".to_owned());
        }
        self.applied(inner, before, Some(Kind::Instruction), reference)
    }

    fn data_breakpoint(&self, inner: &mut Inner) -> Result<String, String> {
        self.capable(inner, "supportsDataBreakpoints", "breakpoints on data")?;
        let id = match (&self.asked.data_id, &self.asked.name) {
            (Some(id), _) => id.clone(),
            (None, Some(name)) => {
                let at = self.chosen(inner)?;
                let body = self.data_info(&inner.sessions[at], name)?;
                let why = body["description"].as_str().unwrap_or_default().to_owned();
                body["dataId"].as_str().ok_or_else(|| format!("{name} cannot be watched: {why}"))?.to_owned()
            }
            (None, None) => {
                return Err(format!("{} needs name, or data_id from data_breakpoint_info", self.action()));
            }
        };
        let before = inner.breakpoints.clone();
        if self.action() == "set_data_breakpoint" {
            let access = self.asked.access.as_deref().unwrap_or("write");
            let mut breakpoint = json!({"dataId": id, "accessType": access});
            if let Some(condition) = &self.asked.condition {
                breakpoint["condition"] = json!(condition);
            }
            inner.breakpoints.add(Kind::Data, "dataId", breakpoint);
        } else if !inner.breakpoints.remove(Kind::Data, "dataId", Some(&id)) {
            return Err("there is no breakpoint there".to_owned());
        }
        self.applied(inner, before, Some(Kind::Data), &id)
    }

    /// What watching a variable takes: a member of what is opened, a variable of the innermost frame, or an expression.
    fn data_info(&self, session: &Session, name: &str) -> Result<Value, String> {
        let ask = |arguments: Value| told(session.client.ask("dataBreakpointInfo", arguments, self.deadline));
        if let Some(reference) = self.asked.variables_reference {
            return ask(json!({"name": name, "variablesReference": reference}));
        }
        let frame = self.frame(session)?;
        for scope in told(view::scopes(session, &json!(frame), self.deadline))? {
            let arguments =
                json!({"name": name, "variablesReference": scope["variablesReference"], "frameId": frame});
            let body = ask(arguments)?;
            if body["dataId"].is_string() {
                return Ok(body);
            }
        }
        // lldb takes what an expression gives for the place itself.
        let place = match session.adapter.dialect {
            adapters::Dialect::Lldb => format!("&({name})"),
            adapters::Dialect::Debugpy | adapters::Dialect::Plain => name.to_owned(),
        };
        ask(json!({"name": place, "frameId": frame}))
    }

    /// Refuses what no open session can do.
    fn capable(&self, inner: &Inner, capability: &str, what: &str) -> Result<(), String> {
        match inner.sessions.iter().find(|session| !session.can(capability)) {
            Some(session) => Err(format!("the adapter {} cannot do this: {what}", session.adapter.name)),
            None => Ok(()),
        }
    }

    /// Tells every session of a change; one that refuses it puts the list back.
    fn applied(
        &self,
        inner: &mut Inner,
        before: super::Breakpoints,
        kind: Option<Kind>,
        what: &str,
    ) -> Result<String, String> {
        let mut found = Vec::new();
        for session in &inner.sessions {
            let answer = match kind {
                None => inner.breakpoints.apply_lines(session, what, self.deadline),
                Some(kind) => inner.breakpoints.apply(session, kind, self.deadline),
            };
            match answer {
                Ok(answer) if found.is_empty() => found = answer,
                Ok(_) => {}
                Err(NoAnswer::Refused(why)) => {
                    inner.breakpoints = before;
                    return Err(why);
                }
                Err(other) => return Err(other.told()),
            }
        }
        if inner.sessions.is_empty() {
            return Ok("Kept for the next launch.".to_owned());
        }
        let shown = Path::new(what).strip_prefix(self.folder).map_or(what.into(), Path::to_string_lossy);
        let line = |breakpoint: &Value| {
            let at = breakpoint["line"].as_u64().map(|line| format!(" at line {line}")).unwrap_or_default();
            let state = if breakpoint["verified"] == true { "set" } else { "not bound yet" };
            let why = breakpoint["message"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
            format!("{state}{at}{why}")
        };
        let lines: Vec<String> = found.iter().map(line).collect();
        Ok(if lines.is_empty() {
            format!("{shown}: none left")
        } else {
            format!("{shown}: {}", lines.join("; "))
        })
    }

    fn thread(&self, session: &Session) -> Result<i64, String> {
        if let Some(thread) = self.asked.thread_id.or_else(|| session.stopped()?.thread) {
            return Ok(thread);
        }
        let body = told(session.client.ask("threads", json!({}), self.deadline))?;
        body["threads"][0]["id"].as_i64().ok_or_else(|| "the program has no thread".to_owned())
    }

    fn frame(&self, session: &Session) -> Result<i64, String> {
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
    fn look(&self, session: &mut Session) -> Result<String, String> {
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
    fn instruction_reference(&self, session: &Session) -> Result<String, String> {
        if let Some(reference) = &self.asked.reference {
            return Ok(reference.clone());
        }
        let frames = told(view::frames(session, self.thread(session)?, 1, self.deadline))?;
        let reference = frames.first().and_then(|frame| frame["instructionPointerReference"].as_str());
        reference.map(str::to_owned).ok_or_else(|| "disassemble needs reference".to_owned())
    }
}

/// How a program ended.
fn over(session: &Session) -> String {
    let inbox = session.client.inbox();
    match (inbox.state.exit_code, inbox.state.ended) {
        (Some(code), _) => format!("The program has ended with code {code}."),
        (None, true) => "The program has ended.".to_owned(),
        (None, false) => {
            let said = session.client.peer.last_words();
            let said = if said.is_empty() { said } else { format!(" It said: {said}") };
            format!("The debug adapter has ended, and the program with it.{said}")
        }
    }
}
