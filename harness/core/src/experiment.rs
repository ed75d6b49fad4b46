//! The checked experiment: what the experiment file means once every name in it is known to exist.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evidence::IsolationLevel;
use crate::gate::GateRule;
use crate::id::{AgentId, ArmId, ContrastId, ExperimentId, SuiteId, SurfaceId, TaskId};
use crate::price::PriceCard;
use crate::surface::SurfaceFactor;

/// A checked experiment. Made by `bench-config` alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Experiment {
    /// Its name; run directories start with it.
    pub name: ExperimentId,
    /// The one seed from which the schedule and the oracle's profiles draw.
    pub seed: u64,
    /// Blocks per task.
    pub repeats: u32,
    /// The suite whose tasks are run.
    pub suite: SuiteId,
    /// Which tasks of the suite.
    pub tasks: TaskSelection,
    /// Arms in the order of the file.
    pub arms: Vec<Arm>,
    /// Planned comparisons.
    pub contrasts: Vec<Contrast>,
    /// Pre-registered rules.
    pub gates: Vec<GateRule>,
    /// Caps per attempt.
    pub limits: Limits,
    /// Caps on the whole run.
    pub run_limits: RunLimits,
    /// What tokens cost.
    pub prices: PriceCard,
    /// Who answers model calls.
    pub upstream: Upstream,
    /// The weakest isolation at which a cell may run.
    pub min_isolation: IsolationLevel,
    /// Tokenizer that counts every request of every arm (one basis per experiment).
    pub tokenizer: String,
    /// Fixed port for the recorder, for those who must open one (isolation level L1); none = any free port.
    pub recorder_port: Option<u16>,
    /// Numbers of the decision rules.
    pub rules: Rules,
}

/// Which tasks of a suite take part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskSelection {
    /// Every task of the suite.
    All,
    /// The named ones, in this order.
    Named(Vec<TaskId>),
}

/// Numbers of the decision rules; all of them are pre-registered in the lock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// One-sided error per gate.
    pub alpha: f64,
    /// Share of invalid blocks above which the run is invalid.
    pub max_invalid_fraction: f64,
    /// Factor put on censored candidate costs that a PASS must survive.
    pub par: f64,
    /// Re-runs of a block whose cell failed for a reason that was not the agent's.
    pub max_reruns_per_block: u32,
    /// What an attempt on something outside the cell does to it.
    #[serde(default, skip_serializing_if = "OnOutsideAccess::is_default")]
    pub on_outside_access: OnOutsideAccess,
    /// What the run is for.
    #[serde(default)]
    pub stage: Stage,
    /// Least standard deviation of a cluster's log ratio, from an A/A run; stands in where a stochastic metric shows none.
    #[serde(default)]
    pub sd_floor: Option<f64>,
    /// How often the numbers are looked at for a decision, each time after as many whole repeats; 1 = at the planned end.
    #[serde(default = "one_look")]
    pub looks: u32,
    /// How the error is shared out among the looks.
    #[serde(default, skip_serializing_if = "LookShape::is_default")]
    pub look_shape: LookShape,
    /// What is claimed when several candidates are gated.
    #[serde(default)]
    pub candidates: Candidates,
}

/// What an attempt on something outside the cell does to it. It is a metric of its arm either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnOutsideAccess {
    /// It ends as `outside_access`: its block leaves every metric.
    #[default]
    Invalid,
    /// Nothing: the cell counts as graded.
    Count,
}

impl OnOutsideAccess {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How the error of a gate is shared out among several looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LookShape {
    /// Little at first, nearly all of it at the planned end (O'Brien & Fleming 1979).
    #[default]
    ObrienFleming,
    /// The same at every look (Pocock 1977).
    Pocock,
}

impl LookShape {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn one_look() -> u32 {
    1
}

/// What a run is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// To see that the harness works and that nothing is grossly wrong: may FAIL, never PASS, and is never pooled.
    Smoke,
    /// To decide.
    #[default]
    Confirm,
}

/// What is claimed when several candidates are gated in one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Candidates {
    /// Every one must hold: no correction.
    #[default]
    All,
    /// Any one may be claimed: Holm over the candidates.
    Holm,
    /// In the order of the file, until the first that does not pass.
    FixedSequence,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            alpha: 0.05,
            max_invalid_fraction: 0.20,
            par: 2.0,
            max_reruns_per_block: 1,
            on_outside_access: OnOutsideAccess::Invalid,
            stage: Stage::Confirm,
            sd_floor: None,
            looks: 1,
            look_shape: LookShape::ObrienFleming,
            candidates: Candidates::All,
        }
    }
}

