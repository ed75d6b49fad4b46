//! The tools that exist, as data (`catalog/*.json`), and the text that stands around them. What a surface makes of
//! them is decided in [`crate::offer`].

use serde::Deserialize;
use serde_json::{Value, json};

/// The instructions, with places for tools, hints, guidance and working directory.
pub(crate) const SYSTEM_TEXT: &str = include_str!("../catalog/system.txt");
/// The same in four lines, with places for the tools' names and the working directory.
pub(crate) const BRIEF_TEXT: &str = include_str!("../catalog/brief.txt");
/// The name of the gateway.
pub(crate) const GATEWAY: &str = "capabilities";
/// The name of the search for tools.
pub(crate) const SEARCH: &str = "tool_search";
/// The name of the tool through which a found tool is called where the declared ones never change.
pub(crate) const CALL: &str = "tool_call";
/// Tools that a way of discovery brings; no surface lists them.
pub(crate) const DISCOVERY_TOOLS: [&str; 3] = [GATEWAY, SEARCH, CALL];

const GROUPS: &str = include_str!("../catalog/groups.json");
/// Name and definition of every tool; parsed only when a surface names it, so that the start stays cheap.
const TOOLS: [(&str, &str); 30] = [
    ("read", include_str!("../catalog/read.json")),
    ("bash", include_str!("../catalog/bash.json")),
    ("edit", include_str!("../catalog/edit.json")),
    ("write", include_str!("../catalog/write.json")),
    ("fd", include_str!("../catalog/fd.json")),
    ("rg", include_str!("../catalog/rg.json")),
    ("subagent_spawn", include_str!("../catalog/subagent_spawn.json")),
    ("workflow", include_str!("../catalog/workflow.json")),
    ("bg_start", include_str!("../catalog/bg_start.json")),
    ("tasks_add", include_str!("../catalog/tasks_add.json")),
    ("create_goal", include_str!("../catalog/create_goal.json")),
    ("ls", include_str!("../catalog/ls.json")),
    ("glob", include_str!("../catalog/glob.json")),
    ("grep", include_str!("../catalog/grep.json")),
    ("git_show", include_str!("../catalog/git_show.json")),
    ("git_diff", include_str!("../catalog/git_diff.json")),
    ("git_log", include_str!("../catalog/git_log.json")),
    ("apply_patch", include_str!("../catalog/apply_patch.json")),
    ("todo", include_str!("../catalog/todo.json")),
    ("think", include_str!("../catalog/think.json")),
    ("checkpoint", include_str!("../catalog/checkpoint.json")),
    ("rewind", include_str!("../catalog/rewind.json")),
    ("yield", include_str!("../catalog/yield.json")),
    ("ask", include_str!("../catalog/ask.json")),
    ("archive_read", include_str!("../catalog/archive_read.json")),
    ("tasks_update", include_str!("../catalog/tasks_update.json")),
    ("tasks_list", include_str!("../catalog/tasks_list.json")),
    (GATEWAY, include_str!("../catalog/capabilities.json")),
    (SEARCH, include_str!("../catalog/tool_search.json")),
    (CALL, include_str!("../catalog/tool_call.json")),
];

/// Tools of the agent itself. All others belong to the extension.
const AGENTS_OWN: [&str; 4] = ["read", "bash", "edit", "write"];
/// The group of every tool of the extension. One without a group could be neither loaded nor held back.
const HOME_GROUPS: [(&str, &[&str]); 9] = [
    ("search", &["fd", "rg", "glob", "grep"]),
    ("delegate", &["subagent_spawn"]),
    ("workflow", &["workflow"]),
    ("background", &["bg_start"]),
    ("session", &["tasks_add", "tasks_update", "tasks_list", "create_goal", "archive_read"]),
    ("git", &["git_show", "git_diff", "git_log"]),
    ("files", &["ls", "apply_patch"]),
    ("notes", &["todo", "think", "checkpoint", "rewind"]),
    ("user", &["ask", "yield"]),
];

/// Who brought a tool. A registry hides and loads what is its own and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The agent.
    Agent,
    /// The extension.
    Extension,
    /// Somebody else, by name: a server, a plug-in.
    Foreign(String),
}

/// What a tool works on, where that comes and goes during a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A task list with a step on it.
    TaskList,
    /// A mark in the conversation.
    Checkpoint,
}

/// The lifecycle table: the resource without which a tool has nothing to work on.
pub(crate) fn needs(name: &str) -> Option<Resource> {
    match name {
        "tasks_update" | "tasks_list" => Some(Resource::TaskList),
        "rewind" => Some(Resource::Checkpoint),
        _ => None,
    }
}

/// Who brought a tool of the catalogue.
pub(crate) fn owner(name: &str) -> Owner {
    let own = AGENTS_OWN.contains(&name) || DISCOVERY_TOOLS.contains(&name);
    if own { Owner::Agent } else { Owner::Extension }
}

/// The group in which a tool of the extension is at home.
pub(crate) fn home_group(name: &str) -> Option<&'static str> {
    HOME_GROUPS.iter().find(|(_, tools)| tools.contains(&name)).map(|(group, _)| *group)
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolDefinition {
    /// By which it is called.
    pub name: String,
    /// Its line in the list of tools.
    pub summary: String,
    /// Rules of use that join the instructions where it is shown at once.
    pub hints: Vec<String>,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

impl ToolDefinition {
    /// As it stands in `tools` of a chat request.
    pub(crate) fn in_chat(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": self.parameters,
            },
        })
    }
}

/// The names of all tools that a surface can list, in the order of the catalogue.
pub fn tool_names() -> Vec<&'static str> {
    TOOLS.iter().map(|(name, _)| *name).filter(|name| !DISCOVERY_TOOLS.contains(name)).collect()
}

/// The tool of this name, the gateway among them.
pub(crate) fn tool(name: &str) -> Option<ToolDefinition> {
    let (_, text) = TOOLS.iter().find(|(known, _)| *known == name)?;
    Some(serde_json::from_str(text).expect("a test parses every definition"))
}

/// What a group is for, in a few words.
pub(crate) fn group_purpose(group: &str) -> Option<String> {
    let groups: Value = serde_json::from_str(GROUPS).expect("a test parses the groups");
    groups.get(group).and_then(Value::as_str).map(str::to_owned)
}

/// The names of all groups.
pub(crate) fn group_names() -> Vec<String> {
    let groups: serde_json::Map<String, Value> =
        serde_json::from_str(GROUPS).expect("a test parses the groups");
    groups.keys().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_parses_and_is_called_by_its_own_name() {
        for (name, _) in TOOLS {
            let definition = tool(name).unwrap();
            assert_eq!(definition.name, name);
            assert_eq!(definition.parameters["type"], "object", "{name}");
            for required in definition.parameters["required"].as_array().into_iter().flatten() {
                let required = required.as_str().unwrap();
                assert!(definition.parameters["properties"].get(required).is_some(), "{name}: {required}");
            }
        }
        for name in tool_names().into_iter().filter(|name| owner(name) == Owner::Extension) {
            assert!(home_group(name).is_some_and(|group| group_purpose(group).is_some()), "{name}");
        }
        assert!(group_names().iter().all(|group| group_purpose(group).is_some()));
    }
}
