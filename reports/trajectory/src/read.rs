//! From the directory of an attempt to its [`Trajectory`].

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use bench_record::{RequestIndex, RequestRecord};
use bench_wire::coding::Decoding;
use bench_wire::request::UNNAMED;
use bench_wire::{Api, Call, ModelRequest, ReplyReader, Turn};
use serde::Deserialize;

use crate::agent_words::notes;
use crate::conversation::Conversations;
use crate::timeline::Mark;
use crate::{Answer, Exchange, Printed, SurfaceChange, ToolCall, ToolResult, Trajectory};

/// Bytes into which a compressed body may unfold.
const UNFOLDED: usize = 64 << 20;
/// Bytes of a text file that are read.
const TEXT: u64 = 4 << 20;

impl Trajectory {
    /// Reads an attempt's evidence back. What is missing is named in `trouble` and left out.
    pub fn read(attempt_dir: &Path) -> Self {
        let mut found = Self::default();
        if !attempt_dir.is_dir() {
            found.trouble.push("the evidence of this attempt is not here any more".to_owned());
            return found;
        }
        found.texts(attempt_dir);
        match RequestIndex::read(attempt_dir) {
            Ok(index) => {
                let mut events = Events::read(attempt_dir);
                found.marks = std::mem::take(&mut events.marks);
                found.requests(&index, &events);
            }
            Err(error) => found.trouble.push(error.to_string()),
        }
        found
    }

    /// The agent's own loop, in order.
    pub fn turns(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().filter(|exchange| exchange.turn.is_some())
    }

    fn texts(&mut self, dir: &Path) {
        self.verifier = Printed { stdout: text(dir, "verify/stdout"), stderr: text(dir, "verify/stderr") };
        self.patch = text(dir, "workspace.patch");
        self.stderr = text(dir, "stderr");
        let stdout = text(dir, "stdout");
        self.notes = notes(&stdout);
        if self.notes.is_empty() {
            self.stdout = stdout;
        }
    }

    fn requests(&mut self, index: &RequestIndex, events: &Events) {
        let mut conversations = Conversations::default();
        let mut turns = 0;
        for record in index.records() {
            let turn = (record.class == "agent_turn").then(|| {
                turns += 1;
                turns
            });
            let exchange = self.exchange(index, record, turn, &mut conversations);
            self.exchanges.push(Exchange { at_ms: events.at_ms.get(&record.request).copied(), ..exchange });
            self.answer_calls(events);
        }
    }

    fn exchange(
        &mut self,
        index: &RequestIndex,
        record: &RequestRecord,
        turn: Option<u32>,
        conversations: &mut Conversations,
    ) -> Exchange {
        let mut exchange = Exchange {
            record: record.clone(),
            at_ms: None,
            conversation: 0,
            turn,
            said: Vec::new(),
            dropped: 0,
            surface: SurfaceChange::default(),
            answer: None,
        };
        let Some(api) = Api::of_path(&record.path) else { return exchange };
        match request(index, record, api) {
            Ok(request) => {
                let news = conversations.next(&holder(record), &request);
                exchange.conversation = news.conversation;
                exchange.said = news.said;
                exchange.dropped = news.dropped;
                exchange.surface = news.surface;
            }
            Err(why) => self.trouble.push(format!("request {}: {why}", record.request)),
        }
        match answer(index, record, api) {
            Ok(answer) => exchange.answer = answer,
            Err(why) => self.trouble.push(format!("response {}: {why}", record.request)),
        }
        exchange
    }

    /// Puts the results that the newest request carries to the calls that they answer.
    fn answer_calls(&mut self, events: &Events) {
        let Some((newest, earlier)) = self.exchanges.split_last_mut() else { return };
        let request = newest.record.request;
        let results = newest.said.iter().flat_map(|message| &message.results);
        for (id, text, failed) in results {
            let open =
                |call: &&mut ToolCall| call.result.is_none() && (call.id == *id || id.starts_with(UNNAMED));
            let calls = earlier
                .iter_mut()
                .filter(|other| other.conversation == newest.conversation)
                .flat_map(|other| other.answer.iter_mut().flat_map(|answer| &mut answer.calls));
            // Calls without ids are answered in their order, the oldest open one first.
            let Some(call) = calls.into_iter().find(open) else { continue };
            let known = events.refused.get(&(request, id.clone())).copied();
            let failed = if *failed { Some(true) } else { known.flatten() };
            call.result = Some(ToolResult { text: text.clone(), failed, request });
        }
    }
}

