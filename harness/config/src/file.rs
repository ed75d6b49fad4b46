//! The experiment file as it is written: plain structs, one doc comment per key. From these comments come the JSON
//! schema and the reference page, so they are written for the person who edits the file.
//!
//! Words and names are kept as text with their place; `check` turns them into the nouns of `bench-core`. Tags, flattening
//! and untagged variants are avoided on purpose: with them serde loses the places and the unknown keys.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// An experiment: arms, tasks, contrasts, repeats, limits and gates.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(title = "bench experiment file", extend("required" = ["name"]))]
pub struct ExperimentFile {
    /// Name of the experiment. Run directories start with it.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The one seed from which the order of cells and the oracle's imperfect profiles are drawn.
    #[schemars(with = "Option<u64>", extend("default" = 1))]
    pub seed: Option<u64>,
    /// Blocks per task: how often each task is done by every arm. An even number balances the order within each task.
    #[schemars(with = "Option<u32>", range(min = 1, max = 9999), extend("default" = 2))]
    pub repeats: Option<Spanned<u32>>,
    /// What the run is for: `smoke` may FAIL, never PASS, and is never pooled with another; `confirm` decides.
    #[schemars(with = "Option<String>", extend("enum" = ["smoke", "confirm"], "default" = "confirm"))]
    pub stage: Option<Spanned<String>>,
    /// The suite whose tasks are done.
    #[schemars(with = "Option<String>", extend("default" = "default"))]
    pub suite: Option<Spanned<String>>,
    /// The tasks of the suite that take part, in this order. Left out: all of them.
    #[schemars(with = "Option<Vec<String>>")]
    pub tasks: Option<Spanned<Vec<Spanned<String>>>>,
    /// Model id that every arm asks for, unless the arm names its own. Required unless the upstream is `oracle`, which
    /// accepts any id; there it defaults to `oracle`.
    #[schemars(with = "Option<String>")]
    pub model: Option<Spanned<String>>,
    /// Tokenizer that counts every request of every arm: one basis per experiment. Left out: that of the arms' models where
    /// they share one (`deepseek_v3`, `qwen2`, `kimi_k2`, `glm4`, `cl100k_base`), else `o200k_base`.
    #[schemars(with = "Option<String>")]
    pub tokenizer: Option<Spanned<String>>,
    /// The weakest isolation at which a cell may be started: `L1`, `L2` or `L3`. Default: `L1` with the oracle, `L2` with a
    /// real upstream; a lower level than the default holds only when it is written here.
    #[schemars(with = "Option<String>", extend("enum" = ["L1", "L2", "L3"]))]
    pub min_isolation: Option<Spanned<String>>,
    /// What an attempt on something outside the cell does, refused or not: `invalid` = the cell ends as `outside_access`
    /// and its block leaves every metric, `count` = the cell counts as graded. It is a metric of its arm either way.
    #[schemars(with = "Option<String>", extend("enum" = ["invalid", "count"], "default" = "invalid"))]
    pub on_outside_access: Option<Spanned<String>>,
    /// Fixed port on the loopback address for the recorder, for machines where a port must be opened by hand. Left out:
    /// any free port.
    #[schemars(with = "Option<u16>", range(min = 1))]
    pub recorder_port: Option<Spanned<u16>>,
    /// Who answers model calls.
    #[schemars(with = "Option<UpstreamFile>")]
    pub upstream: Option<Spanned<UpstreamFile>>,
    /// Model settings, equal for all arms unless an arm has its own.
    pub settings: Option<SettingsFile>,
    /// What the model can do beyond plain calls of tools, for all arms unless an arm says otherwise. Nothing is ever
    /// derived from a model's name.
    pub capabilities: Option<CapabilitiesFile>,
    /// Caps per attempt.
    pub limits: Option<LimitsFile>,
    /// Caps on the whole run. Raised, the same command goes on.
    pub run_limits: Option<RunLimitsFile>,
    /// What tokens cost, per model. A model that no entry names has no price: its cost is unknown, not zero.
    #[serde(default)]
    #[schemars(with = "Vec<PriceFile>")]
    pub price: Vec<Spanned<PriceFile>>,
    /// Numbers of the decision rules. They are written into the lock before the first cell.
    pub rules: Option<RulesFile>,
    /// Arms of the reference agent made from factors of its surfaces: one for every combination.
    #[schemars(with = "Option<MatrixFile>")]
    pub matrix: Option<Spanned<MatrixFile>>,
    /// The arms, at least one here or in `matrix`.
    #[serde(default)]
    #[schemars(with = "Vec<ArmFile>")]
    pub arm: Vec<Spanned<ArmFile>>,
    /// Planned comparisons of two arms.
    #[serde(default)]
    #[schemars(with = "Vec<ContrastFile>")]
    pub contrast: Vec<Spanned<ContrastFile>>,
    /// Rules on the contrasts, written down before the first cell.
    #[serde(default)]
    #[schemars(with = "Vec<GateFile>")]
    pub gate: Vec<Spanned<GateFile>>,
}

