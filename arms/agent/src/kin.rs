//! Who a conversation belongs to: the main agent, or one that another agent started. A second agent has a conversation, a
//! surface and a desk of its own, and comes through the same door under its own name.

use std::path::Path;
use std::sync::Arc;

use bench_core::{CodeExposure, Delegation, Discovery, ModelExposure, Surface, SurfaceTool};
use serde_json::Value;

use crate::arguments;
use crate::capabilities::{Bell, Cancel, Equipment, Hands, Link, Marks, Order, Tools};
use crate::catalogue::{self, Owner, home_group};
use crate::conversation::hold_as;
use crate::start::Start;
use crate::tools::Desk;

/// Groups that a second agent is never shown: the user and the parent's lists are not its own.
const PARENTS_OWN: [&str; 2] = ["user", "session"];
/// Groups that need further agents.
const DELEGATING: [&str; 2] = ["delegate", "workflow"];
/// Groups whose tools the steps of a workflow may call, beside the agent's own.
const FOR_STEPS: [&str; 3] = ["search", "git", "files"];

/// Whose conversation it is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Role {
    /// None = the main agent's.
    pub(crate) name: Option<String>,
    /// What ties it to the agent that started it.
    pub(crate) link: Option<Arc<Link>>,
}

impl Role {
    fn of_child(order: &Order, link: &Arc<Link>) -> Self {
        Self { name: Some(order.name.clone()), link: Some(Arc::clone(link)) }
    }

    /// What stops its tools.
    fn cancel(&self) -> Cancel {
        self.link.as_ref().map_or_else(|| Cancel::with(&Bell::default()), |link| link.cancel.clone())
    }

    /// What its capabilities are given.
    pub(crate) fn equipment(&self, start: &Start, marks: Marks) -> Equipment {
        Equipment {
            cancel: self.cancel(),
            marks,
            delegation: start.surface.delegation,
            hands: Some(hands(start)),
            tools: Some(tools_for_steps(&start.surface, &start.workspace)),
        }
    }
}

/// Holds the conversations of children.
fn hands(start: &Start) -> Hands {
    let parent = start.clone();
    Arc::new(move |order, link| {
        hold_as(&child(&parent, order), Role::of_child(order, link)).map_err(|error| error.to_string())
    })
}

/// What a child starts with.
fn child(parent: &Start, order: &Order) -> Start {
    let mut start = parent.clone();
    start.surface = surface_of_child(&parent.surface);
    start.instruction.clone_from(&order.prompt);
    start.workspace.clone_from(&order.folder);
    if let Some(model) = &order.model {
        start.model.clone_from(model);
    }
    if let Some(effort) = &order.effort {
        start.settings.thinking = Some(effort.clone());
    }
    start
}

/// A child's surface: what its parent is shown at once, without a way of discovery, without guidance, and without what is
/// the parent's own.
pub(crate) fn surface_of_child(parent: &Surface) -> Surface {
    let depth = parent.delegation.depth.saturating_sub(1);
    let keeps = |name: &str| match home_group(name) {
        None => true,
        Some(group) => !PARENTS_OWN.contains(&group) && (depth > 0 || !DELEGATING.contains(&group)),
    };
    let mut surface = parent.clone();
    // What its parent calls from code it calls itself.
    let shown =
        |tool: &SurfaceTool| tool.model == ModelExposure::Direct || tool.code == CodeExposure::Bridged;
    surface.tools.retain(|tool| shown(tool) && keeps(&tool.name));
    for tool in &mut surface.tools {
        (tool.model, tool.code) = (ModelExposure::Direct, CodeExposure::No);
    }
    surface.code = None;
    surface.discovery = Discovery::None;
    surface.preload.clear();
    surface.guidance.clear();
    surface.delegation = Delegation { depth, ..parent.delegation };
    surface
}

/// Calls tools for the steps of a workflow: those that read, write and run, as far as the surface has them.
fn tools_for_steps(surface: &Surface, folder: &Path) -> Tools {
    let serves = |name: &str| match home_group(name) {
        None => catalogue::owner(name) == Owner::Agent,
        Some(group) => FOR_STEPS.contains(&group),
    };
    // What only code can call is there all the same.
    let reached =
        |tool: &&SurfaceTool| tool.model != ModelExposure::Hidden || tool.code == CodeExposure::Bridged;
    let listed = surface.tools.iter().filter(reached);
    let names: Vec<String> = listed.map(|tool| tool.name.clone()).filter(|name| serves(name)).collect();
    let folder = folder.to_owned();
    Arc::new(move |name: &str, given: Value, cancel: &Cancel| {
        let tool = catalogue::tool(name).filter(|_| names.iter().any(|known| known == name));
        let tool =
            tool.ok_or_else(|| format!("a step cannot call {name:?}; it can call {}", names.join(", ")))?;
        arguments::check(&tool, &given)?;
        Desk::until(&folder, cancel).run_until(name, given, None)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::offer::tests::{deferred, direct, surface};

    fn names(surface: &Surface) -> String {
        surface.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_child_has_no_gateway_and_starts_no_further_agents() {
        let mut parent = surface(vec![
            direct("read"),
            direct("rg"),
            direct("ask"),
            direct("subagent_spawn"),
            deferred("workflow", "workflow"),
            deferred("fd", "search"),
        ]);
        parent.discovery = Discovery::Gateway;
        parent.guidance = vec!["Use `rg`.".into()];
        let child = surface_of_child(&parent);
        assert_eq!((names(&child).as_str(), child.discovery), ("read rg", Discovery::None));
        assert_eq!((child.delegation.depth, child.guidance.len()), (0, 0));
        parent.delegation.depth = 2;
        assert_eq!(names(&surface_of_child(&parent)), "read rg subagent_spawn");
    }

    #[test]
    fn steps_call_what_reads_and_writes_and_nothing_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let mut of = surface(vec![direct("read"), direct("bash"), direct("bg_start"), direct("tasks_add")]);
        (of.tools[1].model, of.tools[1].code) = (ModelExposure::Hidden, CodeExposure::Bridged);
        let tools = tools_for_steps(&of, folder.path());
        let cancel = Cancel::default();
        assert_eq!(tools("bash", json!({"command": "echo x"}), &cancel).unwrap(), "x\n");
        let refused = tools("bg_start", json!({"command": "x", "title": "x"}), &cancel).unwrap_err();
        assert_eq!(refused, "a step cannot call \"bg_start\"; it can call read, bash");
        assert!(tools("read", json!({}), &cancel).unwrap_err().contains("path is missing"));
    }
}
