//! Through which tool an action is played: rules of the lexicon, in the order that decides the cost metrics: the tool of
//! the action's own kind where it is offered, then one that must be made callable first, then a substitution.

use bench_core::{Action, Lexicon, LexiconRule};
use bench_wire::chat::ChatRequest;

use super::template::Values;

/// May the oracle make tools callable?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Discovery {
    /// Yes.
    Allowed,
    /// It was tried for this action, or the profile never does.
    Ruled,
}

/// One way to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Way {
    /// Call a tool that is offered.
    Call {
        /// The tool.
        tool: String,
        /// Arguments as JSON.
        arguments: String,
        /// Is it not the tool of the action's own kind?
        substitution: bool,
    },
    /// Load a group first.
    Load {
        /// The gateway tool.
        tool: String,
        /// Arguments as JSON.
        arguments: String,
    },
}

/// All ways to play an action through a request, best first.
pub(super) fn ways(
    lexicon: &Lexicon,
    action: &Action,
    request: &ChatRequest,
    discovery: Discovery,
) -> Vec<Way> {
    let values = Values::of(action);
    let rules = || lexicon.rules.iter().filter(|rule| rule.action == action.kind());
    let offered = |rule: &&LexiconRule| request.tool(&rule.tool).is_some();
    let call = |rule: &LexiconRule| {
        let arguments = values.fill(&rule.arguments)?.to_string();
        Some(Way::Call { tool: rule.tool.clone(), arguments, substitution: rule.substitution })
    };
    let load = |rule: &LexiconRule| {
        let (group, discovery) = (rule.group.as_deref()?, lexicon.discovery.as_ref()?);
        request.tool(&discovery.tool)?;
        values.fill(&rule.arguments)?;
        let arguments = Values::of_group(group).fill(&discovery.load_arguments)?.to_string();
        Some(Way::Load { tool: discovery.tool.clone(), arguments })
    };
    let mut ways: Vec<Way> =
        rules().filter(|rule| !rule.substitution).filter(offered).filter_map(call).collect();
    if discovery == Discovery::Allowed {
        ways.extend(rules().filter(|rule| !rule.substitution && !offered(rule)).find_map(load));
    }
    ways.extend(rules().filter(|rule| rule.substitution).filter(offered).filter_map(call));
    ways
}