/// Who answers model calls.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct UpstreamFile {
    /// `oracle` (built in: plays each task's reference plan, needs no key and no network), `replay` (the answers of a
    /// recorded run), or the API of an endpoint: `openai-chat`, `openai-responses`, `anthropic-messages`,
    /// `gemini-generate-content`. It decides the header that carries the key.
    #[schemars(with = "Option<String>", extend("enum" = ["oracle", "openai-chat", "openai-responses", "anthropic-messages", "gemini-generate-content", "replay"], "default" = "oracle"))]
    pub kind: Option<Spanned<String>>,
    /// Base URL of the endpoint up to and including its version part, without a slash at the end, for example
    /// `https://api.deepseek.com/v1`.
    #[schemars(with = "Option<String>")]
    pub base_url: Option<Spanned<String>>,
    /// Name of the environment variable that holds the key. Never the key itself. Left out: no key is sent.
    #[schemars(with = "Option<String>")]
    pub key_env: Option<Spanned<String>>,
    /// Run directory whose answers are replayed, with `kind = "replay"`. Arms, tasks and repeats must be those of that run.
    #[schemars(with = "Option<String>")]
    pub run: Option<Spanned<String>>,
    /// Requests in flight at the endpoint at once. Left out: as many as `-j` brings.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub concurrency: Option<Spanned<u32>>,
    /// File of certificates in PEM that are trusted beside the public authorities. `SSL_CERT_FILE` is honoured as well.
    #[schemars(with = "Option<String>")]
    pub ca_file: Option<Spanned<String>>,
    /// Milliseconds until the first byte of an answer before the try counts as failed. Left out: 300000.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub first_byte_ms: Option<Spanned<u64>>,
    /// Milliseconds that an answer may stand still before it counts as broken off. Left out: 120000.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub idle_ms: Option<Spanned<u64>>,
}

/// Model settings. Left out: not sent, the provider's own default holds.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SettingsFile {
    /// Sampling temperature.
    #[schemars(with = "Option<f64>", range(min = 0.0))]
    pub temperature: Option<Spanned<f64>>,
    /// Cap on the tokens of one response.
    #[schemars(with = "Option<u32>", range(min = 1))]
    pub max_output_tokens: Option<Spanned<u32>>,
    /// Thinking effort, in the provider's own word.
    #[schemars(with = "Option<String>")]
    pub thinking: Option<String>,
    /// Seed passed to the provider. Not the experiment's `seed`.
    #[schemars(with = "Option<u64>")]
    pub sampling_seed: Option<u64>,
}

/// Caps per attempt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LimitsFile {
    /// Wall clock of the agent, milliseconds.
    #[schemars(with = "Option<u64>", range(min = 1), extend("default" = 600_000))]
    pub wall_ms: Option<Spanned<u64>>,
    /// Wall clock of the verifier, milliseconds.
    #[schemars(with = "Option<u64>", range(min = 1), extend("default" = 120_000))]
    pub verify_wall_ms: Option<Spanned<u64>>,
    /// Turns of the agent's own loop.
    #[schemars(with = "Option<u32>", range(min = 1), extend("default" = 100))]
    pub turns: Option<Spanned<u32>>,
    /// Requests to the model of every kind.
    #[schemars(with = "Option<u32>", range(min = 1), extend("default" = 300))]
    pub requests: Option<Spanned<u32>>,
    /// Input plus output tokens, counted here. Left out: no cap.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub total_tokens: Option<Spanned<u64>>,
    /// US dollars by the `price` entries, which must name every arm's model. Left out: no cap.
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0.0))]
    pub cost_usd: Option<Spanned<f64>>,
    /// Bytes of stdout plus stderr of the agent.
    #[schemars(with = "Option<u64>", range(min = 1), extend("default" = 16_777_216))]
    pub output_bytes: Option<Spanned<u64>>,
}

/// Caps on the whole run: over all attempts and all commands that continue it. When one is reached, no further cell is
/// started, those in flight are ended, and exit code 7 says so.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RunLimitsFile {
    /// Requests to the model of every kind.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub requests: Option<Spanned<u64>>,
    /// Input plus output tokens, counted here.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub total_tokens: Option<Spanned<u64>>,
    /// US dollars by the `price` entries, which must name every arm's model.
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0.0))]
    pub cost_usd: Option<Spanned<f64>>,
    /// Milliseconds since the command was started.
    #[schemars(with = "Option<u64>", range(min = 1))]
    pub wall_ms: Option<Spanned<u64>>,
}

