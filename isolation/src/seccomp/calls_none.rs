//! Nothing listed: `Filter::build` refuses.

/// No calling convention is known.
pub const ARCHITECTURE: Option<u32> = None;
pub(in crate::seccomp) const NAMED: &[(&str, u32)] = &[];
pub(in crate::seccomp) const CHANGE_METADATA: &[&str] = &[];
pub(in crate::seccomp) const CONNECT: &[&str] = &[];
pub(in crate::seccomp) const OPEN_OR_CHANGE: &[&str] = &[];
pub(in crate::seccomp) const LOOK: &[&str] = &[];
