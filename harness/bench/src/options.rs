//! Options, as a person writes them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

mod changes;
mod examples;
mod upkeep;

pub(crate) use changes::ChangeOptions;
pub(crate) use upkeep::{
    AgentsCommand, AgentsOptions, CleanOptions, CompletionsOptions, ManOptions, MergeOptions, PackOptions,
    TaskCommand, TaskOptions,
};

/// Does this tool surface cost more than it is worth, for this model, on these tasks?
#[derive(Debug, Parser)]
#[command(
    name = "bench",
    version,
    max_term_width = 100,
    after_help = "Exit codes: 0 every gate passed, 1 a gate failed, 2 usage, 3 inconclusive, 4 invalid run, 5 isolation not enforceable, 6 stale page, 7 environment, 70 our fault, 130 interrupted. See docs/exit-codes.md."
)]
pub(crate) struct Options {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Adds the command that was probably meant, where the parser found none close enough (`rnu`).
pub(crate) fn with_the_word_that_was_meant(mut error: clap::Error) -> clap::Error {
    use clap::CommandFactory as _;
    use clap::error::{ContextKind, ContextValue};
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let command = Options::command();
    let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    if let Some(near) = bench_core::source::nearest(given, &known) {
        let near = ContextValue::Strings(vec![near.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, near);
    }
    error
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plan, run what the journal does not hold yet, report, exit by verdict.
    #[command(after_help = examples::RUN)]
    Run(RunOptions),
    /// What would run, in which order, what it may cost, and what the design can and cannot show. Runs nothing.
    #[command(after_help = examples::PLAN)]
    Plan(PlanOptions),
    /// First-request surface per arm: tools, tokens per tool, system text, whole body.
    #[command(after_help = examples::SURFACE)]
    Surface(SurfaceOptions),
    /// Everything again from the journal alone.
    #[command(after_help = examples::REPORT)]
    Report(ReportOptions),
    /// The same, exit by verdict; or the same arm now against then.
    #[command(after_help = examples::GATE)]
    Gate(GateOptions),
    /// Two runs beside each other: per arm, and per contrast.
    #[command(after_help = examples::COMPARE)]
    Compare(CompareOptions),
    /// One run or one cell, readable in the terminal; a run in progress is followed.
    #[command(after_help = examples::SHOW)]
    Show(ShowOptions),
    /// Shards of one run, made on several machines, as one run.
    #[command(after_help = examples::MERGE)]
    Merge(MergeOptions),
    /// Outcomes from elsewhere (CSV files, Harbor job folders) as a run directory.
    #[command(after_help = examples::IMPORT)]
    Import(ImportOptions),
    /// What a design can show: chance to pass, tasks needed, smallest detectable difference.
    #[command(after_help = examples::POWER)]
    Power(PowerOptions),
    /// Realised error rates of a run's own rules, by swapping labels within its blocks.
    #[command(after_help = examples::CALIBRATE)]
    Calibrate(CalibrateOptions),
    /// Each task: reference plan passes, untouched workspace fails, declared cheats fail.
    #[command(after_help = examples::VERIFY)]
    Verify(VerifyOptions),
    /// Write a commented experiment file.
    #[command(after_help = examples::INIT)]
    Init(InitOptions),
    /// Print the JSON schema of the experiment file, or of analysis.json.
    #[command(after_help = examples::SCHEMA)]
    Schema(SchemaOptions),
    /// What this machine can do, what is missing, and what to do about it.
    #[command(after_help = examples::DOCTOR)]
    Doctor(DoctorOptions),
    /// Real agents on this machine: which are there, and how the others get there.
    #[command(after_help = examples::AGENTS)]
    Agents(AgentsOptions),
    /// A task folder to start from.
    #[command(after_help = examples::TASK)]
    Task(TaskOptions),
    /// A redacted bundle of a run, from which a stranger recomputes its report.
    #[command(after_help = examples::PACK)]
    Pack(PackOptions),
    /// Old runs with their sizes; removes them, or their evidence, when told to.
    #[command(after_help = examples::CLEAN)]
    Clean(CleanOptions),
    /// Completions for a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsOptions),
    /// Manual pages.
    #[command(after_help = examples::MAN)]
    Man(ManOptions),
}

/// Where things are found.
#[derive(Debug, Args, Clone, Default)]
pub(crate) struct PlaceOptions {
    /// Folder that holds suites, besides `tasks/suites` here and beside the binary.
    #[arg(long, value_name = "DIR")]
    pub(crate) suites: Vec<PathBuf>,
    /// Where cells live while they run [default: /var/lib/bench as root, else XDG_STATE_HOME/bench].
    #[arg(long, value_name = "DIR", env = "BENCH_STATE_DIR", hide_env_values = true)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Where real agents are installed [default: /var/lib/bench/agents as root, else XDG_DATA_HOME/bench/agents].
    #[arg(long, value_name = "DIR", env = "BENCH_AGENTS_DIR", hide_env_values = true)]
    pub(crate) agents_dir: Option<PathBuf>,
}

/// Options of `bench run`.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Experiment file; none = the built-in four-arm ablation.
    pub(crate) file: Option<PathBuf>,
    /// Start another run instead of continuing an unfinished one.
    #[arg(long)]
    pub(crate) new: bool,
    /// Run directory [default: runs/EXPERIMENT-UTC].
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Blocks in flight at once. Above 1, wall time is contended and not comparable.
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: u16,
    /// Append every event as a JSON line.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Print errors and the final table only.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print analysis.json instead of the final table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Only these arms, with the contrasts between them. May be repeated.
    #[arg(long, value_name = "ARM", help_heading = "Changes to the experiment file")]
    pub(crate) arm: Vec<String>,
    #[command(flatten)]
    pub(crate) changes: ChangeOptions,
    /// Do every n-th block alone, on one of n machines; `bench merge` joins them.
    #[arg(long, value_name = "i/n")]
    pub(crate) shard: Option<bench_core::Shard>,
    /// Do not ask before a run that may cost money.
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Do not send one trivial request per arm before the first block of a real upstream.
    #[arg(long)]
    pub(crate) no_canary: bool,
    /// What an INCONCLUSIVE ends in.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) inconclusive_as: Option<InconclusiveAs>,
    #[command(flatten)]
    pub(crate) places: PlaceOptions,
}

/// What an INCONCLUSIVE ends in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InconclusiveAs {
    /// Exit code 0.
    Pass,
    /// Exit code 1.
    Fail,
}