/// What tokens of a model cost, in US dollars per million.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PriceFile {
    /// Model id; `*` stands for any text. The first entry that fits holds.
    #[schemars(with = "String")]
    pub model: Spanned<String>,
    /// Input that was not read from the provider's cache.
    #[schemars(with = "f64", range(min = 0.0))]
    pub input: Spanned<f64>,
    /// Input that was. Left out: as other input.
    #[schemars(with = "Option<f64>", range(min = 0.0))]
    pub cached_input: Option<Spanned<f64>>,
    /// Input that was written to that cache. Left out: as other input.
    #[schemars(with = "Option<f64>", range(min = 0.0))]
    pub cache_write: Option<Spanned<f64>>,
    /// Output, reasoning included.
    #[schemars(with = "f64", range(min = 0.0))]
    pub output: Spanned<f64>,
}

/// Numbers of the decision rules.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RulesFile {
    /// One-sided error per gate, above 0 and below 0.5.
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 0.5, "default" = 0.05))]
    pub alpha: Option<Spanned<f64>>,
    /// Share of invalid blocks above which the whole run is invalid, 0 to 1.
    #[schemars(with = "Option<f64>", range(min = 0.0, max = 1.0), extend("default" = 0.2))]
    pub max_invalid_fraction: Option<Spanned<f64>>,
    /// Factor put on the costs of candidate cells that a limit cut off; a PASS must survive it. At least 1.
    #[schemars(with = "Option<f64>", range(min = 1.0), extend("default" = 2.0))]
    pub par: Option<Spanned<f64>>,
    /// How often a block is done again when one of its cells failed for a reason that was not the agent's.
    #[schemars(with = "Option<u32>", range(min = 0, max = 9), extend("default" = 1))]
    pub max_reruns_per_block: Option<Spanned<u32>>,
    /// Least standard deviation of a task's log ratio, taken from an A/A run: stands in where a metric that is not
    /// deterministic shows no spread at all. Left out: such a gate stays inconclusive.
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0.0))]
    pub sd_floor: Option<Spanned<f64>>,
    /// What is claimed when several candidates are gated: `all` must hold, any one by `holm`, or one after another in the
    /// order of the file (`fixed-sequence`).
    #[schemars(with = "Option<String>", extend("enum" = ["all", "holm", "fixed-sequence"], "default" = "all"))]
    pub candidates: Option<Spanned<String>>,
    /// How often the numbers are looked at for a decision, each time after as many whole repeats; it divides `repeats`. The
    /// first look that decides holds, and the error is shared out among the looks. Without it there is one look, at the end.
    #[schemars(with = "Option<u32>", range(min = 1, max = 10), extend("default" = 1))]
    pub looks: Option<Spanned<u32>>,
    /// How the error is shared out among several looks: `obrien-fleming` (little at first) or `pocock` (the same at each).
    #[schemars(with = "Option<String>", extend("enum" = ["obrien-fleming", "pocock"], "default" = "obrien-fleming"))]
    pub look_shape: Option<Spanned<String>>,
}

/// An arm: agent, surface, model and settings.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ArmFile {
    /// Its name.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The agent that is started: `reference` (built in), a real agent by its name, or `command` for any command line.
    #[schemars(with = "Option<String>", extend("default" = "reference"))]
    pub agent: Option<Spanned<String>>,
    /// The surface that the agent is asked to show. May be left out where the agent knows only one.
    #[schemars(with = "Option<String>")]
    pub surface: Option<Spanned<String>>,
    /// Program and arguments of `agent = "command"`, or script and arguments of `bun`, `node` or `python`; nowhere else.
    #[schemars(with = "Option<Vec<String>>")]
    pub command: Option<Spanned<Vec<String>>>,
    /// Model id that this arm asks for, instead of the experiment's.
    #[schemars(with = "Option<String>")]
    pub model: Option<Spanned<String>>,
    /// How the oracle plays this arm: perfectly, or with one seeded fault.
    #[schemars(with = "Option<ProfileFile>")]
    pub oracle_profile: Option<Spanned<ProfileFile>>,
    /// Model settings of this arm. Each key replaces the experiment's.
    pub settings: Option<SettingsFile>,
    /// Capability flags of this arm's model. Each key replaces the experiment's.
    pub capabilities: Option<CapabilitiesFile>,
}

/// Arms of the reference agent, one for every combination of the factors. Each factor is a list of surfaces of the
/// catalogue from which it is taken; a factor that is left out is as the base has it. An arm is called by the base and, for
/// every factor with several entries, `factor-entry`, joined by dots.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MatrixFile {
    /// The surface from which every arm begins.
    #[schemars(with = "String")]
    pub base: Spanned<String>,
    /// Tools with their exposure.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub tools: Vec<Spanned<String>>,
    /// How deferred tools become callable, and what is preloaded.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub discovery: Vec<Spanned<String>>,
    /// Guidance.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub guidance: Vec<Spanned<String>>,
    /// Instructions around tools and guidance.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub prompt: Vec<Spanned<String>>,
    /// Caps on results, and the archive.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub budget: Vec<Spanned<String>>,
    /// When the conversation is summed up.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub compaction: Vec<Spanned<String>>,
    /// How the calls of one turn are carried out.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub scheduling: Vec<Spanned<String>>,
    /// Surfaces whose code mode is taken.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub code: Vec<Spanned<String>>,
}

