//! Arms as data and the adapters that start agents.
//!
//! Surfaces, adapters and lexicons are files (`catalog/`, `lexicon/`) compiled in here; [`Catalog`] reads and checks
//! them, [`Catalog::resolve`] finds out whether an arm can be started on this machine, and [`ResolvedArm::invocation`]
//! says purely how. Nothing is started or written here: the runner does that, behind walls.

mod adapter;
mod catalog;
mod error;
mod fill;
mod lexicon_file;
mod resolved;

pub use catalog::{Catalog, InstalledAgent};
pub use error::{ArmError, CatalogError};
pub use resolved::{ResolvedArm, Site};
