//! The tools that exist, as data (`catalog/*.json`), and the text that stands around them. What a surface makes of
//! them is decided in [`crate::offer`].

use serde::Deserialize;
use serde_json::{Value, json};

/// The instructions, with places for tools, hints, guidance and working directory.
pub(crate) const SYSTEM_TEXT: &str = include_str!("../catalog/system.txt");
/// The name of the gateway.
pub(crate) const GATEWAY: &str = "capabilities";

const GROUPS: &str = include_str!("../catalog/groups.json");
/// Name and definition of every tool; parsed only when a surface names it, so that the start stays cheap.
const TOOLS: [(&str, &str); 12] = [
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
    (GATEWAY, include_str!("../catalog/capabilities.json")),
];

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
    pub(crate) fn on_the_wire(&self) -> Value {
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
    TOOLS.iter().map(|(name, _)| *name).filter(|name| *name != GATEWAY).collect()
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
        assert!(group_names().iter().all(|group| group_purpose(group).is_some()));
    }
}