/// Options of `bench plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanOptions {
    /// Experiment file; none = the built-in four-arm ablation.
    pub(crate) file: Option<PathBuf>,
    /// Expect each cell to spend what the cells of its task and arm spent in this run directory.
    #[arg(long, value_name = "RUN")]
    pub(crate) like: Option<PathBuf>,
    /// For other programs.
    #[arg(long)]
    pub(crate) json: bool,
    /// Only these arms, with the contrasts between them. May be repeated.
    #[arg(long, value_name = "ARM", help_heading = "Changes to the experiment file")]
    pub(crate) arm: Vec<String>,
    #[command(flatten)]
    pub(crate) changes: ChangeOptions,
    #[command(flatten)]
    pub(crate) places: PlaceOptions,
}

/// Options of `bench surface`.
#[derive(Debug, Args)]
pub(crate) struct SurfaceOptions {
    /// Experiment file; none = the built-in four-arm ablation.
    pub(crate) file: Option<PathBuf>,
    /// Only these arms.
    #[arg(long, value_name = "ARM")]
    pub(crate) arm: Vec<String>,
    /// For other programs.
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare with the surfaces in this file; exit code 1 if an arm has grown beyond --max-ratio.
    #[arg(long, value_name = "FILE")]
    pub(crate) check: Option<PathBuf>,
    /// Write the file that --check compares with.
    #[arg(long, requires = "check")]
    pub(crate) write: bool,
    /// How much an arm's first request may grow, in tokens of its body: now / then.
    #[arg(long, value_name = "RATIO", default_value_t = 1.25, requires = "check")]
    pub(crate) max_ratio: f64,
    /// Show what differs from the arm of the same name in a file that --json wrote.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["check", "json"])]
    pub(crate) against: Option<PathBuf>,
    /// Instead of arms: the tools of an MCP server, started by this command line, as functions. May be repeated.
    #[arg(long, value_name = "CMD", conflicts_with_all = ["check", "against", "diff", "arm", "file"])]
    pub(crate) mcp: Vec<String>,
    /// Who counts the tokens of --mcp; an experiment names its own.
    #[arg(long, value_name = "NAME", default_value = "o200k_base", requires = "mcp")]
    pub(crate) tokenizer: String,
    /// Show what differs between two arms.
    #[arg(long, num_args = 2, value_names = ["ARM", "ARM"], conflicts_with_all = ["check", "json", "against", "arm"])]
    pub(crate) diff: Vec<String>,
    #[command(flatten)]
    pub(crate) changes: ChangeOptions,
    #[command(flatten)]
    pub(crate) places: PlaceOptions,
}

