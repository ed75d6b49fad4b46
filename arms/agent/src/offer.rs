//! What a surface offers to the model at a moment of the conversation: catalogue × surface × what exists to be worked on ×
//! what the model can do, planned anew for every request. Grows at its end, so that a provider's prefix cache survives.

use std::sync::Arc;

use bench_code::{Callback, Reach};
use bench_core::experiment::Capabilities;
use bench_core::{
    CodeExposure, Discovery, ModelExposure, Prompt, Resource, Resources, Surface, SurfaceServer, SurfaceTool,
    WireKind,
};
use grep_matcher::Matcher as _;
use grep_regex::RegexMatcherBuilder;
use serde_json::{Value, json};

use crate::catalogue::{
    BRIEF_TEXT, CALL, GATEWAY, Owner, SEARCH, SYSTEM_TEXT, ToolDefinition, group_purpose, home_group, owner,
    tool,
};
use crate::code::{Bridged, CodeOffer, OWN};
use crate::registry::{Collision, Loading, Refused, Registration, Registry};
use crate::surface_check::{SurfaceError, check_surface};
use crate::{devices, search, servers};

/// Tools that a search finds where the call sets no limit.
const FOUND: usize = 8;

/// The tools of a surface and how far they have been loaded.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    registry: Registry,
    discovery: Found,
    followed: bool,
    prompt: Prompt,
    guidance: Vec<String>,
    groups: Vec<String>,
    /// The tools of the request planned last.
    shown: Vec<Arc<ToolDefinition>>,
    /// What the instructions speak of: the tools of the first request. They never change within a conversation.
    resident: Vec<Arc<ToolDefinition>>,
    /// Deferred tools that a search of this conversation has shown.
    found: Vec<Arc<ToolDefinition>>,
    collisions: Vec<Collision>,
    code: Option<CodeOffer>,
}

/// How deferred tools become callable in this conversation: the surface's way, once flags and wire have been asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// Not at all, or by the instruction alone.
    Never,
    /// Groups by the gateway.
    ByGroup,
    /// By search, added to the tail of the tools.
    AtTheTail,
    /// By search, called through one tool.
    ThroughOneTool,
    /// By search, the schemas stand in the result and the wire makes them callable.
    OnTheWire,
    /// Mounted on paths.
    OnPaths,
}

impl Found {
    fn of(surface: &Surface, capabilities: &Capabilities, wire: WireKind) -> Self {
        match surface.discovery {
            Discovery::None | Discovery::Intent => Self::Never,
            Discovery::Gateway => Self::ByGroup,
            Discovery::SearchAppend => Self::AtTheTail,
            Discovery::SearchResult => Self::ThroughOneTool,
            Discovery::Devices => Self::OnPaths,
            Discovery::Native => match wire {
                WireKind::OpenaiResponses | WireKind::AnthropicMessages
                    if capabilities.supports_tool_search =>
                {
                    Self::OnTheWire
                }
                WireKind::OpenaiResponses
                | WireKind::AnthropicMessages
                | WireKind::OpenaiChat
                | WireKind::Gemini => Self::ByGroup,
            },
        }
    }

    /// The tools that this way brings along.
    fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Never | Self::OnPaths => &[],
            Self::ByGroup => &[GATEWAY],
            Self::AtTheTail | Self::OnTheWire => &[SEARCH],
            Self::ThroughOneTool => &[SEARCH, CALL],
        }
    }
}

