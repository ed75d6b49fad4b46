//! The catalogue: what exists. Compiled in, read once, checked as a whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bench_core::{AgentId, Arm, Lexicon, Sha256Hex, Surface, SurfaceId};

use crate::adapter::{Adapter, InstallFile, SurfacesFile, VariantFile};
use crate::error::{ArmError, CatalogError};
use crate::resolved::{ResolvedArm, Started};
use crate::{fill, lexicon_file};

macro_rules! files {
    ($($path:literal),* $(,)?) => { [$(($path, include_str!(concat!("../", $path)))),*] };
}

const SURFACES: [(&str, &str); 23] = files![
    "catalog/surfaces/bare.toml",
    "catalog/surfaces/loaded.toml",
    "catalog/surfaces/gateway.toml",
    "catalog/surfaces/entries.toml",
    "catalog/surfaces/explicit.toml",
    "catalog/surfaces/all.toml",
    "catalog/surfaces/headless.toml",
    "catalog/surfaces/search-tail.toml",
    "catalog/surfaces/search-result.toml",
    "catalog/surfaces/devices.toml",
    "catalog/surfaces/native.toml",
    "catalog/surfaces/code-mode.toml",
    "catalog/surfaces/code-eval.toml",
    "catalog/surfaces/code-catalog.toml",
    "catalog/surfaces/code-filesystem.toml",
    "catalog/surfaces/code-sidecar.toml",
    "catalog/surfaces/code-exec.toml",
    "catalog/surfaces/code-mixed.toml",
    "catalog/surfaces/code-servers.toml",
    "catalog/surfaces/bare-servers.toml",
    "catalog/surfaces/code-capabilities.toml",
    "catalog/surfaces/lsp.toml",
    "catalog/surfaces/hashline.toml",
];
const ADAPTERS: [(&str, &str); 10] = files![
    "catalog/agents/reference.toml",
    "catalog/agents/reference-responses.toml",
    "catalog/agents/reference-messages.toml",
    "catalog/agents/pi.toml",
    "catalog/agents/codex.toml",
    "catalog/agents/claude.toml",
    "catalog/agents/command.toml",
    "catalog/agents/bun.toml",
    "catalog/agents/node.toml",
    "catalog/agents/python.toml",
];
const LEXICONS: [(&str, &str); 4] =
    files!["lexicon/reference.toml", "lexicon/pi.toml", "lexicon/codex.toml", "lexicon/claude.toml"];

/// Surfaces, agents and lexicons that this build knows, and where real agents are installed.
#[derive(Debug, Clone)]
pub struct Catalog {
    surfaces: BTreeMap<SurfaceId, Surface>,
    adapters: BTreeMap<AgentId, Adapter>,
    lexicons: BTreeMap<String, Arc<Lexicon>>,
    agents_dir: Option<PathBuf>,
}

/// An agent as found on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledAgent {
    /// Its name.
    pub name: AgentId,
    /// What it says it is; null for our own and for command lines.
    pub version: Option<String>,
    /// Why it cannot be started, with the remedy.
    pub problem: Option<String>,
    /// Command lines that install it, one after another; empty for our own and for command lines.
    pub install: Vec<String>,
}

/// An agent that is not there.
enum Absent {
    NoAgentsDir { install: String },
    File { path: PathBuf, install: String },
}

impl Catalog {
    /// The compiled-in catalogue; real agents are looked for below `agents_dir`. Fails only if this build is broken.
    pub fn builtin(agents_dir: Option<PathBuf>) -> Result<Self, CatalogError> {
        let mut catalog = Self {
            surfaces: BTreeMap::new(),
            adapters: BTreeMap::new(),
            lexicons: BTreeMap::new(),
            agents_dir,
        };
        for (file, text) in SURFACES {
            let surface: Surface = read(file, text)?;
            check_stem(file, surface.name.as_str())?;
            catalog.surfaces.insert(surface.name.clone(), surface);
        }
        for (file, text) in LEXICONS {
            let lexicon = lexicon_file::read(file, text)?;
            check_stem(file, &lexicon.name)?;
            catalog.lexicons.insert(lexicon.name.clone(), Arc::new(lexicon));
        }
        for (file, text) in ADAPTERS {
            let adapter: Adapter = read(file, text)?;
            check_stem(file, adapter.name.as_str())?;
            catalog.check_adapter(file, &adapter)?;
            catalog.adapters.insert(adapter.name.clone(), adapter);
        }
        Ok(catalog)
    }

    /// Every agent with the surfaces that it can show, whether or not it is installed here.
    pub fn agents(&self) -> BTreeMap<AgentId, Vec<SurfaceId>> {
        let surfaces = |adapter: &Adapter| match &adapter.surfaces {
            SurfacesFile::Word(_) => self.surfaces.keys().cloned().collect(),
            SurfacesFile::Variants(variants) => variants.iter().map(|variant| variant.name.clone()).collect(),
        };
        self.adapters.iter().map(|(agent, adapter)| (agent.clone(), surfaces(adapter))).collect()
    }

