//! The agent process between fork and exec: cuts every tie, puts the walls up, probes them, becomes the program.

use std::ffi::CString;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal};

use super::group::Group;
use super::launcher::Surroundings;
use super::probe::Outsiders;
use super::user::CellUser;
use super::{capabilities, limits, probe, view};
use crate::gaps::Mechanism;
use crate::kernel::{self, Image};
use crate::layout::Use;
use crate::message::{Order, Raised, Refusal};
use crate::notify::hand_over;
use crate::seccomp::Filter;
use crate::walls::Places;
use crate::{gaps, grounds, walls};

/// What the agent process starts with.
pub(crate) struct Start<'a> {
    /// What is asked.
    pub(crate) order: &'a Order,
    /// What the launcher knows.
    pub(crate) surroundings: &'a Surroundings,
    /// The supervisor, which must be the parent; none in a pid namespace, whose init cannot be told from another.
    pub(crate) parent: Option<Pid>,
    /// What is granted in a root of the cell's own; none = where the harness sees it.
    pub(crate) grants: Option<Vec<(PathBuf, Use)>>,
    /// The cell's user as the host knows it, where a user namespace maps it; none = to be found out.
    pub(crate) user: Option<u32>,
    /// Becomes stdout.
    pub(crate) stdout: OwnedFd,
    /// Becomes stderr.
    pub(crate) stderr: OwnedFd,
    /// One line of JSON per word to the supervisor; closed by a successful exec.
    pub(crate) words: OwnedFd,
    /// Where the listener of its filter goes.
    pub(crate) ear: Option<OwnedFd>,
    /// The control group around it, or why there is none.
    pub(crate) group: Result<&'a Group, &'a str>,
}

/// Runs to the exec, or says why not and leaves.
pub(crate) fn become_program(mut start: Start<'_>) -> ! {
    let mut words = std::fs::File::from(match start.words.try_clone() {
        Ok(words) => words,
        Err(_) => kernel::leave(1),
    });
    let ear = start.ear.take();
    let refusal = match prepare(&start, ear) {
        Err(refusal) => refusal,
        Ok(raised) => execute(start.order, start.surroundings.own_image.as_fd(), raised, &mut words),
    };
    say(&mut words, &Err(refusal));
    kernel::leave(1)
}

pub(crate) fn say(words: &mut std::fs::File, word: &Result<Raised, Refusal>) {
    let mut line = serde_json::to_vec(word).expect("our own words are valid JSON values");
    line.push(b'\n');
    // The only reader is the supervisor; if it is gone, this process is about to be killed.
    let _ = words.write_all(&line);
}

fn prepare(start: &Start<'_>, ear: Option<OwnedFd>) -> Result<Raised, Refusal> {
    cut_ties(start)?;
    let abi = start
        .surroundings
        .landlock_abi
        .ok_or_else(|| Refusal::no_wall("Landlock", "this kernel has none, or the harness may not use it"))?;
    let (order, system) = (start.order, &start.surroundings.system);
    let own_image = order.program.is_none().then_some(start.surroundings.own_image.as_fd());
    let places = start.grants.as_deref().map_or(Places::Host(system), Places::Own);
    let user = CellUser::of(start)?;
    let rules = walls::prepare(abi, &places, &order.policy, own_image)?;
    if start.grants.is_some() {
        // A user namespace began with a full one; elsewhere the launcher's, which is empty, was inherited.
        capabilities::empty_own_bounding_set()?;
    }
    user.take_over([&start.stdout, &start.stderr])?;
    user.become_it(&order.policy)?;
    capabilities::drop_all()?;
    follow_parent(start)?;
    enter(&order.cwd)?;
    let mut limits = limits::set(&user)?;
    walls::enforce(rules, order.canary.is_some())?;
    let outsiders = if start.grants.is_some() { Outsiders::init() } else { start.surroundings.outsiders };
    let mut probes = probe::run(abi, order, outsiders)?;
    if let Some(path) = order.canary_path() {
        // The last refusal before the program: what the kernel records up to here is our own probing.
        probes.push(probe::canary(&path)?);
    }
    let filter = install_filter(start, ear)?;
    limits.push(limits::set_descriptors(&user)?);
    Ok(raised(start, abi, (probes, filter), (&user, limits)))
}

/// The list of refused system calls, and those that wake the supervisor. The last wall: what it traps is answered by the
/// supervisor from here on.
fn install_filter<'a>(
    start: &Start<'a>,
    ear: Option<OwnedFd>,
) -> Result<Result<&'a Filter, String>, Refusal> {
    let filter = match start.surroundings.filters.of(start.order) {
        Ok(filter) => filter,
        Err(why) => return Ok(Err(why.to_string())),
    };
    let refuse = |error: std::io::Error| Refusal::no_wall("system-call filter", error);
    let listener = filter.install().map_err(refuse)?;
    if let (Some(listener), Some(ear)) = (listener, ear) {
        hand_over(ear, listener).map_err(refuse)?;
    }
    Ok(Ok(filter))
}