impl Offer {
    /// The offer with which a conversation on this surface begins.
    pub(crate) fn of(
        surface: &Surface,
        capabilities: &Capabilities,
        wire: WireKind,
    ) -> Result<Self, SurfaceError> {
        check_surface(surface)?;
        let mut offer = Self {
            registry: Registry::default(),
            discovery: Found::of(surface, capabilities, wire),
            followed: surface.lifecycle == bench_core::Lifecycle::Followed,
            prompt: surface.prompt,
            guidance: surface.guidance.clone(),
            groups: surface.groups().into_iter().map(str::to_owned).collect(),
            shown: Vec::new(),
            resident: Vec::new(),
            found: Vec::new(),
            collisions: Vec::new(),
            code: surface.code.as_ref().and_then(|mode| CodeOffer::of(mode, capabilities)),
        };
        let entries: Vec<SurfaceTool> = surface.tools.iter().map(|entry| offer.exposed(entry)).collect();
        // Direct tools stand before those of discovery, whatever the order of the file.
        let (direct, others): (Vec<_>, Vec<_>) =
            entries.iter().partition(|entry| entry.model == ModelExposure::Direct);
        for entry in direct {
            offer.add(surface, entry)?;
        }
        for server in &surface.servers {
            offer.add_server(server);
        }
        for name in offer.code.as_ref().map(|code| code.mode.shape.tools()).unwrap_or_default() {
            offer.add_own(name);
        }
        for name in offer.discovery.tools() {
            offer.add_own(name);
        }
        for entry in others {
            offer.add(surface, entry)?;
        }
        offer.plan(&Resources::default());
        offer.resident = offer.shown.clone();
        Ok(offer)
    }

    /// Loads the groups of which the instruction speaks, before the first request. Answers their names.
    pub(crate) fn preload(&mut self, surface: &Surface, instruction: &str) -> Vec<String> {
        let speaks = |pattern: &str| {
            let matcher = RegexMatcherBuilder::new().case_insensitive(true).build(pattern);
            matcher.is_ok_and(|matcher| matcher.is_match(instruction.as_bytes()).unwrap_or(false))
        };
        let rules = surface.preload.iter().filter(|rule| speaks(&rule.instruction));
        let groups: Vec<String> = rules.map(|rule| rule.group.clone()).collect();
        self.registry.ask_for(|tool| tool.group.as_ref().is_some_and(|group| groups.contains(group)));
        self.registry.next_turn();
        self.plan(&Resources::default());
        self.resident = self.shown.clone();
        groups
    }

    fn add(&mut self, surface: &Surface, entry: &SurfaceTool) -> Result<(), SurfaceError> {
        let mut definition = tool(&entry.name).expect("the surface has been checked");
        if self.discovery == Found::OnPaths {
            devices::describe(&mut definition, surface);
        }
        let home = entry.group.clone().or_else(|| home_group(&entry.name).map(str::to_owned));
        let definition = Arc::new(definition);
        if let (Some(code), CodeExposure::Bridged) = (&mut self.code, entry.code) {
            code.bridged
                .push(Bridged { callback: callback(&definition), definition: Arc::clone(&definition) });
        }
        let registered = self.registry.register(Registration {
            definition,
            owner: owner(&entry.name),
            group: home,
            exposure: entry.model,
            needs: Resource::awaited_by(entry).filter(|_| self.followed),
        });
        match registered {
            Ok(()) => Ok(()),
            Err(Refused::Taken(collision)) => {
                self.collisions.push(collision);
                Ok(())
            }
            Err(Refused::NoGroup) => {
                Err(SurfaceError::Homeless { surface: surface.name.to_string(), tool: entry.name.clone() })
            }
        }
    }

    /// A tool as it is exposed once it is known whether code mode is on.
    fn exposed(&self, entry: &SurfaceTool) -> SurfaceTool {
        let model = exposure(self.code.as_ref(), entry.model, entry.code, &entry.name);
        SurfaceTool { model, ..entry.clone() }
    }

    /// The tools of a server, all exposed alike; what a server keeps from the model stays where it is.
    fn add_server(&mut self, server: &SurfaceServer) {
        for tool in servers::tools(&server.name).expect("the surface has been checked") {
            let definition = Arc::new(tool.definition(&server.name));
            if tool.reach() == Reach::Invisible {
                continue;
            }
            let model = exposure(self.code.as_ref(), server.model, server.code, &definition.name);
            if let (Some(code), CodeExposure::Bridged) = (&mut self.code, server.code) {
                let callback = tool.callback(&server.name);
                code.bridged.push(Bridged { definition: Arc::clone(&definition), callback });
            }
            let registration = Registration {
                definition,
                owner: Owner::Foreign(server.name.clone()),
                group: None,
                exposure: model,
                needs: None,
            };
            if let Err(Refused::Taken(collision)) = self.registry.register(registration) {
                self.collisions.push(collision);
            }
        }
    }

