//! Servers of look-alikes: catalogues of tools as other people's servers bring them, for surfaces that have grown. A call
//! is answered with what was asked, so that it can be told from any other; nothing is kept and nothing is changed.

use bench_code::{Callback, Reach};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalogue::ToolDefinition;

/// Name and tools of each.
const SERVERS: [(&str, &str); 1] = [("tracker", include_str!("../catalog/servers/tracker.json"))];

/// A tool as a server lists it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ServerTool {
    name: String,
    #[serde(default)]
    description: String,
    input_schema: Value,
    #[serde(default)]
    annotations: Value,
    #[serde(default, rename = "_meta")]
    meta: Value,
}

/// The names of all servers.
pub(crate) fn names() -> Vec<&'static str> {
    SERVERS.iter().map(|(name, _)| *name).collect()
}

/// The tools of a server; `None` when there is none of this name.
pub(crate) fn tools(server: &str) -> Option<Vec<ServerTool>> {
    let (_, text) = SERVERS.iter().find(|(name, _)| *name == server)?;
    Some(serde_json::from_str(text).expect("a test reads every server"))
}

/// The server that a tool belongs to by its name.
pub(crate) fn of_tool(tool: &str) -> Option<&'static str> {
    let (prefix, _) = tool.split_once("__")?;
    names().into_iter().find(|name| *name == prefix)
}

/// What a call gives: content blocks, as a server sends them.
pub(crate) fn answer(tool: &str, given: &Value) -> Value {
    let text = json!({"tool": tool, "asked": given}).to_string();
    json!({
        "content": [{"type": "text", "text": text}],
        "structuredContent": {"tool": tool},
        "_meta": {"server": of_tool(tool)},
    })
}

impl ServerTool {
    /// As the model is shown it.
    pub(crate) fn definition(&self, server: &str) -> ToolDefinition {
        let summary = self.description.split_inclusive(". ").next().unwrap_or_default();
        ToolDefinition {
            name: format!("{server}__{}", self.name),
            summary: summary.trim().trim_end_matches('.').to_owned(),
            hints: Vec::new(),
            description: self.description.clone(),
            parameters: self.input_schema.clone(),
        }
    }

    /// Who may see and call it.
    pub(crate) fn reach(&self) -> Reach {
        let ui = &self.meta["ui"];
        let visible = ui["visibility"].as_array();
        if visible.is_some_and(|who| !who.iter().any(|who| who == "model")) {
            return Reach::Invisible;
        }
        match ui["resourceUri"].as_str().or_else(|| self.meta["ui/resourceUri"].as_str()) {
            Some(address) => Reach::Resource(address.to_owned()),
            None => Reach::Model,
        }
    }

    /// As code is given it.
    pub(crate) fn callback(&self, server: &str) -> Callback {
        let definition = self.definition(server);
        Callback {
            tool: definition.name,
            owner: server.to_owned(),
            description: definition.description,
            parameters: definition.parameters,
            annotations: self.annotations.clone(),
            reach: self.reach(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_read() {
        for name in names() {
            let tools = tools(name).unwrap();
            assert_eq!(tools.len(), 40, "{name}");
            assert!(tools.iter().all(|tool| of_tool(&tool.definition(name).name) == Some(name)));
        }
    }

    /// Bytes of a tool's definition over the 36 tools of the servers filesystem, everything and memory 2026.8.31, as
    /// `bench surface --mcp` measures them.
    const REAL: f64 = 504.0;

    #[test]
    fn look_alikes_are_as_large_as_tools_of_real_servers() {
        for name in names() {
            let tools = tools(name).unwrap();
            let bytes: usize =
                tools.iter().map(|tool| tool.definition(name).in_chat().to_string().len()).sum();
            let ratio = bytes as f64 / tools.len() as f64 / REAL;
            assert!((0.9..1.1).contains(&ratio), "{name}: {ratio} x {REAL} bytes");
        }
    }

    #[test]
    fn tools_for_others_than_the_model_are_known_by_their_metadata() {
        let tool = |meta: Value| -> ServerTool {
            serde_json::from_value(json!({"name": "t", "inputSchema": {"type": "object"}, "_meta": meta}))
                .unwrap()
        };
        assert_eq!(tool(Value::Null).reach(), Reach::Model);
        assert_eq!(tool(json!({"ui": {"visibility": ["app"]}})).reach(), Reach::Invisible);
        assert_eq!(tool(json!({"ui": {"visibility": ["app", "model"]}})).reach(), Reach::Model);
        assert_eq!(tool(json!({"ui": {"resourceUri": "ui://t"}})).reach(), Reach::Resource("ui://t".into()));
    }
}
