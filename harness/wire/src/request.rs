//! A model request as every API says it in the end: tools, messages, calls and their results. Whoever measures or answers
//! requests reads this and no wire; what no reader knows is kept in the raw JSON and counted.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::api::Api;
use crate::json::{self, Unread};
use crate::turn::Call;
use crate::{chat, fields, gemini, messages, responses};

/// Beginning of the id that the reader gives to a call of a wire without ids (Gemini's): its place in the order of the
/// request's calls follows, from 1.
pub const UNNAMED: &str = "order:";

/// A request, read. Every field of the body is kept in one of `entries`, `messages` and `rest`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The API.
    pub api: Api,
    /// Model id asked for; empty when the request names none.
    pub model: String,
    /// Is the response to be streamed?
    pub stream: bool,
    /// Does a stream end with usage? Always, but for chat completions, which must ask.
    pub include_usage: bool,
    /// Tools in order, nested ones taken out of their namespaces.
    pub tools: Vec<RequestTool>,
    /// Top-level tool definitions as sent, wherever they stand: what the model pays for.
    pub entries: Vec<Value>,
    /// Messages, items and instruction parts in order.
    pub messages: Vec<RequestMessage>,
    /// May one turn carry several calls? null = not said.
    pub parallel_tool_calls: Option<bool>,
    /// Types of items, parts and tools that the reader does not know, with how often they stand there.
    pub unknown: BTreeMap<String, u32>,
    /// Every other field of the body.
    pub rest: Map<String, Value>,
}

/// A tool that the model can call.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestTool {
    /// Name; a hosted tool without one is named by its type.
    pub name: String,
    /// Namespace that holds it.
    pub namespace: Option<String>,
    /// What calling it takes.
    pub kind: ToolKind,
    /// Is its definition in the model's sight at once?
    pub exposure: Exposure,
    /// Where its definition stands.
    pub place: Place,
    /// What the model is told of it.
    pub description: String,
    /// Schema of its arguments, or grammar of its input.
    pub schema: Option<Value>,
    /// Its definition as sent.
    pub raw: Value,
}

/// What calling a tool takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolKind {
    /// Arguments by a schema.
    Function,
    /// Free text, perhaps by a grammar.
    Custom,
    /// The provider runs it; the type as sent.
    Hosted(String),
}

impl ToolKind {
    /// The word used in files and output: `function`, `custom`, or the hosted type.
    pub fn word(&self) -> &str {
        match self {
            Self::Function => "function",
            Self::Custom => "custom",
            Self::Hosted(kind) => kind,
        }
    }
}

/// Is a definition in the model's sight at once?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Yes.
    Direct,
    /// Flagged to be left out until the model searches for it.
    Deferred,
    /// Shown by a search of this conversation.
    Found,
}

impl Exposure {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Deferred => "deferred",
            Self::Found => "found",
        }
    }
}

/// Where a definition or an instruction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The field made for it (`tools`; `system`, `instructions`, `systemInstruction`).
    Field,
    /// Among messages or input items.
    Item,
}

/// A message, an input item, or the instruction field.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestMessage {
    /// `system`, `developer`, `instructions`, `user`, `assistant`, `tool`, or whatever was sent.
    pub role: String,
    /// Where it stands.
    pub place: Place,
    /// Its own text, without that of results.
    pub text: String,
    /// Its text parts one by one, where it has several.
    pub parts: Vec<String>,
    /// Calls that it carries.
    pub calls: Vec<Call>,
    /// Results of calls that it carries.
    pub results: Vec<CallResult>,
    /// As sent; for an instruction field its value.
    pub raw: Value,
}

/// The result of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallResult {
    /// Id of the call.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Does the wire itself say that it failed?
    pub failed: bool,
}

/// A body that is no request of its API.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Not JSON.
    #[error("the body is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON of another shape.
    #[error("the body is not a model request: {0}")]
    Shape(&'static str),
}

impl ModelRequest {
    /// Reads a body as the API of its path says it.
    pub fn read(api: Api, path: &str, body: &[u8]) -> Result<Self, RequestError> {
        match api {
            Api::Chat => Ok(chat::ChatRequest::read(body)?.into()),
            Api::Responses => responses::read(object(body)?),
            Api::Messages => messages::read(object(body)?),
            Api::Gemini => gemini::read(path, object(body)?),
        }
    }

    /// A request of this API without anything in it.
    pub(crate) fn empty(api: Api) -> Self {
        Self {
            api,
            model: String::new(),
            stream: false,
            include_usage: true,
            tools: Vec::new(),
            entries: Vec::new(),
            messages: Vec::new(),
            parallel_tool_calls: None,
            unknown: BTreeMap::new(),
            rest: Map::new(),
        }
    }

    /// Minified JSON of the tool definitions as sent (key order kept); `[]` when there are none.
    pub fn tools_json(&self) -> String {
        fields::json_array(self.entries.iter())
    }

    /// Minified JSON of the messages that `keep` selects, as sent.
    pub fn messages_json(&self, keep: impl Fn(&RequestMessage) -> bool) -> String {
        fields::json_array(self.messages.iter().filter(|message| keep(message)).map(|message| &message.raw))
    }

    /// The tool of this name; a nested one also by `namespace.name` and `namespace__name`.
    pub fn tool(&self, name: &str) -> Option<&RequestTool> {
        self.tools.iter().find(|tool| tool.is_named(name))
    }

    pub(crate) fn count_unknown(&mut self, kind: &str) {
        // A hostile body must not make a map without bounds.
        if self.unknown.len() < 256 || self.unknown.contains_key(kind) {
            let kind: String = kind.chars().take(64).collect();
            *self.unknown.entry(kind).or_insert(0) += 1;
        }
    }
}

pub(crate) fn object(body: &[u8]) -> Result<Map<String, Value>, RequestError> {
    match json::value(body) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(RequestError::Shape("it is no JSON object")),
        Err(Unread::NotJson(error)) => Err(RequestError::Json(error)),
        Err(Unread::TooMany) => Err(RequestError::Shape("it holds more values than any agent sends")),
    }
}

impl RequestTool {
    /// Is it called by this name?
    pub fn is_named(&self, name: &str) -> bool {
        let inner = match &self.namespace {
            None => return self.name == name,
            Some(namespace) => name.strip_prefix(namespace.as_str()),
        };
        let inner = inner.and_then(|rest| rest.strip_prefix('.').or_else(|| rest.strip_prefix("__")));
        self.name == name || inner == Some(self.name.as_str())
    }

    /// Name with its namespace: what tells it from all others of a request.
    pub fn full_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl RequestMessage {
    /// Is it instruction text, wherever it stands?
    pub fn is_instruction(&self) -> bool {
        matches!(self.role.as_str(), "system" | "developer" | "instructions")
    }

    /// A message with text and nothing else.
    pub(crate) fn said(role: &str, place: Place, content: Option<&Value>, raw: Value) -> Self {
        let parts: Vec<String> = match content {
            Some(Value::Array(parts)) => parts
                .iter()
                .filter_map(|part| part.as_str().or_else(|| fields::str_at(part, "text")))
                .map(str::to_owned)
                .collect(),
            Some(Value::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        };
        Self {
            role: role.to_owned(),
            place,
            text: parts.concat(),
            parts,
            calls: Vec::new(),
            results: Vec::new(),
            raw,
        }
    }
}
