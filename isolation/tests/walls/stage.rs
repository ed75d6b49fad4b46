//! A state directory, a launcher, a runtime: what every case plays on.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use bench_core::{IsolationLevel, Program};
use bench_isolation::{
    CellExit, CellSpec, LaunchError, Launcher, Policy, RunningCell, Seen, Slot, Slots, Workspace,
};

static NAMESPACES: AtomicBool = AtomicBool::new(false);

/// Plays every case from here on at this level: L1 or L2.
pub(crate) fn play_at(level: IsolationLevel) {
    NAMESPACES.store(level == IsolationLevel::L2, Ordering::SeqCst);
}

/// The level that is being played.
pub(crate) fn level() -> IsolationLevel {
    if NAMESPACES.load(Ordering::SeqCst) { IsolationLevel::L2 } else { IsolationLevel::L1 }
}

/// Have cells namespaces of their own?
pub(crate) fn namespaces() -> bool {
    level() == IsolationLevel::L2
}

/// One launcher, one slot, one workspace.
pub(crate) struct Stage {
    pub(crate) runtime: tokio::runtime::Runtime,
    pub(crate) launcher: Launcher,
    pub(crate) slots: Slots,
    _slot: Slot,
    pub(crate) workspace: Workspace,
    pub(crate) dir: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let seed = Launcher::start_at(level()).expect("the launcher starts");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let launcher = runtime.block_on(async { seed.attach() }).unwrap();
        let dir = tempfile::tempdir().unwrap();
        // As root, cells run as somebody else, who must get through at L1.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let slots = Slots::open(&dir.path().join("state")).unwrap();
        let mut slot = slots.take().unwrap();
        let workspace = slot.fresh(None).unwrap();
        Self { runtime, launcher, slots, _slot: slot, workspace, dir }
    }

    pub(crate) fn policy(&self) -> Policy {
        Policy {
            writable: self.workspace.writable(),
            must_not_read: vec![self.slots.decoy()],
            ..Policy::default()
        }
    }

    /// A shell script as the agent.
    pub(crate) fn script(&self, script: &str) -> CellSpec {
        self.program(Program::Path("/bin/sh".into()), &["-c", script])
    }

    /// This binary as the agent.
    pub(crate) fn agent(&self, args: &[&str]) -> CellSpec {
        self.program(Program::Own, &[&["agent"], args].concat())
    }

    fn program(&self, program: Program, args: &[&str]) -> CellSpec {
        CellSpec {
            program,
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            cwd: self.workspace.root().to_owned(),
            policy: self.policy(),
            wall_ms: 60_000,
            output_cap_bytes: 64 << 20,
        }
    }

    pub(crate) fn launch(&self, spec: CellSpec) -> Result<RunningCell, LaunchError> {
        self.runtime.block_on(self.launcher.launch(spec))
    }

    pub(crate) fn run(&self, spec: CellSpec) -> CellExit {
        let mut cell = self.launch(spec).expect("the cell starts");
        self.runtime.block_on(cell.wait()).expect("the cell ends")
    }

    /// Runs a script that must end by itself; its stdout.
    pub(crate) fn stdout_of(&self, script: &str) -> String {
        let exit = self.run(self.script(script));
        assert_eq!(exit.stopped_by, None);
        text(&exit.stdout.head)
    }

    /// A file outside every workspace, as a sibling's would be.
    pub(crate) fn outside_file(&self) -> PathBuf {
        let path = self.dir.path().join("sibling/answer.txt");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "42").unwrap();
        path
    }

    /// The cell's directories as it sees them.
    pub(crate) fn seen(&self) -> Seen {
        self.workspace.seen(level())
    }

    /// Process ids below the launcher, as this machine knows them; ended ones that nobody has reaped are left out.
    pub(crate) fn descendants(&self) -> Vec<i32> {
        let mut found = vec![i32::try_from(self.launcher.pid()).unwrap()];
        let all: Vec<(i32, i32)> = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|pid: i32| Some((pid, field(pid, "PPid")?.parse().ok()?)))
            .collect();
        let mut next = 0;
        while let Some(parent) = found.get(next).copied() {
            found.extend(all.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
            next += 1;
        }
        found.remove(0);
        found.retain(|pid| is_alive(*pid));
        found
    }

    /// The process that calls itself `inside` in the cell, as this machine knows it.
    pub(crate) fn host_pid(&self, inside: i32) -> i32 {
        let named = |pid: &i32| {
            field(*pid, "NSpid").and_then(|all| all.split('\t').next_back()?.parse().ok()) == Some(inside)
        };
        // The kernel's lists of children may leave one out while another of them ends.
        let found = (0..1000).find_map(|_| self.descendants().into_iter().find(named));
        found.unwrap_or_else(|| panic!("no process of the cell calls itself {inside}"))
    }

    /// Command lines of what runs below the launcher.
    pub(crate) fn processes_inside(&self) -> Vec<String> {
        let command = |pid: i32| text(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
        // A supervisor that has said its last word may take a moment to leave; who has left has no command line.
        self.descendants()
            .into_iter()
            .map(command)
            .filter(|line| !line.is_empty() && !line.contains("\0sandbox-exec\0"))
            .collect()
    }

    pub(crate) fn in_workspace(&self, name: &str) -> PathBuf {
        self.workspace.root().join(name)
    }
}

fn field(pid: i32, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t")).map(str::to_owned)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until a process that is no child of ours has ended; fails after 20 s.
pub(crate) fn await_end_of(pid: i32) {
    let Some(pid) = rustix::process::Pid::from_raw(pid) else { panic!("{pid} is no process id") };
    let Ok(pidfd) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) else { return };
    let mut fds = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
    let limit = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut fds, Some(&limit)), Ok(1), "process {pid} lives on");
}

pub(crate) fn is_alive(pid: i32) -> bool {
    // A zombie that nobody has reaped yet is not alive.
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().trim_start().starts_with('Z'))
}

pub(crate) fn read_pid(path: &Path) -> i32 {
    std::fs::read_to_string(path).unwrap().trim().parse().unwrap()
}
