//! What tools work on that comes and goes during a conversation, and the one table from resource to tools. The agent
//! plans its requests by it, and the harness holds every request of a trace against it.

mod check;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::surface::{ModelExposure, SurfaceTool};
pub use check::{ShownTurn, Violation, ViolationKind, violations};

/// Groups that are loaded whole, whatever exists: their tools speak of one another.
const WHOLE_GROUPS: [&str; 2] = ["delegate", "workflow"];

/// Something that exists for a while: a list, a mark, whatever a tool began and another one works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// A task list with a step on it.
    TaskList,
    /// A mark in the conversation.
    Checkpoint,
    /// A command that runs beside the conversation, until its end has been told.
    Background,
    /// An open goal.
    Goal,
    /// An agent that the agent started, until its end has been told.
    Subagent,
    /// A workflow that runs beside the conversation, until its end has been told.
    Workflow,
}

impl Resource {
    /// Every resource.
    pub const ALL: [Self; 6] =
        [Self::TaskList, Self::Checkpoint, Self::Background, Self::Goal, Self::Subagent, Self::Workflow];

    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::TaskList => "task-list",
            Self::Checkpoint => "checkpoint",
            Self::Background => "background",
            Self::Goal => "goal",
            Self::Subagent => "subagent",
            Self::Workflow => "workflow",
        }
    }

    /// The lifecycle table: tools of the reference agent that have nothing to work on without it.
    pub fn tools(self) -> &'static [&'static str] {
        match self {
            Self::TaskList => &["tasks_update", "tasks_list"],
            Self::Checkpoint => &["rewind"],
            Self::Background => &["bg_status", "bg_list", "bg_watch", "bg_kill"],
            Self::Goal => &["get_goal", "update_goal"],
            Self::Subagent => {
                &["subagent_wait", "subagent_send", "subagent_check", "subagent_cancel", "subagent_list"]
            }
            Self::Workflow => &["workflow_status", "workflow_stop"],
        }
    }

    /// The resource without which an entry of a surface is left out. Groups whose schemas must stay stable are loaded
    /// whole: what they hold waits for nothing once they are.
    pub fn awaited_by(entry: &SurfaceTool) -> Option<Self> {
        let whole = entry.model == ModelExposure::Deferred
            && entry.group.as_deref().is_some_and(|group| WHOLE_GROUPS.contains(&group));
        Self::needed_by(&entry.name).filter(|_| !whole)
    }

    /// The resource that a tool needs; none = it does not depend on one.
    pub fn needed_by(tool: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|resource| resource.tools().contains(&tool))
    }
}

/// The resources that exist at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resources(BTreeSet<Resource>);

impl Resources {
    /// Does it exist?
    pub fn has(&self, resource: Resource) -> bool {
        self.0.contains(&resource)
    }
}

impl FromIterator<Resource> for Resources {
    fn from_iter<I: IntoIterator<Item = Resource>>(resources: I) -> Self {
        Self(resources.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_needs_at_most_one_resource_and_words_are_what_serde_writes() {
        let mut seen = BTreeSet::new();
        for resource in Resource::ALL {
            assert_eq!(serde_json::to_value(resource).unwrap(), resource.word());
            for tool in resource.tools() {
                assert!(seen.insert(*tool), "{tool}");
                assert_eq!(Resource::needed_by(tool), Some(resource));
            }
        }
        assert_eq!(Resource::needed_by("read"), None);
    }
}
