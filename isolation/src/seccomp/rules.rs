//! What is refused in a cell, and with which error.
//!
//! The list is one of refusals, not of permissions: what a compiler, an interpreter or a shell may need is not known
//! in advance, and files, signals and TCP are Landlock's. Each line says what it closes.

use super::assemble::{Clause, Outcome, Program, Rule, Test};
use super::{Debugger, FilterOptions, Ipc, NoFilter, NotifySet, Refusals, calls};

const EPERM: Outcome = Outcome::Errno(libc::EPERM as u16);
const ENOSYS: Outcome = Outcome::Errno(libc::ENOSYS as u16);
const EOPNOTSUPP: Outcome = Outcome::Errno(libc::EOPNOTSUPP as u16);
const EAFNOSUPPORT: Outcome = Outcome::Errno(libc::EAFNOSUPPORT as u16);
const EPROTONOSUPPORT: Outcome = Outcome::Errno(libc::EPROTONOSUPPORT as u16);

/// Other processes' memory and descriptors; a declared debugger gets them back.
const TRACING: &[&str] = &["ptrace", "process_vm_readv", "process_vm_writev"];

/// Refused whatever their arguments.
const REFUSED: &[&str] = &[
    // Other processes.
    "pidfd_getfd",
    "kcmp",
    "process_madvise",
    // Ways around what is watched: calls made by the kernel on one's behalf, faults held open.
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "userfaultfd",
    "bpf",
    "perf_event_open",
    // Keyrings outlive a cell and are shared by uid.
    "keyctl",
    "add_key",
    "request_key",
    // The view of the file system.
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "setns",
    "move_mount",
    "open_tree",
    "open_tree_attr",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "mount_setattr",
    "open_by_handle_at",
    "fanotify_init",
    // The machine.
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "swapon",
    "swapoff",
    "reboot",
    "acct",
    "quotactl",
    "quotactl_fd",
    "clock_settime",
    "clock_adjtime",
    "settimeofday",
    "adjtimex",
    "vhangup",
    "syslog",
    "iopl",
    "ioperm",
];

/// What outlives a cell without an ipc namespace, and is found by the next one.
const KEPT_BY_THE_MACHINE: &[&str] = &["shmget", "semget", "msgget", "mq_open"];

/// A domain nested in the cell's would own the records of what it is refused, and may switch them off.
const NESTING: &[&str] = &["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"];

const CLONE_NEW: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;
/// For `unshare` alone: in `clone`, this bit belongs to the exit signal.
const CLONE_NEWTIME: u32 = 0x80;
const SOCK_TYPE: u32 = 0xf;
const TCP_FASTOPEN_CONNECT: u32 = 30;
const MSG_FASTOPEN: u32 = 0x2000_0000;
const ADDR_NO_RANDOMIZE: u32 = 0x0004_0000;
const AT_EMPTY_PATH: u32 = 0x1000;
/// Process id of a cell's init, seen from inside.
const INIT: u32 = 1;
const IOPRIO_WHO_USER: u32 = 3;
/// Types of requests by which file systems take requests of their own; some change a file and leave its times alone.
const OF_FILE_SYSTEMS: [u32; 3] = [0x6600, 0x5800, 0xf500];
/// Of these, the ones that programs need: flags and extents, for 64 and for 32 bits.
const NEEDED_OF_THEM: [u32; 7] =
    [0x8008_6601, 0x4008_6602, 0x8004_6601, 0x4004_6602, 0xc020_660b, 0x801c_581f, 0x401c_5820];

/// Two programs: what the kernel is given, and what it would be given if nobody watched. By the second one the
/// supervisor knows which error a recorded refusal is answered with.
pub(super) fn programs(options: &FilterOptions) -> Result<[Program; 2], NoFilter> {
    let architecture =
        calls::ARCHITECTURE.ok_or(NoFilter::Architecture { architecture: std::env::consts::ARCH })?;
    let refusals = refusals(options);
    let mut installed = match options.refusals {
        Refusals::Recorded if options.notify != NotifySet::Off => {
            refusals.iter().cloned().map(recorded).collect()
        }
        Refusals::Recorded | Refusals::Silent => refusals.clone(),
    };
    installed.extend(trapped(options.notify));
    Ok([Program::assemble(architecture, installed), Program::assemble(architecture, refusals)])
}