/// Options of `bench report`.
#[derive(Debug, Args)]
pub(crate) struct ReportOptions {
    /// Run directory [default: the newest below runs/].
    pub(crate) run: Option<PathBuf>,
    /// Put the result table between the markers `<!-- bench:table -->` and `<!-- /bench:table -->` of this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) splice: Option<PathBuf>,
    /// Compare that table with the one in this file, or a published file of `report/` (report.html, report.md,
    /// analysis.json, cells.csv, cells.parquet, junit.xml, a plot) with what it would be now; exit code 6 if it differs.
    #[arg(long, value_name = "FILE", conflicts_with = "splice")]
    pub(crate) check: Option<PathBuf>,
    /// What is printed.
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: ReportFormat,
    /// Write the settled attempts in another project's format too.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) export: Option<ExportFormat>,
    /// Where --export writes [default: RUN/report/exports/FORMAT].
    #[arg(short, long, value_name = "DIR", requires = "export")]
    pub(crate) output: Option<PathBuf>,
    /// The same as --format markdown.
    #[arg(long, conflicts_with = "format")]
    pub(crate) markdown: bool,
    /// The same as --format json.
    #[arg(long, conflicts_with_all = ["markdown", "format"])]
    pub(crate) json: bool,
}

/// Another project's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ExportFormat {
    /// A Harbor job folder with ATIF-v1.7 trajectories.
    Harbor,
    /// Inspect logs, one per arm.
    Inspect,
    /// OpenTelemetry traces as OTLP JSON.
    Otlp,
}

impl ExportFormat {
    /// Its word on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Harbor => "harbor",
            Self::Inspect => "inspect",
            Self::Otlp => "otlp",
        }
    }
}

/// What `bench report` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportFormat {
    /// The table of a terminal.
    Table,
    /// report.md.
    Markdown,
    /// analysis.json.
    Json,
    /// report.html.
    Html,
    /// cells.csv.
    Csv,
    /// junit.xml.
    Junit,
    /// Annotations for GitHub Actions; report.md is added to the job summary that GITHUB_STEP_SUMMARY names.
    Github,
}

/// Options of `bench compare`.
#[derive(Debug, Args)]
pub(crate) struct CompareOptions {
    /// The older run.
    pub(crate) then: PathBuf,
    /// The newer run.
    pub(crate) now: PathBuf,
}

/// Options of `bench import`.
#[derive(Debug, Args)]
pub(crate) struct ImportOptions {
    /// CSV files or Harbor job folders.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The arm that the others are compared with [default: the first that appears].
    #[arg(long, value_name = "ARM")]
    pub(crate) control: Option<String>,
    /// Tolerated loss of the pass rate as a fraction.
    #[arg(long, default_value_t = 0.10, value_parser = fraction)]
    pub(crate) margin: f64,
    /// Largest tolerated ratio of every cost that each cell knows.
    #[arg(long, default_value_t = 1.25, value_parser = positive)]
    pub(crate) limit: f64,
    /// To which tasks the verdict generalises.
    #[arg(long, value_enum, default_value = "tasks-like-these")]
    pub(crate) scope: Scope,
    /// Run directory [default: runs/import-NAME-UTC].
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// To which tasks a verdict generalises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    /// Tasks like those that were run.
    TasksLikeThese,
    /// Exactly these.
    TheseTasks,
}

impl Scope {
    /// The word in a lock.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::TasksLikeThese => "tasks-like-these",
            Self::TheseTasks => "these-tasks",
        }
    }
}

fn fraction(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        Ok(_) | Err(_) => Err("write a fraction above 0 and below 1, for example 0.10".to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        Ok(_) | Err(_) => Err("write a number above 0".to_owned()),
    }
}

