//! Experiment to plan: every name resolved, every digest taken, the lock sealed. Starts nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bench_arms::{ArmError, Catalog, ResolvedArm};
use bench_core::ledger::TokenizerIdentity;
use bench_core::{
    Arm, ArmId, Experiment, IsolationLevel, Metric, Plan, Schedule, Sha256Hex, Shard, Task, TaskId,
    TaskSelection, Upstream,
};
use bench_record::{
    AgentLock, ArmLock, FORMAT_VERSION, HarnessIdentity, IsolationLock, Lock, OracleLock, SuiteLock,
};
use bench_tasks::{Suite, TaskError, load_plan, missing_programs};

/// Facts about this machine and build that enter the lock.
#[derive(Debug, Clone)]
pub struct Site {
    /// This build.
    pub harness: HarnessIdentity,
    /// Kernel release.
    pub kernel: String,
    /// Digest that stands for this machine.
    pub host_id: String,
    /// Isolation level reached here.
    pub level: IsolationLevel,
    /// PATH of the cells.
    pub path_env: String,
    /// Who counts tokens.
    pub tokenizer: TokenizerIdentity,
}

/// An arm with everything that starting it takes.
pub struct ReadyArm {
    /// As in the experiment.
    pub arm: Arm,
    /// As the catalogue resolves it.
    pub resolved: ResolvedArm,
    /// As locked.
    pub lock: ArmLock,
}

/// What is to be done.
pub struct RunPlan {
    /// The checked experiment.
    pub experiment: Experiment,
    /// Tasks that take part, by name.
    pub tasks: BTreeMap<TaskId, (Task, Arc<Plan>)>,
    /// Tasks skipped on this machine, with the reason.
    pub skipped: BTreeMap<TaskId, String>,
    /// Arms by name.
    pub arms: BTreeMap<ArmId, ReadyArm>,
    /// The order.
    pub schedule: Schedule,
    /// The lock.
    pub lock: Lock,
    /// Its digest.
    pub lock_sha256: Sha256Hex,
    /// Facts about this machine.
    pub site: Site,
    /// The suite's folder: no cell may be able to read it.
    pub suite_dir: PathBuf,
}

/// An experiment that cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A task is unusable.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// An arm cannot be started.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// An agent's program cannot be read.
    #[error("agent program {path}: {source}; reinstall the agent or mend the permissions")]
    Program {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No task is left.
    #[error(
        "no task of suite {suite:?} can run here: {reasons}; install what they need, or name other tasks with the key `tasks`"
    )]
    NoTask {
        /// The suite.
        suite: String,
        /// Task: reason, joined.
        reasons: String,
    },
}

/// Resolves an experiment against a suite and the catalogue.
pub fn prepare(
    experiment: Experiment,
    experiment_text: &str,
    suite: &Suite,
    catalog: &Catalog,
    site: Site,
) -> Result<RunPlan, PrepareError> {
    let (tasks, skipped) = select_tasks(&experiment, suite, &site.path_env)?;
    let mut arms = BTreeMap::new();
    for arm in &experiment.arms {
        arms.insert(arm.id.clone(), ready_arm(arm, catalog)?);
    }
    let order: Vec<TaskId> = match &experiment.tasks {
        TaskSelection::All => {
            suite.tasks.iter().map(|t| t.id.clone()).filter(|id| tasks.contains_key(id)).collect()
        }
        TaskSelection::Named(named) => named.iter().filter(|id| tasks.contains_key(*id)).cloned().collect(),
    };
    let arm_order: Vec<ArmId> = experiment.arms.iter().map(|arm| arm.id.clone()).collect();
    let schedule = Schedule::plan(&order, &arm_order, experiment.repeats, experiment.seed);
    let facts =
        LockFacts { text: experiment_text, suite, order: &order, skipped: &skipped, schedule: &schedule };
    let lock = lock_of(&experiment, &arms, &facts, &site);
    let lock_sha256 = lock.sha256();
    Ok(RunPlan {
        experiment,
        tasks,
        skipped,
        arms,
        schedule,
        lock,
        lock_sha256,
        site,
        suite_dir: suite.dir.clone(),
    })
}

type Selected = (BTreeMap<TaskId, (Task, Arc<Plan>)>, BTreeMap<TaskId, String>);

fn select_tasks(experiment: &Experiment, suite: &Suite, path_env: &str) -> Result<Selected, PrepareError> {
    let mut tasks = BTreeMap::new();
    let mut skipped = BTreeMap::new();
    for task in &suite.tasks {
        let wanted = match &experiment.tasks {
            TaskSelection::All => true,
            TaskSelection::Named(named) => named.contains(&task.id),
        };
        if !wanted {
            continue;
        }
        let missing = missing_programs(task, path_env);
        if missing.is_empty() {
            tasks.insert(task.id.clone(), (task.clone(), Arc::new(load_plan(task)?)));
        } else {
            skipped.insert(task.id.clone(), format!("needs {} on PATH", missing.join(", ")));
        }
    }
    if tasks.is_empty() {
        let reasons: Vec<String> = skipped.iter().map(|(task, why)| format!("{task} {why}")).collect();
        return Err(PrepareError::NoTask { suite: suite.id.to_string(), reasons: reasons.join("; ") });
    }
    Ok((tasks, skipped))
}