/// The same rule with the supervisor asked in place of the error. `ENOSYS` stays: it sends a C library to an older
/// call, which is no attempt at anything.
fn recorded(mut rule: Rule) -> Rule {
    let ask = |outcome: Outcome| match outcome {
        ENOSYS | Outcome::Allow | Outcome::Notify | Outcome::Kill => outcome,
        Outcome::Errno(_) => Outcome::Notify,
    };
    rule.clauses.iter_mut().for_each(|clause| clause.then = ask(clause.then));
    rule.otherwise = ask(rule.otherwise);
    rule
}

fn refusals(options: &FilterOptions) -> Vec<Rule> {
    let always = |names: &'static [&str], then: Outcome| {
        names.iter().filter_map(move |name| rule(name, Vec::new(), then))
    };
    let mut rules: Vec<Rule> = always(REFUSED, EPERM).chain(always(NESTING, EOPNOTSUPP)).collect();
    match options.debugger {
        Debugger::Refused => rules.extend(always(TRACING, EPERM)),
        Debugger::Allowed => {}
    }
    match options.ipc {
        Ipc::Own => {}
        Ipc::Shared => rules.extend(always(KEPT_BY_THE_MACHINE, EPERM)),
    }
    // glibc falls back to clone, whose flags stand in a register.
    rules.extend(rule("clone3", Vec::new(), ENOSYS));
    rules.extend(rule("clone", vec![when(&[any_bit(0, CLONE_NEW)], EPERM)], Outcome::Allow));
    rules.extend(rule(
        "unshare",
        vec![when(&[any_bit(0, CLONE_NEW | CLONE_NEWTIME)], EPERM)],
        Outcome::Allow,
    ));
    rules.extend(limits_of_init());
    rules.extend(sockets());
    rules.extend(terminals_and_marks(options.debugger));
    rules
}