/// Options of `bench power`.
#[derive(Debug, Args)]
pub(crate) struct PowerOptions {
    /// Take the spread from this run instead of `--sd`.
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,
    /// Tasks (clusters) of the design.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(2..=2000))]
    pub(crate) tasks: u64,
    /// Standard deviation of a task's mean log ratio.
    #[arg(long, default_value_t = 0.25, value_parser = positive)]
    pub(crate) sd: f64,
    /// Ratio limit.
    #[arg(long, default_value_t = 1.25, value_parser = positive)]
    pub(crate) limit: f64,
    /// Non-inferiority margin.
    #[arg(long, default_value_t = 0.10, value_parser = fraction)]
    pub(crate) margin: f64,
    /// Share of pairs that differ in outcome.
    #[arg(long, default_value_t = 0.20, value_parser = fraction)]
    pub(crate) discordant: f64,
    /// One-sided error per gate.
    #[arg(long, default_value_t = 0.05, value_parser = fraction)]
    pub(crate) alpha: f64,
    /// For other programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `bench calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateOptions {
    /// Run directory [default: the newest below runs/].
    pub(crate) run: Option<PathBuf>,
    /// Random relabellings.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) draws: u32,
    /// For other programs.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `bench gate`.
#[derive(Debug, Args)]
pub(crate) struct GateOptions {
    /// Run directory [default: the newest below runs/].
    pub(crate) run: Option<PathBuf>,
    /// Judge the same arms against an older run, or against a baseline file that several runs were added to.
    #[arg(long, value_name = "RUN|FILE.json")]
    pub(crate) against: Option<PathBuf>,
    /// Append this run to the baseline file after judging it.
    #[arg(long, requires = "against")]
    pub(crate) add: bool,
    /// Runs that a baseline file needs before it judges anything.
    #[arg(long, value_name = "N", default_value_t = 3, requires = "against")]
    pub(crate) baseline_runs: usize,
    /// Print analysis.json instead of the table.
    #[arg(long, conflicts_with = "against")]
    pub(crate) json: bool,
    /// Print errors only; the exit code is the verdict.
    #[arg(short, long, conflicts_with_all = ["json", "against"])]
    pub(crate) quiet: bool,
    /// What an INCONCLUSIVE ends in.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) inconclusive_as: Option<InconclusiveAs>,
}

/// Options of `bench show`.
#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// Run directory.
    pub(crate) run: PathBuf,
    /// Cell: task/r01/arm.
    pub(crate) cell: Option<String>,
    /// Follow a run in progress to its end, also where standard error is no terminal (on one that is the default).
    #[arg(short, long, conflicts_with_all = ["cell", "json"])]
    pub(crate) follow: bool,
    /// Which attempt [default: the last].
    #[arg(long, requires = "cell")]
    pub(crate) attempt: Option<u32>,
    /// Only why it ended as it did.
    #[arg(long, requires = "cell")]
    pub(crate) why: bool,
    /// One request of it, from 1.
    #[arg(long, value_name = "N", requires = "cell")]
    pub(crate) request: Option<u32>,
    /// The exact bytes of the request's body.
    #[arg(long, requires = "request")]
    pub(crate) raw: bool,
    /// The response instead of the request.
    #[arg(long, requires = "request")]
    pub(crate) response: bool,
    /// The record as JSON.
    #[arg(long, conflicts_with_all = ["why", "request"])]
    pub(crate) json: bool,
}

/// Options of `bench verify`.
#[derive(Debug, Args)]
pub(crate) struct VerifyOptions {
    /// Suite by name [default: default].
    pub(crate) suite: Option<String>,
    /// Print only what does not hold.
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// For other programs.
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,
    /// Only these tasks.
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Vec<String>,
    #[command(flatten)]
    pub(crate) places: PlaceOptions,
}

/// Options of `bench init`.
#[derive(Debug, Args)]
pub(crate) struct InitOptions {
    /// Where to write it [default: experiment.toml]; `-` = standard output.
    pub(crate) file: Option<PathBuf>,
    /// What the file is for.
    #[arg(short, long, value_enum, value_name = "KIND", default_value = "every-key")]
    pub(crate) kind: InitKind,
    /// Overwrite what is there.
    #[arg(long)]
    pub(crate) force: bool,
}

/// What an experiment file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InitKind {
    /// Two arms, and every key there is, commented.
    EveryKey,
    /// What tools cost in the first request: for `bench surface`, no run needed.
    SurfaceOnly,
    /// Four arms with a real model: a smoke file that may only fail, and the file that decides.
    FourArm,
    /// pi, codex and claude as they are.
    RealAgents,
    /// A gate for a workflow, no key needed, and the workflow.
    Ci,
}

/// Options of `bench schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaOptions {
    /// Of which file.
    #[arg(value_enum, default_value = "experiment")]
    pub(crate) of: SchemaOf,
}

/// A file with a published schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SchemaOf {
    /// The experiment file.
    Experiment,
    /// report/analysis.json.
    Analysis,
}

/// Options of `bench doctor`.
#[derive(Debug, Args)]
pub(crate) struct DoctorOptions {
    /// Look at what this experiment file needs as well: key, agents, level.
    pub(crate) file: Option<PathBuf>,
    /// For other programs.
    #[arg(long)]
    pub(crate) json: bool,
    /// Change what the list under `to reach L3` names on this machine, as root; `--undo` puts it back.
    #[arg(long, conflicts_with_all = ["json", "undo"])]
    pub(crate) fix: bool,
    /// Put back what `--fix` changed.
    #[arg(long, conflicts_with = "json")]
    pub(crate) undo: bool,
    #[command(flatten)]
    pub(crate) places: PlaceOptions,
}