/// What a model can do beyond plain calls of tools. Left out: no, and nothing is sent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CapabilitiesFile {
    /// Tools that are found during the conversation can be called without standing in the request's tools.
    pub supports_tool_search: Option<bool>,
    /// Tools can be grouped below a name.
    pub supports_namespaces: Option<bool>,
    /// A tool can take free text instead of arguments by a schema.
    pub freeform_tools: Option<bool>,
    /// One turn may carry several calls. Sent where it is set; `false` also makes the agent carry calls out one by one.
    pub parallel_tool_calls: Option<bool>,
    /// The model is made to act through code alone.
    pub supports_code_mode_only: Option<bool>,
}

/// How the oracle plays an arm.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ProfileFile {
    /// The kind of play.
    #[schemars(with = "String", extend("enum" = ["perfect", "wanders", "gives-up", "wrong-arguments", "invents-tools", "never-discovers"]))]
    pub kind: Spanned<String>,
    /// Probability, per cell, that the fault occurs at all, 0 to 1.
    #[schemars(with = "Option<f64>", range(min = 0.0, max = 1.0), extend("default" = 1.0))]
    pub rate: Option<Spanned<f64>>,
}

/// A planned comparison of two arms.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ContrastFile {
    /// Its name.
    #[schemars(with = "String")]
    pub name: Spanned<String>,
    /// The arm compared with.
    #[schemars(with = "String")]
    pub control: Spanned<String>,
    /// The arm under examination.
    #[schemars(with = "String")]
    pub candidate: Spanned<String>,
    /// The one thing in which the two arms differ; a pair that differs in more is refused. A different `agent` may bring its
    /// own surface; `none` is a comparison of two equal arms.
    #[schemars(with = "String", extend("enum" = ["surface", "agent", "model", "settings", "oracle-profile", "none"]))]
    pub factor: Spanned<String>,
    /// `gate`: its gates decide the exit code. `reported`: its gates are shown and decide nothing. `negative-control`: its
    /// gates are expected to FAIL; when none does, the instrument is broken and the run is invalid.
    #[schemars(with = "Option<String>", extend("enum" = ["gate", "reported", "negative-control"], "default" = "gate"))]
    pub role: Option<Spanned<String>>,
}

/// A rule on one metric of one or more contrasts.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct GateFile {
    /// Its name. Left out: the metric.
    #[schemars(with = "Option<String>")]
    pub name: Option<Spanned<String>>,
    /// The number it looks at.
    #[schemars(with = "String", extend("enum" = metric_keys()))]
    pub metric: Spanned<String>,
    /// Largest tolerated ratio candidate / control, for every metric but `pass_rate`.
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0.0))]
    pub limit: Option<Spanned<f64>>,
    /// Largest tolerated loss of `pass_rate` as a fraction: 0.10 is ten points.
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub margin: Option<Spanned<f64>>,
    /// For `discovery_rate` (and other shares of cells): the least rate of the candidate, proven by an exact one-sided
    /// bound, for example 0.95.
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))]
    pub at_least: Option<Spanned<f64>>,
    /// For counts: no valid cell of the candidate may show more than this, for example 0.
    #[schemars(with = "Option<f64>", range(min = 0.0))]
    pub at_most: Option<Spanned<f64>>,
    /// The pre-registered primary outcomes of which at least one must be better than the control's (Holm over them). The
    /// gate's `metric` is one of them.
    #[schemars(with = "Option<Vec<String>>")]
    pub any_better: Option<Spanned<Vec<Spanned<String>>>>,
    /// Only tasks of this track. Left out: all tasks.
    #[schemars(with = "Option<String>", extend("enum" = ["default", "orchestration"]))]
    pub track: Option<Spanned<String>>,
    /// The contrasts it hangs on. Left out: all whose role is `gate` or `negative-control`.
    #[schemars(with = "Option<Vec<String>>")]
    pub contrasts: Option<Spanned<Vec<Spanned<String>>>>,
    /// `tasks-like-these`: PASS must hold for tasks like those that were done. `these-tasks`: for exactly these.
    #[schemars(with = "Option<String>", extend("enum" = ["tasks-like-these", "these-tasks"], "default" = "tasks-like-these"))]
    pub scope: Option<Spanned<String>>,
}

fn metric_keys() -> Vec<&'static str> {
    bench_core::Metric::ALL.iter().map(|metric| metric.key()).collect()
}
