//! A cell with nothing but a Landlock wall and the filter: the order of the launch, without the launcher.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use bench_isolation::attempt::Attempt;
use bench_isolation::classify::{Class, Grounds, classify};
use bench_isolation::notify::{NotifySupervisor, Watched, hand_over, take_over};
use bench_isolation::seccomp::{Debugger, Filter, FilterOptions, NotifySet, Refusals};
use landlock::{ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope};

/// What a case runs on.
pub(crate) struct Stage {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) canary: Option<String>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        let (workspace, outside) = (real.join("ws"), real.join("sibling"));
        for path in [&workspace, &outside] {
            std::fs::create_dir(path).unwrap();
        }
        std::fs::write(outside.join("answer"), "42").unwrap();
        Self { dir, workspace, outside, canary: None }
    }

    /// A file that only its name makes a canary.
    pub(crate) fn with_canary(nonce: &str) -> Self {
        let stage = Self::new();
        std::fs::write(stage.dir.path().join(format!("canary-{nonce}")), "").unwrap();
        Self { canary: Some(nonce.to_owned()), ..stage }
    }

    pub(crate) fn grounds(&self) -> Grounds {
        Grounds {
            workspace: self.workspace.clone(),
            writable: vec![self.workspace.clone()],
            system: bench_isolation::granted_system_paths(),
            readable: vec![std::env::current_exe().unwrap()],
            protected: vec![self.outside.clone()],
            ..Grounds::default()
        }
    }

    fn command(&self, set: NotifySet, program: &[&str]) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let canary = self.canary.as_ref().map(|nonce| self.dir.path().join(format!("canary-{nonce}")));
        command.arg("cell").arg(set.word().unwrap_or("off")).arg(&self.workspace);
        command.arg(canary.unwrap_or_default()).args(program).current_dir(&self.workspace);
        // As a cell's: nothing of the harness's own (a library path of its build, for one) is passed on.
        command.env_clear().env("PATH", "/usr/bin:/bin");
        command
    }

    /// Runs without a listener.
    pub(crate) fn start(&self, program: &[&str]) -> Child {
        let mut command = self.command(NotifySet::Off, program);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs to the end of every process with the filter, and hears it.
    pub(crate) fn hear(&self, set: NotifySet, program: &[&str]) -> (Output, Watched) {
        let (own, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut command = self.command(set, program);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        drop(command);
        let leader = rustix::process::Pid::from_child(&child);
        let output = std::thread::spawn(move || child.wait_with_output().unwrap());
        let Ok(listener) = take_over(&own) else { panic!("{:?}", output.join().unwrap()) };
        let mut watch = NotifySupervisor::new(listener, filter(set), self.grounds(), Some(leader));
        while let Some(fd) = watch.fd() {
            let mut fds = [rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)];
            rustix::event::poll(&mut fds, None).unwrap();
            watch.handle_ready();
        }
        (output.join().unwrap(), watch.finish())
    }

    pub(crate) fn sh(&self, set: NotifySet, script: &str) -> (Output, Watched) {
        self.hear(set, &["/bin/sh", "-c", script])
    }

    /// Attempts that would end a cell.
    pub(crate) fn outside_of<'a>(&self, attempts: &'a [Attempt]) -> Vec<&'a Attempt> {
        let grounds = self.grounds();
        attempts.iter().filter(|a| classify(a, &grounds, &[]) == Class::OutsideAccess).collect()
    }
}

fn filter(set: NotifySet) -> Filter {
    let options = FilterOptions {
        notify: set,
        debugger: Debugger::Refused,
        refusals: Refusals::Recorded,
        ..FilterOptions::default()
    };
    Filter::build(&options).unwrap()
}

/// Landlock, canary, filter, hand-over, exec. Arguments: set, workspace, canary, program and its arguments.
pub(crate) fn become_cell(args: &[String]) -> ! {
    let [set, workspace, canary, program @ ..] = args else { panic!("{args:?}") };
    let set = [NotifySet::Narrow, NotifySet::Open, NotifySet::Stat]
        .into_iter()
        .find(|known| known.word() == Some(set))
        .unwrap_or(NotifySet::Off);
    enforce(Path::new(workspace));
    if !canary.is_empty() {
        assert!(std::fs::File::open(canary).is_err(), "the wall does not hold");
    }
    if let Some(listener) = filter(set).install().unwrap() {
        hand_over(rustix::stdio::stdin(), listener).unwrap();
    }
    let mut command = Command::new(&program[0]);
    command.args(&program[1..]).stdin(Stdio::null());
    panic!("{}: {}", program[0], command.exec())
}

fn enforce(workspace: &Path) {
    let abi = ABI::from(i32::try_from(bench_isolation::reachable().landlock_abi.unwrap()).unwrap());
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(abi)).unwrap();
    if !Scope::from_all(abi).is_empty() {
        rules = rules.scope(Scope::from_all(abi)).unwrap();
    }
    let mut rules = rules.create().unwrap();
    for path in bench_isolation::granted_system_paths().iter().chain([&std::env::current_exe().unwrap()]) {
        let right = if path.is_dir() { AccessFs::from_all(abi) } else { AccessFs::from_file(abi) };
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path).unwrap(), right)).unwrap();
    }
    let right = AccessFs::from_all(abi);
    rules = rules.add_rule(PathBeneath::new(PathFd::new(workspace).unwrap(), right)).unwrap();
    rules.log_new_exec(true).unwrap().restrict_self().unwrap();
}
