//! A surface: what the model is shown as its way to act. Data for the reference agent; only a name for real agents.

use serde::{Deserialize, Serialize};

use crate::id::SurfaceId;

/// A surface of the reference agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Surface {
    /// Its name (the file's stem).
    pub name: SurfaceId,
    /// Version: raised whenever tool list or guidance change, pinned by a test.
    pub version: u32,
    /// Is the extension present, even where it shows nothing?
    pub extension: bool,
    /// Tools in the order of the request.
    pub tools: Vec<SurfaceTool>,
    /// How a deferred tool becomes callable.
    pub discovery: Discovery,
    /// Guidance added to the system text. May name only tools that the surface exposes.
    pub guidance: Vec<String>,
}

/// A tool in a surface: exposure is two fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SurfaceTool {
    /// The tool's name in the reference agent's catalogue.
    pub name: String,
    /// What the model sees of it.
    pub model: ModelExposure,
    /// Can code call it?
    pub code: CodeExposure,
    /// Capability group, for tools that are loaded.
    pub group: Option<String>,
}

/// What the model sees of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelExposure {
    /// Its schema stands in the first request.
    Direct,
    /// It can be made callable.
    Deferred,
    /// Never.
    Hidden,
}

/// Can code call a tool?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeExposure {
    /// Through the code tool's bridge.
    Bridged,
    /// Not.
    No,
}

/// How a deferred tool becomes callable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Discovery {
    /// Not at all.
    None,
    /// One small tool lists and loads groups; what was loaded is callable on the next turn and never unloaded.
    Gateway,
}

impl Surface {
    /// The groups that the gateway can load, in order of first appearance.
    pub fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for tool in &self.tools {
            if let (ModelExposure::Deferred, Some(group)) = (tool.model, tool.group.as_deref())
                && !groups.contains(&group)
            {
                groups.push(group);
            }
        }
        groups
    }
}
