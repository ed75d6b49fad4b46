use super::assemble::X32_FIRST;
use super::*;

const I386: u32 = 0x4000_0003;

fn filter(notify: NotifySet, debugger: Debugger) -> Filter {
    Filter::build(&FilterOptions { notify, debugger, ..FilterOptions::default() }).unwrap()
}

fn ask(filter: &Filter, name: &str, arguments: &[u64]) -> Outcome {
    let number = calls::number(name).unwrap_or_else(|| panic!("{name} is not listed"));
    let mut registers = [0u64; 6];
    registers[..arguments.len()].copy_from_slice(arguments);
    filter.outcome(&CallData { number, architecture: ARCHITECTURE.unwrap(), arguments: registers })
}

fn errno(number: i32) -> Outcome {
    Outcome::Errno(number as u16)
}

#[test]
fn every_rule_by_number_and_registers() {
    let (unix, inet, inet6) = (libc::AF_UNIX as u64, libc::AF_INET as u64, libc::AF_INET6 as u64);
    let (stream, datagram, raw) = (libc::SOCK_STREAM as u64, libc::SOCK_DGRAM as u64, libc::SOCK_RAW as u64);
    let cloexec = libc::SOCK_CLOEXEC as u64;
    let newuser = libc::CLONE_NEWUSER as u64;
    let thread = (libc::CLONE_VM | libc::CLONE_THREAD | libc::CLONE_SIGHAND) as u64;
    let table: &[(&str, &[u64], Outcome)] = &[
        ("socket", &[unix, stream | cloexec, 0], Outcome::Allow),
        ("socket", &[unix, datagram, 0], Outcome::Allow),
        ("socket", &[inet, stream, 0], Outcome::Allow),
        ("socket", &[inet, stream | cloexec, 6], Outcome::Allow),
        ("socket", &[inet6, stream, 6], Outcome::Allow),
        ("socket", &[inet, stream, 262], errno(libc::EPROTONOSUPPORT)),
        ("socket", &[inet6, stream, 132], errno(libc::EPROTONOSUPPORT)),
        ("socket", &[inet, datagram, 0], errno(libc::EPERM)),
        ("socket", &[inet6, datagram | cloexec, 17], errno(libc::EPERM)),
        ("socket", &[inet, raw, 1], errno(libc::EPERM)),
        ("socket", &[libc::AF_NETLINK as u64, raw, 0], errno(libc::EAFNOSUPPORT)),
        ("socket", &[libc::AF_VSOCK as u64, stream, 0], errno(libc::EAFNOSUPPORT)),
        ("socket", &[libc::AF_PACKET as u64, raw, 0], errno(libc::EAFNOSUPPORT)),
        // The kernel looks at the lower half alone, and so does the rule.
        ("socket", &[inet | 1 << 32, datagram, 0], errno(libc::EPERM)),
        ("socketpair", &[unix, stream, 0], Outcome::Allow),
        ("socketpair", &[30, stream, 0], errno(libc::EAFNOSUPPORT)),
        ("sendto", &[3, 0, 0, 0x2000_0000], errno(libc::EPERM)),
        ("sendto", &[3, 0, 0, 0x4000], Outcome::Allow),
        ("sendmsg", &[3, 0, 0x2000_0000], errno(libc::EPERM)),
        ("sendmsg", &[3, 0, 0x4000], Outcome::Allow),
        ("sendmmsg", &[3, 0, 1, 0x2000_4000], errno(libc::EPERM)),
        ("setsockopt", &[3, 6, 30], errno(libc::EPERM)),
        ("setsockopt", &[3, 6, 1], Outcome::Allow),
        ("setsockopt", &[3, 1, 30], Outcome::Allow),
        ("clone", &[thread], Outcome::Allow),
        ("clone", &[libc::SIGCHLD as u64], Outcome::Allow),
        ("clone", &[newuser | libc::SIGCHLD as u64], errno(libc::EPERM)),
        ("clone", &[libc::CLONE_NEWNET as u64], errno(libc::EPERM)),
        ("clone3", &[0, 88], errno(libc::ENOSYS)),
        ("unshare", &[newuser], errno(libc::EPERM)),
        ("unshare", &[0x80], errno(libc::EPERM)),
        ("unshare", &[libc::CLONE_FS as u64], Outcome::Allow),
        ("ioctl", &[0, libc::TIOCSTI], errno(libc::EPERM)),
        ("ioctl", &[0, libc::TIOCLINUX], errno(libc::EPERM)),
        ("ioctl", &[0, libc::TIOCGWINSZ], Outcome::Allow),
        ("prctl", &[4, 0], errno(libc::EPERM)),
        ("prctl", &[4, 1], Outcome::Allow),
        ("prctl", &[15, 0], Outcome::Allow),
        ("personality", &[0], Outcome::Allow),
        ("personality", &[0xffff_ffff], Outcome::Allow),
        ("personality", &[0x0004_0000], errno(libc::EPERM)),
        ("landlock_create_ruleset", &[0, 0, 1], errno(libc::EOPNOTSUPP)),
        ("landlock_restrict_self", &[3], errno(libc::EOPNOTSUPP)),
        ("ptrace", &[0], errno(libc::EPERM)),
        ("io_uring_setup", &[8], errno(libc::EPERM)),
        ("mount", &[], errno(libc::EPERM)),
        ("setns", &[3, 0], errno(libc::EPERM)),
        ("keyctl", &[0], errno(libc::EPERM)),
        ("open_by_handle_at", &[3], errno(libc::EPERM)),
        ("bpf", &[0], errno(libc::EPERM)),
        ("openat", &[], Outcome::Allow),
        ("execve", &[], Outcome::Allow),
    ];
    let filter = filter(NotifySet::Off, Debugger::Refused);
    for (name, arguments, expected) in table {
        assert_eq!(ask(&filter, name, arguments), *expected, "{name} {arguments:x?}");
    }
}

