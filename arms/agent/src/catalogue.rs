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

const GROUPS: &str = include_str!("../catalog/groups.json");
/// What is known of a tool without reading its definition. A new tool is one row here, one file in `catalog/` and one arm
/// where it is carried out.
#[derive(Debug, Clone, Copy)]
struct Row {
    name: &'static str,
    /// Its definition; parsed only when a surface names it, so that the start stays cheap.
    text: &'static str,
    home: Home,
    access: Access,
}

/// Where a tool belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Home {
    /// To the agent itself.
    Agent,
    /// To a way of discovery, which brings it; no surface lists it.
    Discovery,
    /// To a shape of code mode, which brings it; no surface lists it.
    Code,
    /// To the extension, in this group. One without a group could be neither loaded nor held back.
    Group(&'static str),
}

/// May a call run beside others?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It only looks.
    Shared,
    /// It may change something.
    Exclusive,
}

impl Home {
    /// Can a surface list it?
    fn is_listed(self) -> bool {
        match self {
            Self::Agent | Self::Group(_) => true,
            Self::Discovery | Self::Code => false,
        }
    }
}

macro_rules! rows {
    ($($name:literal, $home:expr, $access:ident;)*) => {
        &[$(Row {
            name: $name,
            text: include_str!(concat!("../catalog/", $name, ".json")),
            home: $home,
            access: Access::$access,
        }),*]
    };
}

/// Every tool, in the order in which they are named to people.
const TOOLS: &[Row] = rows! {
    "read", Home::Agent, Shared;
    "bash", Home::Agent, Exclusive;
    "edit", Home::Agent, Exclusive;
    "write", Home::Agent, Exclusive;
    "fd", Home::Group("search"), Shared;
    "rg", Home::Group("search"), Shared;
    "subagent_spawn", Home::Group("delegate"), Exclusive;
    "workflow", Home::Group("workflow"), Exclusive;
    "bg_start", Home::Group("background"), Exclusive;
    "tasks_add", Home::Group("session"), Exclusive;
    "create_goal", Home::Group("session"), Exclusive;
    "ls", Home::Group("files"), Shared;
    "glob", Home::Group("search"), Shared;
    "grep", Home::Group("search"), Shared;
    "git_show", Home::Group("git"), Shared;
    "git_diff", Home::Group("git"), Shared;
    "git_log", Home::Group("git"), Shared;
    "apply_patch", Home::Group("files"), Exclusive;
    "todo", Home::Group("notes"), Exclusive;
    "think", Home::Group("notes"), Shared;
    "checkpoint", Home::Group("notes"), Exclusive;
    "rewind", Home::Group("notes"), Exclusive;
    "yield", Home::Group("user"), Exclusive;
    "ask", Home::Group("user"), Exclusive;
    "handoff", Home::Group("user"), Exclusive;
    "approve", Home::Group("user"), Exclusive;
    "archive_read", Home::Group("session"), Shared;
    "tasks_update", Home::Group("session"), Exclusive;
    "tasks_list", Home::Group("session"), Shared;
    "subagent_wait", Home::Group("delegate"), Shared;
    "subagent_send", Home::Group("delegate"), Exclusive;
    "subagent_check", Home::Group("delegate"), Shared;
    "subagent_cancel", Home::Group("delegate"), Exclusive;
    "subagent_list", Home::Group("delegate"), Shared;
    "workflow_status", Home::Group("workflow"), Shared;
    "workflow_stop", Home::Group("workflow"), Exclusive;
    "bg_status", Home::Group("background"), Shared;
    "bg_list", Home::Group("background"), Shared;
    "bg_watch", Home::Group("background"), Shared;
    "bg_kill", Home::Group("background"), Exclusive;
    "get_goal", Home::Group("session"), Shared;
    "update_goal", Home::Group("session"), Exclusive;
    "debug", Home::Group("debug"), Exclusive;
    "lsp", Home::Group("language"), Exclusive;
    "hashline_read", Home::Agent, Shared;
    "hashline_edit", Home::Agent, Exclusive;
    "capabilities", Home::Discovery, Exclusive;
    "tool_search", Home::Discovery, Exclusive;
    "tool_call", Home::Discovery, Exclusive;
    "eval", Home::Code, Exclusive;
    "exec", Home::Code, Exclusive;
    "wait", Home::Code, Exclusive;
    "list_functions", Home::Code, Shared;
    "get_function_details", Home::Code, Shared;
    "execute_typescript", Home::Code, Exclusive;
    "execute_bash", Home::Code, Exclusive;
};

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

fn row(name: &str) -> Option<&'static Row> {
    TOOLS.iter().find(|row| row.name == name)
}

/// Who brought a tool of the catalogue.
pub(crate) fn owner(name: &str) -> Owner {
    match row(name).map(|row| row.home) {
        Some(Home::Agent | Home::Discovery | Home::Code) => Owner::Agent,
        Some(Home::Group(_)) | None => Owner::Extension,
    }
}

/// The group in which a tool of the extension is at home.
pub(crate) fn home_group(name: &str) -> Option<&'static str> {
    match row(name)?.home {
        Home::Group(group) => Some(group),
        Home::Agent | Home::Discovery | Home::Code => None,
    }
}

/// May calls of this tool run beside others? What is not known to only look is taken to change something.
pub(crate) fn access(name: &str) -> Access {
    row(name).map_or(Access::Exclusive, |row| row.access)
}

/// Does a way of discovery, or code mode, bring it?
pub(crate) fn is_brought(name: &str) -> bool {
    row(name).is_some_and(|row| !row.home.is_listed())
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
    TOOLS.iter().filter(|row| row.home.is_listed()).map(|row| row.name).collect()
}

/// Is it a tool of the catalogue, whoever brings it?
pub(crate) fn is_known(name: &str) -> bool {
    row(name).is_some()
}

/// The tool of this name, the gateway among them.
pub(crate) fn tool(name: &str) -> Option<ToolDefinition> {
    Some(serde_json::from_str(row(name)?.text).expect("a test parses every definition"))
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
        for Row { name, .. } in TOOLS {
            let definition = tool(name).unwrap();
            assert_eq!(definition.name, *name);
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
