//! The Landlock wall: files, TCP, signals and abstract sockets, as far as the kernel's ABI knows them.
//!
//! Exactly what the kernel says it knows is asked for, all of it as a hard requirement: asking for more "as far as
//! possible" is how a sandbox ends up enforcing nothing and reporting success. What the ABI does not know is named by
//! [`crate::gaps`]; whether the wall stands is decided by [`crate::inside::probe`], not by return values.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use bench_core::IsolationLevel;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{FileType, Mode, OFlags};

use crate::layout::Use;
use crate::message::Refusal;
use crate::seccomp::Debugger;
use crate::spec::Policy;
use crate::{seen, system_paths};

const WALL: &str = "Landlock";

/// The system's part of every policy, opened once by the launcher.
pub(crate) struct SystemGrants {
    readable: Vec<OwnedFd>,
    devices: Vec<OwnedFd>,
}

impl SystemGrants {
    /// Opens what this machine has of the list.
    pub(crate) fn open() -> std::io::Result<Self> {
        let mut real: Vec<PathBuf> =
            system_paths::readable().filter_map(|path| path.canonicalize().ok()).collect();
        real.sort();
        // What lies below another entry needs no rule of its own (`/bin` is `/usr/bin` on most machines).
        let mut tops: Vec<PathBuf> = Vec::new();
        for path in real {
            if !tops.iter().any(|top| path.starts_with(top)) {
                tops.push(path);
            }
        }
        let open_all = |paths: Vec<PathBuf>| paths.iter().map(|path| place(path)).collect::<Result<_, _>>();
        Ok(Self { readable: open_all(tops)?, devices: open_all(system_paths::devices().collect())? })
    }

    /// How many rules it makes.
    pub(crate) fn len(&self) -> usize {
        self.readable.len() + self.devices.len()
    }
}

/// A descriptor that names a place without opening its content.
pub(crate) fn place(path: &Path) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// The rights of one ABI, by what they are given to.
struct Rights {
    read: BitFlags<AccessFs>,
    write: BitFlags<AccessFs>,
    device: BitFlags<AccessFs>,
    file: BitFlags<AccessFs>,
}

impl Rights {
    fn of(abi: ABI) -> Self {
        let all = AccessFs::from_all(abi);
        Self {
            read: AccessFs::from_read(abi),
            // Device files made or driven from the workspace would lead out of it.
            write: all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev),
            device: all & (AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate),
            file: AccessFs::from_file(abi),
        }
    }

    fn of_use(&self, usage: Use) -> BitFlags<AccessFs> {
        match usage {
            Use::Read => self.read,
            Use::Write => self.write,
            Use::Device => self.device,
        }
    }
}

/// Where what a policy grants is to be found.
pub(crate) enum Places<'a> {
    /// Where the harness sees it.
    Host(&'a SystemGrants),
    /// In a root of the cell's own.
    Own(&'a [(PathBuf, Use)]),
}

/// Builds the rules of a cell. Opens every path, so it comes before capabilities are dropped.
///
/// `own_image` is given when the program is the harness's own binary: the rule is on the open file, so nothing of the
/// directory that holds it becomes readable.
pub(crate) fn prepare(
    abi: u32,
    places: &Places<'_>,
    policy: &Policy,
    own_image: Option<BorrowedFd<'_>>,
) -> Result<RulesetCreated, Refusal> {
    let abi = ABI::from(i32::try_from(abi).unwrap_or(i32::MAX));
    let rights = Rights::of(abi);
    // In a network of the cell's own there is nobody but the cell and its recorder.
    let network = match (places, policy.debugger) {
        (Places::Own(_), Debugger::Allowed) => BitFlags::EMPTY,
        (Places::Own(_), Debugger::Refused) | (Places::Host(_), _) => AccessNet::from_all(abi),
    };
    let mut rules = handled(abi, network).map_err(|error| Refusal::no_wall(WALL, error))?;
    if let Some(fd) = own_image {
        rules = grant(rules, fd, rights.read, rights.file, "the harness's own binary")?;
    }
    let grants: Vec<(&Path, Use)> = match places {
        Places::Own(grants) => grants.iter().map(|(path, usage)| (path.as_path(), *usage)).collect(),
        Places::Host(system) => {
            for fd in &system.readable {
                rules = grant(rules, fd.as_fd(), rights.read, rights.file, "the system's files")?;
            }
            for fd in &system.devices {
                rules = grant(rules, fd.as_fd(), rights.device, rights.file, "the system's devices")?;
            }
            let readable = policy.readable.iter().map(|path| (path.as_path(), Use::Read));
            readable.chain(policy.writable.iter().map(|path| (path.as_path(), Use::Write))).collect()
        }
    };
    for (path, usage) in grants {
        let name = path.display().to_string();
        let fd = place(path).map_err(|error| Refusal::setup(format!("open {name} for its rule"), error))?;
        rules = grant(rules, fd.as_fd(), rights.of_use(usage), rights.file, &name)?;
    }
    match policy.connect_port {
        Some(port) if !network.is_empty() => rules
            .add_rule(NetPort::new(port, AccessNet::ConnectTcp))
            .map_err(|error| Refusal::no_wall(WALL, error)),
        _ => Ok(rules),
    }
}

fn handled(abi: ABI, network: BitFlags<AccessNet>) -> Result<RulesetCreated, landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(abi))?;
    if !network.is_empty() {
        rules = rules.handle_access(network)?;
    }
    if !Scope::from_all(abi).is_empty() {
        rules = rules.scope(Scope::from_all(abi))?;
    }
    rules.create()
}

