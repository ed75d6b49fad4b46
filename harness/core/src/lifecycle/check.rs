//! Every request of an attempt held against the surface and the lifecycle table: a tool that stands there and must not, or
//! is missing, is a violation. What exists to be worked on is told by the agent; what was shown is read off the wire.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Resource, Resources};
use crate::mechanism::finds_tools;
use crate::surface::{CodeExposure, Discovery, Lifecycle, ModelExposure, Surface, SurfaceTool};

/// What one request of the agent's own loop showed, and what the model called in answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownTurn {
    /// Number of the request in the attempt.
    pub request: u32,
    /// Names of tools that can be called by this request alone: neither flagged as deferred nor shown by a search.
    pub tools: Vec<String>,
    /// Names of the tools called.
    pub calls: Vec<String>,
}

/// A tool that was shown and should not have been, or the other way round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Number of the request in the attempt.
    pub request: u32,
    /// The tool.
    pub tool: String,
    /// Which way.
    pub kind: ViolationKind,
    /// By which rule.
    pub why: String,
}

/// Which way a request differs from what it should show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ViolationKind {
    /// It stands there.
    Surplus,
    /// It is not there.
    Missing,
}

/// All violations of an attempt, request by request. `states` are the resources before each turn; `None` when a turn's
/// are not known, since then nobody can say what it should have shown.
pub fn violations(surface: &Surface, turns: &[ShownTurn], states: &[Resources]) -> Option<Vec<Violation>> {
    if states.len() < turns.len() {
        return None;
    }
    let mut check =
        Check { surface, first: turns.first(), seen: BTreeSet::new(), asked: false, found: Vec::new() };
    for (turn, resources) in turns.iter().zip(states) {
        check.turn(turn, resources);
    }
    Some(check.found)
}

struct Check<'a> {
    surface: &'a Surface,
    first: Option<&'a ShownTurn>,
    /// Tools that an earlier request showed, or this one shows.
    seen: BTreeSet<&'a str>,
    /// Did the model call something that finds or loads tools?
    asked: bool,
    found: Vec<Violation>,
}

impl<'a> Check<'a> {
    fn turn(&mut self, turn: &'a ShownTurn, resources: &Resources) {
        let shown: BTreeSet<&str> = turn.tools.iter().map(String::as_str).collect();
        for name in &shown {
            if let Some(why) = self.surplus(name, resources) {
                self.add(turn, name, ViolationKind::Surplus, why);
            }
        }
        self.seen.extend(turn.tools.iter().map(String::as_str));
        for entry in &self.surface.tools {
            let missing = (!shown.contains(entry.name.as_str())).then(|| self.missing(entry, resources));
            if let Some(why) = missing.flatten() {
                self.add(turn, &entry.name, ViolationKind::Missing, why);
            }
        }
        self.asked |= turn.calls.iter().any(|call| finds_tools(call));
    }

    fn add(&mut self, turn: &ShownTurn, tool: &str, kind: ViolationKind, why: &str) {
        let (tool, why) = (tool.to_owned(), why.to_owned());
        self.found.push(Violation { request: turn.request, tool, kind, why });
    }

    fn resource(&self, entry: &SurfaceTool) -> Option<Resource> {
        match self.surface.lifecycle {
            Lifecycle::Followed => Resource::awaited_by(entry),
            Lifecycle::Ignored => None,
        }
    }

