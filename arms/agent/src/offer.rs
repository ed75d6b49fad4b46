//! What a surface offers to the model at a moment of the conversation: the declared tools, the instructions, and what
//! the gateway could still add. Grows at its end and never shrinks, so that a provider's prefix cache survives a load.

use bench_core::{Discovery, ModelExposure, Surface};
use serde_json::{Value, json};

use crate::catalogue::{GATEWAY, SYSTEM_TEXT, ToolDefinition, group_purpose, tool};
use crate::surface_check::{SurfaceError, check_surface};

/// The tools of a surface and how far they have been loaded.
#[derive(Debug, Clone)]
pub(crate) struct Offer {
    declared: Vec<ToolDefinition>,
    /// How many of them stood there from the start: the instructions speak of these alone.
    resident: usize,
    groups: Vec<Group>,
    guidance: Vec<String>,
}

#[derive(Debug, Clone)]
struct Group {
    name: String,
    tools: Vec<ToolDefinition>,
    state: GroupState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupState {
    Waiting,
    /// Asked for in this turn; declared from the next request on.
    Loading,
    Loaded,
}

impl Offer {
    /// The offer with which a conversation on this surface begins.
    pub(crate) fn of(surface: &Surface) -> Result<Self, SurfaceError> {
        check_surface(surface)?;
        let known = |name: &str| tool(name).expect("the surface has been checked");
        let with =
            |exposure: ModelExposure| surface.tools.iter().filter(move |entry| entry.model == exposure);
        let mut declared: Vec<_> = with(ModelExposure::Direct).map(|entry| known(&entry.name)).collect();
        let groups: Vec<Group> = surface
            .groups()
            .into_iter()
            .map(|group| Group {
                name: group.to_owned(),
                tools: with(ModelExposure::Deferred)
                    .filter(|entry| entry.group.as_deref() == Some(group))
                    .map(|entry| known(&entry.name))
                    .collect(),
                state: GroupState::Waiting,
            })
            .collect();
        if surface.discovery == Discovery::Gateway {
            let mut gateway = known(GATEWAY);
            gateway.parameters["properties"]["groups"]["items"]["enum"] =
                groups.iter().map(|group| json!(group.name)).collect();
            declared.push(gateway);
        }
        Ok(Self { resident: declared.len(), declared, groups, guidance: surface.guidance.clone() })
    }

    /// The instructions. They never change within a conversation and vary by surface and working directory alone.
    pub(crate) fn system_text(&self, cwd: &str) -> String {
        let resident = &self.declared[..self.resident];
        let tools: String =
            resident.iter().map(|tool| format!("- {}: {}\n", tool.name, tool.summary)).collect();
        let hints: String =
            resident.iter().flat_map(|tool| &tool.hints).map(|hint| format!("- {hint}\n")).collect();
        let mut guidance = String::new();
        if !self.guidance.is_empty() {
            guidance.push_str("\n# More about the tools\n");
            self.guidance.iter().for_each(|line| guidance.push_str(&format!("- {line}\n")));
        }
        SYSTEM_TEXT
            .replace("{tools}", &tools)
            .replace("{hints}", &hints)
            .replace("{guidance}", &guidance)
            .replace("{cwd}", cwd)
            .trim_end()
            .to_owned()
    }

    /// The definitions as they stand in a request.
    pub(crate) fn tools(&self) -> Vec<Value> {
        self.declared.iter().map(ToolDefinition::on_the_wire).collect()
    }

    /// The declared tool of this name, or the reason why a call of it is refused.
    pub(crate) fn callable(&self, name: &str) -> Result<&ToolDefinition, String> {
        if let Some(tool) = self.declared.iter().find(|tool| tool.name == name) {
            return Ok(tool);
        }
        match self.groups.iter().find(|group| group.tools.iter().any(|tool| tool.name == name)) {
            Some(Group { name: group, state: GroupState::Waiting, .. }) => {
                Err(format!("{name} is not loaded; load the group {group} with {GATEWAY} first"))
            }
            Some(_) => Err(format!("{name} can be called from the next turn on")),
            None => {
                let declared: Vec<&str> = self.declared.iter().map(|tool| tool.name.as_str()).collect();
                Err(format!("there is no tool named {name:?}; the tools are {}", declared.join(", ")))
            }
        }
    }

