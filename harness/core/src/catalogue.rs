//! The names that exist: what an experiment file may refer to. Filled by the binary, so that `config` can name a wrong
//! word with its place in the file without knowing arms, agents or tasks.

use std::collections::BTreeMap;

use crate::id::{AgentId, SuiteId, SurfaceId, TaskId};

/// Names known to this build and machine.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// Agents, each with the surfaces that it can show.
    pub agents: BTreeMap<AgentId, Vec<SurfaceId>>,
    /// Suites, each with its tasks in order.
    pub suites: BTreeMap<SuiteId, Vec<TaskId>>,
    /// Tokenizers by name.
    pub tokenizers: Vec<String>,
}