    /// Why a shown tool should not stand there.
    fn surplus(&self, name: &str, resources: &Resources) -> Option<&'static str> {
        let Some(entry) = self.surface.tools.iter().find(|entry| entry.name == name) else {
            let found = !self.surface.servers.is_empty() && self.asked;
            let late = !found && !self.was_first(name);
            return late.then_some("the surface does not have it, and it joined later");
        };
        if self.resource(entry).is_some_and(|resource| !resources.has(resource)) {
            return Some("what it works on does not exist");
        }
        match entry.model {
            ModelExposure::Direct => None,
            ModelExposure::Hidden if self.by_code(entry) && self.was_first(name) => None,
            ModelExposure::Hidden => Some("the surface hides it"),
            ModelExposure::Deferred if self.surface.discovery == Discovery::Intent => None,
            ModelExposure::Deferred if self.asked => None,
            ModelExposure::Deferred => Some("it is deferred, and nothing had loaded it"),
        }
    }

    /// Why a tool that is not shown should stand there.
    fn missing(&self, entry: &SurfaceTool, resources: &Resources) -> Option<&'static str> {
        if self.resource(entry).is_some_and(|resource| !resources.has(resource)) {
            return None;
        }
        match entry.model {
            ModelExposure::Hidden => None,
            ModelExposure::Direct if self.by_code(entry) && !self.was_first(&entry.name) => None,
            ModelExposure::Direct => Some("the surface shows it from the start"),
            ModelExposure::Deferred if self.seen.contains(entry.name.as_str()) => {
                Some("it had been loaded, and nothing is ever unloaded")
            }
            ModelExposure::Deferred => self.loads_by_group(entry).then_some("its group is loaded"),
        }
    }

    /// Did the first request show it?
    fn was_first(&self, name: &str) -> bool {
        self.first.is_some_and(|first| first.tools.iter().any(|tool| tool == name))
    }

    /// May code take its place? Whether it does is settled by the model's flags before the first request.
    fn by_code(&self, entry: &SurfaceTool) -> bool {
        self.surface.code.is_some() && entry.code == CodeExposure::Bridged
    }

    /// Does another tool of the group stand there, on a surface that loads groups whole?
    fn loads_by_group(&self, entry: &SurfaceTool) -> bool {
        let whole = matches!(self.surface.discovery, Discovery::Gateway | Discovery::Intent);
        let of_group = |other: &&SurfaceTool| {
            other.model == ModelExposure::Deferred && other.group == entry.group && other.name != entry.name
        };
        whole
            && self.surface.tools.iter().filter(of_group).any(|other| self.seen.contains(other.name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SurfaceId;
    use crate::surface::{Delegation, Prompt, Scheduling};

    fn surface(discovery: Discovery, tools: &[(&str, ModelExposure, &str)]) -> Surface {
        let tool = |(name, model, group): &(&str, ModelExposure, &str)| SurfaceTool {
            name: (*name).to_owned(),
            model: *model,
            code: CodeExposure::No,
            group: Some((*group).to_owned()),
        };
        Surface {
            name: SurfaceId::new("tried").unwrap(),
            version: 1,
            extension: true,
            tools: tools.iter().map(tool).collect(),
            discovery,
            guidance: Vec::new(),
            prompt: Prompt::Full,
            preload: Vec::new(),
            lifecycle: Lifecycle::Followed,
            delegation: Delegation::default(),
            budget: None,
            compaction: None,
            scheduling: Scheduling::Serial,
            code: None,
            servers: Vec::new(),
        }
    }

    fn gateway() -> Surface {
        use ModelExposure::{Deferred, Direct, Hidden};
        surface(
            Discovery::Gateway,
            &[
                ("read", Direct, "files"),
                ("rg", Deferred, "search"),
                ("fd", Deferred, "search"),
                ("tasks_add", Deferred, "session"),
                ("tasks_list", Deferred, "session"),
                ("yield", Hidden, "user"),
            ],
        )
    }

    fn shown(request: u32, tools: &str, calls: &str) -> ShownTurn {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        ShownTurn { request, tools: words(tools), calls: words(calls) }
    }

    fn told(surface: &Surface, turns: &[(&str, &str, &str)]) -> String {
        let shown: Vec<_> = (1..).zip(turns).map(|(n, (tools, calls, _))| shown(n, tools, calls)).collect();
        let state = |(_, _, has): &(&str, &str, &str)| -> Resources {
            Resource::ALL.into_iter().filter(|resource| has.contains(resource.word())).collect()
        };
        let states: Vec<_> = turns.iter().map(state).collect();
        let found = violations(surface, &shown, &states).unwrap();
        let line = |v: &Violation| format!("{} {:?} {}", v.request, v.kind, v.tool);
        found.iter().map(line).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_follows_surface_loads_and_resources_is_no_violation() {
        let sound = [
            ("read capabilities", "capabilities", ""),
            ("read capabilities tasks_add", "tasks_add", ""),
            ("read capabilities tasks_add tasks_list", "capabilities", "task-list"),
            ("read capabilities tasks_add rg fd", "", ""),
        ];
        assert_eq!(told(&gateway(), &sound), "");
    }

    #[test]
    fn each_surplus_and_each_missing_tool_is_counted_where_it_is() {
        let first = ("read capabilities", "capabilities", "");
        for (turns, expected) in [
            (vec![("capabilities", "", "")], "1 Missing read"),
            (vec![("read capabilities rg fd", "", "")], "1 Surplus fd, 1 Surplus rg"),
            (vec![("read capabilities yield", "", "")], "1 Surplus yield"),
            (vec![first, ("read capabilities rg", "", "")], "2 Missing fd"),
            (vec![first, ("read capabilities rg fd", "", ""), first], "3 Missing rg, 3 Missing fd"),
            (vec![first, ("read capabilities other", "", "")], "2 Surplus other"),
            (vec![first, ("read capabilities tasks_add tasks_list", "", "")], "2 Surplus tasks_list"),
            (vec![first, ("read capabilities tasks_add", "", "task-list")], "2 Missing tasks_list"),
        ] {
            assert_eq!(told(&gateway(), &turns), expected, "{turns:?}");
        }
    }

    #[test]
    fn a_group_whose_schemas_stay_stable_waits_for_no_resource() {
        use ModelExposure::Deferred;
        let tools = [("subagent_spawn", Deferred, "delegate"), ("subagent_wait", Deferred, "delegate")];
        let surface = surface(Discovery::Gateway, &tools);
        let first = ("capabilities", "capabilities", "");
        assert_eq!(told(&surface, &[first, ("capabilities subagent_spawn subagent_wait", "", "")]), "");
        assert_eq!(
            told(&surface, &[first, ("capabilities subagent_spawn", "", "")]),
            "2 Missing subagent_wait"
        );
    }

    #[test]
    fn an_unknown_state_is_no_clean_bill() {
        assert_eq!(violations(&gateway(), &[shown(1, "read", "")], &[]), None);
        assert_eq!(violations(&gateway(), &[], &[]), Some(Vec::new()));
    }
}