    /// The surfaces of the reference agent.
    pub fn surfaces(&self) -> impl Iterator<Item = &Surface> {
        self.surfaces.values()
    }

    /// Every agent with what is found of it on this machine: what `bench doctor` shows.
    pub fn installed_agents(&self) -> Vec<InstalledAgent> {
        let dir = self.agents_dir.as_deref().unwrap_or(Path::new("DIR"));
        let found = |adapter: &Adapter| {
            let install = adapter.install.as_ref().map_or_else(String::new, |rule| install_lines(rule, dir));
            let (version, problem) = match self.look_for(adapter) {
                Ok(started) => (started.version, None),
                Err(Absent::NoAgentsDir { install } | Absent::File { install, .. }) => {
                    (None, Some(format!("not installed; install it by:\n{install}")))
                }
            };
            let install = install.lines().map(|line| line.trim().to_owned()).collect();
            InstalledAgent { name: adapter.name.clone(), version, problem, install }
        };
        self.adapters.values().map(found).collect()
    }

    /// Finds what starting an arm takes on this machine. Fails, with the remedy, on names that do not exist and on an
    /// agent or program that is not there.
    pub fn resolve(&self, arm: &Arm) -> Result<ResolvedArm, ArmError> {
        let adapter = self.adapters.get(&arm.agent).ok_or_else(|| ArmError::UnknownAgent {
            arm: arm.id.to_string(),
            agent: arm.agent.to_string(),
            known: joined(self.adapters.keys()),
        })?;
        let (surface, variant) = self.shown(adapter, arm)?;
        let lexicon = self.lexicons.get(&adapter.lexicon).expect("checked when the catalogue was read");
        let started = match adapter.program.as_str() {
            "arm" => command_of(arm)?,
            _ if adapter.takes_command => self.runtime(adapter, arm)?,
            _ if !arm.command.is_empty() => {
                let (arm, agent) = (arm.id.to_string(), arm.agent.to_string());
                return Err(ArmError::CommandNotWanted { arm, agent });
            }
            _ => self.installed(adapter, arm)?,
        };
        let surface_sha256 = match &surface {
            Some(surface) => Sha256Hex::of_json(surface),
            None => {
                let told = (&variant.args, &variant.env, &variant.files);
                Sha256Hex::of_json(&(&adapter.name, adapter.version, &arm.surface, told))
            }
        };
        Ok(ResolvedArm {
            agent_version: started.version.clone(),
            binary: started.binary.clone(),
            surface_sha256,
            lexicon: Arc::clone(lexicon),
            surface,
            wire: adapter.wire,
            adapter: adapter.clone(),
            variant,
            started,
        })
    }

    /// The arm's surface as data, where it is one of the catalogue, or the arguments that make the agent show it.
    fn shown(&self, adapter: &Adapter, arm: &Arm) -> Result<(Option<Surface>, VariantFile), ArmError> {
        let unknown = |known: String| ArmError::UnknownSurface {
            arm: arm.id.to_string(),
            agent: arm.agent.to_string(),
            surface: arm.surface.to_string(),
            known,
        };
        match &adapter.surfaces {
            SurfacesFile::Word(_) => {
                let named = |id: &SurfaceId| {
                    self.surfaces.get(id).ok_or_else(|| unknown(joined(self.surfaces.keys())))
                };
                let mut surface = named(&arm.surface)?.clone();
                for (factor, from) in &arm.factors {
                    surface = surface.with(*factor, named(from)?);
                }
                Ok((Some(surface), VariantFile::named(&arm.surface)))
            }
            SurfacesFile::Variants(variants) => {
                let found = variants.iter().find(|variant| variant.name == arm.surface);
                let names = || joined(variants.iter().map(|variant: &VariantFile| &variant.name));
                found.map(|variant| (None, variant.clone())).ok_or_else(|| unknown(names()))
            }
        }
    }

    /// What is started for an agent that brings its own command line, once everything it needs is seen to be there.
    fn installed(&self, adapter: &Adapter, arm: &Arm) -> Result<Started, ArmError> {
        let (arm, agent) = (arm.id.to_string(), arm.agent.to_string());
        self.look_for(adapter).map_err(|absent| match absent {
            Absent::NoAgentsDir { install } => ArmError::NoAgentsDir { arm, agent, install },
            Absent::File { path, install } => ArmError::NotInstalled { arm, agent, path, install },
        })
    }

