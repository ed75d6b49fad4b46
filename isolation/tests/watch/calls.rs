//! The list of refused calls, made for real: the error, that it was heard, and that nothing ordinary is on it.

use std::process::ExitCode;

use bench_isolation::attempt::Act;
use bench_isolation::seccomp::NotifySet;

use crate::cell::Stage;
use crate::{Case, Needs};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        ("refused_calls_fail_with_their_error_and_are_heard", Needs::Filter, refused),
        ("the_same_calls_are_refused_when_nobody_listens", Needs::Filter, refused_unheard),
        ("ordinary_sockets_and_processes_work", Needs::Filter, ordinary),
        ("other_calling_conventions_are_refused_or_killed", Needs::Filter, conventions),
        ("tracing_an_outsider_names_the_outsider", Needs::Filter, tracing),
    ]
}

const REFUSED: &[(&str, i32)] = &[
    ("udp", libc::EPERM),
    ("raw", libc::EPERM),
    ("mptcp", libc::EPROTONOSUPPORT),
    ("netlink", libc::EAFNOSUPPORT),
    ("vsock", libc::EAFNOSUPPORT),
    ("fastopen", libc::EPERM),
    ("unshare-user", libc::EPERM),
    ("mount", libc::EPERM),
    ("io_uring", libc::EPERM),
    ("keyctl", libc::EPERM),
    ("landlock", libc::EOPNOTSUPP),
    ("undumpable", libc::EPERM),
    ("tiocsti", libc::EPERM),
    ("handle", libc::EPERM),
    ("clock", libc::EPERM),
    ("traceme", libc::EPERM),
];

fn own() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

fn refused() {
    let stage = Stage::new();
    let own = own();
    for (name, errno) in REFUSED {
        let (output, watched) = stage.hear(NotifySet::Narrow, &[&own, "call", name]);
        assert_eq!(output.status.code(), Some(*errno), "{name}: {output:?}");
        let heard = watched.attempts.iter().find(|attempt| attempt.act == Act::Call);
        assert!(heard.is_some_and(|attempt| attempt.denied), "{name}: {watched:?}");
        assert!(stage.outside_of(&watched.attempts).is_empty(), "{name} names nothing outside");
    }
}

fn refused_unheard() {
    let stage = Stage::new();
    for (name, errno) in REFUSED {
        let output = stage.start(&[&own(), "call", name]).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(*errno), "{name}: {output:?}");
    }
}

fn ordinary() {
    let stage = Stage::new();
    for name in ["tcp", "unix", "thread", "socketpair", "dumpable", "clone3"] {
        let (output, watched) = stage.hear(NotifySet::Narrow, &[&own(), "call", name]);
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        assert_eq!((watched.attempts, watched.hole), (vec![], None), "{name}");
    }
}

fn conventions() {
    use std::os::unix::process::ExitStatusExt;
    let stage = Stage::new();
    let output = stage.start(&[&own(), "call", "x32"]).wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(libc::ENOSYS), "{output:?}");
    let output = stage.start(&[&own(), "call", "int80"]).wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGSYS), "{output:?}");
}

fn tracing() {
    let stage = Stage::new();
    let outsider = rustix::process::getppid().unwrap().as_raw_nonzero().to_string();
    let (output, watched) = stage.hear(NotifySet::Narrow, &[&own(), "call", "attach", &outsider]);
    assert_eq!(output.status.code(), Some(libc::EPERM));
    let outside = stage.outside_of(&watched.attempts);
    assert!(outside.iter().any(|a| a.target.text() == format!("pid {outsider}")), "{watched:?}");
}

/// Makes one call; the exit code is its error number, 0 = it worked.
pub(crate) fn main(args: &[String]) -> ExitCode {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["thread"] => std::thread::spawn(|| Ok(())).join().unwrap(),
        ["clone3"] => std::process::Command::new("/bin/true").status().map(|_| ()),
        ["connect-unix", path] => std::os::unix::net::UnixStream::connect(path).map(|_| ()),
        ["nest-and-read", path] => return nest_and_read(path),
        ["int80"] => int80(),
        [name, rest @ ..] => raw(name, rest),
        [] => panic!("no call"),
    };
    let code = outcome.err().map_or(0, |error| error.raw_os_error().unwrap_or(1));
    ExitCode::from(u8::try_from(code).unwrap())
}