fn ready_arm(arm: &Arm, catalog: &Catalog) -> Result<ReadyArm, PrepareError> {
    let resolved = catalog.resolve(arm)?;
    let binary_sha256 = match &resolved.binary {
        None => None,
        Some(path) => Some(Sha256Hex::of(
            fs::read(path).map_err(|source| PrepareError::Program { path: path.clone(), source })?,
        )),
    };
    let agent = AgentLock { name: arm.agent.clone(), version: resolved.agent_version.clone(), binary_sha256 };
    let lock = ArmLock::of(arm, agent, resolved.surface_sha256.clone());
    Ok(ReadyArm { arm: arm.clone(), resolved, lock })
}

struct LockFacts<'a> {
    text: &'a str,
    suite: &'a Suite,
    order: &'a [TaskId],
    skipped: &'a BTreeMap<TaskId, String>,
    schedule: &'a Schedule,
}

fn lock_of(
    experiment: &Experiment,
    arms: &BTreeMap<ArmId, ReadyArm>,
    facts: &LockFacts<'_>,
    site: &Site,
) -> Lock {
    let suite_tasks = facts
        .suite
        .tasks
        .iter()
        .filter(|task| facts.order.contains(&task.id))
        .map(|task| (task.id.clone(), task.sha256.clone()))
        .collect();
    let oracle = match &experiment.upstream {
        Upstream::Oracle => Some(oracle_lock(arms)),
        Upstream::Endpoint(_) | Upstream::Replay { .. } => None,
    };
    Lock {
        format_version: FORMAT_VERSION,
        experiment: experiment.name.to_string(),
        experiment_sha256: Sha256Hex::of(facts.text),
        suites: vec![SuiteLock {
            name: facts.suite.id.clone(),
            sha256: facts.suite.sha256.clone(),
            tasks: suite_tasks,
        }],
        tasks: facts.order.to_vec(),
        skipped: facts.skipped.clone(),
        arms: experiment.arms.iter().map(|arm| arms[&arm.id].lock.clone()).collect(),
        contrasts: experiment.contrasts.clone(),
        gates: experiment.gates.clone(),
        metrics: Metric::ALL.iter().map(|m| (m.key().to_owned(), m.nature())).collect(),
        exclusion_rules: exclusion_rules(),
        rules: experiment.rules.clone(),
        seed: experiment.seed,
        repeats: experiment.repeats,
        schedule_sha256: facts.schedule.sha256(),
        limits: experiment.limits.clone(),
        run_limits: experiment.run_limits.clone(),
        price_card_sha256: experiment.prices.sha256(),
        upstream: experiment.upstream.clone(),
        tokenizer: site.tokenizer.clone(),
        isolation: IsolationLock { minimum: experiment.min_isolation, level: site.level },
        oracle,
        harness: site.harness.clone(),
        kernel: site.kernel.clone(),
        shard: None,
        rules_sha256: Sha256Hex::of(""),
    }
    .seal()
}

/// The one table of endings, in words: what leaves the numbers.
fn exclusion_rules() -> Vec<String> {
    use bench_core::{Counting, EndingKind};
    EndingKind::ALL
        .iter()
        .filter_map(|kind| match kind.disposition().counting {
            Counting::AsGraded => None,
            Counting::AsFailed => Some(format!("{kind}: counts as failed")),
            Counting::HarnessInvalid => Some(format!("{kind}: its block leaves every metric")),
            Counting::Missing => {
                Some(format!("{kind}: no outcome; its block is run again once, then leaves every metric"))
            }
        })
        .collect()
}

fn oracle_lock(arms: &BTreeMap<ArmId, ReadyArm>) -> OracleLock {
    let mut lexicon_sha256 = BTreeMap::new();
    let mut preference: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for arm in arms.values() {
        let lexicon = &arm.resolved.lexicon;
        lexicon_sha256.insert(lexicon.name.clone(), lexicon.sha256.clone());
        let kinds = preference.entry(lexicon.name.clone()).or_default();
        kinds.clear();
        for rule in &lexicon.rules {
            kinds.entry(rule.action.word().to_owned()).or_default().push(rule.tool.clone());
        }
    }
    OracleLock { lexicon_sha256, preference }
}

impl RunPlan {
    /// Paths that no cell may be able to read, whatever its arm.
    pub fn hidden_paths(&self, run_dir: &Path) -> Vec<PathBuf> {
        vec![self.suite_dir.clone(), run_dir.to_owned()]
    }
}

impl RunPlan {
    /// Is the built-in player the one who answers?
    pub fn uses_oracle(&self) -> bool {
        match self.experiment.upstream {
            Upstream::Oracle => true,
            Upstream::Endpoint(_) | Upstream::Replay { .. } => false,
        }
    }
}

impl RunPlan {
    /// The lock as it would be were the cells to run at this level.
    pub fn at_level(&self, level: IsolationLevel) -> Lock {
        let mut lock = self.lock.clone();
        lock.isolation.level = level;
        lock.seal()
    }

    /// Runs the cells at this level, which must be one that is reached here.
    pub fn settle_level(&mut self, level: IsolationLevel) {
        self.lock = self.at_level(level);
        self.lock_sha256 = self.lock.sha256();
        self.site.level = level;
    }
}

impl RunPlan {
    /// Only the blocks of this shard are done here. The lock stays that of the whole run, and says which part lies here.
    pub fn take_shard(&mut self, shard: Shard) {
        self.schedule = self.schedule.shard(shard);
        self.lock.shard = Some(shard);
    }
}
