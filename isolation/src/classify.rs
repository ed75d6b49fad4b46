//! What an attempt means: pure, from where it went and what it asked for.
//!
//! | class | what | follows |
//! |---|---|---|
//! | `in_root` | the cell's own space | dropped |
//! | `system_ro` | what every cell may read, read | dropped |
//! | `policy_gap` | a refused read of the system, or a call refused to everybody | counted, shown |
//! | `ancestor_probe` | a tool's search for its configuration in the directories above the workspace | counted, shown |
//! | `housekeeping` | what the agent's adapter declares its program to do | counted, shown |
//! | `outside_access` | everything else | the ending |
//!
//! Another cell's space and the harness's are never anything but `outside_access`.

use std::path::{Path, PathBuf};

use bench_core::IsolationEvent;
use bench_core::evidence::Housekeeping;
use serde::{Deserialize, Serialize};

use crate::attempt::{Act, Attempt, Target};

/// The ground on which a cell stands, by which its attempts are judged. Paths are as the cell sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounds {
    /// Where the agent works; its ancestors are where tools look for configuration.
    pub workspace: PathBuf,
    /// Trees that the cell may change: workspace, home, temporary directories.
    pub writable: Vec<PathBuf>,
    /// Trees and files that the policy lets it read and execute beyond the system's.
    pub readable: Vec<PathBuf>,
    /// The system's part of the policy, links resolved ([`crate::granted_system_paths`]), and its devices.
    pub system: Vec<PathBuf>,
    /// Entries of PATH: looked through by whoever starts a program.
    pub search: Vec<PathBuf>,
    /// Spaces of other cells and of the harness: state directory, run directory, task files, decoys. The cell's own
    /// space may lie below one of them.
    pub protected: Vec<PathBuf>,
    /// The port of the recorder.
    pub connect_port: Option<u16>,
    /// Whose `/proc` the cell sees.
    pub proc: ProcView,
    /// Whether a chmod or chown outside would be refused: the cell has a user id of its own, or sees nothing outside.
    pub metadata: Metadata,
}

/// Whose processes a cell sees in `/proc`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcView {
    /// The machine's.
    #[default]
    Shared,
    /// Its own alone: a pid namespace with its own `/proc`.
    Own,
}

/// What keeps mode, owner, times and attributes of outside files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Metadata {
    /// Nothing, where the user id is the same.
    #[default]
    Open,
    /// An own user id, or an own view of the file system.
    Refused,
}

/// The class of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// In the cell's own space.
    InRoot,
    /// Of the system's readable part.
    SystemRo,
    /// A refused read of the system, or a call refused to everybody.
    PolicyGap,
    /// A search for configuration above the workspace.
    AncestorProbe,
    /// Declared by the agent's adapter.
    Housekeeping,
    /// Everything else.
    OutsideAccess,
}

impl Class {
    /// The word in records.
    pub fn word(self) -> &'static str {
        match self {
            Self::InRoot => "in_root",
            Self::SystemRo => "system_ro",
            Self::PolicyGap => "policy_gap",
            Self::AncestorProbe => "ancestor_probe",
            Self::Housekeeping => "housekeeping",
            Self::OutsideAccess => bench_core::evidence::OUTSIDE_ACCESS,
        }
    }

    /// Is it kept in the record?
    pub fn is_kept(self) -> bool {
        match self {
            Self::InRoot | Self::SystemRo => false,
            Self::PolicyGap | Self::AncestorProbe | Self::Housekeeping | Self::OutsideAccess => true,
        }
    }
}

/// Where a read that is refused is a gap of the policy rather than a wandering agent.
const SYSTEM_TREES: &[&str] =
    &["/etc", "/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/sys", "/selinux"];

/// Sockets at which C libraries ask for users, groups and hosts, or leave a word for the system's log.
const LIBRARY_SOCKETS: &[&str] =
    &["/dev/log", "/run/nscd", "/run/systemd/userdb", "/var/run/nscd", "/run/systemd/journal"];

/// Where C libraries look for accounts that no file names: those of a user id without an account do it at every start.
const LIBRARY_ACCOUNTS: &[&str] = &["/run/userdb", "/run/host/userdb", "/run/systemd/userdb"];