fn raw(name: &str, rest: &[&str]) -> std::io::Result<()> {
    let pid = || rest[0].parse::<libc::c_long>().unwrap();
    let call = |number: libc::c_long, a: [libc::c_long; 6]| {
        // SAFETY: every pointer argument is null, and the kernel answers EFAULT where it would read one.
        match unsafe { libc::syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) } {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    let socket = |family: i32, kind: i32, protocol: i32| {
        call(libc::SYS_socket, [family.into(), kind.into(), protocol.into(), 0, 0, 0])
    };
    match name {
        "udp" => socket(libc::AF_INET, libc::SOCK_DGRAM, 0),
        "raw" => socket(libc::AF_INET, libc::SOCK_RAW, 1),
        "mptcp" => socket(libc::AF_INET, libc::SOCK_STREAM, 262),
        "netlink" => socket(libc::AF_NETLINK, libc::SOCK_RAW, 0),
        "vsock" => socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        "tcp" => socket(libc::AF_INET6, libc::SOCK_STREAM, 0),
        "unix" => socket(libc::AF_UNIX, libc::SOCK_DGRAM, 0),
        "socketpair" => std::os::unix::net::UnixStream::pair().map(|_| ()),
        "fastopen" => call(libc::SYS_sendto, [0, 0, 0, 0x2000_0000, 0, 0]),
        "unshare-user" => call(libc::SYS_unshare, [libc::CLONE_NEWUSER.into(), 0, 0, 0, 0, 0]),
        "mount" => call(libc::SYS_mount, [0; 6]),
        "io_uring" => call(libc::SYS_io_uring_setup, [8, 0, 0, 0, 0, 0]),
        "keyctl" => call(libc::SYS_keyctl, [0; 6]),
        "landlock" => call(libc::SYS_landlock_create_ruleset, [0, 0, 1, 0, 0, 0]),
        "undumpable" => call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 0, 0, 0, 0, 0]),
        "dumpable" => call(libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 1, 0, 0, 0, 0]),
        "tiocsti" => call(libc::SYS_ioctl, [0, libc::TIOCSTI as libc::c_long, 0, 0, 0, 0]),
        "handle" => call(libc::SYS_open_by_handle_at, [0; 6]),
        "clock" => call(libc::SYS_clock_settime, [0; 6]),
        "traceme" => call(libc::SYS_ptrace, [0; 6]),
        "attach" => call(libc::SYS_ptrace, [16, pid(), 0, 0, 0, 0]),
        "x32" => call(0x4000_0000 + libc::SYS_getpid, [0; 6]),
        _ => panic!("{name}"),
    }
}

/// A domain of its own inside the cell's, with logging off, and then a read that is refused: the masking of records.
/// Exit code: how the nesting ended (0 = it worked).
fn nest_and_read(path: &str) -> ExitCode {
    use landlock::{
        ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
    };
    let nested = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(|rules| rules.create())
        .and_then(|rules| rules.log_same_exec(false)?.restrict_self());
    for _ in 0..3 {
        assert!(std::fs::read(path).is_err(), "nesting opens nothing");
    }
    ExitCode::from(u8::from(nested.is_err()))
}

#[cfg(target_arch = "x86_64")]
fn int80() -> std::io::Result<()> {
    let answer: i32;
    // SAFETY: getpid by the 32-bit convention reads and writes no memory; rbx is kept by hand, as LLVM owns it.
    unsafe {
        std::arch::asm!("push rbx", "xor ebx, ebx", "int 0x80", "pop rbx", inlateout("eax") 20 => answer);
    }
    if answer > 0 { Ok(()) } else { Err(std::io::Error::from_raw_os_error(-answer)) }
}

#[cfg(not(target_arch = "x86_64"))]
fn int80() -> std::io::Result<()> {
    Ok(())
}
