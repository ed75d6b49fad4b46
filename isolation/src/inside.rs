//! The launcher's processes, from the inside: the launcher itself, a supervisor per cell, the agent process.
//!
//! ```text
//! harness ── launcher (one a run, one thread, non-dumpable, no key in its environment)
//!               └── supervisor of a cell (outside the walls, so the agent cannot forge its report)
//!                      └── agent process (puts the walls up around itself, probes them, becomes the program)
//! ```
//!
//! Each of them ends when the one above it ends, and takes everything below with it.

pub(crate) mod agent;
pub(crate) mod capabilities;
pub(crate) mod launcher;
pub(crate) mod probe;
pub(crate) mod supervisor;
pub(crate) mod tree;

pub use launcher::sandbox_exec_main;