/// Files that tools look for in every directory above the one they work in.
const CONFIGURATION: &[&str] = &[
    ".babelrc",
    ".bzr",
    ".cargo",
    ".clang-format",
    ".clang-tidy",
    ".config",
    ".coveragerc",
    ".editorconfig",
    ".eslintrc",
    ".eslintrc.json",
    ".git",
    ".gitattributes",
    ".gitignore",
    ".gitmodules",
    ".hg",
    ".ignore",
    ".mypy.ini",
    ".npmrc",
    ".nvmrc",
    ".pnpmfile.cjs",
    ".prettierrc",
    ".python-version",
    ".rgignore",
    ".ripgreprc",
    ".ruff.toml",
    ".sl",
    ".svn",
    ".tool-versions",
    ".venv",
    ".yarnrc",
    ".yarnrc.yml",
    "AGENTS.md",
    "CLAUDE.md",
    "Cargo.lock",
    "Cargo.toml",
    "GEMINI.md",
    "Makefile",
    "__init__.py",
    "bunfig.toml",
    "clippy.toml",
    "conftest.py",
    "go.mod",
    "go.work",
    "jsconfig.json",
    "mypy.ini",
    "node_modules",
    "package-lock.json",
    "package.json",
    "pnpm-workspace.yaml",
    "pyproject.toml",
    "pytest.ini",
    "pytest.toml",
    ".pytest.ini",
    ".pytest.toml",
    "pyvenv.cfg",
    "rust-toolchain",
    "rust-toolchain.toml",
    "rustfmt.toml",
    ".rustfmt.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "tsconfig.json",
    "yarn.lock",
];

/// The class of one attempt.
pub fn classify(attempt: &Attempt, grounds: &Grounds, housekeeping: &[Housekeeping]) -> Class {
    let class = by_target(attempt, grounds);
    let declared = || {
        let target = attempt.target.text();
        housekeeping.iter().any(|rule| rule.covers(&attempt.operation, &target))
    };
    let protected = attempt.target.path().is_some_and(|path| grounds.protects(path))
        || matches!(attempt.target, Target::Unreadable);
    if class == Class::OutsideAccess && !protected && declared() { Class::Housekeeping } else { class }
}

/// The events of a record: classified, without what is dropped, what invalidates first.
pub fn events(attempts: &[Attempt], grounds: &Grounds, housekeeping: &[Housekeeping]) -> Vec<IsolationEvent> {
    let mut classified: Vec<(Class, &Attempt)> = attempts
        .iter()
        .map(|attempt| (classify(attempt, grounds, housekeeping), attempt))
        .filter(|(class, _)| class.is_kept())
        .collect();
    classified.sort_by_key(|(class, _)| std::cmp::Reverse(*class));
    classified.into_iter().map(|(class, attempt)| event(class, attempt)).collect()
}

fn event(class: Class, attempt: &Attempt) -> IsolationEvent {
    IsolationEvent {
        operation: attempt.operation.clone(),
        path: attempt.target.text(),
        process: attempt.process.clone(),
        class: class.word().to_owned(),
        denied: attempt.denied,
        count: attempt.count,
    }
}

fn by_target(attempt: &Attempt, grounds: &Grounds) -> Class {
    match &attempt.target {
        Target::Path(path) => by_path(attempt, path, grounds),
        Target::Address(address) => match grounds.connect_port {
            Some(port) if is_loopback_port(address, port) => Class::InRoot,
            Some(_) | None => Class::OutsideAccess,
        },
        Target::Own(_) => Class::PolicyGap,
        Target::Outsider(_) | Target::Unreadable => Class::OutsideAccess,
    }
}

