//! What the lock pre-registered, read back from its JSON: tasks, arms, contrasts, gates, rules. Only the fields that an
//! analysis needs; the lock's own type is written by `bench-record` and never parsed back.

use std::collections::BTreeMap;

use bench_core::experiment::{Profile, ProfileKind, Rules};
use bench_core::ledger::TokenizerIdentity;
use bench_core::{ArmId, ContrastId, ContrastRole, Factor, GateRule, IsolationLevel, Margin, Metric, TaskId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why lock and journal cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum AnalysisError {
    /// A field of the lock is missing or of another form.
    #[error(
        "lock.json: {key}: {source}; the run directory is damaged or was written by another version of bench"
    )]
    Lock {
        /// The field.
        key: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The lock is newer than this build.
    #[error("lock.json: format_version {found}, this build reads up to {known}; use a newer bench")]
    Version {
        /// Version found.
        found: u32,
        /// Newest version known.
        known: u32,
    },
    /// A gate or contrast names something that the lock does not hold.
    #[error(
        "lock.json: {what} {name:?} is named by {by} and stands nowhere; the lock was edited, start another run with --new"
    )]
    Unknown {
        /// `contrast` or `arm`.
        what: &'static str,
        /// The name.
        name: String,
        /// Who names it.
        by: String,
    },
    /// A gate whose rule does not fit its metric.
    #[error("gate {gate}: {metric} cannot be judged by this rule; use {remedy}")]
    RuleOfMetric {
        /// The gate.
        gate: String,
        /// Its metric.
        metric: Metric,
        /// The rule that fits.
        remedy: &'static str,
    },
    /// A record of a cell that the lock does not plan.
    #[error("journal: cell {cell} is not in the lock's plan; journal and lock belong to different runs")]
    ForeignCell {
        /// The cell.
        cell: String,
    },
}

/// An arm as locked.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ArmEntry {
    pub(crate) name: ArmId,
    #[serde(default)]
    pub(crate) profile: Profile,
}

/// A contrast as locked.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ContrastEntry {
    pub(crate) id: ContrastId,
    pub(crate) control: ArmId,
    pub(crate) candidate: ArmId,
    pub(crate) factor: Factor,
    pub(crate) role: ContrastRole,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct NatureEntry {
    deterministic: bool,
    censorable: bool,
}

#[derive(Debug, Clone, Deserialize)]
struct UpstreamEntry {
    kind: String,
}

#[derive(Debug, Clone, Deserialize)]
struct IsolationEntry {
    level: IsolationLevel,
}

/// The pre-registered plan and rules.
#[derive(Debug, Clone)]
pub struct Protocol {
    pub(crate) experiment: String,
    pub(crate) lock_sha256: String,
    pub(crate) tasks: Vec<TaskId>,
    pub(crate) skipped: BTreeMap<String, String>,
    pub(crate) arms: Vec<ArmEntry>,
    pub(crate) contrasts: Vec<ContrastEntry>,
    pub(crate) gates: Vec<GateRule>,
    pub(crate) rules: Rules,
    pub(crate) seed: u64,
    pub(crate) repeats: u32,
    pub(crate) upstream: String,
    pub(crate) tokenizer: TokenizerIdentity,
    pub(crate) isolation_level: IsolationLevel,
    pub(crate) kernel: Option<String>,
    /// Why the rules were not written before the data, in words.
    pub(crate) exploratory: Option<String>,
    natures: BTreeMap<String, NatureEntry>,
}

/// What a metric is in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nature {
    /// Must repeats agree exactly?
    pub(crate) deterministic: bool,
    /// Is it cut off when a limit ends the cell?
    pub(crate) censorable: bool,
}

fn field<T: DeserializeOwned>(lock: &Value, key: &'static str) -> Result<T, AnalysisError> {
    let value = lock.get(key).cloned().unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(|source| AnalysisError::Lock { key, source })
}

impl Protocol {
    /// Reads and checks the lock's fields.
    pub fn read(lock: &Value) -> Result<Self, AnalysisError> {
        let found: u32 = field(lock, "format_version")?;
        let known = bench_record::FORMAT_VERSION;
        if found > known {
            return Err(AnalysisError::Version { found, known });
        }
        let upstream: UpstreamEntry = field(lock, "upstream")?;
        let isolation: IsolationEntry = field(lock, "isolation")?;
        let protocol = Self {
            experiment: field(lock, "experiment")?,
            lock_sha256: field(lock, "rules_sha256")?,
            tasks: field(lock, "tasks")?,
            skipped: field::<Option<_>>(lock, "skipped")?.unwrap_or_default(),
            arms: field(lock, "arms")?,
            contrasts: field(lock, "contrasts")?,
            gates: field(lock, "gates")?,
            rules: field(lock, "rules")?,
            seed: field(lock, "seed")?,
            repeats: field(lock, "repeats")?,
            upstream: upstream.kind,
            tokenizer: field(lock, "tokenizer")?,
            isolation_level: isolation.level,
            kernel: field(lock, "kernel")?,
            exploratory: field(lock, "exploratory")?,
            natures: field(lock, "metrics")?,
        };
        protocol.check_names()?;
        Ok(protocol)
    }

