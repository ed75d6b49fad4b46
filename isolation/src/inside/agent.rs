//! The agent process between fork and exec: cuts every tie, puts the walls up, probes them, becomes the program.

use std::ffi::CString;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Resource, Rlimit, Signal};

use super::launcher::Surroundings;
use super::{capabilities, probe};
use crate::kernel::{self, Image, UsageOf};
use crate::message::{Order, Raised, Refusal};
use crate::{gaps, walls};

/// What the agent process starts with.
pub(crate) struct Start<'a> {
    /// What is asked.
    pub(crate) order: &'a Order,
    /// What the launcher knows.
    pub(crate) surroundings: &'a Surroundings,
    /// The supervisor, which must be the parent.
    pub(crate) supervisor: Pid,
    /// Becomes stdout.
    pub(crate) stdout: OwnedFd,
    /// Becomes stderr.
    pub(crate) stderr: OwnedFd,
    /// One line of JSON per word to the supervisor; closed by a successful exec.
    pub(crate) words: OwnedFd,
}

/// Runs to the exec, or says why not and leaves.
pub(crate) fn become_program(start: Start<'_>) -> ! {
    let mut words = std::fs::File::from(match start.words.try_clone() {
        Ok(words) => words,
        Err(_) => kernel::leave(1),
    });
    let refusal = match prepare(&start) {
        Err(refusal) => refusal,
        Ok(raised) => execute(start.order, start.surroundings.own_image.as_fd(), &raised, &mut words),
    };
    say(&mut words, &Err(refusal));
    kernel::leave(1)
}

fn say(words: &mut std::fs::File, word: &Result<Raised, Refusal>) {
    let mut line = serde_json::to_vec(word).expect("our own words are valid JSON values");
    line.push(b'\n');
    // The only reader is the supervisor; if it is gone, this process is about to be killed.
    let _ = words.write_all(&line);
}

fn prepare(start: &Start<'_>) -> Result<Raised, Refusal> {
    cut_ties(start)?;
    let abi = start
        .surroundings
        .landlock_abi
        .ok_or_else(|| Refusal::no_wall("Landlock", "this kernel has none, or the harness may not use it"))?;
    let policy = &start.order.policy;
    let system = &start.surroundings.system;
    let own_image = start.order.program.is_none().then_some(start.surroundings.own_image.as_fd());
    let rules = walls::prepare(abi, system, policy, own_image)?;
    capabilities::drop_all()?;
    walls::enforce(rules)?;
    let probes = probe::run(abi, policy, start.surroundings.outsiders)?;
    let mut phrases = walls::phrases(abi, system, policy);
    let always = ["capabilities: none", "no new privileges", "descriptors: 0, 1, 2", "core dumps: none"];
    for list in [&mut phrases.requested, &mut phrases.enforced] {
        list.extend(always.map(str::to_owned));
    }
    Ok(Raised {
        requested: phrases.requested,
        enforced: phrases.enforced,
        missing: gaps::missing(abi),
        probes,
        landlock_abi: Some(abi),
        uid: rustix::process::getuid().as_raw(),
        exec_at_ns: 0,
        setup_cpu_us: 0,
    })
}

/// Session, terminal, descriptors, limits: nothing of the harness's stays with the agent.
fn cut_ties(start: &Start<'_>) -> Result<(), Refusal> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Refusal::setup("follow the supervisor's end", error))?;
    if rustix::process::getppid() != Some(start.supervisor) {
        return Err(Refusal::setup("follow the supervisor's end", "it has ended already"));
    }
    rustix::process::setsid().map_err(|error| Refusal::setup("start a session", error))?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| Refusal::setup("open /dev/null", error))?;
    for (fd, target) in [(null.as_fd(), 0), (start.stdout.as_fd(), 1), (start.stderr.as_fd(), 2)] {
        kernel::place_descriptor(fd, target).map_err(|error| Refusal::setup("connect output", error))?;
    }
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })
        .map_err(|error| Refusal::setup("forbid core dumps", error))?;
    let cwd = &start.order.cwd;
    rustix::process::chdir(cwd).map_err(|error| Refusal::setup(format!("enter {}", cwd.display()), error))
}

/// Everything is decided: tells the supervisor and executes. Returns only a failure.
fn execute(order: &Order, own: BorrowedFd<'_>, raised: &Raised, words: &mut std::fs::File) -> Refusal {
    let name = match &order.program {
        Some(path) => path.as_os_str().as_bytes().to_vec(),
        None => b"/proc/self/exe".to_vec(),
    };
    let texts = |strings: Vec<Vec<u8>>| -> Result<Vec<CString>, Refusal> {
        let made: Result<Vec<CString>, _> = strings.into_iter().map(CString::new).collect();
        made.map_err(|error| Refusal::setup("pass arguments and environment", error))
    };
    let argv = std::iter::once(name.clone()).chain(order.args.iter().map(|arg| arg.clone().into_bytes()));
    let envp = order.env.iter().map(|(key, value)| format!("{key}={value}").into_bytes());
    let (argv, envp) = match (texts(argv.collect()), texts(envp.collect())) {
        (Ok(argv), Ok(envp)) => (argv, envp),
        (Err(refusal), _) | (_, Err(refusal)) => return refusal,
    };
    if let Err(error) = kernel::close_at_exec_from(3) {
        return Refusal::no_wall("descriptors", error);
    }
    kernel::reset_signals();
    let image = match order.program {
        Some(_) => Image::Path(&argv[0]),
        None => Image::Descriptor(own),
    };
    let setup_cpu_us = kernel::usage(UsageOf::Own).cpu_us;
    say(words, &Ok(Raised { exec_at_ns: kernel::monotonic_ns(), setup_cpu_us, ..raised.clone() }));
    let error = kernel::execute(&image, &argv, &envp);
    let program =
        order.program.as_ref().map_or("the harness's own binary".into(), |path| path.display().to_string());
    Refusal::NotExecutable { program, errno: error.raw_os_error().unwrap_or(0) }
}
