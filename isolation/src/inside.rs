//! The launcher's processes, from the inside: the launcher itself, supervisors with a cell each, the agent process.
//!
//! ```text
//! harness ── launcher (one a run, one thread, non-dumpable, no key in its environment)
//!               └── supervisor (one cell at a time, outside the walls, so the agent cannot forge its report)
//!                      └── init (from level L2: process 1 of the cell's namespaces, makes its root and its network)
//!                             └── agent process (puts the walls up around itself, probes them, becomes the program)
//! ```
//!
//! Each of them ends when the one above it ends, and takes everything below with it.

pub(crate) mod agent;
pub(crate) mod capabilities;
pub(crate) mod door;
pub(crate) mod group;
pub(crate) mod groups;
mod heap;
pub(crate) mod init;
pub(crate) mod launcher;
pub(crate) mod limits;
pub(crate) mod lookout;
pub(crate) mod probe;
pub(crate) mod supervisor;
mod supervisors;
pub(crate) mod tree;
pub(crate) mod trial;
pub(crate) mod user;
pub(crate) mod view;

pub use launcher::sandbox_exec_main;
