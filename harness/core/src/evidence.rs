//! What is known about the walls and about the upstream of one attempt.

use std::collections::BTreeMap;

use crate::shared_text::SharedText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How strong the walls are; see docs/isolation.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IsolationLevel {
    /// None.
    L0,
    /// Landlock without namespaces; every gap of the kernel's ABI is named.
    L1,
    /// Namespaces, Landlock ABI 3 or newer, and a supervisor that sees attempts.
    L2,
    /// Namespaces and the kernel's own audit records.
    L3,
}

impl IsolationLevel {
    /// The word used in files and output.
    pub fn word(self) -> &'static str {
        match self {
            Self::L0 => "L0",
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
        }
    }
}

impl std::fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
    }
}

/// What was asked of the kernel, what it enforces, and what the cell tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IsolationEvidence {
    /// Level reached.
    pub level: IsolationLevel,
    /// Rules asked for, one short phrase each.
    pub requested: Vec<String>,
    /// Rules that hold, proven by a probe where one exists.
    pub enforced: Vec<String>,
    /// What this level and kernel leave open, each with its cause.
    pub missing: Vec<SharedText>,
    /// Landlock ABI of the kernel; null = no Landlock.
    pub landlock_abi: Option<u32>,
    /// User id of the agent.
    pub uid: u32,
    /// Who watches attempts: `none`, `notify-narrow`, `notify-open`, `notify-stat`, `audit`.
    pub detector: SharedText,
    /// Probes made inside the walls before the agent started; all of them held, or the cell never ran.
    pub probes: Vec<String>,
    /// Attempts seen.
    pub events: Vec<IsolationEvent>,
    /// Is the list of attempts complete? null = nobody watched.
    pub evidence_complete: Option<bool>,
    /// Was the cell proven empty at its end?
    pub quiescent: bool,
    /// Processes that were still alive when the leader had ended, and were killed.
    pub survivors_killed: u32,
}

/// One attempt, denied or not, on something beyond the cell's root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IsolationEvent {
    /// What was tried.
    pub operation: String,
    /// On what.
    pub path: String,
    /// By which process.
    pub process: String,
    /// Its class (docs/isolation.md).
    pub class: String,
    /// Was it refused?
    pub denied: bool,
    /// How often.
    pub count: u64,
}

/// The one class of event that decides an ending.
pub const OUTSIDE_ACCESS: &str = "outside_access";

/// How a hole in the list of attempts stands among what is missing.
pub const HOLE: &str = "a part of the evidence: ";

impl IsolationEvidence {
    /// How often the cell tried something beyond its space; null = nobody watched, so nothing is known.
    pub fn outside_accesses(&self) -> Option<u64> {
        self.evidence_complete?;
        Some(self.outside_events().map(|event| event.count).sum())
    }

    /// The events that decide the ending.
    pub fn outside_events(&self) -> impl Iterator<Item = &IsolationEvent> {
        self.events.iter().filter(|event| event.class == OUTSIDE_ACCESS)
    }
}

/// What an agent's own program is known to do and is denied, declared by its adapter: counted and shown, never
/// invalidating. It never covers another cell's space or the harness's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Housekeeping {
    /// The operation as records name it (`net.connect_tcp`, `openat`, `scope.signal`, `socket`); `*` = any.
    pub operation: String,
    /// The target as records name it; `*` stands for anything but a slash, `**` for anything.
    pub target: String,
}

/// How an agent says on its standard output that code called one of its tools: JSON lines of this type that hold this key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NestedCallLine {
    /// The line's `type`.
    pub r#type: String,
    /// A key that only a nested call's line holds.
    pub key: String,
}

impl Housekeeping {
    /// Does it cover this operation on this target?
    pub fn covers(&self, operation: &str, target: &str) -> bool {
        matches(self.operation.as_bytes(), operation.as_bytes())
            && matches(self.target.as_bytes(), target.as_bytes())
    }
}

fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', b'*', rest @ ..] => (0..=text.len()).any(|at| matches(rest, &text[at..])),
        [b'*', rest @ ..] => {
            let most = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
            (0..=most).any(|at| matches(rest, &text[at..]))
        }
        [byte, rest @ ..] => text.first() == Some(byte) && matches(rest, &text[1..]),
    }
}

/// What is known about the upstream of one attempt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UpstreamEvidence {
    /// `oracle`, `openai-chat`, …
    pub kind: SharedText,
    /// Host asked; null for built-in ones.
    pub host: Option<SharedText>,
    /// Model ids in requests.
    pub models_asked: Vec<SharedText>,
    /// Model ids in responses.
    pub models_answered: Vec<SharedText>,
    /// The provider's own fingerprint of its back end.
    pub fingerprint: Option<SharedText>,
    /// Responses by HTTP status.
    pub statuses: BTreeMap<String, u32>,
    /// Why it could not answer.
    pub fault: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn housekeeping_patterns_stop_at_a_slash_unless_told_otherwise() {
        let covers = |target: &str, text: &str| {
            Housekeeping { operation: "net.*".into(), target: target.into() }.covers("net.connect_tcp", text)
        };
        assert!(covers("127.0.0.1:*", "127.0.0.1:11434"));
        assert!(!covers("127.0.0.1:*", "127.0.0.2:11434"));
        assert!(covers("/proc/*/stat", "/proc/17/stat"));
        assert!(!covers("/proc/*", "/proc/17/stat"));
        assert!(covers("/proc/**", "/proc/17/stat"));
        assert!(!Housekeeping { operation: "openat".into(), target: "**".into() }.covers("unlink", "/x"));
    }
}
