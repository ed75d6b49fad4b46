//! How strong the walls can be on this machine, and what would make them stronger.

use bench_core::{IsolationEvidence, IsolationLevel};

use crate::gaps;
use crate::kernel;

/// What this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reachable {
    /// The highest level.
    pub level: IsolationLevel,
    /// Landlock ABI of the kernel; none = no Landlock.
    pub landlock_abi: Option<u32>,
    /// What that level leaves open here, each with its cause.
    pub missing: Vec<String>,
    /// What can be done, where even L1 cannot be reached.
    pub remedy: Option<String>,
}

/// Asks the kernel; starts nothing and changes nothing.
pub fn reachable() -> Reachable {
    match kernel::landlock_version() {
        Ok(abi) if abi >= 1 => Reachable {
            level: IsolationLevel::L1,
            landlock_abi: Some(abi),
            missing: gaps::missing(abi),
            remedy: None,
        },
        answer => Reachable {
            level: IsolationLevel::L0,
            landlock_abi: None,
            missing: vec!["every wall: no Landlock in this kernel".to_owned()],
            remedy: Some(remedy(answer.err().and_then(|error| error.raw_os_error()))),
        },
    }
}

/// The evidence of a cell that never ran: nothing was enforced, nothing was left behind, and `why` is what is missing.
pub fn evidence_of_no_cell(why: &str) -> IsolationEvidence {
    IsolationEvidence {
        level: IsolationLevel::L0,
        requested: Vec::new(),
        enforced: Vec::new(),
        missing: vec![format!("everything: the program never ran: {why}")],
        landlock_abi: kernel::landlock_version().ok(),
        uid: rustix::process::getuid().as_raw(),
        detector: "none".to_owned(),
        probes: Vec::new(),
        events: Vec::new(),
        evidence_complete: None,
        quiescent: true,
        survivors_killed: 0,
    }
}

fn remedy(errno: Option<i32>) -> String {
    match errno {
        Some(libc::EOPNOTSUPP) => {
            "Landlock is built into this kernel but not enabled: add `landlock` to the boot parameter `lsm=` \
             (for example `lsm=landlock,lockdown,yama,integrity,apparmor,bpf`) and restart"
        }
        Some(libc::EPERM | libc::EACCES) => {
            "something refuses the Landlock system calls: in a container, allow landlock_create_ruleset, \
             landlock_add_rule and landlock_restrict_self in its seccomp profile"
        }
        _ => {
            "use Linux 5.13 or newer built with CONFIG_SECURITY_LANDLOCK=y; in a container, also allow the three \
             landlock system calls in its seccomp profile"
        }
    }
    .to_owned()
}