    /// The groups with their tools.
    pub(crate) fn list_groups(&self) -> String {
        let line = |group: &Group| {
            let purpose = group_purpose(&group.name).expect("the surface has been checked");
            let names: Vec<&str> = group.tools.iter().map(|tool| tool.name.as_str()).collect();
            let state = if group.state == GroupState::Waiting { "" } else { ", loaded" };
            format!("{}: {purpose} ({}){state}", group.name, names.join(", "))
        };
        self.groups.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Loads groups (names that the gateway's schema has let through) and says what that gives.
    pub(crate) fn load(&mut self, names: &[String]) -> String {
        let mut lines = Vec::new();
        for group in self.groups.iter_mut().filter(|group| names.contains(&group.name)) {
            if group.state != GroupState::Waiting {
                lines.push(format!("{} was loaded before", group.name));
                continue;
            }
            group.state = GroupState::Loading;
            let tools: Vec<String> =
                group.tools.iter().map(|tool| format!("{} ({})", tool.name, tool.summary)).collect();
            lines.push(format!("{}: loaded {}", group.name, tools.join(", ")));
        }
        lines.push("Loaded tools can be called from the next turn on.".to_owned());
        lines.join("\n")
    }

    /// A turn is over: what it loaded is declared from now on, after everything that was declared before.
    pub(crate) fn next_turn(&mut self) {
        for group in self.groups.iter_mut().filter(|group| group.state == GroupState::Loading) {
            group.state = GroupState::Loaded;
            self.declared.extend(group.tools.iter().cloned());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use bench_core::{CodeExposure, SurfaceId, SurfaceTool};

    use super::*;

    pub(crate) fn surface(tools: Vec<SurfaceTool>) -> Surface {
        Surface {
            name: SurfaceId::new("tried").unwrap(),
            version: 1,
            extension: false,
            tools,
            discovery: Discovery::None,
            guidance: Vec::new(),
        }
    }

    pub(crate) fn direct(name: &str) -> SurfaceTool {
        SurfaceTool { name: name.into(), model: ModelExposure::Direct, code: CodeExposure::No, group: None }
    }

    pub(crate) fn deferred(name: &str, group: &str) -> SurfaceTool {
        let group = Some(group.to_owned());
        SurfaceTool { name: name.into(), model: ModelExposure::Deferred, code: CodeExposure::No, group }
    }

    fn gateway() -> Offer {
        let mut surface = surface(vec![
            direct("read"),
            deferred("fd", "search"),
            deferred("tasks_add", "session"),
            deferred("rg", "search"),
        ]);
        surface.discovery = Discovery::Gateway;
        Offer::of(&surface).unwrap()
    }

    #[test]
    fn a_load_changes_only_the_tail_of_the_tools_and_only_from_the_next_turn_on() {
        let mut offer = gateway();
        let (before, system) = (offer.tools(), offer.system_text("/w"));
        assert_eq!(
            before[1]["function"]["parameters"]["properties"]["groups"]["items"]["enum"],
            json!(["search", "session"])
        );
        assert!(offer.callable("rg").unwrap_err().contains("load the group search"));
        assert!(offer.load(&["search".into()]).contains("search: loaded fd ("));
        assert_eq!(offer.tools(), before);
        assert!(offer.callable("rg").unwrap_err().contains("next turn"));
        offer.next_turn();
        let after = offer.tools();
        assert_eq!(after[..before.len()], before[..]);
        let added: Vec<_> = after[before.len()..].iter().map(|tool| &tool["function"]["name"]).collect();
        assert_eq!(added, ["fd", "rg"]);
        assert!(offer.callable("rg").is_ok());
        assert_eq!(offer.system_text("/w"), system);
        assert!(offer.load(&["search".into()]).starts_with("search was loaded before"));
        offer.next_turn();
        assert_eq!(offer.tools(), after);
    }

    #[test]
    fn the_list_names_every_group_with_its_tools() {
        let mut offer = gateway();
        assert_eq!(
            offer.list_groups(),
            "search: find files by name, search their text (fd, rg)\nsession: task list and goals (tasks_add)"
        );
        offer.load(&["session".into()]);
        assert!(offer.list_groups().ends_with("(tasks_add), loaded"));
    }

    #[test]
    fn the_instructions_speak_of_shown_tools_alone() {
        let text = Offer::of(&surface(vec![direct("bash")])).unwrap().system_text("/some/where");
        assert!(text.contains("- bash: "));
        assert!(!text.contains("- read: ") && !text.contains("oldText"));
        assert_eq!(text.matches("/some/where").count(), 1);
        assert!(!text.contains(['{', '}']));
    }
}
