//! Ways by which a surface claims to cost less than its catalogue, and whether one of them was ever used in an attempt:
//! a saving that was claimed and never seen on the wire is none.

use crate::ledger::{Load, ToolEntry};

/// A way to show less than there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MechanismKind {
    /// Definitions are left out until they are wanted.
    Deferral,
    /// A tool finds or loads other tools.
    Search,
    /// A tool takes code that calls other tools.
    Code,
}

impl MechanismKind {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::Deferral => "deferral",
            Self::Search => "search",
            Self::Code => "code",
        }
    }
}

/// A mechanism that a surface shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mechanism {
    /// Which.
    pub kind: MechanismKind,
    /// The tools that are it.
    pub tools: Vec<String>,
    /// Was it used in this attempt?
    pub fired: bool,
}

/// Names of tools that find or load other tools, in the agents seen; a hosted search has `tool_search` in its type.
const SEARCHES: [&str; 6] =
    ["tool_search", "ToolSearch", "capabilities", "load_tools", "openpi_load_tools", "search_tool_functions"];

/// Names of tools that take code whose functions are declared elsewhere than in their descriptions.
const CODE: [&str; 1] = ["execute_typescript"];

/// Does a tool of this name find or load other tools?
pub(crate) fn finds_tools(name: &str) -> bool {
    SEARCHES.contains(&name)
}

/// The mechanisms that the tools of an attempt show, each with whether it fired.
pub fn mechanisms(tools: &[ToolEntry], loads: &[Load]) -> Vec<Mechanism> {
    let named = |wanted: &dyn Fn(&ToolEntry) -> bool| -> Vec<String> {
        tools.iter().filter(|tool| wanted(tool)).map(|tool| tool.name.to_string()).collect()
    };
    let called = |names: &[String]| {
        tools.iter().any(|tool| tool.calls > 0 && names.iter().any(|name| tool.name == *name))
    };
    let deferred = named(&|tool| tool.exposure == "deferred" || tool.exposure == "found");
    let searches = named(&|tool| finds_tools(&tool.name) || tool.kind.contains("tool_search"));
    let holders = named(&|tool| {
        let holds = |nested: &ToolEntry| {
            nested.r#where == "description" && nested.namespace.as_ref() == Some(&tool.name)
        };
        CODE.contains(&tool.name.as_str()) || tools.iter().any(holds)
    });
    let found = tools.iter().any(|tool| tool.exposure == "found") || !loads.is_empty();
    let all = [
        (MechanismKind::Deferral, found || called(&deferred), deferred),
        (MechanismKind::Search, called(&searches), searches),
        (MechanismKind::Code, called(&holders), holders),
    ];
    let shown = all.into_iter().filter(|(_, _, tools)| !tools.is_empty());
    shown.map(|(kind, fired, tools)| Mechanism { kind, tools, fired }).collect()
}

/// Tools that were defined and never called: how many, and what they cost over the attempt in tokens; null where nobody
/// counted their turns. What is only told of is part of the text that tells of it.
pub fn never_called(tools: &[ToolEntry]) -> (u64, Option<u64>) {
    let idle = || tools.iter().filter(|tool| tool.calls == 0 && tool.kind != "listed");
    let cost = |tool: &ToolEntry| Some(tool.tokens * u64::from(tool.offered_turns?));
    (idle().count() as u64, idle().map(cost).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, exposure: &str, calls: u32) -> ToolEntry {
        ToolEntry {
            name: name.into(),
            namespace: None,
            kind: "function".into(),
            exposure: exposure.into(),
            r#where: "tools".into(),
            description_bytes: 0,
            description_tokens: 0,
            schema_bytes: 0,
            schema_tokens: 0,
            bytes: 40,
            tokens: 10,
            calls,
            errors: None,
            first_offered_turn: 1,
            first_called_turn: None,
            offered_turns: Some(3),
        }
    }

    fn nested(name: &str, holder: &str) -> ToolEntry {
        let (kind, namespace) = ("listed".into(), Some(holder.into()));
        ToolEntry { kind, namespace, r#where: "description".into(), ..tool(name, "code", 0) }
    }

    #[test]
    fn what_is_claimed_and_never_used_is_named() {
        let tools = [
            tool("exec", "direct", 2),
            nested("bash", "exec"),
            tool("ToolSearch", "direct", 0),
            tool("Late", "deferred", 0),
        ];
        let found = mechanisms(&tools, &[]);
        let words: Vec<_> = found.iter().map(|m| (m.kind.word(), m.tools.join(","), m.fired)).collect();
        assert_eq!(
            words,
            [
                ("deferral", "Late".to_owned(), false),
                ("search", "ToolSearch".to_owned(), false),
                ("code", "exec".to_owned(), true)
            ]
        );
        assert_eq!(never_called(&tools), (2, Some(60)));
        assert_eq!(mechanisms(&[tool("bash", "direct", 1)], &[]), []);
        let uncounted = ToolEntry { offered_turns: None, ..tool("a", "direct", 0) };
        assert_eq!(never_called(&[uncounted]), (1, None));
    }
}