    /// Code mode, where it is on.
    pub(crate) fn code(&self) -> Option<&CodeOffer> {
        self.code.as_ref()
    }

    /// A tool that the way of discovery brings.
    fn add_own(&mut self, name: &str) {
        let mut definition = tool(name).expect("the catalogue holds the tools of discovery");
        if name == GATEWAY {
            definition.parameters["properties"]["groups"]["items"]["enum"] =
                self.groups.iter().map(|group| json!(group)).collect();
        }
        let registration = Registration {
            definition: Arc::new(definition),
            owner: Owner::Agent,
            group: None,
            exposure: ModelExposure::Direct,
            needs: None,
        };
        if let Err(Refused::Taken(collision)) = self.registry.register(registration) {
            self.collisions.push(collision);
        }
    }

    /// Makes the plan of the next request.
    pub(crate) fn plan(&mut self, resources: &Resources) {
        self.shown = self.registry.plan(resources);
        if let Some(code) = &mut self.code {
            let needs = |name: &str| self.registry.needs(name);
            code.plan(&self.shown, |name| needs(name).is_none_or(|needed| resources.has(needed)));
            for tool in &mut self.shown {
                *tool = code.dressed(tool);
            }
        }
    }

    /// The tools of the plan.
    pub(crate) fn tools(&self) -> &[Arc<ToolDefinition>] {
        &self.shown
    }

    /// Deferred tools that a search has shown, in the order in which they were found.
    pub(crate) fn found(&self) -> &[Arc<ToolDefinition>] {
        &self.found
    }

    /// How deferred tools become callable.
    pub(crate) fn discovery(&self) -> Found {
        self.discovery
    }

    /// Names that two owners brought.
    pub(crate) fn collisions(&self) -> &[Collision] {
        &self.collisions
    }

    /// The instructions. They never change within a conversation and vary by surface and working directory alone.
    pub(crate) fn system_text(&self, cwd: &str) -> String {
        // Tools of servers say what they do in their own definitions, as they do in real agents.
        let resident: Vec<_> =
            self.resident.iter().filter(|tool| servers::of_tool(&tool.name).is_none()).collect();
        let names: Vec<&str> = resident.iter().map(|tool| tool.name.as_str()).collect();
        let tools: String =
            resident.iter().map(|tool| format!("- {}: {}\n", tool.name, tool.summary)).collect();
        let hints: String =
            resident.iter().flat_map(|tool| &tool.hints).map(|hint| format!("- {hint}\n")).collect();
        let mut guidance = String::new();
        if !self.guidance.is_empty() {
            guidance.push_str("\n# More about the tools\n");
            self.guidance.iter().for_each(|line| guidance.push_str(&format!("- {line}\n")));
        }
        let text = match self.prompt {
            Prompt::Full => SYSTEM_TEXT,
            Prompt::Brief => BRIEF_TEXT,
        };
        text.replace("{tools}", &tools)
            .replace("{names}", &names.join(", "))
            .replace("{hints}", &hints)
            .replace("{guidance}", &guidance)
            .replace("{cwd}", cwd)
            .trim_end()
            .to_owned()
    }

