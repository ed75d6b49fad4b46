//! What an experiment resolved to, written before the first cell: digests of everything that decides an outcome, the
//! pre-registered rules with their hash, and the words for what differs between two locks.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use bench_core::experiment::{Arm, Contrast, Limits, ModelSettings, Profile, Rules, RunLimits, Upstream};
use bench_core::ledger::TokenizerIdentity;
use bench_core::metric::MetricNature;
use bench_core::{AgentId, ArmId, GateRule, IsolationLevel, Sha256Hex, Shard, SuiteId, SurfaceId, TaskId};
use serde::Serialize;
use serde_json::Value;

use crate::cell_record::HarnessIdentity;

/// The lock as written. Read back as plain JSON ([`Lock::read`]), since readers of older versions need only compare it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lock {
    /// Version of this file's format.
    pub format_version: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// Digest of the experiment file as given.
    pub experiment_sha256: Sha256Hex,
    /// Suites and their tasks.
    pub suites: Vec<SuiteLock>,
    /// Tasks that take part.
    pub tasks: Vec<TaskId>,
    /// Tasks that are skipped on this machine, with the reason.
    pub skipped: BTreeMap<TaskId, String>,
    /// Arms.
    pub arms: Vec<ArmLock>,
    /// Planned comparisons.
    pub contrasts: Vec<Contrast>,
    /// Pre-registered rules.
    pub gates: Vec<GateRule>,
    /// What each metric is.
    pub metrics: BTreeMap<String, MetricNature>,
    /// Which blocks leave the numbers, and why.
    pub exclusion_rules: Vec<String>,
    /// Numbers of the decision rules.
    pub rules: Rules,
    /// The seed.
    pub seed: u64,
    /// Blocks per task.
    pub repeats: u32,
    /// Digest of the order.
    pub schedule_sha256: Sha256Hex,
    /// Caps per attempt.
    pub limits: Limits,
    /// Caps on the whole run; outside the hash, since they decide no cell's outcome.
    pub run_limits: RunLimits,
    /// Digest of the price card; null = nothing is priced.
    pub price_card_sha256: Option<Sha256Hex>,
    /// Who answers.
    pub upstream: Upstream,
    /// Who counts.
    pub tokenizer: TokenizerIdentity,
    /// Walls.
    pub isolation: IsolationLock,
    /// The oracle's data; null under other upstreams.
    pub oracle: Option<OracleLock>,
    /// The harness.
    pub harness: HarnessIdentity,
    /// Kernel release.
    pub kernel: String,
    /// The part of the run that lies here; none = all of it. Outside the hash: shards of a run are one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The pre-registration hash: everything above that decides an outcome. Retry policy and `-j` stand outside it.
    pub rules_sha256: Sha256Hex,
}

/// A suite and its tasks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuiteLock {
    /// Its name.
    pub name: SuiteId,
    /// Digest over its tasks.
    pub sha256: Sha256Hex,
    /// Digest of each task.
    pub tasks: BTreeMap<TaskId, Sha256Hex>,
}

/// An arm as resolved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArmLock {
    /// Its name.
    pub name: ArmId,
    /// Digest over everything below.
    pub sha256: Sha256Hex,
    /// The agent.
    pub agent: AgentLock,
    /// Its surface's name.
    pub surface: SurfaceId,
    /// Digest of the surface as data.
    pub surface_sha256: Sha256Hex,
    /// Command line of a `command` agent.
    pub command: Vec<String>,
    /// Model id asked for.
    pub model: String,
    /// Model settings.
    pub settings: ModelSettings,
    /// How the oracle plays it.
    pub profile: Profile,
    /// Digest of the tool definitions that its cells' first turn showed; null until one has run, and outside the hash.
    pub tools_sha256: Option<Sha256Hex>,
}

/// An agent as resolved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentLock {
    /// Its name in the catalogue.
    pub name: AgentId,
    /// Its own version; null when it does not say.
    pub version: Option<String>,
    /// Digest of the program started; null for this binary itself (see `harness`).
    pub binary_sha256: Option<Sha256Hex>,
}

