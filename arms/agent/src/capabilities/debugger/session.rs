//! One debugged program: the handshake with its adapter, running and stopping, what its frames hold.
//!
//! The order that adapters insist on: `launch` is sent and left pending, since some adapters answer it only after
//! `configurationDone`; the adapter says `initialized`; breakpoints; `configurationDone`; then the answer of `launch`. How
//! often the program had stopped is noted before it is let go, so that a stop which comes at once is a new one.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::process::Signal;
use serde_json::{Map, Value, json};

use super::adapters::Adapter;
use super::breakpoints::Breakpoints;
use super::client::{Client, Inbox, NoAnswer, Sent};
use super::state::Stop;
use crate::capabilities::bell::{Bell, Cancel, Waited};
use crate::capabilities::peer::Peer;
use crate::capabilities::process::Leader;

/// A debugged program with its adapter.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) name: String,
    pub(super) adapter: Adapter,
    pub(super) program: String,
    pub(super) client: Client,
    pub(super) capabilities: Map<String, Value>,
    /// Programs that the adapter had us start.
    terminals: Vec<(Leader, Child)>,
    /// Configurations of children that the adapter asks for.
    pub(super) children: Vec<Value>,
    folder: std::path::PathBuf,
    /// Where the program prints, where its adapter does not hand that on.
    printed: Option<File>,
}

/// How a program that was let go came to rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rest {
    Stopped(Stop),
    Over,
    /// The wait was over first: it runs on.
    Running,
}

/// Request and arguments that begin a session.
pub(super) struct Beginning {
    pub(super) request: &'static str,
    pub(super) arguments: Value,
    pub(super) printed: Option<File>,
}

impl Session {
    /// Starts the adapter and brings it to where the program runs.
    pub(super) fn begin(
        adapter: Adapter,
        beginning: Beginning,
        place: (&str, &Path, &Bell, &Cancel),
        breakpoints: &Breakpoints,
        deadline: Instant,
    ) -> Result<Self, String> {
        let (name, folder, bell, cancel) = place;
        let connect = beginning.arguments.get("connect").cloned();
        let client = Client::new(bell, cancel, |take| match &connect {
            Some(to) => {
                let host = to["host"].as_str().unwrap_or("127.0.0.1");
                let port = to["port"].as_u64().and_then(|port| port.try_into().ok()).unwrap_or_default();
                Peer::connect((host, port), bell, take)
            }
            None => Peer::start(&adapter.argv, folder, bell, take),
        })
        .map_err(|error| format!("the debug adapter {} cannot be started: {error}", adapter.name))?;
        let program = beginning.arguments["program"].as_str().unwrap_or_default().to_owned();
        let mut session = Self {
            name: name.to_owned(),
            adapter,
            program,
            client,
            capabilities: Map::new(),
            terminals: Vec::new(),
            children: Vec::new(),
            folder: folder.to_owned(),
            printed: beginning.printed.as_ref().and_then(|file| file.try_clone().ok()),
        };
        match session.shake_hands(beginning, breakpoints, deadline) {
            Ok(()) => Ok(session),
            Err(reason) => {
                let told = format!("debug adapter {}: {}", session.adapter.name, reason.told());
                session.end();
                Err(told)
            }
        }
    }

    fn shake_hands(
        &mut self,
        beginning: Beginning,
        breakpoints: &Breakpoints,
        deadline: Instant,
    ) -> Result<(), NoAnswer> {
        let introduction = json!({
            "clientID": "bench-agent", "adapterID": self.adapter.name, "pathFormat": "path",
            "linesStartAt1": true, "columnsStartAt1": true, "supportsVariableType": true,
            "supportsRunInTerminalRequest": true, "supportsStartDebuggingRequest": true,
            "supportsMemoryReferences": true,
        });
        let able = self.client.ask("initialize", introduction, deadline)?;
        self.capabilities = able.as_object().cloned().unwrap_or_default();
        let launch = self.client.send(beginning.request, beginning.arguments)?;
        self.until_initialized(&launch, deadline)?;
        breakpoints.apply_all(self, deadline)?;
        let exceptions = self.adapter.exceptions(&self.capabilities);
        if self.capabilities.contains_key("exceptionBreakpointFilters") {
            self.client.ask("setExceptionBreakpoints", json!({"filters": exceptions}), deadline)?;
        }
        let done = match self.can("supportsConfigurationDoneRequest") {
            true => Some(self.client.send("configurationDone", json!({}))?),
            false => None,
        };
        self.answered(&launch, deadline)?;
        done.map_or(Ok(()), |done| self.answered(&done, deadline))
    }

    /// Waits until the adapter takes breakpoints. A launch that is refused before ends the wait.
    fn until_initialized(&mut self, launch: &Sent, deadline: Instant) -> Result<(), NoAnswer> {
        let launch = launch.clone();
        let found = self.attend(deadline, move |inbox| {
            if inbox.state.initialized {
                return Some(None);
            }
            inbox.refusal(&launch).map(Some)
        });
        match found {
            Waited::Ready(Some(None)) => Ok(()),
            Waited::Ready(Some(Some(refused))) => Err(refused),
            Waited::Ready(None) => Err(self.client.gone("before it took breakpoints")),
            Waited::TimedOut => Err(NoAnswer::TimedOut("launch".into())),
            Waited::Cancelled => Err(NoAnswer::Cancelled("launch".into())),
        }
    }

