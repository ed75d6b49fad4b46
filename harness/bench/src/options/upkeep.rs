//! Options of the commands around runs: many machines, bundles, old runs, the shell.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::PlaceOptions;

/// Options of `bench agents`.
#[derive(Debug, Args)]
pub(crate) struct AgentsOptions {
    #[command(subcommand)]
    pub(crate) command: Option<AgentsCommand>,
    /// For other programs.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) places: PlaceOptions,
}

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// Every agent that an arm can name [the default].
    List,
    /// Exit code 2 where one cannot be started.
    Check {
        /// Which [default: all].
        names: Vec<String>,
    },
    /// Runs the lines that the catalogue names for those that are missing; prints them first and asks.
    Install {
        /// Which.
        #[arg(required = true)]
        names: Vec<String>,
        /// Do not ask.
        #[arg(short, long)]
        yes: bool,
    },
}

/// Options of `bench task`.
#[derive(Debug, Args)]
pub(crate) struct TaskOptions {
    #[command(subcommand)]
    pub(crate) command: TaskCommand,
}

/// What to do with tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Writes a small task that holds already, with a canary of its own.
    New {
        /// Its suite and its name, SUITE/TASK.
        name: String,
        /// Folder that holds suites [default: tasks/suites].
        #[arg(long, value_name = "DIR")]
        suites: Option<PathBuf>,
    },
}

/// Options of `bench merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeOptions {
    /// Run directories of the shards.
    #[arg(required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// Run directory to make.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Print errors only.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Options of `bench pack`.
#[derive(Debug, Args)]
pub(crate) struct PackOptions {
    /// Run directory [default: the newest below runs/].
    pub(crate) run: Option<PathBuf>,
    /// The bundle [default: RUN.tar.gz, here].
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Take the evidence along too (requests, traces, patches): larger, and it holds what agents saw and wrote.
    #[arg(long)]
    pub(crate) evidence: bool,
    /// Replace this text as well, wherever it stands. May be repeated.
    #[arg(long, value_name = "TEXT")]
    pub(crate) redact: Vec<String>,
    /// For other programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `bench clean`.
#[derive(Debug, Args)]
pub(crate) struct CleanOptions {
    /// Runs to look at [default: all below runs/].
    pub(crate) runs: Vec<PathBuf>,
    /// Remove them whole. Without it, and without --evidence, they are only listed.
    #[arg(long)]
    pub(crate) delete: bool,
    /// Remove what their cells left and keep journal, lock and report: every number stays, no trace does.
    #[arg(long, conflicts_with = "delete")]
    pub(crate) evidence: bool,
    /// Leave the N newest as they are.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep: usize,
    /// Do not ask.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// For other programs: the list.
    #[arg(long, conflicts_with_all = ["delete", "evidence"])]
    pub(crate) json: bool,
}

/// Options of `bench completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsOptions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Options of `bench man`.
#[derive(Debug, Args)]
pub(crate) struct ManOptions {
    /// Write one page per command into this folder; left out: the main page goes to standard output.
    pub(crate) dir: Option<PathBuf>,
    /// The reference of all commands as Markdown, to standard output.
    #[arg(long, conflicts_with = "dir")]
    pub(crate) markdown: bool,
}
