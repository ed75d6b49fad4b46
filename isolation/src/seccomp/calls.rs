//! Call numbers and names, kept apart per architecture. x86_64 alone is listed and tested.

#[cfg(target_arch = "x86_64")]
#[path = "calls_x86_64.rs"]
mod listed;
#[cfg(not(target_arch = "x86_64"))]
#[path = "calls_none.rs"]
mod listed;

pub use listed::ARCHITECTURE;
pub(super) use listed::{CHANGE_METADATA, CONNECT, LOOK, NAMED, OPEN_OR_CHANGE};

/// The number of a call by its name; none = this architecture has no such call, or it is not listed.
pub(super) fn number(name: &str) -> Option<u32> {
    NAMED.iter().find(|(listed, _)| *listed == name).map(|(_, number)| *number)
}

/// The name of a call by its number, for records.
pub fn call_name(number: u32) -> Option<&'static str> {
    NAMED.iter().find(|(_, listed)| *listed == number).map(|(name, _)| *name)
}

/// Does this call change mode, owner, times or attributes, or set a watch, which Landlock does not see?
pub(crate) fn is_metadata(name: &str) -> bool {
    CHANGE_METADATA.contains(&name)
}