    fn check_names(&self) -> Result<(), AnalysisError> {
        for contrast in &self.contrasts {
            for arm in [&contrast.control, &contrast.candidate] {
                if self.arm_index(arm).is_none() {
                    let by = format!("contrast {}", contrast.id);
                    return Err(AnalysisError::Unknown { what: "arm", name: arm.to_string(), by });
                }
            }
        }
        for gate in &self.gates {
            for name in &gate.contrasts {
                if !self.contrasts.iter().any(|c| &c.id == name) {
                    let by = format!("gate {}", gate.id);
                    return Err(AnalysisError::Unknown { what: "contrast", name: name.to_string(), by });
                }
            }
            check_rule(gate)?;
        }
        Ok(())
    }

    /// The arm's place in the lock.
    pub(crate) fn arm_index(&self, arm: &ArmId) -> Option<usize> {
        self.arms.iter().position(|entry| &entry.name == arm)
    }

    /// Does the same request always get the same answer?
    pub(crate) fn is_deterministic(&self) -> bool {
        self.upstream == "oracle"
    }

    /// Arms that the oracle plays imperfectly.
    pub(crate) fn imperfect_arms(&self) -> Vec<&ArmEntry> {
        self.arms.iter().filter(|arm| arm.profile.kind != ProfileKind::Perfect).collect()
    }

    /// Has the metric no meaning in this run? Under an oracle that plays perfectly nothing fails by the model's doing and
    /// nobody waits for a model.
    pub(crate) fn not_applicable(&self, metric: Metric) -> bool {
        let about_the_model =
            matches!(metric, Metric::PassRate | Metric::WallMs | Metric::DiscoveryRate | Metric::HumanSteps);
        about_the_model && self.is_deterministic() && self.imperfect_arms().is_empty()
    }

    /// What the metric is, as pre-registered; under a deterministic upstream everything that follows from the requests
    /// is deterministic too.
    pub(crate) fn nature(&self, metric: Metric) -> Nature {
        let by_type = metric.nature();
        let locked = self.natures.get(metric.key());
        let deterministic = locked.map_or(by_type.deterministic, |n| n.deterministic)
            || (self.is_deterministic() && follows_from_requests(metric));
        Nature { deterministic, censorable: locked.map_or(by_type.censorable, |n| n.censorable) }
    }

    /// Gates that hang on a contrast, in the order of the lock.
    pub(crate) fn gates_of<'a>(&'a self, contrast: &'a ContrastEntry) -> impl Iterator<Item = &'a GateRule> {
        self.gates.iter().filter(move |gate| gate.contrasts.contains(&contrast.id))
    }
}

fn check_rule(gate: &GateRule) -> Result<(), AnalysisError> {
    let by_difference = gate.metric == Metric::PassRate;
    let remedy = match &gate.margin {
        Margin::RatioAtMost { .. } if by_difference => "a non-inferiority margin",
        Margin::RatioAtMost { .. } if gate.metric.is_rate() => "a least rate",
        Margin::NonInferior { .. } if !by_difference => "a ratio limit",
        Margin::RateAtLeast { .. } if !gate.metric.is_rate() => "a ratio limit",
        Margin::NeverAbove { .. } if gate.metric.nature().unit != "count" => "a ratio limit or a margin",
        Margin::AnyBetter { outcomes } if outcomes.is_empty() => "at least one outcome",
        Margin::RatioAtMost { .. }
        | Margin::NonInferior { .. }
        | Margin::RateAtLeast { .. }
        | Margin::NeverAbove { .. }
        | Margin::AnyBetter { .. } => return Ok(()),
    };
    Err(AnalysisError::RuleOfMetric { gate: gate.id.to_string(), metric: gate.metric, remedy })
}

fn follows_from_requests(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::FirstRequestTokens
            | Metric::InputTokens
            | Metric::OutputTokens
            | Metric::TotalTokens
            | Metric::Requests
            | Metric::Turns
            | Metric::ToolCalls
            | Metric::NestedToolCalls
            | Metric::ToolErrors
            | Metric::Loads
            | Metric::UnneededLoads
            | Metric::LateLoads
            | Metric::LifecycleViolations
    )
}
