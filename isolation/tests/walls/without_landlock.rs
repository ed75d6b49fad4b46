//! A machine without Landlock, made from this one: a seccomp filter answers ENOSYS, as an old kernel would.

use std::process::{Command, ExitCode};

use bench_core::IsolationLevel;
use bench_isolation::LaunchError;

use crate::stage::Stage;
use crate::{Case, Needs};

pub(crate) fn cases() -> Vec<Case> {
    vec![("without_landlock_no_cell_runs", Needs::Nothing, refused)]
}

fn refused() {
    // In a process of its own: a filter cannot be taken off again.
    let inner = Command::new("/proc/self/exe").arg("without-landlock").output().unwrap();
    let told = String::from_utf8_lossy(&inner.stderr);
    assert!(inner.status.success(), "{told}");
}

pub(crate) fn inner_main() -> ExitCode {
    answer_enosys_to_landlock();
    let reachable = bench_isolation::reachable();
    assert_eq!((reachable.level, reachable.landlock_abi), (IsolationLevel::L0, None));
    assert!(reachable.remedy.unwrap().contains("5.13"));
    let stage = Stage::new();
    let error = stage.launch(stage.script("touch ran")).map(drop).unwrap_err();
    assert!(matches!(error, LaunchError::IsolationUnavailable { .. }), "{error}");
    assert!(error.to_string().contains("5.13"), "{error}");
    assert!(!stage.in_workspace("ran").exists(), "the program ran");
    ExitCode::SUCCESS
}

/// `if nr == landlock_create_ruleset { ENOSYS } else { allow }`.
fn answer_enosys_to_landlock() {
    let statement = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_landlock_create_ruleset as u32,
        ),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: `program` and the filter that it points to outlive the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}