#[test]
fn other_calling_conventions_do_not_get_through() {
    let filter = filter(NotifySet::Stat, Debugger::Allowed);
    for number in [0, 1, 5, 11, 120, 400] {
        let call = CallData { number, architecture: I386, arguments: [0; 6] };
        assert_eq!(filter.outcome(&call), Outcome::Kill, "32-bit call {number}");
        let number = number + X32_FIRST;
        let call = CallData { number, architecture: ARCHITECTURE.unwrap(), arguments: [0; 6] };
        assert_eq!(filter.outcome(&call), errno(libc::ENOSYS), "x32 call {number}");
    }
}

#[test]
fn a_declared_debugger_gets_tracing_back_and_nothing_else() {
    let (without, with) =
        (filter(NotifySet::Off, Debugger::Refused), filter(NotifySet::Off, Debugger::Allowed));
    let differing: Vec<&str> = calls::NAMED
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| ask(&without, name, &[]) != ask(&with, name, &[]))
        .collect();
    assert_eq!(differing, ["ptrace", "process_vm_readv", "process_vm_writev"]);
    assert_eq!(ask(&with, "personality", &[0x0004_0000]), Outcome::Allow);
    assert_eq!(ask(&with, "personality", &[0x0000_0008]), errno(libc::EPERM));
}

#[test]
fn each_notify_set_holds_the_smaller_one_and_no_set_weakens_a_refusal() {
    let sets = [NotifySet::Off, NotifySet::Narrow, NotifySet::Open, NotifySet::Stat];
    let filters = sets.map(|set| filter(set, Debugger::Refused));
    for (name, _) in calls::NAMED {
        let outcomes: Vec<Outcome> = filters.iter().map(|filter| ask(filter, name, &[])).collect();
        for pair in outcomes.windows(2) {
            assert!(pair[0] == pair[1] || pair[1] == Outcome::Notify, "{name}: {outcomes:?}");
            assert!(pair[0] == Outcome::Allow || pair[0] == pair[1], "{name}: {outcomes:?}");
        }
    }
    let heard = |name| filters.iter().map(|filter| ask(filter, name, &[]) == Outcome::Notify).collect();
    let table: [(&str, Vec<bool>); 5] = [
        ("chmod", vec![false, true, true, true]),
        ("connect", vec![false, true, true, true]),
        ("openat", vec![false, false, true, true]),
        ("statx", vec![false, false, false, true]),
        ("close_range", vec![false; 4]),
    ];
    for (name, expected) in table.into_iter().take(4) {
        let heard: Vec<bool> = heard(name);
        assert_eq!(heard, expected, "{name}");
    }
    assert_eq!(ask(&filters[3], "newfstatat", &[3, 0, 0, 0x1000]), Outcome::Allow, "fstat is no question");
}

#[test]
fn the_calls_that_must_never_be_trapped_are_not() {
    let filter = filter(NotifySet::Stat, Debugger::Refused);
    for number in
        [libc::SYS_close, libc::SYS_fork, libc::SYS_vfork, libc::SYS_wait4, libc::SYS_dup2, libc::SYS_fcntl]
    {
        let call = CallData { number: number as u32, architecture: ARCHITECTURE.unwrap(), arguments: [0; 6] };
        assert_eq!(filter.outcome(&call), Outcome::Allow, "{number}");
    }
}

#[test]
fn a_path_through_the_filter_is_short_and_the_bytes_are_the_same_every_time() {
    let one = filter(NotifySet::Stat, Debugger::Refused);
    assert_eq!(one, filter(NotifySet::Stat, Debugger::Refused));
    assert_ne!(one.sha256(), filter(NotifySet::Open, Debugger::Refused).sha256());
    assert!(one.len() < 600, "{}", one.len());
    let all: std::collections::BTreeSet<u32> = calls::NAMED.iter().map(|(_, number)| *number).collect();
    assert_eq!(all.len(), calls::NAMED.len(), "two names with one number");
}

#[test]
fn a_recorded_refusal_asks_the_supervisor_and_is_refused_with_the_same_error() {
    let silent = filter(NotifySet::Narrow, Debugger::Refused);
    let options = FilterOptions { refusals: Refusals::Recorded, ..*silent.options() };
    let recorded = Filter::build(&options).unwrap();
    for (name, number) in calls::NAMED {
        let call = CallData { number: *number, architecture: ARCHITECTURE.unwrap(), arguments: [0; 6] };
        match silent.outcome(&call) {
            Outcome::Errno(errno) if errno == libc::ENOSYS as u16 => {
                assert_eq!(recorded.outcome(&call), Outcome::Errno(errno), "{name}");
            }
            Outcome::Errno(errno) => {
                assert_eq!(recorded.outcome(&call), Outcome::Notify, "{name}");
                assert_eq!(recorded.refusal(&call), Some(errno), "{name}");
            }
            Outcome::Allow | Outcome::Notify => assert_eq!(recorded.refusal(&call), None, "{name}"),
            Outcome::Kill => panic!("{name} is killed"),
        }
    }
    let unwatched = Filter::build(&FilterOptions { notify: NotifySet::Off, ..options }).unwrap();
    assert_eq!(ask(&unwatched, "mount", &[]), errno(libc::EPERM), "nobody to ask: the kernel answers");
}
