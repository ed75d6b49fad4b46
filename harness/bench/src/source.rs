//! From what a person names to a checked experiment with its suite and catalogue.

use std::path::{Path, PathBuf};

use bench_arms::Catalog;
use bench_core::{Catalogue, Experiment, SuiteId};
use bench_proxy::Counter;
use bench_runner::{RunPlan, Site};
use bench_tasks::Suite;

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::front;
use crate::options::PlaceOptions;
use crate::say;

/// An experiment that was read and resolved, and the text it came from.
pub(crate) struct Source {
    pub(crate) plan: RunPlan,
    pub(crate) text: String,
    pub(crate) counter: Counter,
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
                        "experiment file {}: {error}; `bench init` writes one to start from",
                        file.display()
                    ),
                ),
            },
        }
    }
}

impl Source {
    /// Reads and resolves. Warnings go to standard error.
    pub(crate) fn open(source: ExperimentText, places: &PlaceOptions) -> Result<Self, Failure> {
        let catalog = Catalog::builtin(Some(front::agents_dir(places.agents_dir.as_deref()))).or_exit(Exit::Ours)?;
        let suites = find_suites(&front::suite_roots(&places.suites));
        let catalogue = names(&catalog, &suites);
        let loaded = bench_config::load(&source.text, &source.name, &catalogue).or_exit(Exit::Usage)?;
        for warning in &loaded.warnings {
            say::complain(&format!("warning: {warning}"));
        }
        let experiment = loaded.experiment;
        let counter = Counter::new(&experiment.tokenizer).or_exit(Exit::Usage)?;
        let dir = suite_dir(&suites, &experiment.suite)?;
        let suite = Suite::load(dir).or_exit(Exit::Usage)?;
        let site = site(&counter);
        let plan =
            bench_runner::prepare(experiment, &source.text, &suite, &catalog, site).or_exit(Exit::Usage)?;
        Ok(Self { plan, text: source.text, counter, state_dir: front::state_dir(places.state_dir.as_deref()) })
    }

    /// The checked experiment.
    pub(crate) fn experiment(&self) -> &Experiment {
        &self.plan.experiment
    }
}

/// Folders that are suites, by name: the first root that has a name wins.
pub(crate) fn find_suites(roots: &[PathBuf]) -> Vec<(SuiteId, PathBuf)> {
    let mut found: Vec<(SuiteId, PathBuf)> = Vec::new();
    for root in roots {
        let Ok(entries) = std::fs::read_dir(root) else { continue };
        let mut dirs: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.is_dir()).collect();
        dirs.sort();
        for dir in dirs {
            let Some(id) = dir.file_name().and_then(|n| n.to_str()).and_then(|n| SuiteId::new(n).ok()) else {
                continue;
            };
            if !found.iter().any(|(known, _)| *known == id) {
                found.push((id, dir));
            }
        }
    }
    found
}

/// The folder of a suite.
pub(crate) fn suite_dir<'a>(suites: &'a [(SuiteId, PathBuf)], wanted: &SuiteId) -> Result<&'a Path, Failure> {
    match suites.iter().find(|(id, _)| id == wanted) {
        Some((_, dir)) => Ok(dir),
        None => fail(
            Exit::Usage,
            format!(
                "suite {:?} was not found below tasks/suites (here or beside the binary); name the folder that holds it with --suites DIR",
                wanted.as_str()
            ),
        ),
    }
}

fn names(catalog: &Catalog, suites: &[(SuiteId, PathBuf)]) -> Catalogue {
    Catalogue {
        agents: catalog.agents(),
        suites: suites.iter().map(|(id, dir)| (id.clone(), bench_tasks::task_names(dir))).collect(),
        tokenizers: bench_proxy::TOKENIZERS.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn site(counter: &Counter) -> Site {
    Site {
        harness: front::harness(),
        kernel: front::kernel(),
        host_id: front::host_id(),
        level: bench_isolation::reachable().level,
        path_env: front::CELL_PATH.to_owned(),
        tokenizer: front::tokenizer_identity(counter),
    }
}
