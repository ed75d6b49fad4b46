//! A kernel without Landlock, or without namespaces: `bench run` refuses with its own exit code and says what can be done; what needs no walls
//! works. The kernel is made to answer as if it had none by a seccomp filter on the started process.

use std::os::unix::process::CommandExt as _;

use crate::workplace::{Outcome, Workplace, smoke_experiment};

/// Starts the binary on a kernel without Landlock.
fn without_landlock(place: &Workplace, args: &[&str]) -> Outcome {
    without(libc::SYS_landlock_create_ruleset, place, args)
}

/// Starts the binary with one system call answering ENOSYS.
fn without(call: libc::c_long, place: &Workplace, args: &[&str]) -> Outcome {
    let mut command = place.command(args);
    // SAFETY: prctl and seccomp with a filter on the stack are async-signal-safe and touch only the child.
    unsafe {
        command.pre_exec(move || {
            let load = |k| libc::sock_filter { code: 0x20, jt: 0, jf: 0, k };
            let ret = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k };
            let mut filter = [
                load(0), // the system call's number
                libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: call as u32 },
                ret(0x0005_0000 | libc::ENOSYS as u32), // SECCOMP_RET_ERRNO
                ret(0x7fff_0000),                       // SECCOMP_RET_ALLOW
            ];
            let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) != 0
            {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    Outcome::of(command.output().unwrap())
}

#[test]
fn run_and_verify_refuse_and_say_what_can_be_done() {
    let place = Workplace::new();
    let file = place.file("experiment.toml", &smoke_experiment("no-walls"));
    without_landlock(&place, &["run", &file]).exits(5).complains(&["L1", "L0", "Landlock"]);
    without_landlock(&place, &["verify", "smoke"]).exits(5);
    assert!(!place.path().join("runs").exists());
}

#[test]
fn what_needs_no_walls_works() {
    let place = Workplace::new();
    let file = place.file("experiment.toml", &smoke_experiment("no-walls"));
    without_landlock(&place, &["plan", &file]).exits(0);
    without_landlock(&place, &["init", "other.toml"]).exits(0);
    let doctor = without_landlock(&place, &["doctor"]).exits(0).stdout;
    assert!(doctor.contains("L0") && doctor.contains("CONFIG_SECURITY_LANDLOCK"), "{doctor}");
}

#[test]
fn a_run_begun_without_namespaces_stays_at_its_level_where_they_are_to_be_had() {
    if !crate::workplace::walls("a_run_begun_without_namespaces_stays_at_its_level…") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("experiment.toml", &smoke_experiment("lower"));
    without(libc::SYS_pivot_root, &place, &["run", &file, "-q", "-o", "run"]).exits(0);
    assert!(place.records("run").iter().all(|record| record["isolation"]["level"] == "L1"));
    place.bench(&["run", &file, "-q", "-o", "run"]).exits(0).complains(&["nothing to do"]);
}
