//! A scripted agent and a small provider on loopback, for the tests of the recorder.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use bench_core::experiment::{Profile, ProfileKind};
use bench_core::lexicon::DiscoveryRule;
use bench_core::{Action, ActionKind, Lexicon, LexiconRule, Plan, Sha256Hex, Step, SystemClock, WireKind};
use bench_proxy::{
    OracleBook, OracleScript, OracleUpstream, Recorder, RecorderSpec, Recording, RequestLimits, Spending,
    Upstream,
};
use bench_record::RequestIndex;
use bench_tokens::Counter;
use bench_wire::chat::{ChatRequestOut, MessageOut, TurnReader};
use bench_wire::{Call, Turn};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{HeaderMap, Request, Response};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

pub mod provider;

pub const TOKEN: &str = "attempt-token-0001";

pub fn counter() -> Arc<Counter> {
    static COUNTER: OnceLock<Arc<Counter>> = OnceLock::new();
    Arc::clone(COUNTER.get_or_init(|| Arc::new(Counter::new("o200k_base").unwrap())))
}

pub fn spec(dir: &Path, upstream: Arc<dyn Upstream>) -> RecorderSpec {
    RecorderSpec {
        dir: dir.to_owned(),
        wire: WireKind::OpenaiChat,
        credential: TOKEN.to_owned(),
        limits: RequestLimits::default(),
        spending: Spending::default(),
        upstream,
        counter: counter(),
        canaries: vec!["canary-5f1e".to_owned()],
        error_prefixes: vec!["error:".to_owned()],
        asks: Vec::new(),
        groups: BTreeMap::from([("fd".to_owned(), "files".to_owned())]),
        clock: Arc::new(SystemClock::default()),
    }
}

pub fn loopback() -> std::net::TcpListener {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap()
}

/// A recorder in front of an oracle, in a directory of its own.
pub struct Stage {
    pub dir: tempfile::TempDir,
    pub recorder: Recorder,
}

impl Stage {
    pub async fn oracle(script: OracleScript, change: impl FnOnce(&mut RecorderSpec)) -> Self {
        let book = OracleBook::new();
        book.enter(TOKEN, script);
        Self::upstream(Arc::new(OracleUpstream::new(book, counter())), change).await
    }

    pub async fn upstream(upstream: Arc<dyn Upstream>, change: impl FnOnce(&mut RecorderSpec)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut spec = spec(dir.path(), upstream);
        change(&mut spec);
        let recorder = Recorder::start(loopback(), spec).await.unwrap();
        Self { dir, recorder }
    }

    pub fn agent(&self, tools: &[&str]) -> Agent {
        Agent::new(self.recorder.base_url(), tools)
    }

    pub async fn finish(self) -> (Recording, RequestIndex, tempfile::TempDir) {
        let recording = self.recorder.finish().await.unwrap();
        let index = RequestIndex::read(self.dir.path()).unwrap();
        (recording, index, self.dir)
    }
}