fn grant(
    rules: RulesetCreated,
    fd: BorrowedFd<'_>,
    right: BitFlags<AccessFs>,
    file: BitFlags<AccessFs>,
    name: &str,
) -> Result<RulesetCreated, Refusal> {
    let stat = rustix::fs::fstat(fd).map_err(|error| Refusal::setup(format!("look at {name}"), error))?;
    // The kernel refuses directory rights on anything that is no directory.
    let right = if FileType::from_raw_mode(stat.st_mode).is_dir() { right } else { right & file };
    rules
        .add_rule(PathBeneath::new(fd, right))
        .map_err(|error| Refusal::no_wall(WALL, format!("rule for {name}: {error}")))
}

/// Puts the wall up around this process, for good. Sets `no_new_privs` on the way.
///
/// `audited` asks the kernel to go on recording refusals after the exec, without which records would end there.
pub(crate) fn enforce(rules: RulesetCreated, audited: bool) -> Result<(), Refusal> {
    let rules = if audited {
        rules.log_new_exec(true).map_err(|error| Refusal::no_wall(WALL, error))?
    } else {
        rules
    };
    let status = rules.restrict_self().map_err(|error| Refusal::no_wall(WALL, error))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced => Ok(()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::NotEnforced => {
            Err(Refusal::no_wall(WALL, format!("the kernel enforces it only so far: {:?}", status.ruleset)))
        }
    }
}

/// The rules of a policy as short phrases, and those of them that this ABI cannot hold.
pub(crate) fn phrases(abi: u32, system: &SystemGrants, policy: &Policy, level: IsolationLevel) -> Phrases {
    let mut requested =
        vec![format!("files: nothing but what is named here ({} system rules)", system.len())];
    let writable = seen::places(level, &policy.writable);
    requested.extend(policy.readable.iter().map(|path| format!("read and execute: {}", path.display())));
    requested.extend(writable.iter().map(|path| format!("read, write, execute: {}", path.display())));
    let tcp = match policy.connect_port {
        Some(port) => format!("tcp: connect to port {port}, nothing else"),
        None => "tcp: none".to_owned(),
    };
    let by_abi = [
        (4, tcp),
        (6, "signals: own cell only".to_owned()),
        (6, "abstract unix sockets: own cell only".to_owned()),
        (9, "unix sockets by path: own cell only".to_owned()),
        (10, "udp: none".to_owned()),
    ];
    let mut enforced = requested.clone();
    for (from, phrase) in by_abi {
        // Outside sockets, whatever their kind, are absent where network and mounts are the cell's own.
        if abi >= from || from > 6 && seen::has_namespaces(level) {
            enforced.push(phrase.clone());
        }
        requested.push(phrase);
    }
    Phrases { requested, enforced }
}

/// See [`phrases`].
pub(crate) struct Phrases {
    pub(crate) requested: Vec<String>,
    pub(crate) enforced: Vec<String>,
}
