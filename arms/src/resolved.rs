//! An arm that can be started here, and how: pure from here on.

use std::path::PathBuf;
use std::sync::Arc;

use bench_core::{Arm, Invocation, Lexicon, PlacedFile, Program, Sha256Hex, Surface, WireKind};
use serde_json::{Value, json};

use crate::adapter::{Adapter, FileFile, VariantFile};
use crate::catalog::agents_values;
use crate::fill::{self, Values};

/// What the attempt provides to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The recorder's address up to and including `/v1`.
    pub base_url: String,
    /// What the agent sends where a key would stand.
    pub credential: String,
    /// What the user asks for.
    pub instruction: String,
    /// The cell's HOME.
    pub home: PathBuf,
    /// The cell's workspace.
    pub workspace: PathBuf,
}

/// An arm whose agent is there.
#[derive(Debug, Clone)]
pub struct ResolvedArm {
    /// What the installed agent says it is; null for our own and for command lines.
    pub agent_version: Option<String>,
    /// File whose digest identifies the agent, for the lock; null for this binary itself.
    pub binary: Option<PathBuf>,
    /// Digest of the surface as data, or of the adapter's way to ask for it.
    pub surface_sha256: Sha256Hex,
    /// How the oracle plays through the agent's tools.
    pub lexicon: Arc<Lexicon>,
    /// The surface as data; null for real agents, which have their own.
    pub surface: Option<Surface>,
    /// The API that the agent speaks.
    pub wire: WireKind,
    pub(crate) adapter: Adapter,
    pub(crate) variant: VariantFile,
    pub(crate) started: Started,
}

/// What was found on this machine. The default is this binary itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct Started {
    /// Program and arguments of its own; empty = this binary.
    pub command: Vec<String>,
    pub readable: Vec<PathBuf>,
    pub version: Option<String>,
    pub binary: Option<PathBuf>,
    pub agents_dir: Option<PathBuf>,
}

impl ResolvedArm {
    /// Directories and files that the agent must read beyond the system's.
    pub fn readable(&self) -> Vec<PathBuf> {
        self.started.readable.clone()
    }

    /// How the agent is started for one attempt.
    pub fn invocation(&self, arm: &Arm, site: &Site) -> Invocation {
        let values = self.values(arm, site);
        // Other words in braces may mean something to the command line itself.
        let mut in_command = values.clone();
        in_command.retain(|name, _| ["instruction", "base_url", "credential", "model"].contains(name));
        let own_args = self.started.command.iter().skip(1).map(|arg| fill::text(arg, &in_command));
        let args = own_args.chain(self.adapter.args.iter().flat_map(|arg| self.filled(arg, arm, &values)));
        Invocation {
            program: self.started.command.first().map_or(Program::Own, |path| Program::Path(path.into())),
            args: args.collect(),
            env: self
                .adapter
                .env
                .iter()
                .chain(&self.variant.env)
                .map(|(key, value)| (key.clone(), fill::text(value, &values)))
                .collect(),
            files: self
                .files()
                .map(|file| PlacedFile {
                    path: file.path.clone(),
                    text: match (&file.json, &file.text) {
                        (Some(json), _) => fill::json(json, &values).to_string(),
                        (None, text) => fill::lines(text.as_deref().unwrap_or_default(), &values),
                    },
                })
                .collect(),
            readable: self.started.readable.clone(),
            housekeeping: self.adapter.housekeeping.clone(),
            path_prefix: Vec::new(),
            wire: self.wire,
        }
    }

    /// Files of the surface, and those of the adapter whose place they do not take.
    fn files(&self) -> impl Iterator<Item = &FileFile> {
        let own = &self.variant.files;
        let kept = self.adapter.files.iter().filter(|file| !own.iter().any(|f| f.path == file.path));
        kept.chain(own)
    }

    /// One argument of the adapter, or the several for which it stands.
    fn filled(&self, arg: &str, arm: &Arm, values: &Values) -> Vec<String> {
        let all = |args: &[String]| args.iter().map(|arg| fill::text(arg, values)).collect();
        match arg {
            "{surface-args}" => all(&self.variant.args),
            "{thinking-args}" if arm.settings.thinking.is_none() => Vec::new(),
            "{thinking-args}" => all(&self.adapter.thinking_args),
            _ => vec![fill::text(arg, values)],
        }
    }

    fn values(&self, arm: &Arm, site: &Site) -> Values {
        let settings = &arm.settings;
        let json_of = |value: serde_json::Result<String>| value.expect("our own types are valid JSON values");
        let mut values = Values::from([
            ("base_url", json!(site.base_url)),
            ("origin", json!(site.base_url.strip_suffix("/v1").unwrap_or(&site.base_url))),
            ("credential", json!(site.credential)),
            ("instruction", json!(site.instruction)),
            ("home", json!(site.home)),
            ("workspace", json!(site.workspace)),
            ("model", json!(arm.model)),
            ("settings", json!(json_of(serde_json::to_string(settings)))),
            ("capabilities", json!(json_of(serde_json::to_string(&arm.capabilities)))),
            ("wire", json!(self.wire.word())),
            ("temperature", json!(settings.temperature)),
            ("max_output_tokens", json!(settings.max_output_tokens)),
            ("sampling_seed", json!(settings.sampling_seed)),
            ("thinking", json!(settings.thinking)),
            ("thinks", json!(settings.thinking.is_some())),
        ]);
        let surface = self.surface.as_ref().map(|surface| json_of(serde_json::to_string(surface)));
        values.insert("surface", surface.map_or(Value::Null, Value::String));
        if let Some(dir) = &self.started.agents_dir {
            values.extend(agents_values(dir));
        }
        values
    }
}