/// The walls.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IsolationLock {
    /// Asked for.
    pub minimum: IsolationLevel,
    /// Reached.
    pub level: IsolationLevel,
}

/// The oracle's data.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OracleLock {
    /// Digest of each lexicon used, by name.
    pub lexicon_sha256: BTreeMap<String, Sha256Hex>,
    /// Tools in order of preference, per lexicon and kind of action.
    pub preference: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// A lock on disk that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It cannot be read or written.
    #[error("lock file {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not JSON.
    #[error(
        "lock file {path} is not valid JSON ({source}); the run directory is damaged, start another with --new"
    )]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// Another process works on the run.
    #[error(
        "run directory {path} is in use by another bench process (its lock file is held); wait for it, or start another run with --new"
    )]
    Held {
        /// The run directory.
        path: PathBuf,
    },
}

impl ArmLock {
    /// Resolves an arm; the digest covers every field but itself.
    pub fn of(arm: &Arm, agent: AgentLock, surface_sha256: Sha256Hex) -> Self {
        let sha256 = Sha256Hex::of_json(&(arm, &agent, &surface_sha256));
        Self {
            name: arm.id.clone(),
            sha256,
            agent,
            surface: arm.surface.clone(),
            surface_sha256,
            command: arm.command.clone(),
            model: arm.model.clone(),
            settings: arm.settings.clone(),
            profile: arm.profile.clone(),
            tools_sha256: None,
        }
    }
}

impl Lock {
    /// Fields that do not decide an outcome or are known only on one machine: outside the pre-registration hash.
    const OUTSIDE_HASH: [&str; 6] =
        ["rules_sha256", "harness", "kernel", "experiment_sha256", "run_limits", "shard"];

    /// Computes [`Lock::rules_sha256`] from the rest.
    pub fn seal(mut self) -> Self {
        let value = serde_json::to_value(&self).expect("a lock is a JSON value");
        self.rules_sha256 = hash_of(value);
        self
    }

    /// Does a lock on disk still say what its pre-registration hash was taken of? One that was edited does not.
    pub fn is_sealed(on_disk: &Value) -> bool {
        on_disk.get("rules_sha256").and_then(Value::as_str) == Some(hash_of(on_disk.clone()).as_str())
    }

    /// Digest of the whole lock: what records point at.
    pub fn sha256(&self) -> Sha256Hex {
        self.rules_sha256.clone()
    }

    /// Notes in a lock on disk which tool definitions each arm really showed. What is noted already stays.
    pub fn note_tools(path: &Path, seen: &BTreeMap<ArmId, Sha256Hex>) -> Result<(), LockError> {
        let mut lock = Self::read(path)?;
        let mut changed = false;
        for arm in lock.get_mut("arms").and_then(Value::as_array_mut).into_iter().flatten() {
            let digest = arm.get("name").and_then(Value::as_str).and_then(|name| {
                seen.iter().find(|(id, _)| id.as_str() == name).map(|(_, digest)| digest.as_str().to_owned())
            });
            if let (Some(digest), Some(Value::Null)) = (digest, arm.get("tools_sha256")) {
                arm["tools_sha256"] = Value::String(digest);
                changed = true;
            }
        }
        if changed { write_json(path, &lock) } else { Ok(()) }
    }

    /// Writes it beside its journal.
    pub fn write(&self, path: &Path) -> Result<(), LockError> {
        write_json(path, self)
    }

    /// Reads a lock of any version as JSON.
    pub fn read(path: &Path) -> Result<Value, LockError> {
        let text = std::fs::read(path).map_err(|source| LockError::Io { path: path.to_owned(), source })?;
        serde_json::from_slice(&text).map_err(|source| LockError::Json { path: path.to_owned(), source })
    }
}

impl Lock {
    /// Writes a lock that was read, as it is by now.
    pub fn write_value(path: &Path, lock: &Value) -> Result<(), LockError> {
        write_json(path, lock)
    }
}

