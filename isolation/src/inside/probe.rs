//! Tries, inside the walls and before the program starts, what the walls must refuse.
//!
//! The kernel's return values are not believed: a cell whose probe goes through, or cannot be decided, never runs.

use std::ffi::OsStr;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::Pid;

use super::capabilities;
use crate::message::{Order, Refusal};
use crate::seen;
use crate::spec::Policy;

/// Processes outside the walls that the cell must not reach.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outsiders {
    /// The launcher.
    pub(crate) launcher: Option<Pid>,
    /// The harness, where it is the launcher's parent.
    pub(crate) harness: Option<Pid>,
    /// The init of the cell's own pid namespace: there, the others have no id at all.
    pub(crate) init: Option<Pid>,
}

impl Outsiders {
    /// Whoever is outside the walls and has an id in a pid namespace of the cell's own.
    pub(crate) fn init() -> Self {
        Self { launcher: None, harness: None, init: Some(Pid::INIT) }
    }

    fn named(self) -> impl Iterator<Item = (&'static str, Pid)> {
        [("the launcher", self.launcher), ("the harness", self.harness), ("the cell's init", self.init)]
            .into_iter()
            .filter_map(|(name, pid)| Some((name, pid?)))
    }
}

/// Makes every probe that this ABI allows; a short phrase each, or the first that went through.
pub(crate) fn run(abi: u32, order: &Order, outsiders: Outsiders) -> Result<Vec<String>, Refusal> {
    let policy = &order.policy;
    let mut held = Vec::new();
    privileges(&mut held)?;
    hidden_files(policy, &mut held)?;
    other_processes(abi, outsiders, &mut held)?;
    if abi >= 4 {
        other_port(policy.connect_port, &mut held)?;
    }
    if let Some(workspace) = seen::places(order.level, &policy.writable).first() {
        workspace_works(workspace, &mut held)?;
    }
    Ok(held)
}

fn went_through(probe: impl Into<String>, outcome: impl Into<String>) -> Refusal {
    Refusal::ProbeWentThrough { probe: probe.into(), outcome: outcome.into() }
}

fn privileges(held: &mut Vec<String>) -> Result<(), Refusal> {
    if !matches!(capabilities::none_left(), Ok(true)) {
        return Err(went_through("capabilities", "some are left"));
    }
    held.push("no capability is left".to_owned());
    if !matches!(rustix::thread::no_new_privs(), Ok(true)) {
        return Err(went_through("no_new_privs", "it is not set"));
    }
    held.push("no program can gain privileges".to_owned());
    Ok(())
}

fn hidden_files(policy: &Policy, held: &mut Vec<String>) -> Result<(), Refusal> {
    refused_open(Path::new("/"))?;
    held.push("/ cannot be listed".to_owned());
    for path in &policy.must_not_read {
        refused_open(path)?;
    }
    if !policy.must_not_read.is_empty() {
        held.push(format!("{} hidden paths cannot be opened", policy.must_not_read.len()));
    }
    Ok(())
}

/// Opening for reading must fail, and for a reason that shows a wall or an absence.
fn refused_open(path: &Path) -> Result<(), Refusal> {
    let probe = || format!("open {}", path.display());
    // NONBLOCK: a fifo must not hold the probe up.
    match rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
        Ok(_) => Err(went_through(probe(), "it opened")),
        Err(Errno::ACCESS | Errno::PERM | Errno::NOENT | Errno::NOTDIR | Errno::SRCH) => Ok(()),
        Err(other) => Err(went_through(probe(), format!("not decided: {other}"))),
    }
}

/// The refusal whose record tells the listener which domain this cell is.
pub(crate) fn canary(path: &Path) -> Result<String, Refusal> {
    match rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::ACCESS) => Ok("the canary of the kernel's records is refused".to_owned()),
        Ok(_) => Err(went_through("open the canary", "it opened")),
        Err(other) => Err(went_through("open the canary", format!("not decided: {other}"))),
    }
}

fn other_processes(abi: u32, outsiders: Outsiders, held: &mut Vec<String>) -> Result<(), Refusal> {
    for (name, pid) in outsiders.named() {
        refused_open(Path::new(&format!("/proc/{pid}/environ")))?;
        held.push(format!("the environment of {name} cannot be read"));
        if abi >= 6 {
            match rustix::process::test_kill_process(pid) {
                Err(Errno::PERM | Errno::SRCH) => held.push(format!("{name} cannot be signalled")),
                answer => return Err(went_through(format!("signal {name}"), format!("answered {answer:?}"))),
            }
        }
    }
    Ok(())
}

fn other_port(allowed: Option<u16>, held: &mut Vec<String>) -> Result<(), Refusal> {
    let port = if allowed == Some(9) { 10 } else { 9 };
    let probe = format!("connect to 127.0.0.1:{port}");
    let address = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
    let answer = rustix::net::socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )
    .and_then(|socket| rustix::net::connect(&socket, &address));
    match answer {
        Err(Errno::ACCESS) => {
            held.push(format!("tcp port {port} is refused"));
            Ok(())
        }
        answer => Err(went_through(probe, format!("answered {answer:?}"))),
    }
}

/// The workspace must work, or every attempt would fail for the harness's fault and count as the arm's. A file that
/// stands there is opened for writing, and left as it is; where there is none, one is written, read and removed.
fn workspace_works(workspace: &Path, held: &mut Vec<String>) -> Result<(), Refusal> {
    let attempt = || match file_in(workspace)? {
        Some(file) => {
            let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            rustix::fs::open(&file, flags, Mode::empty())?;
            Ok(rustix::fs::access(workspace, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)?)
        }
        None => write_and_read(&workspace.join(OsStr::new(".probe"))),
    };
    attempt().map_err(|error: std::io::Error| {
        Refusal::setup(format!("use the workspace at {}", workspace.display()), error)
    })?;
    held.push("the workspace can be written and read".to_owned());
    Ok(())
}

/// A regular file at the top of it that belongs to the cell's user, who may write to it.
fn file_in(dir: &Path) -> std::io::Result<Option<PathBuf>> {
    let own = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let meta = entry.metadata()?;
            if meta.uid() == own && meta.mode() & 0o200 != 0 {
                return Ok(Some(entry.path()));
            }
        }
    }
    Ok(None)
}

fn write_and_read(path: &Path) -> std::io::Result<()> {
    let mut file = std::fs::File::options().read(true).write(true).create_new(true).open(path)?;
    file.write_all(b"probe")?;
    file.rewind()?;
    let mut back = Vec::new();
    file.read_to_end(&mut back)?;
    std::fs::remove_file(path)?;
    if back == b"probe" {
        return Ok(());
    }
    Err(std::io::Error::other("what was read is not what was written"))
}