    /// The tool of this name as it can be called now, or the reason why a call of it is refused.
    pub(crate) fn callable(&self, name: &str) -> Result<Arc<ToolDefinition>, String> {
        if let Some(tool) = self.shown.iter().find(|tool| tool.name == name) {
            return Ok(Arc::clone(tool));
        }
        let found = self.found.iter().find(|tool| tool.name == name);
        match (self.discovery, found, self.registry.find(name)) {
            (Found::OnTheWire, Some(tool), _) => Ok(Arc::clone(tool)),
            (Found::ThroughOneTool, Some(_), _) => Err(format!("{name} is called through {CALL}")),
            (_, _, Some((tool, Loading::Waiting))) if tool.exposure == ModelExposure::Deferred => {
                Err(match self.discovery {
                    Found::ByGroup => {
                        let group = tool.group.as_deref().unwrap_or_default();
                        format!("{name} is not loaded; load the group {group} with {GATEWAY} first")
                    }
                    Found::AtTheTail | Found::ThroughOneTool | Found::OnTheWire => {
                        format!("{name} is not known yet; find it with {SEARCH} first")
                    }
                    Found::OnPaths => format!("{name} is called by writing to {}{name}", devices::SCHEME),
                    Found::Never => self.unknown(name),
                })
            }
            (_, _, Some((tool, Loading::Asked))) if tool.exposure == ModelExposure::Deferred => {
                Err(format!("{name} can be called from the next turn on"))
            }
            (_, _, Some((tool, _))) if tool.exposure != ModelExposure::Hidden && tool.needs.is_some() => {
                Err(format!("there is nothing yet that {name} could work on"))
            }
            _ => Err(self.unknown(name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let shown: Vec<&str> = self.shown.iter().map(|tool| tool.name.as_str()).collect();
        format!("there is no tool named {name:?}; the tools are {}", shown.join(", "))
    }

    /// A deferred tool that is reached by another tool: found before, or mounted.
    pub(crate) fn behind(&self, name: &str) -> Result<Arc<ToolDefinition>, String> {
        let of = |tools: &[Arc<ToolDefinition>]| tools.iter().find(|tool| tool.name == name).cloned();
        match self.discovery {
            Found::ThroughOneTool => {
                of(&self.found).ok_or_else(|| format!("{name} has not been found; use {SEARCH} first"))
            }
            Found::OnPaths => {
                let mounted: Vec<_> =
                    self.registry.deferred().map(|(tool, _)| Arc::clone(&tool.definition)).collect();
                let names: Vec<&str> = mounted.iter().map(|tool| tool.name.as_str()).collect();
                of(&mounted)
                    .ok_or_else(|| format!("nothing is mounted on {name:?}; there is {}", names.join(", ")))
            }
            Found::Never | Found::ByGroup | Found::AtTheTail | Found::OnTheWire => Err(self.unknown(name)),
        }
    }

    /// The mounted tools, a line each.
    pub(crate) fn mounted(&self) -> String {
        let line = |tool: &Registration| {
            format!("{}{}: {}\n", devices::SCHEME, tool.definition.name, tool.definition.summary)
        };
        self.registry.deferred().map(|(tool, _)| line(tool)).collect()
    }

    /// The groups with their tools.
    pub(crate) fn list_groups(&self) -> String {
        let line = |group: &String| {
            let purpose = group_purpose(group).expect("the surface has been checked");
            let of_group = || self.registry.deferred().filter(|(tool, _)| tool.group.as_ref() == Some(group));
            let names: Vec<&str> = of_group().map(|(tool, _)| tool.definition.name.as_str()).collect();
            let waiting = of_group().any(|(_, loading)| loading == Loading::Waiting);
            let state = if waiting { "" } else { ", loaded" };
            format!("{group}: {purpose} ({}){state}", names.join(", "))
        };
        self.groups.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Loads groups (names that the gateway's schema has let through) and says what that gives.
    pub(crate) fn load(&mut self, names: &[String]) -> Loaded {
        let mut lines = Vec::new();
        let mut tools = Vec::new();
        for group in self.groups.iter().filter(|group| names.contains(group)) {
            let asked = self.registry.ask_for(|tool| tool.group.as_ref() == Some(group));
            if asked.is_empty() {
                lines.push(format!("{group} was loaded before"));
                continue;
            }
            let told: Vec<String> =
                asked.iter().map(|tool| format!("{} ({})", tool.name, tool.summary)).collect();
            lines.push(format!("{group}: loaded {}", told.join(", ")));
            tools.extend(asked.iter().map(|tool| tool.name.clone()));
        }
        lines.push("Loaded tools can be called from the next turn on.".to_owned());
        Loaded { text: lines.join("\n"), tools, schemas: Vec::new() }
    }

    /// Searches the deferred tools and says what was found; how it becomes callable is the surface's way.
    pub(crate) fn search(&mut self, query: &str, limit: Option<usize>) -> Loaded {
        let deferred: Vec<&ToolDefinition> =
            self.registry.deferred().map(|(tool, _)| tool.definition.as_ref()).collect();
        let best: Vec<String> = search::best(&deferred, query, limit.unwrap_or(FOUND))
            .into_iter()
            .map(|tool| tool.name.clone())
            .collect();
        let hits: Vec<Arc<ToolDefinition>> = best
            .iter()
            .filter_map(|name| self.registry.find(name).map(|(tool, _)| Arc::clone(&tool.definition)))
            .collect();
        if hits.is_empty() {
            let text = "[Nothing found; try other words.]".to_owned();
            return Loaded { text, tools: Vec::new(), schemas: Vec::new() };
        }
        if self.discovery == Found::AtTheTail {
            let asked = self.registry.ask_for(|tool| best.contains(&tool.definition.name));
            let told: Vec<String> =
                hits.iter().map(|tool| format!("{} ({})", tool.name, tool.summary)).collect();
            let text = format!("Found {}.\nThey can be called from the next turn on.", told.join(", "));
            return Loaded { text, tools: names_of(&asked), schemas: Vec::new() };
        }
        let new: Vec<_> = hits
            .iter()
            .filter(|hit| !self.found.iter().any(|known| known.name == hit.name))
            .cloned()
            .collect();
        self.found.extend(new.iter().cloned());
        let text = hits.iter().map(|tool| format!("{}\n", tool.as_found())).collect();
        Loaded { text, tools: names_of(&new), schemas: hits }
    }

    /// A turn is over: what it loaded is declared from now on, after everything that was declared before.
    pub(crate) fn next_turn(&mut self) {
        self.registry.next_turn();
    }

    /// Tools of the plan that this build cannot carry out, whatever it shows.
    pub(crate) fn undispatchable(&self, dispatches: impl Fn(&str) -> bool) -> Vec<String> {
        let shown = self.shown.iter().map(|tool| tool.name.clone());
        shown.filter(|name| !dispatches(name) || !self.registry.is_shown(name)).collect()
    }
}

/// What the model sees of a tool: one that is hidden behind code is shown where code mode is off, and where it is named as
/// a direct one.
fn exposure(
    code: Option<&CodeOffer>,
    model: ModelExposure,
    bridge: CodeExposure,
    name: &str,
) -> ModelExposure {
    match (code, model, bridge) {
        (None, ModelExposure::Hidden, CodeExposure::Bridged) => ModelExposure::Direct,
        (Some(code), _, _) if code.mode.direct_tools.iter().any(|direct| direct == name) => {
            ModelExposure::Direct
        }
        (None | Some(_), model, _) => model,
    }
}

/// A tool of the catalogue as code is given it.
fn callback(definition: &ToolDefinition) -> Callback {
    Callback {
        tool: definition.name.clone(),
        owner: match owner(&definition.name) {
            Owner::Agent | Owner::Extension => OWN.to_owned(),
            Owner::Foreign(name) => name,
        },
        description: definition.description.clone(),
        parameters: definition.parameters.clone(),
        annotations: Value::Null,
        reach: Reach::Model,
    }
}

fn names_of(tools: &[Arc<ToolDefinition>]) -> Vec<String> {
    tools.iter().map(|tool| tool.name.clone()).collect()
}

/// What a load or a search gave.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// What the model is told.
    pub(crate) text: String,
    /// Tools that this made callable.
    pub(crate) tools: Vec<String>,
    /// Definitions that the result itself carries, where the wire makes them callable by that.
    pub(crate) schemas: Vec<Arc<ToolDefinition>>,
}

impl ToolDefinition {
    /// As a search shows it: one line of JSON.
    pub(crate) fn as_found(&self) -> Value {
        json!({"name": self.name, "description": self.description, "parameters": self.parameters})
    }
}

#[cfg(test)]
#[path = "offer_tests.rs"]
pub(crate) mod tests;
