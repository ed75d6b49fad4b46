//! Experiment files: TOML to a checked [`Experiment`], every error with file, line, column and key; the JSON schema and
//! the reference page from the same types; the file that `bench init` writes and the one that `bench run` runs without one.
//!
//! What exists on this machine (agents, surfaces, suites, tokenizers) comes in as a [`bench_core::Catalogue`]. Nothing is
//! opened and no environment is read here: whether a key variable is set, or an upstream answers, is asked by the binary.

mod changes;
mod check;
mod error;
mod file;
mod reference;

use std::path::Path;

use bench_core::{Catalogue, Experiment, Source};

pub use changes::{ChangeError, Setting, with_arms, with_settings};
pub use error::ConfigError;
pub use file::{
    ArmFile, ContrastFile, ExperimentFile, GateFile, LimitsFile, ProfileFile, RulesFile, SettingsFile,
    UpstreamFile,
};
pub use reference::{reference_page, schema};

/// The experiment file that `bench init` writes: every key, commented; it loads as it is.
pub const TEMPLATE: &str = include_str!("../templates/every-key.toml");

/// What tools cost in the first request, without a run.
pub const SURFACE_ONLY: &str = include_str!("../templates/surface-only.toml");

/// Four arms with a real model.
pub const FOUR_ARM: &str = include_str!("../templates/four-arm.toml");

/// Agents as they are.
pub const REAL_AGENTS: &str = include_str!("../templates/real-agents.toml");

/// A gate that needs no key.
pub const CI: &str = include_str!("../../../examples/ci/ci.toml");

/// The experiment of `bench run` without a file: the four-arm ablation. Kept once, as the example that people read.
pub const DEFAULT: &str = include_str!("../../../examples/four-arm.toml");

/// An accepted experiment file.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// What it means.
    pub experiment: Experiment,
    /// What is accepted but should be known, each as `file:line:column: key: text`.
    pub warnings: Vec<String>,
}

/// Reads an experiment file. Errors list everything that is wrong with it: unknown keys, then (once there are none)
/// unknown names, impossible numbers, and contrasts that are no ablation.
pub fn load(text: &str, file: &Path, catalogue: &Catalogue) -> Result<Loaded, ConfigError> {
    let source = Source { file, text };
    let parsed: ExperimentFile = source.parse().map_err(|problems| ConfigError { problems })?;
    let mut findings = error::Findings::new(source);
    let experiment = check::experiment(&parsed, catalogue, &mut findings);
    findings.settle(experiment)
}
