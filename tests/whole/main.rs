//! The whole: the built binary on real tasks, behind real walls. What is asserted are exit codes, files and words.
//!
//! On a kernel without Landlock the cases that need walls name themselves as skipped with that reason.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and names what it skips")]

mod adversarial;
mod bad_input;
mod browser;
mod capabilities;
mod code_mode;
mod command_line;
mod complaints;
mod default_run;
mod direct;
mod discovery;
mod front_door;
mod hidden;
mod hostile_scripts;
mod imports;
mod language_server;
mod order;
mod provider;
mod real_agents;
mod real_upstream;
mod recipes;
mod replay;
mod reports;
mod resume;
mod runtimes;
mod shards;
mod terminal;
mod upstreams;
mod verdicts;
mod without_landlock;
mod workplace;
