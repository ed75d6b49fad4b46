//! Workspace, policy, launcher, evidence; one mechanism a file.
//!
//! Launcher: [`Launcher`] runs programs behind walls, [`sandbox_exec_main`] is its other half. Directories of a cell:
//! [`Slots`], [`Workspace`]. What this machine can enforce: [`reachable`]. This crate leaves to others what is run in a
//! cell, who answers its model calls, and what follows from how it ended.

pub mod attempt;
pub mod audit;
pub mod captured;
mod cgroup;
pub mod classify;
pub mod collect;
mod descendants;
mod discard;
pub mod disk;
pub mod error;
pub mod exposed;
mod gaps;
mod grounds;
mod inside;
mod kernel;
pub mod launcher;
mod layout;
pub mod manifest;
mod message;
pub mod notify;
mod owners;
pub mod passage;
pub mod reach;
pub mod running;
pub mod seccomp;
pub mod seen;
pub mod set_aside;
pub mod slot;
pub mod spec;
mod spread;
pub mod state_dir;
mod system_paths;
mod template;
mod untouched;
mod walls;
pub mod workspace;

pub use captured::Captured;
pub use collect::{CollectCaps, Collected, LeftOut, Why};
pub use error::{LaunchError, LauncherError};
pub use exposed::{Exposed, refuse_exposed};
pub use gaps::gap_table;
pub use inside::sandbox_exec_main;
pub use kernel::{effective_uid, own_cpu_ms};
pub use launcher::{Launcher, LauncherSeed, PreparedCell};
pub use passage::{barred_on_the_way, within_reach};
pub use reach::{Reachable, evidence_of_no_cell, reachable};
pub use running::{CellExit, RunningCell, Stop};
pub use seccomp::Debugger;
pub use seen::Seen;
pub use set_aside::set_aside;
pub use slot::{Slot, Slots};
pub use spec::{Attempts, CellSpec, Policy};
pub use spread::spread;
pub use state_dir::{NoStateDir, default_state_dir};
pub use system_paths::granted_system_paths;
pub use workspace::{Workspace, WorkspaceError};