pub fn trace(dir: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join("trace.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub type HttpClient = Client<HttpConnector, Full<Bytes>>;

pub fn http() -> HttpClient {
    Client::builder(TokioExecutor::new()).build_http()
}

/// Sends any request and reads the whole answer.
pub async fn send(client: &HttpClient, request: Request<Full<Bytes>>) -> (u16, HeaderMap, Bytes) {
    let response: Response<_> = client.request(request).await.unwrap();
    let (head, body) = response.into_parts();
    (head.status.as_u16(), head.headers, body.collect().await.unwrap().to_bytes())
}

/// An agent that does what the test says.
pub struct Agent {
    pub base: String,
    pub client: HttpClient,
    pub out: ChatRequestOut,
}

pub fn tool(name: &str) -> Value {
    let parameters =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    json!({"type": "function", "function": {"name": name, "description": format!("The {name} tool."), "parameters": parameters}})
}

impl Agent {
    pub fn new(base: String, tools: &[&str]) -> Self {
        let out = ChatRequestOut {
            model: "test-model".into(),
            messages: vec![MessageOut::system("You act."), MessageOut::user("Do the task.")],
            tools: tools.iter().map(|name| tool(name)).collect(),
            stream: true,
            ..ChatRequestOut::default()
        };
        Self { base, client: http(), out }
    }

    pub fn request(&self, body: Vec<u8>) -> Request<Full<Bytes>> {
        Request::post(format!("{}/chat/completions", self.base))
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .unwrap()
    }

    /// One turn; an error is the status and body of a refusal.
    pub async fn turn(&mut self) -> Result<Turn, (u16, String)> {
        let (status, headers, body) = send(&self.client, self.request(self.out.to_bytes())).await;
        if status != 200 {
            return Err((status, String::from_utf8_lossy(&body).into_owned()));
        }
        let mut reader = TurnReader::new(headers.get("content-type").and_then(|value| value.to_str().ok()));
        reader.feed(&body);
        Ok(reader.finish().unwrap())
    }

    /// The loop of an agent: `act` gives the result of each call. Returns the calls of each turn and the final text.
    pub async fn run(
        &mut self,
        mut act: impl FnMut(&Call, &mut Vec<Value>) -> String,
    ) -> Result<(Vec<Vec<Call>>, String), (u16, String)> {
        let mut turns = Vec::new();
        loop {
            let turn = self.turn().await?;
            if turn.calls.is_empty() {
                return Ok((turns, turn.text));
            }
            self.out.messages.push(MessageOut::assistant(&turn));
            for call in &turn.calls {
                let result = act(call, &mut self.out.tools);
                self.out.messages.push(MessageOut::tool(&call.id, &result));
            }
            turns.push(turn.calls);
        }
    }
}

/// Tools of a turn, for expectations in words.
pub fn words(turns: &[Vec<Call>]) -> Vec<String> {
    let call = |call: &Call| format!("{}={}", call.id.trim_start_matches("call_"), call.name);
    turns.iter().map(|calls| calls.iter().map(call).collect::<Vec<_>>().join("+")).collect()
}

pub fn rule(action: ActionKind, tool: &str, arguments: Value) -> LexiconRule {
    LexiconRule {
        capability: None,
        action,
        tool: tool.to_owned(),
        arguments,
        substitution: false,
        group: None,
        reads_first: false,
        tag_after: None,
    }
}

/// read, bash, edit, write; search by rg or bash; find by fd (group `files`) or bash.
pub fn lexicon() -> Lexicon {
    let substitute = |rule: LexiconRule| LexiconRule { substitution: true, ..rule };
    let find = LexiconRule {
        group: Some("files".into()),
        ..rule(ActionKind::Find, "fd", json!({"pattern": "{pattern}"}))
    };
    Lexicon {
        bridges: Vec::new(),
        name: "test".into(),
        rules: vec![
            rule(ActionKind::Run, "bash", json!({"command": "{command}"})),
            rule(ActionKind::Read, "read", json!({"path": "{path}", "offset": "{offset?}"})),
            substitute(rule(ActionKind::Read, "bash", json!({"command": "cat {path|sh}"}))),
            rule(ActionKind::Write, "write", json!({"path": "{path}", "content": "{content}"})),
            rule(ActionKind::Edit, "edit", json!({"path": "{path}", "old": "{old}", "new": "{new}"})),
            substitute(rule(ActionKind::Edit, "write", json!({"path": "{path}", "content": "{whole}"}))),
            rule(ActionKind::Search, "rg", json!({"pattern": "{pattern}"})),
            substitute(rule(
                ActionKind::Search,
                "bash",
                json!({"command": "grep -rn {pattern|sh} {path|sh}"}),
            )),
            find,
            substitute(rule(
                ActionKind::Find,
                "bash",
                json!({"command": "find {path|sh} -name {pattern|sh}"}),
            )),
        ],
        discovery: vec![DiscoveryRule {
            tool: "capabilities".into(),
            load_arguments: json!({"load": "{group}"}),
            for_code: false,
        }],
        error_prefixes: vec!["error:".into()],
        sha256: Sha256Hex::of("test"),
    }
}

pub fn run_step(command: &str) -> Step {
    Step { actions: vec![Action::Run { command: command.into() }] }
}

pub fn read_action(path: &str) -> Action {
    Action::Read { path: path.into(), offset: None, limit: None }
}

pub fn find_step() -> Step {
    Step { actions: vec![Action::Find { pattern: "*.txt".into(), path: ".".into() }] }
}

pub fn answer_step() -> Step {
    Step { actions: vec![Action::Answer { text: "All done.".into() }] }
}

pub fn script(steps: Vec<Step>) -> OracleScript {
    OracleScript {
        workspace: "/workspace".to_owned(),
        capability: None,
        plan: Arc::new(Plan { steps, ..Plan::default() }),
        lexicon: Arc::new(lexicon()),
        profile: Profile::default(),
        seed: 1,
        cell: "task/r01/arm".into(),
    }
}

pub fn with_profile(script: OracleScript, kind: ProfileKind) -> OracleScript {
    OracleScript { profile: Profile { kind, rate: 1.0 }, ..script }
}