/// The pre-registration hash of a lock as JSON.
fn hash_of(mut lock: Value) -> Sha256Hex {
    forget_tools(&mut lock);
    if let Value::Object(map) = &mut lock {
        // In a way that keeps the order of what stays: a shard's lock has the hash of the whole run's.
        map.shift_remove("shard");
        for key in Lock::OUTSIDE_HASH {
            map.remove(key);
        }
        if let Some(Value::Object(rules)) = map.get_mut("rules") {
            rules.remove("max_reruns_per_block");
        }
    }
    Sha256Hex::of_json(&lock)
}

/// To a temporary file, synced, then renamed: a reader sees the old lock or the new one.
fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), LockError> {
    use std::io::Write as _;
    let io = |source| LockError::Io { path: path.to_owned(), source };
    let mut text = serde_json::to_vec_pretty(value).expect("a lock is a JSON value");
    text.push(b'\n');
    let temporary = path.with_extension("json.new");
    let mut file = File::create(&temporary).map_err(io)?;
    file.write_all(&text).map_err(io)?;
    file.sync_data().map_err(io)?;
    std::fs::rename(&temporary, path).map_err(io)
}

/// The first outcome-relevant field in which a lock on disk differs from the one that would be written now, as
/// `key.path: was … now …`; `None` when both have the same pre-registration hash.
pub fn lock_difference(on_disk: &Value, now: &Lock) -> Option<String> {
    locks_difference(on_disk, &serde_json::to_value(now).expect("a lock is a JSON value"))
}

/// The same for two locks that were read.
pub fn locks_difference(on_disk: &Value, now: &Value) -> Option<String> {
    let mut now_value = now.clone();
    let mut on_disk = on_disk.clone();
    forget_tools(&mut now_value);
    forget_tools(&mut on_disk);
    if on_disk.get("rules_sha256") == now_value.get("rules_sha256") {
        return None;
    }
    let mut found = None;
    let mut keys: Vec<&String> = now_value.as_object().map(|m| m.keys().collect()).unwrap_or_default();
    keys.retain(|key| !Lock::OUTSIDE_HASH.contains(&key.as_str()));
    for key in keys {
        let (was, is) = (on_disk.get(key).unwrap_or(&Value::Null), &now_value[key]);
        first_difference(key, was, is, &mut found);
    }
    Some(found.unwrap_or_else(|| "rules_sha256: the hash was made by another version of bench".to_owned()))
}

/// Which tools an arm showed is seen only when it has run: no part of what was decided beforehand.
fn forget_tools(lock: &mut Value) {
    for arm in lock.get_mut("arms").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(arm) = arm.as_object_mut() {
            arm.remove("tools_sha256");
        }
    }
}

fn first_difference(path: &str, was: &Value, now: &Value, found: &mut Option<String>) {
    // Noted after the first cells, outside the hash: never what makes two locks differ.
    if found.is_some() || was == now || path.ends_with(".tools_sha256") {
        return;
    }
    match (was, now) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let null = Value::Null;
                first_difference(
                    &format!("{path}.{key}"),
                    a.get(key).unwrap_or(&null),
                    b.get(key).unwrap_or(&null),
                    found,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (x, y)) in a.iter().zip(b).enumerate() {
                first_difference(&format!("{path}[{index}]"), x, y, found);
            }
        }
        _ => *found = Some(format!("{path}: was {was}, now {now}")),
    }
}

/// The exclusive right to work on a run directory; released when dropped.
#[derive(Debug)]
pub struct HeldLock {
    _file: File,
}

impl HeldLock {
    /// Takes the right, or says that another process has it. The file is closed on exec, so no child keeps it.
    pub fn take(run: &Path) -> Result<Self, LockError> {
        let path = run.join(".held");
        let io = |source| LockError::Io { path: path.clone(), source };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(std::fs::TryLockError::WouldBlock) => Err(LockError::Held { path: run.to_owned() }),
            Err(std::fs::TryLockError::Error(source)) => Err(io(source)),
        }
    }

    /// Has another process taken it? A run directory that was never worked on is free.
    pub fn is_taken(run: &Path) -> bool {
        let Ok(file) = File::open(run.join(".held")) else { return false };
        matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock))
    }
}
