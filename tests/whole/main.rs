//! The whole: the built binary on real tasks, behind real walls. What is asserted are exit codes, files and words.
//!
//! On a kernel without Landlock the cases that need walls name themselves as skipped with that reason.

mod bad_input;
mod complaints;
mod default_run;
mod front_door;
mod hidden;
mod order;
mod provider;
mod real_agents;
mod replay;
mod resume;
mod upstreams;
mod verdicts;
mod without_landlock;
mod workplace;