    /// A runtime with the arm's script.
    fn runtime(&self, adapter: &Adapter, arm: &Arm) -> Result<Started, ArmError> {
        if arm.command.is_empty() {
            return Err(ArmError::NoCommand { arm: arm.id.to_string() });
        }
        let mut started = self.installed(adapter, arm)?;
        started.readable.extend(scripts(&arm.command));
        started.command.extend(arm.command.iter().cloned());
        Ok(started)
    }

    fn look_for(&self, adapter: &Adapter) -> Result<Started, Absent> {
        let Some(install) = &adapter.install else { return Ok(Started::default()) };
        let Some(dir) = &self.agents_dir else {
            return Err(Absent::NoAgentsDir { install: install_lines(install, Path::new("DIR")) });
        };
        let below = |template: &String| PathBuf::from(fill::text(template, &agents_values(dir)));
        let needed = install.needed.iter().chain([&install.version_file, &install.identity]).map(below);
        if let Some(path) = needed.into_iter().find(|path| !path.is_file()) {
            return Err(Absent::File { path, install: install_lines(install, dir) });
        }
        Ok(Started {
            command: vec![below(&adapter.program).to_string_lossy().into_owned()],
            readable: adapter.readable.iter().map(below).collect(),
            version: version_in(&below(&install.version_file)),
            binary: Some(below(&install.identity)),
            agents_dir: Some(dir.clone()),
        })
    }

    fn check_adapter(&self, file: &str, adapter: &Adapter) -> Result<(), CatalogError> {
        let fault = match (&adapter.surfaces, adapter.program.as_str()) {
            _ if !self.lexicons.contains_key(&adapter.lexicon) => {
                format!("lexicon {:?} does not exist", adapter.lexicon)
            }
            (SurfacesFile::Word(word), _) if word != "catalogue" => {
                format!("surfaces = {word:?} is not \"catalogue\"")
            }
            _ if adapter.all_files().any(|file| file.json.is_some() == file.text.is_some()) => {
                "a file has `json` or `text`, one of them".to_owned()
            }
            (_, "own" | "arm") => return Ok(()),
            (_, program) if !program.starts_with("{agents}/") || adapter.install.is_none() => {
                format!(
                    "program {program:?} is neither \"own\" nor \"arm\" nor an installed one below {{agents}}"
                )
            }
            _ => return Ok(()),
        };
        Err(CatalogError::Inconsistent { file: file.to_owned(), fault })
    }
}

fn read<T: serde::de::DeserializeOwned>(file: &str, text: &str) -> Result<T, CatalogError> {
    toml::from_str(text)
        .map_err(|source| CatalogError::Malformed { file: file.to_owned(), source: Box::new(source) })
}

fn check_stem(file: &str, name: &str) -> Result<(), CatalogError> {
    if file.ends_with(&format!("/{name}.toml")) {
        return Ok(());
    }
    Err(CatalogError::Inconsistent {
        file: file.to_owned(),
        fault: format!("name {name:?} is not the file's"),
    })
}

/// The program of the arm's own command line, found now so that a missing one is told before the first cell.
fn command_of(arm: &Arm) -> Result<Started, ArmError> {
    let [program, args @ ..] = arm.command.as_slice() else {
        return Err(ArmError::NoCommand { arm: arm.id.to_string() });
    };
    let missing = || ArmError::NoProgram { arm: arm.id.to_string(), program: program.clone() };
    let found = program_path(program).ok_or_else(missing)?;
    let readable = std::iter::once(found.clone()).chain(scripts(args)).collect();
    let mut command = arm.command.clone();
    command[0] = found.to_string_lossy().into_owned();
    Ok(Started { command, readable, version: None, binary: Some(found), agents_dir: None })
}

/// A script named by its absolute path is meant to be read; a directory is not granted by being mentioned.
fn scripts(args: &[String]) -> impl Iterator<Item = PathBuf> {
    args.iter().map(PathBuf::from).filter(|path| path.is_absolute() && path.is_file())
}

fn program_path(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return std::fs::canonicalize(program).ok().filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(program))
        .find(|path| path.is_absolute() && path.is_file())
}

fn version_in(package: &Path) -> Option<String> {
    let text = std::fs::read_to_string(package).ok()?;
    let package: serde_json::Value = serde_json::from_str(&text).ok()?;
    package.get("version")?.as_str().map(str::to_owned)
}

fn install_lines(install: &InstallFile, dir: &Path) -> String {
    let lines = install.commands.iter().map(|line| format!("  {}", fill::text(line, &agents_values(dir))));
    lines.collect::<Vec<_>>().join("\n")
}

pub(crate) fn agents_values(dir: &Path) -> fill::Values {
    fill::Values::from([("agents", dir.to_string_lossy().into_owned().into())])
}

fn joined<T: ToString>(names: impl Iterator<Item = T>) -> String {
    names.map(|name| name.to_string()).collect::<Vec<_>>().join(", ")
}
