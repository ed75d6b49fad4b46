//! Takes every capability from the agent process. Uid 0 with `CAP_PERFMON` or `CAP_SYS_ADMIN` reads the environment of
//! the harness through every Landlock wall.

use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::kernel;
use crate::message::Refusal;

const WALL: &str = "capabilities";

/// Empties the bounding set, where this process may: before its user changes. Where it may not (no `CAP_SETPCAP`),
/// `no_new_privs` keeps an exec from giving anything back; the probes look at what is left.
pub(crate) fn empty_bounding_set() -> std::io::Result<()> {
    if rustix::thread::capabilities(None)?.effective.contains(CapabilitySet::SETPCAP) {
        let mut number = 0;
        while kernel::drop_from_bounding_set(number)? {
            number += 1;
        }
    }
    Ok(())
}

/// As [`empty_bounding_set`], between fork and exec.
pub(crate) fn empty_own_bounding_set() -> Result<(), Refusal> {
    empty_bounding_set().map_err(|error| Refusal::no_wall(WALL, error))
}

/// Empties the other four sets.
pub(crate) fn drop_all() -> Result<(), Refusal> {
    let fail = |detail: std::io::Error| Refusal::no_wall(WALL, detail);
    rustix::thread::clear_ambient_capability_set().map_err(|error| fail(error.into()))?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).map_err(|error| fail(error.into()))
}

/// Is none left that this process could use or pass on?
pub(crate) fn none_left() -> std::io::Result<bool> {
    let held = rustix::thread::capabilities(None)?;
    Ok(held.effective.is_empty() && held.permitted.is_empty() && held.inheritable.is_empty())
}
