//! Adapter files: how an agent is started, as data. The format is told in `catalog/README.md`.

use std::collections::BTreeMap;

use bench_core::evidence::{Housekeeping, NestedCallLine};
use bench_core::{AgentId, SurfaceId, WireKind};
use serde::Deserialize;
use serde_json::Value;

/// An agent as its file describes it. Texts hold placeholders of [`crate::fill`].
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Adapter {
    /// The agent.
    pub name: AgentId,
    /// Raised whenever the way in which the agent is started changes.
    pub version: u32,
    /// The API that it speaks.
    pub wire: WireKind,
    /// By which its tools are played.
    pub lexicon: String,
    /// `own`, `arm` (the arm's command line), or a path.
    pub program: String,
    /// Arguments; `{surface-args}` and `{thinking-args}` stand for those of the surface and of a set thinking effort.
    pub args: Vec<String>,
    /// Arguments where a thinking effort is set.
    #[serde(default)]
    pub thinking_args: Vec<String>,
    /// Do the arm's `command` and its arguments stand between program and `args`?
    #[serde(default)]
    pub takes_command: bool,
    /// What it must read and execute beyond the system's directories.
    #[serde(default)]
    pub readable: Vec<String>,
    /// What its program is known to do outside the cell and is refused.
    #[serde(default)]
    pub housekeeping: Vec<Housekeeping>,
    /// How its standard output tells calls that code made; none = it does not tell.
    pub nested_call: Option<NestedCallLine>,
    /// `catalogue`, or the variants that the agent itself can show.
    pub surfaces: SurfacesFile,
    /// Where it comes from; none = nothing to install.
    pub install: Option<InstallFile>,
    /// Variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files in its HOME.
    #[serde(default)]
    pub files: Vec<FileFile>,
}

impl Adapter {
    /// Its files and those of its surfaces.
    pub(crate) fn all_files(&self) -> impl Iterator<Item = &FileFile> {
        let variants = match &self.surfaces {
            SurfacesFile::Word(_) => &[][..],
            SurfacesFile::Variants(variants) => variants.as_slice(),
        };
        self.files.iter().chain(variants.iter().flat_map(|variant| &variant.files))
    }
}

/// Surfaces of an agent.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum SurfacesFile {
    /// `catalogue`: every surface of the catalogue.
    Word(String),
    /// Variants of its own.
    Variants(Vec<VariantFile>),
}

/// A surface that a real agent can show.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct VariantFile {
    /// Its name.
    pub name: SurfaceId,
    /// Arguments that make the agent show it.
    #[serde(default)]
    pub args: Vec<String>,
    /// Variables that make the agent show it.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files that make the agent show it; one with the path of an adapter's file takes its place.
    #[serde(default)]
    pub files: Vec<FileFile>,
}

impl VariantFile {
    /// A surface that takes nothing to be shown.
    pub(crate) fn named(name: &SurfaceId) -> Self {
        Self { name: name.clone(), args: Vec::new(), env: BTreeMap::new(), files: Vec::new() }
    }
}

/// How an agent comes onto a machine and how it is recognised there.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct InstallFile {
    /// Command lines that install it.
    pub commands: Vec<String>,
    /// Files that must be there.
    pub needed: Vec<String>,
    /// JSON file whose `version` is the agent's.
    pub version_file: String,
    /// File whose digest identifies what is installed.
    pub identity: String,
}

/// A file placed into HOME.
#[derive(Debug, Clone, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct FileFile {
    /// Relative to HOME.
    pub path: String,
    /// Its content as JSON with placeholders.
    #[serde(default, deserialize_with = "json_text")]
    pub json: Option<Value>,
    /// Its content as text of any other form; placeholders become text, a line that holds `{name?}` without a value is
    /// left out.
    pub text: Option<String>,
}

fn json_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let text = String::deserialize(deserializer)?;
    serde_json::from_str(&text).map(Some).map_err(serde::de::Error::custom)
}