/// An arm: agent + surface + model + settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Arm {
    /// Its name.
    pub id: ArmId,
    /// The agent that is started.
    pub agent: AgentId,
    /// The surface it is asked to show. For a real agent: a variant that its adapter declares.
    pub surface: SurfaceId,
    /// Factors of the surface that are taken from other surfaces of the catalogue. Empty = the surface as it is.
    pub factors: BTreeMap<SurfaceFactor, SurfaceId>,
    /// Command line for `agent = "command"`; empty otherwise.
    pub command: Vec<String>,
    /// Model id that the agent asks for.
    pub model: String,
    /// Model settings, checked in the recorded bytes.
    pub settings: ModelSettings,
    /// What the model can do beyond plain calls of tools.
    pub capabilities: Capabilities,
    /// How the oracle plays this arm.
    pub profile: Profile,
}

/// Model settings: experiment keys, equal across arms unless `settings` is the factor of a contrast.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelSettings {
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Cap on tokens of one response.
    pub max_output_tokens: Option<u32>,
    /// Thinking effort, in the provider's own word.
    pub thinking: Option<String>,
    /// Seed passed to the provider.
    pub sampling_seed: Option<u64>,
}

/// What a model can do beyond plain calls of tools. Said in the experiment, never derived from a model's name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Tools that are found during the conversation can be called without standing in the request's tools.
    pub supports_tool_search: bool,
    /// Tools can be grouped below a name.
    pub supports_namespaces: bool,
    /// A tool can take free text instead of arguments by a schema.
    pub freeform_tools: bool,
    /// One turn may carry several calls; null = not said, nothing is sent.
    pub parallel_tool_calls: Option<bool>,
    /// It is made to act through code alone.
    pub supports_code_mode_only: bool,
}

/// How the oracle plays: perfectly, or with one seeded fault. Rates are per cell, drawn from seed, task, repeat, arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The kind of play.
    pub kind: ProfileKind,
    /// Probability, per cell, that the fault occurs at all (0 to 1).
    pub rate: f64,
}

impl Default for Profile {
    fn default() -> Self {
        Self { kind: ProfileKind::Perfect, rate: 1.0 }
    }
}

/// The seeded faults of the oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileKind {
    /// Plays the plan step by step.
    Perfect,
    /// Looks around between steps: extra calls, more turns, same outcome.
    Wanders,
    /// Answers before the plan is done.
    GivesUp,
    /// Sends arguments that do not fit the schema, reads the refusal, then goes on.
    WrongArguments,
    /// Calls tools that were never offered, reads the refusal, then goes on.
    InventsTools,
    /// Never lists or loads anything: a step that needs it is played by substitution or not at all.
    NeverDiscovers,
}

/// A planned comparison of two arms that differ in exactly one factor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Contrast {
    /// Its name.
    pub id: ContrastId,
    /// The arm compared with.
    pub control: ArmId,
    /// The arm under examination.
    pub candidate: ArmId,
    /// The one thing that differs.
    pub factor: Factor,
    /// What its verdict is for.
    pub role: ContrastRole,
}

/// The one thing in which the arms of a contrast differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Factor {
    /// Tool surface.
    Surface,
    /// Agent (and with it everything it brings).
    Agent,
    /// Model id.
    Model,
    /// Model settings.
    Settings,
    /// The oracle's profile.
    OracleProfile,
    /// Nothing: both arms are the same (A/A).
    None,
}

impl Factor {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Surface => "surface",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Settings => "settings",
            Self::OracleProfile => "oracle-profile",
            Self::None => "none",
        }
    }
}

/// What a contrast's verdict is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContrastRole {
    /// Its gates decide the run.
    Gate,
    /// Its gates are shown and decide nothing.
    Reported,
    /// Its gates are expected to FAIL; if none does, the instrument is broken and the run is invalid.
    NegativeControl,
}

/// Caps per attempt. `None` = no cap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall clock of the agent, milliseconds.
    pub wall_ms: u64,
    /// Wall clock of the verifier, milliseconds.
    pub verify_wall_ms: u64,
    /// Turns of the agent's own loop.
    pub turns: Option<u32>,
    /// Requests of any class.
    pub requests: Option<u32>,
    /// Input plus output tokens, local count.
    pub total_tokens: Option<u64>,
    /// US dollars by the price card.
    #[serde(default)]
    pub cost_usd: Option<f64>,
    /// Bytes of stdout plus stderr before the cell is ended.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall_ms: 600_000,
            verify_wall_ms: 120_000,
            turns: Some(100),
            requests: Some(300),
            total_tokens: None,
            cost_usd: None,
            output_bytes: 16 << 20,
        }
    }
}