    /// Waits for an answer and does meanwhile what the adapter asks for.
    fn answered(&mut self, sent: &Sent, deadline: Instant) -> Result<(), NoAnswer> {
        let waiting = sent.clone();
        // Only looks: the answer itself is taken below, or given up.
        self.attend(deadline, move |inbox| inbox.has_answer(&waiting).then_some(()));
        self.client.answer(sent, deadline).map(drop)
    }

    /// Waits on the inbox and serves the adapter's own requests.
    fn attend<T>(
        &mut self,
        deadline: Instant,
        mut ready: impl FnMut(&mut Inbox) -> Option<T>,
    ) -> Waited<Option<T>> {
        enum News<T> {
            Asked(Vec<Value>),
            Found(T),
        }
        loop {
            let news = self.client.until(deadline, |inbox| {
                if !inbox.asked.is_empty() {
                    return Some(News::Asked(std::mem::take(&mut inbox.asked)));
                }
                ready(inbox).map(News::Found)
            });
            match news {
                Waited::Ready(Some(News::Asked(asked))) => asked.iter().for_each(|one| self.serve(one)),
                Waited::Ready(Some(News::Found(found))) => return Waited::Ready(Some(found)),
                Waited::Ready(None) => return Waited::Ready(None),
                Waited::TimedOut => return Waited::TimedOut,
                Waited::Cancelled => return Waited::Cancelled,
            }
        }
    }

    fn serve(&mut self, request: &Value) {
        let arguments = &request["arguments"];
        let body = match request["command"].as_str() {
            Some("runInTerminal") => self.run_in_terminal(arguments),
            Some("startDebugging") => {
                self.children.push(arguments.clone());
                Ok(json!({}))
            }
            Some(_) | None => Err("not supported by this client".to_owned()),
        };
        self.client.reply(request, body);
    }

    fn run_in_terminal(&mut self, arguments: &Value) -> Result<Value, String> {
        let words = arguments["args"].as_array().into_iter().flatten();
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        let (program, rest) = words.split_first().ok_or("runInTerminal without args")?;
        let mut command = Command::new(program);
        command.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.current_dir(arguments["cwd"].as_str().map_or(self.folder.as_path(), Path::new));
        for (name, value) in arguments["env"].as_object().into_iter().flatten() {
            match value.as_str() {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let (leader, child) = Leader::start(&mut command).map_err(|error| format!("{program}: {error}"))?;
        let pid = child.id();
        self.terminals.push((leader, child));
        Ok(json!({"processId": pid}))
    }

    /// Can the adapter do this?
    pub(super) fn can(&self, capability: &str) -> bool {
        let newer = |inbox: &Inbox| {
            inbox.state.capabilities.iter().rev().find_map(|newer| newer.get(capability)?.as_bool())
        };
        newer(&self.client.inbox())
            .unwrap_or_else(|| self.capabilities.get(capability).is_some_and(|value| *value == true))
    }

    /// Lets the program go by this request and waits until it rests.
    pub(super) fn go(
        &mut self,
        command: &str,
        arguments: Value,
        deadline: Instant,
    ) -> Result<Rest, NoAnswer> {
        let (before, stood) = {
            let mut inbox = self.client.inbox();
            // What the frames of this stop held is over, whatever comes of the request.
            (inbox.state.stops, inbox.state.stopped.take())
        };
        if let Err(refused) = self.client.ask(command, arguments, deadline) {
            if let NoAnswer::Refused(_) = refused {
                self.client.inbox().state.stopped = stood;
            }
            return Err(refused);
        }
        Ok(self.rest(before, deadline))
    }

    /// Waits for a stop after the first `before`.
    pub(super) fn rest(&mut self, before: u64, deadline: Instant) -> Rest {
        let waited = self.attend(deadline, |inbox| {
            let state = &inbox.state;
            if state.is_over() {
                return Some(Rest::Over);
            }
            state.stopped.clone().filter(|_| state.stops > before).map(Rest::Stopped)
        });
        match waited {
            Waited::Ready(Some(rest)) => rest,
            // An adapter that has gone takes its program with it.
            Waited::Ready(None) => Rest::Over,
            Waited::TimedOut | Waited::Cancelled => Rest::Running,
        }
    }

    /// Takes what the program has printed into its file since the last time.
    pub(super) fn take_printed(&mut self) {
        let Some(file) = &mut self.printed else { return };
        let mut bytes = Vec::new();
        // A file that cannot be read any more leaves what was read before.
        if file.read_to_end(&mut bytes).is_ok() && !bytes.is_empty() {
            self.client.inbox().state.print(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Where the program stands now.
    pub(super) fn stopped(&self) -> Option<Stop> {
        self.client.inbox().state.stopped.clone()
    }

    /// Ends program, adapter and whatever they started. Never asks the model to try again.
    pub(super) fn end(&mut self) {
        let deadline = Instant::now() + std::time::Duration::from_secs(3);
        // Looked up before the program dies: what it forked has another parent afterwards.
        let mut below = self.client.peer.below();
        if self.client.peer.closed().is_none() {
            // Asked politely first: only the adapter knows how its program ends best.
            let _ = self.client.ask("disconnect", json!({"terminateDebuggee": true}), deadline);
        }
        for (leader, _) in &self.terminals {
            below.extend(leader.descendants());
        }
        self.client.peer.end(below);
        for (leader, mut child) in self.terminals.drain(..) {
            leader.signal(Signal::KILL);
            let _ = child.wait();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}
