//! A surface: what the model is shown as its way to act. Data for the reference agent; only a name for real agents.

use serde::{Deserialize, Serialize};

use crate::code_mode::{CodeMode, SurfaceServer};
use crate::id::SurfaceId;

/// A surface of the reference agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Surface {
    /// Its name (the file's stem).
    pub name: SurfaceId,
    /// Version: raised whenever tool list or guidance change, pinned by a test.
    pub version: u32,
    /// Is the extension present, even where it shows nothing?
    pub extension: bool,
    /// Tools in the order of the request.
    pub tools: Vec<SurfaceTool>,
    /// How a deferred tool becomes callable.
    pub discovery: Discovery,
    /// Guidance added to the system text. May name only tools that the surface exposes.
    pub guidance: Vec<String>,
    /// The instructions around it all.
    #[serde(default)]
    pub prompt: Prompt,
    /// Groups that are loaded before the first request when the instruction speaks of them.
    #[serde(default)]
    pub preload: Vec<IntentRule>,
    /// Tools whose resource does not exist yet are left out: a task list that is empty cannot be changed.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// Caps on what one call returns; none = each tool's own caps alone.
    pub budget: Option<ResultBudget>,
    /// When the conversation is replaced by a summary; none = never.
    pub compaction: Option<Compaction>,
    /// How the calls of one turn are carried out.
    #[serde(default)]
    pub scheduling: Scheduling,
    /// How tools are called by code; none = not at all.
    #[serde(default)]
    pub code: Option<CodeMode>,
    /// Servers whose tools join those of the list.
    #[serde(default)]
    pub servers: Vec<SurfaceServer>,
}

/// One of the independent parts of a surface. An ablation changes one of them and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SurfaceFactor {
    /// The tools with their exposure.
    Tools,
    /// How deferred tools become callable, and what is preloaded.
    Discovery,
    /// The guidance.
    Guidance,
    /// The instructions around it.
    Prompt,
    /// Caps on results, and the archive.
    Budget,
    /// When the conversation is summed up.
    Compaction,
    /// How the calls of one turn are carried out.
    Scheduling,
    /// How tools are called by code.
    Code,
}

impl SurfaceFactor {
    /// Every factor.
    pub const ALL: [Self; 8] = [
        Self::Tools,
        Self::Discovery,
        Self::Guidance,
        Self::Prompt,
        Self::Budget,
        Self::Compaction,
        Self::Scheduling,
        Self::Code,
    ];

    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Discovery => "discovery",
            Self::Guidance => "guidance",
            Self::Prompt => "prompt",
            Self::Budget => "budget",
            Self::Compaction => "compaction",
            Self::Scheduling => "scheduling",
            Self::Code => "code",
        }
    }
}

/// The instructions around tools and guidance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prompt {
    /// Tools, habits and form of the answer.
    #[default]
    Full,
    /// Four lines.
    Brief,
}

/// A group that is loaded before the first request when the instruction fits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct IntentRule {
    /// Regular expression on the instruction; capitals do not matter.
    pub instruction: String,
    /// The group.
    pub group: String,
}

/// Does a tool wait until the resource exists that it works on?
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lifecycle {
    /// No: everything is shown as the surface says.
    #[default]
    Ignored,
    /// Yes: it joins the tail once the resource exists and leaves when the resource is gone.
    Followed,
}

/// Caps on one result. What is beyond them is cut out of the middle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ResultBudget {
    /// Most bytes of one result.
    pub bytes: usize,
    /// Most tokens of one result, estimated as a quarter of its bytes.
    pub tokens: usize,
    /// Of what is kept, percent that comes from the beginning.
    pub head_percent: u8,
    /// Is the whole kept behind a reference that `archive_read` opens?
    pub archive: bool,
}

/// When the conversation is replaced by a summary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Compaction {
    /// Tokens that the model can take in.
    pub window_tokens: usize,
    /// Percent of the window, estimated as a quarter of the body's bytes, above which a summary is asked for.
    pub at_percent: u8,
    /// Turns at the end of the conversation that stay as they are.
    pub keep_turns: usize,
}

/// How the calls of one turn are carried out. Results come back in the order of the calls all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// One after the other.
    #[default]
    Serial,
    /// Calls that only look run beside one another; one that changes something waits for all before it, and all after it
    /// wait for it.
    Barrier,
    /// All beside one another, unless one of them changes something: then one after the other.
    Batch,
}

/// A tool in a surface: exposure is two fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SurfaceTool {
    /// The tool's name in the reference agent's catalogue.
    pub name: String,
    /// What the model sees of it.
    pub model: ModelExposure,
    /// Can code call it?
    pub code: CodeExposure,
    /// Capability group, for tools that are loaded.
    pub group: Option<String>,
}

/// What the model sees of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelExposure {
    /// Its schema stands in the first request.
    Direct,
    /// It can be made callable.
    Deferred,
    /// Never.
    Hidden,
}

/// Can code call a tool?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeExposure {
    /// Through the code tool's bridge.
    Bridged,
    /// Not.
    No,
}

/// How a deferred tool becomes callable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discovery {
    /// Not at all.
    None,
    /// One small tool lists and loads groups; what was loaded is callable on the next turn and never unloaded.
    Gateway,
    /// By nothing that the model does: only a rule on the instruction loads a group, before the first request.
    Intent,
    /// A search tool; what it finds is added to the end of the request's tools.
    SearchAppend,
    /// A search tool; the schemas stand in its result, the request's tools never change, and what was found is called
    /// through one tool that takes name and arguments.
    SearchResult,
    /// Tools are mounted on paths: reading a path shows the schema, writing arguments to it calls the tool.
    Devices,
    /// The provider's own deferral where wire and model have it; else the gateway.
    Native,
}

impl Discovery {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gateway => "gateway",
            Self::Intent => "intent",
            Self::SearchAppend => "search-append",
            Self::SearchResult => "search-result",
            Self::Devices => "devices",
            Self::Native => "native",
        }
    }
}

impl Surface {
    /// This surface with one factor as another has it.
    #[must_use]
    pub fn with(mut self, factor: SurfaceFactor, other: &Surface) -> Self {
        let other = other.clone();
        match factor {
            SurfaceFactor::Tools => {
                self.tools = other.tools;
                self.servers = other.servers;
                self.extension = other.extension;
            }
            SurfaceFactor::Discovery => {
                self.discovery = other.discovery;
                self.preload = other.preload;
                self.lifecycle = other.lifecycle;
            }
            SurfaceFactor::Guidance => self.guidance = other.guidance,
            SurfaceFactor::Prompt => self.prompt = other.prompt,
            SurfaceFactor::Budget => self.budget = other.budget,
            SurfaceFactor::Compaction => self.compaction = other.compaction,
            SurfaceFactor::Scheduling => self.scheduling = other.scheduling,
            SurfaceFactor::Code => self.code = other.code,
        }
        self
    }

    /// The groups that the gateway can load, in order of first appearance.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for tool in &self.tools {
            if let (ModelExposure::Deferred, Some(group)) = (tool.model, tool.group.as_deref())
                && !groups.contains(&group)
            {
                groups.push(group);
            }
        }
        groups
    }
}