/// What `trace.jsonl` knows beside the bodies.
#[derive(Debug, Default)]
struct Events {
    at_ms: BTreeMap<u32, f64>,
    refused: BTreeMap<(u32, String), Option<bool>>,
    marks: Vec<Mark>,
}

#[derive(Deserialize)]
struct EventLine {
    ms: f64,
    event: String,
    #[serde(default)]
    request: u32,
    #[serde(default)]
    id: String,
    #[serde(default)]
    refused: Option<bool>,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    phase: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    agent: Option<String>,
}

impl Events {
    fn read(dir: &Path) -> Self {
        let mut events = Self::default();
        for line in text(dir, "trace.jsonl").lines() {
            let Ok(line) = serde_json::from_str::<EventLine>(line) else { continue };
            match line.event.as_str() {
                "request" => {
                    events.at_ms.insert(line.request, line.ms);
                }
                "tool_result" => {
                    events.refused.insert((line.request, line.id), line.refused);
                }
                "mark" => events.marks.push(Mark {
                    at_ms: line.ms,
                    subject: line.subject,
                    id: line.id,
                    begins: line.phase == "begin",
                    detail: line.detail,
                    agent: line.agent,
                }),
                // Everything else is read off the bodies.
                _ => {}
            }
        }
        events
    }
}

/// Whose conversation a request can go on with: two agents that were started alike are two all the same.
fn holder(record: &RequestRecord) -> String {
    match &record.agent {
        Some(agent) => format!("{} of {agent}", record.class),
        None => record.class.clone(),
    }
}

fn request(index: &RequestIndex, record: &RequestRecord, api: Api) -> Result<ModelRequest, String> {
    let body = index.body(record.request).map_err(|error| error.to_string())?;
    let body = unfolded(record.encoding.as_deref(), body)?;
    ModelRequest::read(api, &record.path, &body).map_err(|error| error.to_string())
}

fn answer(index: &RequestIndex, record: &RequestRecord, api: Api) -> Result<Option<Answer>, String> {
    let Some(body) = index.response(record.request).map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let body = unfolded(record.response_encoding.as_deref(), body)?;
    let mut reader = ReplyReader::new(api, record.response_type.as_deref());
    reader.feed(&body);
    Ok(Some(match reader.finish() {
        Ok(turn) => answer_of(turn, None),
        Err(error) => answer_of(error.partial().cloned().unwrap_or_default(), Some(error.to_string())),
    }))
}

fn answer_of(turn: Turn, trouble: Option<String>) -> Answer {
    Answer {
        model: turn.model,
        id: turn.id,
        text: turn.text,
        reasoning: turn.reasoning,
        finish: turn.finish,
        calls: turn.calls.into_iter().map(call).collect(),
        trouble,
    }
}

fn call(call: Call) -> ToolCall {
    let name = match &call.namespace {
        Some(namespace) => format!("{namespace}.{}", call.name),
        None => call.name,
    };
    ToolCall { id: call.id, name, arguments: call.arguments, result: None }
}

fn unfolded(coding: Option<&str>, body: Vec<u8>) -> Result<Vec<u8>, String> {
    Decoding::whole(coding, &body, UNFOLDED)
        .map(|unfolded| unfolded.unwrap_or(body))
        .map_err(|error| error.to_string())
}

/// A text file of the evidence, whatever its bytes are; empty when there is none.
fn text(dir: &Path, name: &str) -> String {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(dir.join(name)).and_then(|file| file.take(TEXT).read_to_end(&mut bytes));
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&bytes).into_owned())
}
