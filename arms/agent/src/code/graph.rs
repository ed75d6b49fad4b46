//! The graph of calls that a model declares beside its script: held against the functions that exist and against itself,
//! and recorded. The script alone decides what is called.

use bench_code::Functions;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One declared call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GraphNode {
    /// `Namespace/function`.
    pub(crate) tool: String,
    /// What it is for.
    pub(crate) description: String,
    /// Places in the list of the calls whose results it uses.
    pub(crate) depends_on: Vec<usize>,
}

/// A declared graph with what is wrong in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Graph {
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) faults: Vec<String>,
    /// Calls on its longest way: the turns that it would cost one by one.
    pub(crate) depth: usize,
}

/// Reads and checks a declared graph; `None` = none was declared.
pub(crate) fn read(given: &Value, functions: &Functions) -> Option<Graph> {
    let nodes: Vec<GraphNode> = serde_json::from_value(given.get("tool_graph")?.clone()).ok()?;
    let mut faults = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let name = node.tool.replacen('/', ".", 1);
        if functions.named(&name).is_none() {
            faults.push(format!("call {at}: there is no function {:?}", node.tool));
        }
        for needed in node.depends_on.iter().filter(|needed| **needed >= nodes.len()) {
            faults.push(format!("call {at} depends on {needed}, and there are {} calls", nodes.len()));
        }
    }
    let depth = longest(&nodes);
    if depth.is_none() {
        faults.push("calls depend on one another in a circle".to_owned());
    }
    Some(Graph { nodes, faults, depth: depth.unwrap_or(0) })
}

/// Calls on the longest way; `None` when there is a circle.
fn longest(nodes: &[GraphNode]) -> Option<usize> {
    let mut depths = vec![0_usize; nodes.len()];
    // Without a circle every round settles at least one call for good.
    for _ in 0..=nodes.len() {
        let mut changed = false;
        for (at, node) in nodes.iter().enumerate() {
            let before = node.depends_on.iter().filter_map(|needed| depths.get(*needed)).max();
            let depth = 1 + before.copied().unwrap_or(0);
            changed |= depths[at] != depth;
            depths[at] = depth;
        }
        if !changed {
            return Some(depths.into_iter().max().unwrap_or(0));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use bench_code::{Callback, Reach};
    use serde_json::json;

    use super::*;

    fn checked(nodes: Value) -> Graph {
        let callback = Callback {
            tool: "read".into(),
            owner: "agent".into(),
            description: String::new(),
            parameters: json!({}),
            annotations: Value::Null,
            reach: Reach::Model,
        };
        read(&json!({"tool_graph": nodes}), &Functions::of(&[callback])).unwrap()
    }

    fn node(tool: &str, depends_on: &[usize]) -> Value {
        json!({"tool": tool, "description": "d", "depends_on": depends_on})
    }

    #[test]
    fn a_graph_is_held_against_functions_and_itself() {
        let good =
            checked(json!([node("Agent/read", &[]), node("Agent/read", &[0]), node("Agent/read", &[0, 1])]));
        assert_eq!((good.faults.len(), good.depth), (0, 3));
        let bad = checked(json!([node("Agent/raed", &[1]), node("Agent/read", &[0, 7])]));
        assert_eq!(
            bad.faults,
            [
                "call 0: there is no function \"Agent/raed\"",
                "call 1 depends on 7, and there are 2 calls",
                "calls depend on one another in a circle"
            ]
        );
        assert_eq!(read(&json!({}), &Functions::default()), None);
    }
}