fn raised(
    start: &Start<'_>,
    abi: u32,
    (probes, filter): (Vec<String>, Result<&Filter, String>),
    (user, limits): (&CellUser, Vec<String>),
) -> Raised {
    let level = start.order.level;
    let mut phrases = walls::phrases(abi, &start.surroundings.system, &start.order.policy, level);
    let mut held: Vec<String> =
        ["capabilities: none", "no new privileges", "descriptors: 0, 1, 2"].map(str::to_owned).into();
    held.extend(limits);
    let mut mechanisms = vec![Mechanism::Landlock];
    if user.is_own() {
        held.push(format!("user: {}, the cell's own", user.phrase()));
        mechanisms.push(Mechanism::OwnUser);
    }
    if start.grants.is_some() {
        held.push("namespaces: user, mount, pid, network, ipc, host name, cgroup".to_owned());
        held.push(view::SCRATCH_PHRASE.to_owned());
        mechanisms.push(Mechanism::Namespaces);
    }
    let mut unheld = Vec::new();
    match start.group {
        Ok(group) => {
            held.push(group.phrase());
            mechanisms.extend(group.mechanisms());
        }
        Err(cause) => unheld.push(gaps::no_group(cause, start.grants.is_some())),
    }
    match &filter {
        Ok(filter) => {
            held.push(format!("system-call filter: {} of {} instructions", filter.sha256(), filter.len()));
            held.extend(filter.phrases());
            mechanisms.push(Mechanism::SystemCalls);
            if filter.options().notify.word().is_some() {
                mechanisms.push(Mechanism::Detector);
                unheld.push(gaps::unheard(start.order.canary.is_some()).to_owned());
            }
        }
        Err(why) => unheld.push(format!("the system-call filter and its detector: {why}")),
    }
    for list in [&mut phrases.requested, &mut phrases.enforced] {
        list.extend(held.iter().cloned());
    }
    unheld.extend(gaps::missing(abi, &mechanisms));
    let notify = filter.ok().and_then(|filter| filter.options().notify.word());
    Raised {
        level,
        requested: phrases.requested,
        enforced: phrases.enforced,
        missing: unheld,
        detector: grounds::detector_word(level, notify),
        probes,
        landlock_abi: Some(abi),
        uid: user.outside(),
        exec_at_ns: 0,
        setup_cpu_us: 0,
    }
}

/// Session, terminal, descriptors: nothing of the harness's stays with the agent.
fn cut_ties(start: &Start<'_>) -> Result<(), Refusal> {
    rustix::process::setsid().map_err(|error| Refusal::setup("start a session", error))?;
    let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| Refusal::setup("open /dev/null", error))?;
    for (fd, target) in [(null.as_fd(), 0), (start.stdout.as_fd(), 1), (start.stderr.as_fd(), 2)] {
        kernel::place_descriptor(fd, target).map_err(|error| Refusal::setup("connect output", error))?;
    }
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    Ok(())
}

/// Ends with the parent. After every change of user: the kernel forgets it then.
fn follow_parent(start: &Start<'_>) -> Result<(), Refusal> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| Refusal::setup("follow the supervisor's end", error))?;
    if start.parent.is_some() && rustix::process::getppid() != start.parent {
        return Err(Refusal::setup("follow the supervisor's end", "it has ended already"));
    }
    Ok(())
}

fn enter(cwd: &Path) -> Result<(), Refusal> {
    rustix::process::chdir(cwd).map_err(|error| Refusal::setup(format!("enter {}", cwd.display()), error))
}

/// Everything is decided: tells the supervisor and executes. Returns only a failure.
fn execute(order: &Order, own: BorrowedFd<'_>, raised: Raised, words: &mut std::fs::File) -> Refusal {
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
    kernel::unblock_signals();
    let image = match order.program {
        Some(_) => Image::Path(&argv[0]),
        None => Image::Descriptor(own),
    };
    let setup_cpu_us = kernel::own_usage().cpu_us;
    say(words, &Ok(Raised { exec_at_ns: kernel::monotonic_ns(), setup_cpu_us, ..raised }));
    let error = kernel::execute(&image, &argv, &envp);
    let program =
        order.program.as_ref().map_or("the harness's own binary".into(), |path| path.display().to_string());
    Refusal::NotExecutable { program, errno: error.raw_os_error().unwrap_or(0) }
}
