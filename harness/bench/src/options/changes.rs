//! Options that change an experiment for one command.

use bench_config::Setting;
use clap::Args;

/// What is other than in the experiment file, for this command. It is written into the run's own copy of the file.
#[derive(Debug, Args, Clone, Default)]
#[command(next_help_heading = "Changes to the experiment file")]
pub(crate) struct ChangeOptions {
    /// Another value for a key of the file. Tables of a list go by name: `arm.gateway.surface=search`. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Setting>,
    /// Another seed.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Only these tasks, in this order. May be repeated.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Vec<String>,
}

impl ChangeOptions {
    /// All of it as settings.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let mut settings = self.set.clone();
        settings.extend(self.seed.map(|seed| Setting::of("seed", seed)));
        if !self.task.is_empty() {
            settings.push(Setting::of("tasks", format!("{:?}", self.task)));
        }
        settings
    }
}
