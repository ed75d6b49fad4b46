//! A state directory, a launcher, a runtime: what every case plays on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bench_core::Program;
use bench_isolation::{
    CellExit, CellSpec, LaunchError, Launcher, Policy, RunningCell, Slot, Slots, Workspace,
};

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
        let seed = Launcher::start().expect("the launcher starts");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let launcher = runtime.block_on(async { seed.attach() }).unwrap();
        let dir = tempfile::tempdir().unwrap();
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

    /// Command lines of the processes on this machine that stand in the workspace.
    pub(crate) fn processes_inside(&self) -> Vec<String> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        processes
            .filter(|proc| {
                std::fs::read_link(proc.join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.workspace.root()))
            })
            .map(|proc| text(&std::fs::read(proc.join("cmdline")).unwrap_or_default()))
            .collect()
    }

    pub(crate) fn in_workspace(&self, name: &str) -> PathBuf {
        self.workspace.root().join(name)
    }
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
