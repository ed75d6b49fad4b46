//! The actions of `debug`: which there are, and those that begin, move and end a program. [`super::setting`] has the
//! breakpoints, [`super::looking`] what is shown of a program that rests.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::adapters;
use super::breakpoints::Kind;
use super::client::NoAnswer;
use super::session::{Beginning, Rest, Session};
use super::view;
use super::{Asked, Debugger, Inner, Wanted};

/// After so long a pause that had no effect is asked for again.
const PAUSE_AGAIN: Duration = Duration::from_secs(2);

/// One call with everything it needs.
pub(super) struct Job<'a> {
    debugger: &'a Debugger,
    pub(super) asked: &'a Asked,
    pub(super) folder: &'a Path,
    pub(super) deadline: Instant,
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
pub(super) fn needed<'a>(value: Option<&'a str>, name: &str, action: &str) -> Result<&'a str, String> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| format!("{action} needs {name}"))
}

pub(super) fn told<T>(answer: Result<T, NoAnswer>) -> Result<T, String> {
    answer.map_err(NoAnswer::told)
}

impl Job<'_> {
    pub(super) fn action(&self) -> &str {
        &self.asked.action
    }

    pub(super) fn absolute(&self, file: &str) -> String {
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
    pub(super) fn chosen(&self, inner: &Inner) -> Result<usize, String> {
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
}

/// How a program ended.
pub(super) fn over(session: &Session) -> String {
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
