//! The whole: the built binary on real tasks, behind real walls. What is asserted are exit codes, files and words.
//!
//! On a kernel without Landlock the cases that need walls name themselves as skipped with that reason.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and names what it skips")]

mod bad_input;
mod default_run;
mod discovery;
mod front_door;
mod hidden;
mod order;
mod real_agents;
mod real_upstream;
mod resume;
mod verdicts;
mod without_landlock;
mod workplace;
