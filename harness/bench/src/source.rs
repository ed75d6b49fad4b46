//! From what a person names to a checked experiment with its suite and catalogue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bench_arms::Catalog;
use bench_core::{Catalogue, Experiment, IsolationLevel, SuiteId, TaskId};
use bench_proxy::Counter;
use bench_runner::{RunPlan, Site};
use bench_tasks::{Suite, list_suites};

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::front;
use crate::options::{ChangeOptions, PlaceOptions};
use crate::{place, say};

/// An experiment that was read and resolved, and the text it came from.
pub(crate) struct Source {
    pub(crate) plan: RunPlan,
    pub(crate) text: String,
    pub(crate) counter: Arc<Counter>,
    pub(crate) state_dir: PathBuf,
}

/// Text of an experiment file, and the name by which errors call it.
pub(crate) struct ExperimentText {
    pub(crate) text: String,
    pub(crate) name: PathBuf,
}

impl ExperimentText {
    /// The file, or the embedded experiment where none is named.
    pub(crate) fn read(file: Option<&Path>) -> Result<Self, Failure> {
        match file {
            None => Ok(Self {
                text: bench_config::DEFAULT.to_owned(),
                name: PathBuf::from("the built-in experiment"),
            }),
            Some(file) => match std::fs::read_to_string(file) {
                Ok(text) => Ok(Self { text, name: file.to_owned() }),
                Err(error) => fail(
                    Exit::Usage,
                    format!(
                        "experiment file {}: {error}{}; `bench init` writes one to start from",
                        file.display(),
                        place::meant(file, |path| path.extension().is_some_and(|end| end == "toml"))
                    ),
                ),
            },
        }
    }
}

impl ExperimentText {
    /// The text with what the options change. Its last lines say what was changed, so that the run's own copy of the file
    /// is what was run.
    pub(crate) fn changed(self, changes: &ChangeOptions, arms: &[String]) -> Result<Self, Failure> {
        let settings = changes.settings();
        if settings.is_empty() && arms.is_empty() {
            return Ok(self);
        }
        let mut text = bench_config::with_settings(&self.text, &settings).or_exit(Exit::Usage)?;
        if !arms.is_empty() {
            text = bench_config::with_arms(&text, arms).or_exit(Exit::Usage)?;
        }
        let words: Vec<String> = settings
            .iter()
            .map(|setting| format!("--set {setting}"))
            .chain(arms.iter().map(|arm| format!("--arm {arm}")))
            .collect();
        let note = format!("# Changed on the command line: {}", words.join(" ").replace('\n', " "));
        Ok(Self { text: format!("{}\n\n{note}\n", text.trim_end()), name: self.name })
    }
}

impl Source {
    /// Reads and resolves. Warnings go to standard error.
    pub(crate) fn open(source: ExperimentText, places: &PlaceOptions) -> Result<Self, Failure> {
        let catalog =
            Catalog::builtin(Some(front::agents_dir(places.agents_dir.as_deref()))).or_exit(Exit::Ours)?;
        let suites = list_suites(&front::suite_roots(&places.suites));
        let catalogue = names(&catalog, &suites);
        let loaded = bench_config::load(&source.text, &source.name, &catalogue).or_exit(Exit::Usage)?;
        for warning in &loaded.warnings {
            say::complain(&format!("warning: {warning}"));
        }
        let experiment = loaded.experiment;
        let counter = Arc::new(Counter::new(&experiment.tokenizer).or_exit(Exit::Usage)?);
        let state_dir = front::state_dir(places.state_dir.as_deref());
        let suite = reachable_suite(suite_dir(&suites, &experiment.suite)?, &state_dir)?;
        let site = site(&counter, cell_level(&experiment));
        let plan =
            bench_runner::prepare(experiment, &source.text, &suite, &catalog, site).or_exit(Exit::Usage)?;
        // What the agent would refuse when it starts is told before the first cell.
        for surface in plan.arms.values().filter_map(|arm| arm.resolved.surface.as_ref()) {
            bench_agent::check_surface(surface).or_exit(Exit::Usage)?;
        }
        Ok(Self { plan, text: source.text, counter, state_dir })
    }

    /// The checked experiment.
    pub(crate) fn experiment(&self) -> &Experiment {
        &self.plan.experiment
    }
}

/// The suite where a cell's own user gets to its hidden checks: here, or in a copy below the state directory.
fn reachable_suite(dir: &Path, state_dir: &Path) -> Result<Suite, Failure> {
    let suite = Suite::load(dir).or_exit(Exit::Usage)?;
    match bench_isolation::within_reach(dir, state_dir, suite.sha256.as_str()).or_exit(Exit::Usage)? {
        None => Ok(suite),
        Some(copy) => Suite::load(&copy).or_exit(Exit::Usage),
    }
}

/// The folder of a suite.
pub(crate) fn suite_dir<'a>(
    suites: &'a BTreeMap<SuiteId, PathBuf>,
    wanted: &SuiteId,
) -> Result<&'a Path, Failure> {
    match suites.get(wanted) {
        Some(dir) => Ok(dir),
        None => fail(
            Exit::Usage,
            format!(
                "suite {:?} was not found below tasks/suites (here or beside the binary); name the folder that holds it with --suites DIR",
                wanted.as_str()
            ),
        ),
    }
}

fn names(catalog: &Catalog, suites: &BTreeMap<SuiteId, PathBuf>) -> Catalogue {
    Catalogue {
        agents: catalog.agents(),
        suites: suites.iter().map(|(id, dir)| (id.clone(), task_names(dir))).collect(),
        tokenizers: bench_proxy::TOKENIZERS.iter().map(|name| (*name).to_owned()).collect(),
    }
}

/// The level of every cell. A real model is worth the highest that this machine reaches; a deterministic upstream is played
/// at the level that the experiment asks for, so that it costs little and comes out alike on every machine.
fn cell_level(experiment: &Experiment) -> IsolationLevel {
    let reached = bench_isolation::reachable().level;
    match experiment.upstream.is_deterministic() {
        true => reached.min(experiment.min_isolation),
        false => reached,
    }
}

fn site(counter: &Counter, level: IsolationLevel) -> Site {
    Site {
        harness: front::harness(),
        kernel: front::kernel(),
        host_id: front::host_id(),
        level,
        path_env: front::CELL_PATH.to_owned(),
        tokenizer: bench_proxy::tokenizer_identity(counter),
    }
}

/// Names of the folders that may be tasks; whether they are, is found when the suite is loaded.
fn task_names(dir: &Path) -> Vec<TaskId> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<TaskId> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .filter_map(|path| TaskId::new(path.file_name()?.to_str()?).ok())
        .collect();
    names.sort();
    names
}