fn by_path(attempt: &Attempt, path: &Path, grounds: &Grounds) -> Class {
    let below = |trees: &[PathBuf]| trees.iter().any(|tree| path.starts_with(tree));
    let reading = matches!(attempt.act, Act::Read | Act::Execute | Act::Look);
    if below(&grounds.writable) {
        return Class::InRoot;
    }
    if grounds.protects(path) && !grounds.is_above(path) && !is_probe(path, grounds) {
        return Class::OutsideAccess;
    }
    if below(&grounds.readable) && reading {
        return Class::SystemRo;
    }
    // The directories themselves are opened one by one on the way.
    let of_accounts = |place: &str| path.starts_with(place) || is_ancestor(path, Path::new(place));
    if reading && path != Path::new("/") && LIBRARY_ACCOUNTS.iter().any(|place| of_accounts(place)) {
        return Class::PolicyGap;
    }
    if path.starts_with("/proc") {
        return by_proc(attempt, path, grounds);
    }
    if below(&grounds.system) && (reading || path.starts_with("/dev")) {
        return Class::SystemRo;
    }
    if reading && SYSTEM_TREES.iter().any(|tree| path.starts_with(tree)) {
        return if attempt.act == Act::Look { Class::SystemRo } else { Class::PolicyGap };
    }
    if attempt.act == Act::Connect && LIBRARY_SOCKETS.iter().any(|socket| path.starts_with(socket)) {
        return Class::PolicyGap;
    }
    let looking = attempt.act == Act::Look || attempt.found == Some(false);
    // A directory above the workspace: its existence is no secret, its list is.
    // `mkdir -p` below HOME makes every one of them anew, and is told that they exist.
    let makes_again =
        attempt.found == Some(true) && ["mkdir", "mkdirat"].contains(&attempt.operation.as_str());
    if (looking || makes_again) && grounds.is_above(path) {
        return Class::AncestorProbe;
    }
    if (looking || attempt.denied) && reading && is_probe(path, grounds) {
        return Class::AncestorProbe;
    }
    if matches!(attempt.act, Act::Look | Act::Execute) && below(&grounds.search) {
        return Class::PolicyGap;
    }
    Class::OutsideAccess
}

/// `/proc`: the cell's own processes are its own; the rest is somebody else's.
fn by_proc(attempt: &Attempt, path: &Path, grounds: &Grounds) -> Class {
    let mut parts = path.components().skip(2);
    let first = parts.next().and_then(|part| part.as_os_str().to_str());
    let is_process = first.is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let own = matches!(first, Some("self" | "thread-self")) || (is_process && grounds.proc == ProcView::Own);
    let reading = matches!(attempt.act, Act::Read | Act::Execute | Act::Look);
    match (is_process && !own, own, reading) {
        (true, _, _) => Class::OutsideAccess,
        (_, true, true) if attempt.denied => Class::PolicyGap,
        (_, true, true) => Class::SystemRo,
        // oom_score_adj, comm and the like of a process of one's own: refused, and nobody else's.
        (_, true, false) => Class::PolicyGap,
        (_, false, true) if attempt.denied && !path.starts_with("/proc/sys") => Class::OutsideAccess,
        (_, false, true) if attempt.denied => Class::PolicyGap,
        (_, false, true) => Class::SystemRo,
        (_, false, false) => Class::OutsideAccess,
    }
}

/// A well-known configuration name, or something below it, in a directory above the workspace.
fn is_probe(path: &Path, grounds: &Grounds) -> bool {
    let above = grounds.workspace.ancestors().skip(1).find(|above| {
        // The nearest one that holds it: `/` holds everything.
        path.starts_with(above)
    });
    let Some(rest) = above.and_then(|above| path.strip_prefix(above).ok()) else { return false };
    let first = rest.components().next().and_then(|part| part.as_os_str().to_str());
    first.is_some_and(|name| CONFIGURATION.contains(&name))
}

fn is_ancestor(path: &Path, workspace: &Path) -> bool {
    path != workspace && workspace.starts_with(path)
}

fn is_loopback_port(address: &str, port: u16) -> bool {
    address.parse::<std::net::SocketAddr>().is_ok_and(|at| at.ip().is_loopback() && at.port() == port)
}

impl Grounds {
    /// Is it a directory above one that the cell may change?
    fn is_above(&self, path: &Path) -> bool {
        is_ancestor(path, &self.workspace) || self.writable.iter().any(|tree| is_ancestor(path, tree))
    }

    /// Does the path lie in another cell's or the harness's space?
    pub fn protects(&self, path: &Path) -> bool {
        self.protected.iter().any(|tree| path.starts_with(tree))
            && !self.writable.iter().chain(&self.readable).any(|tree| path.starts_with(tree))
    }

    /// May the cell do this, as far as its walls are concerned?
    pub fn allows(&self, act: Act, path: &Path) -> bool {
        let below = |trees: &[PathBuf]| trees.iter().any(|tree| path.starts_with(tree));
        match act {
            Act::Look => true,
            Act::Read | Act::Execute => {
                below(&self.writable)
                    || below(&self.readable)
                    || below(&self.system)
                    || path.starts_with("/proc")
            }
            Act::Write => below(&self.writable) || (path.starts_with("/dev") && below(&self.system)),
            Act::Connect | Act::Control | Act::Call => below(&self.writable),
        }
    }
}

#[cfg(test)]
mod tests;
