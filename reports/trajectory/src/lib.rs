//! An attempt read back from its evidence: what was asked, said, called and answered, turn by turn, whatever API it was
//! spoken in.
//!
//! [`Trajectory::read`] goes through the request store, `trace.jsonl` and what agent and verifier printed, and never
//! fails: what is missing or damaged is named under [`Trajectory::trouble`], and everything else is there. Numbers that
//! count are those of the record; drawing and exporting are left to `bench-reports`.

mod agent_words;
mod conversation;
mod read;
mod timeline;

pub use agent_words::{CutResult, Script, ScriptCall, TurnNotes};
use bench_record::RequestRecord;
use serde_json::Value;
pub use timeline::{Lane, Mark, Span, SpanKind};

/// An attempt, step by step.
#[derive(Debug, Clone, Default)]
pub struct Trajectory {
    /// Requests with their answers, in the order in which they arrived.
    pub exchanges: Vec<Exchange>,
    /// What the reference agent noted of its turns; empty for others.
    pub notes: Vec<TurnNotes>,
    /// What began and ended beside the conversations, in order.
    pub marks: Vec<Mark>,
    /// What the agent printed, when it is not the reference agent.
    pub stdout: String,
    /// Its complaints.
    pub stderr: String,
    /// What the hidden check printed.
    pub verifier: Printed,
    /// What the agent changed, as a patch for people.
    pub patch: String,
    /// What could not be read, and why.
    pub trouble: Vec<String>,
}

/// Both streams of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// One request and what came of it.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// As the index has it.
    pub record: RequestRecord,
    /// Milliseconds from the recorder's start to the request's arrival; null = no trace says.
    pub at_ms: Option<f64>,
    /// Which conversation it belongs to, from 0: the agent's own loop, a side question, a subagent.
    pub conversation: usize,
    /// Its place in the agent's own loop, from 1; null for other classes.
    pub turn: Option<u32>,
    /// What this request says that the one before it in its conversation did not, without the model's own words.
    pub said: Vec<Message>,
    /// Messages of the conversation that are gone: it was cut or summed up.
    pub dropped: usize,
    /// How the tools differ from the conversation's request before.
    pub surface: SurfaceChange,
    /// What the model answered; null when nothing readable came.
    pub answer: Option<Answer>,
}

/// A message, an instruction, or the results of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// `system`, `developer`, `instructions`, `user`, `assistant`, `tool`, or whatever was sent.
    pub role: String,
    /// Its text.
    pub text: String,
    /// Results of calls, as (id, text, whether the wire says that it failed).
    pub results: Vec<(String, String, bool)>,
}

/// Tools that came, went or changed.
#[derive(Debug, Clone, Default)]
pub struct SurfaceChange {
    /// Tools offered now.
    pub offered: usize,
    /// New ones; in a conversation's first request all of them.
    pub added: Vec<Tool>,
    /// Names of those that are gone.
    pub removed: Vec<String>,
    /// Those defined otherwise than before, as they stand now.
    pub changed: Vec<Tool>,
}

impl SurfaceChange {
    /// Nothing came, went or changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// A tool as offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Name with its namespace.
    pub name: String,
    /// `function`, `custom`, or a hosted type.
    pub kind: String,
    /// What the model is told.
    pub description: String,
    /// Schema of its arguments.
    pub schema: Option<Value>,
}

/// What the model said.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Model id as answered.
    pub model: String,
    /// Id of the response.
    pub id: String,
    /// Visible text.
    pub text: String,
    /// Reasoning, where the API shows it.
    pub reasoning: String,
    /// Why it stopped, in the API's word.
    pub finish: Option<String>,
    /// Calls, each with its result once one came.
    pub calls: Vec<ToolCall>,
    /// What was wrong with the response.
    pub trouble: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, Default)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// Tool.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
    /// What came back; null = nothing did.
    pub result: Option<ToolResult>,
}

/// The result of a call.
#[derive(Debug, Clone, Default)]
pub struct ToolResult {
    /// As the model was shown it.
    pub text: String,
    /// Was it refused or did it fail? null = unknown for this agent.
    pub failed: Option<bool>,
    /// The request that carried it.
    pub request: u32,
}
