//! Tasks as folders: the format, suites, reference plans. A task is an instruction, a starting workspace, a hidden check
//! (`verify/`), a reference plan (`oracle.toml`) and, optionally, cheats that must not pass. See docs/formats/task.md.
//!
//! Everything that can be wrong with a task is found when its suite is loaded, with file, line and key. Playing a plan is
//! left to the oracle upstream, running the hidden check to the verifier.

mod error;
mod file;
mod folder;
mod plan;
mod programs;
mod suite;
mod text;
mod verify;

pub use error::TaskError;
pub use file::{ChildFile, EditFile, PlanFile, SearchFile, StepFile, TaskFile, WriteFile};
pub use plan::{load_capability_plan, load_cheats, load_plan};
pub use programs::missing_programs;
pub use suite::{Suite, find_suite, list_suites};
pub use verify::{Verification, VerifyFault, VerifySite, verify};