/// A cell's init has the cell's user: whoever starves it ends the cell without a word.
fn limits_of_init() -> Vec<Rule> {
    let of_init =
        |name: &str, argument: u8| rule(name, vec![when(&[is(argument, INIT)], EPERM)], Outcome::Allow);
    let by_user = |name: &str, kind: u32| {
        rule(name, vec![when(&[is(1, INIT)], EPERM), when(&[is(0, kind)], EPERM)], Outcome::Allow)
    };
    [
        of_init("prlimit64", 0),
        of_init("sched_setaffinity", 0),
        of_init("sched_setscheduler", 0),
        of_init("sched_setparam", 0),
        of_init("sched_setattr", 0),
        by_user("setpriority", libc::PRIO_USER),
        by_user("ioprio_set", IOPRIO_WHO_USER),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Unix sockets, and TCP proper: no UDP, no MPTCP, no raw or packet sockets, no netlink, no vsock, no fast open.
fn sockets() -> Vec<Rule> {
    let (unix, inet, inet6) = (libc::AF_UNIX as u32, libc::AF_INET as u32, libc::AF_INET6 as u32);
    let stream = Test::Masked { argument: 1, mask: SOCK_TYPE, value: libc::SOCK_STREAM as u32 };
    let mut inet_clauses = Vec::new();
    for family in [inet, inet6] {
        for protocol in [0, libc::IPPROTO_TCP as u32] {
            inet_clauses.push(when(&[is(0, family), stream, is(2, protocol)], Outcome::Allow));
        }
        inet_clauses.push(when(&[is(0, family), stream], EPROTONOSUPPORT));
        inet_clauses.push(when(&[is(0, family)], EPERM));
    }
    let mut socket = vec![when(&[is(0, unix)], Outcome::Allow)];
    socket.extend(inet_clauses);
    let fast_open_option = [is(1, libc::IPPROTO_TCP as u32), is(2, TCP_FASTOPEN_CONNECT)];
    let fast_open = |flags: u8| vec![when(&[any_bit(flags, MSG_FASTOPEN)], EPERM)];
    [
        rule("socket", socket, EAFNOSUPPORT),
        rule("socketpair", vec![when(&[is(0, unix)], Outcome::Allow)], EAFNOSUPPORT),
        rule("setsockopt", vec![when(&fast_open_option, EPERM)], Outcome::Allow),
        rule("sendto", fast_open(3), Outcome::Allow),
        rule("sendmsg", fast_open(2), Outcome::Allow),
        rule("sendmmsg", fast_open(3), Outcome::Allow),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn terminals_and_marks(debugger: Debugger) -> Vec<Rule> {
    let typed = |request: u64| when(&[is(1, request as u32)], EPERM);
    // Asking (all ones) and the plain Linux personality change nothing.
    let mut personality = vec![when(&[is(0, 0)], Outcome::Allow), when(&[is(0, u32::MAX)], Outcome::Allow)];
    if debugger == Debugger::Allowed {
        personality.push(when(&[is(0, ADDR_NO_RANDOMIZE)], Outcome::Allow));
    }
    let mut requests = vec![typed(libc::TIOCSTI), typed(libc::TIOCLINUX)];
    requests.extend(NEEDED_OF_THEM.map(|request| when(&[is(1, request)], Outcome::Allow)));
    let of_type = |value: u32| when(&[Test::Masked { argument: 1, mask: 0xff00, value }], EPERM);
    requests.extend(OF_FILE_SYSTEMS.map(of_type));
    [
        rule("ioctl", requests, Outcome::Allow),
        rule("prctl", vec![when(&[is(0, libc::PR_SET_DUMPABLE as u32), is(1, 0)], EPERM)], Outcome::Allow),
        rule("personality", personality, EPERM),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Calls that wake the supervisor. Never close, fork, wait, dup or fcntl: a trapped call can be interrupted.
fn trapped(set: NotifySet) -> Vec<Rule> {
    let lists: &[&[&str]] = match set {
        NotifySet::Off => &[],
        NotifySet::Narrow => &[calls::CHANGE_METADATA, calls::CONNECT],
        NotifySet::Open => &[calls::CHANGE_METADATA, calls::CONNECT, calls::OPEN_OR_CHANGE],
        NotifySet::Stat => &[calls::CHANGE_METADATA, calls::CONNECT, calls::OPEN_OR_CHANGE, calls::LOOK],
    };
    lists.iter().copied().flatten().filter_map(|name| rule(name, spared(name), Outcome::Notify)).collect()
}

/// What of a trapped call asks only about a descriptor, and is made all the time by C libraries.
fn spared(name: &str) -> Vec<Clause> {
    match name {
        "newfstatat" => vec![when(&[any_bit(3, AT_EMPTY_PATH)], Outcome::Allow)],
        "statx" => vec![when(&[any_bit(2, AT_EMPTY_PATH)], Outcome::Allow)],
        _ => Vec::new(),
    }
}

fn rule(name: &str, clauses: Vec<Clause>, otherwise: Outcome) -> Option<Rule> {
    Some(Rule { number: calls::number(name)?, clauses, otherwise })
}

fn when(tests: &[Test], then: Outcome) -> Clause {
    Clause { tests: tests.to_vec(), then }
}

fn is(argument: u8, value: u32) -> Test {
    Test::Is { argument, value }
}

fn any_bit(argument: u8, bits: u32) -> Test {
    Test::AnyBit { argument, bits }
}

/// The rules as the record names them.
pub(super) fn phrases(options: &FilterOptions) -> Vec<String> {
    let mut phrases = vec![
        format!("system calls refused whatever their arguments: {}", REFUSED.len()),
        "sockets: unix, and TCP over IPv4 or IPv6; no UDP, MPTCP, raw, packet, netlink, vsock or fast open"
            .to_owned(),
        "no new namespaces, no mounts, no io_uring, no keyrings, no nested Landlock".to_owned(),
        "no typing into a terminal, no process hidden from the supervisor".to_owned(),
        "no requests of file systems' own but for flags and extents, no limits or priorities for the cell's init"
            .to_owned(),
        "other calling conventions: x32 refused, 32-bit killed".to_owned(),
    ];
    if options.ipc == Ipc::Shared {
        phrases.push("no System V objects, no message queues: they would be the machine's".to_owned());
    }
    phrases.push(match options.debugger {
        Debugger::Refused => "no tracing of processes".to_owned(),
        Debugger::Allowed => "tracing within the cell: declared by the task".to_owned(),
    });
    phrases
}