/// Caps on a whole run, over all its attempts and all the commands that continue it. `None` = no cap. They decide no
/// cell's outcome, so they stand outside the lock: raised, the same command goes on.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RunLimits {
    /// Requests of any class.
    pub requests: Option<u64>,
    /// Input plus output tokens.
    pub total_tokens: Option<u64>,
    /// US dollars by the price card.
    pub cost_usd: Option<f64>,
    /// Milliseconds since the command was started.
    pub wall_ms: Option<u64>,
}

/// Who answers model calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// The built-in player of reference plans.
    Oracle,
    /// An endpoint that is asked over the network.
    Endpoint(Endpoint),
    /// The answers of a recorded run.
    Replay {
        /// Its run directory.
        run: String,
    },
}

/// An endpoint: where it is, what it speaks, how many may ask at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Its API, and with it the header that carries the key.
    pub kind: EndpointKind,
    /// Base URL up to and including the version part, e.g. `https://api.deepseek.com/v1`.
    pub base_url: String,
    /// Name of the environment variable that holds the key; none = no key is sent.
    pub key_env: Option<String>,
    /// Requests in flight at once; none = as many as come.
    pub concurrency: Option<u32>,
    /// Certificates that are trusted beside the public authorities.
    pub ca_file: Option<String>,
    /// Milliseconds until the first byte of an answer; none = the recorder's default.
    pub first_byte_ms: Option<u64>,
    /// Milliseconds between two pieces of an answer; none = the recorder's default.
    pub idle_ms: Option<u64>,
}

/// The API of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EndpointKind {
    /// OpenAI chat completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
    /// Gemini generateContent.
    GeminiGenerateContent,
}

impl EndpointKind {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-chat",
            Self::OpenaiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::GeminiGenerateContent => "gemini-generate-content",
        }
    }
}

/// What enters the lock: who answers. How many may ask at once, timeouts and trust decide no outcome.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Locked<'a> {
    Oracle,
    Replay { run: &'a str },
}

#[derive(Serialize)]
struct LockedEndpoint<'a> {
    kind: &'static str,
    base_url: &'a str,
    key_env: Option<&'a str>,
}

impl Serialize for Upstream {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Oracle => Locked::Oracle.serialize(serializer),
            Self::Replay { run } => Locked::Replay { run }.serialize(serializer),
            Self::Endpoint(endpoint) => LockedEndpoint {
                kind: endpoint.kind.word(),
                base_url: &endpoint.base_url,
                key_env: endpoint.key_env.as_deref(),
            }
            .serialize(serializer),
        }
    }
}

impl Upstream {
    /// The word used in files and output.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Oracle => "oracle",
            Self::Endpoint(endpoint) => endpoint.kind.word(),
            Self::Replay { .. } => "replay",
        }
    }

    /// Does the same request always get the same answer?
    pub fn is_deterministic(&self) -> bool {
        match self {
            Self::Oracle | Self::Replay { .. } => true,
            Self::Endpoint(_) => false,
        }
    }
}

impl Experiment {
    /// The arm of this name.
    pub fn arm(&self, id: &ArmId) -> Option<&Arm> {
        self.arms.iter().find(|arm| &arm.id == id)
    }

    /// Is any arm played by an imperfect oracle profile?
    pub fn has_imperfect_profile(&self) -> bool {
        self.arms.iter().any(|arm| arm.profile.kind != ProfileKind::Perfect)
    }
}

impl Arm {
    /// The factors of the surface in which two arms of a matrix differ. Two whole surfaces that the catalogue names differ
    /// in one thing: which of them it is.
    pub fn surface_differences(&self, other: &Arm) -> Vec<SurfaceFactor> {
        if self.factors.is_empty() && other.factors.is_empty() {
            return Vec::new();
        }
        let from = |arm: &Arm, factor| arm.factors.get(&factor).unwrap_or(&arm.surface).clone();
        let differs = |factor: &SurfaceFactor| from(self, *factor) != from(other, *factor);
        SurfaceFactor::ALL.into_iter().filter(differs).collect()
    }

    /// The factors in which two arms differ.
    pub fn differences(&self, other: &Arm) -> Vec<Factor> {
        let mut found = Vec::new();
        if self.agent != other.agent || self.command != other.command {
            found.push(Factor::Agent);
        }
        if self.surface != other.surface || self.factors != other.factors {
            found.push(Factor::Surface);
        }
        // Flags describe the model: another set of them is another model as far as an agent can tell.
        if self.model != other.model || self.capabilities != other.capabilities {
            found.push(Factor::Model);
        }
        if self.settings != other.settings {
            found.push(Factor::Settings);
        }
        if self.profile != other.profile {
            found.push(Factor::OracleProfile);
        }
        found
    }
}
