//! Names that become parts of paths, file keys and output, checked once when they are made.

use serde::{Deserialize, Serialize};

use crate::shared_text::SharedText;

/// Why a text cannot be a name: it would not survive as a folder name or as part of a cell's id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} {value:?} is not a usable name: use 1 to 64 of a-z, 0-9, '-', '_' and '.', starting with a letter or digit"
)]
pub struct IdError {
    /// What was being named ("arm", "task", …).
    pub kind: &'static str,
    /// The refused text.
    pub value: String,
}

fn check(kind: &'static str, value: &str) -> Result<(), IdError> {
    let ok = (1..=64).contains(&value.len())
        && value.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'))
        && value.as_bytes()[0].is_ascii_alphanumeric();
    if ok { Ok(()) } else { Err(IdError { kind, value: value.to_owned() }) }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(SharedText);

        impl $name {
            /// Checks and wraps a name. Errors name the kind, the value and the rule.
            pub fn new(value: impl Into<String>) -> Result<Self, IdError> {
                let value = value.into();
                check($kind, &value)?;
                Ok(Self(value.into()))
            }
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(value: String) -> Result<Self, IdError> {
                Self::new(value)
            }
        }
        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.into()
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

id!(/// Name of an experiment.
    ExperimentId, "experiment");
id!(/// Name of an arm.
    ArmId, "arm");
id!(/// Name of an agent in the catalogue (`reference`, `pi`, `command`, …).
    AgentId, "agent");
id!(/// Name of a surface: of the reference agent, or declared by a real agent's adapter.
    SurfaceId, "surface");
id!(/// Name of a suite of tasks.
    SuiteId, "suite");
id!(/// Name of a task: its folder's name.
    TaskId, "task");
id!(/// Name of a contrast.
    ContrastId, "contrast");
id!(/// Name of a gate.
    GateId, "gate");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_leave_their_folder_are_refused() {
        for bad in ["", "..", ".hidden", "a/b", "A", "ä", "-x", &"a".repeat(65)] {
            assert!(ArmId::new(bad).is_err(), "{bad:?} was accepted");
        }
        for good in ["bare", "gpt-5.5", "a_b", "7"] {
            assert!(ArmId::new(good).is_ok(), "{good:?} was refused");
        }
    }
}
