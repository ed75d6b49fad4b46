//! How strong the walls can be on this machine, and what would make them stronger.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bench_core::{IsolationEvidence, IsolationLevel};

use crate::audit::{self, AuditTap};
use crate::cgroup::{Controller, Delegated};
use crate::gaps::{self, Mechanism};
use crate::inside::trial;
use crate::kernel;
use crate::message::Refusal;
use crate::seccomp::{Filter, FilterOptions};

/// What this machine can enforce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reachable {
    /// The highest level.
    pub level: IsolationLevel,
    /// Landlock ABI of the kernel; none = no Landlock.
    pub landlock_abi: Option<u32>,
    /// What that level leaves open here, each with its cause.
    pub missing: Vec<String>,
    /// Control groups that cells get here, one a line, and why not more.
    pub control_groups: Vec<String>,
    /// What can be done, where even L1 cannot be reached.
    pub remedy: Option<String>,
}

/// Landlock ABI from which the walls of level L2 count as whole.
const ABI_OF_L2: u32 = 3;

/// What this machine can enforce, found by asking the kernel for Landlock and by really putting up a cell with
/// namespaces, in a process of its own. Asked once; changes nothing.
pub fn reachable() -> Reachable {
    static ANSWER: OnceLock<Reachable> = OnceLock::new();
    ANSWER.get_or_init(find_out).clone()
}

fn find_out() -> Reachable {
    let abi = match kernel::landlock_version() {
        Ok(abi) if abi >= 1 => abi,
        answer => {
            return Reachable {
                level: IsolationLevel::L0,
                landlock_abi: None,
                missing: vec!["every wall: no Landlock in this kernel".to_owned()],
                control_groups: Vec::new(),
                remedy: Some(remedy(answer.err().and_then(|error| error.raw_os_error()))),
            };
        }
    };
    let root = rustix::process::geteuid().is_root();
    let own_user = root.then_some(Mechanism::OwnUser);
    let delegated = Delegated::find(&[rustix::process::getpid()]);
    let control_groups = delegated.phrases();
    match if abi >= ABI_OF_L2 { try_namespaces(None) } else { Err(old_abi(abi)) } {
        Ok(()) => {
            let walls = [
                Mechanism::Landlock,
                Mechanism::Namespaces,
                Mechanism::OwnUser,
                Mechanism::SystemCalls,
                Mechanism::Detector,
            ];
            let held = [&walls[..], &of_groups(&delegated)].concat();
            let mut missing = gaps::missing(abi, &held);
            let (level, remedy) = match try_audit() {
                Ok(()) => (IsolationLevel::L3, None),
                Err(why) => {
                    missing.insert(0, format!("level L3: {why}"));
                    (IsolationLevel::L2, Some(AUDIT.to_owned()))
                }
            };
            Reachable { level, landlock_abi: Some(abi), missing, control_groups, remedy }
        }
        Err(why) => {
            let filter = Filter::build(&FilterOptions::default()).is_ok();
            let calls = [Mechanism::SystemCalls, Mechanism::Detector].into_iter().filter(|_| filter);
            let walls = [Mechanism::Landlock].into_iter().chain(own_user).chain(calls);
            let held: Vec<Mechanism> = walls.chain(of_groups(&delegated)).collect();
            let mut missing = vec![format!("level L2: {why}")];
            missing.extend(gaps::missing(abi, &held));
            Reachable {
                level: IsolationLevel::L1,
                landlock_abi: Some(abi),
                missing,
                control_groups,
                remedy: Some(NAMESPACES.to_owned()),
            }
        }
    }
}

/// What control groups hold here.
fn of_groups(delegated: &Delegated) -> Vec<Mechanism> {
    let limits = [
        (Controller::Memory, Mechanism::GroupMemory),
        (Controller::Pids, Mechanism::GroupProcesses),
        (Controller::Cpu, Mechanism::GroupCpu),
    ];
    let held = limits.into_iter().filter(|(one, _)| delegated.holds(*one)).map(|(_, mechanism)| mechanism);
    held.chain(delegated.kills().then_some(Mechanism::GroupKill)).collect()
}

const NAMESPACES: &str = "for level L2 allow unprivileged user namespaces: sysctl user.max_user_namespaces above 0, \
     kernel.unprivileged_userns_clone=1 where it exists, on Ubuntu an AppArmor profile with `userns` (or \
     kernel.apparmor_restrict_unprivileged_userns=0); in a container, a seccomp profile that lets clone, mount and \
     pivot_root pass and an unmasked /proc; or set `min-isolation = \"L1\"` in the experiment file if that is enough";

const AUDIT: &str = "for level L3 switch the kernel's auditing on (Linux 6.15 or newer, root outside every container): \
     `bench doctor --fix` prints what it changes, `--undo` puts it back";

/// A cell's canary must arrive among the kernel's records, and its count must be right: elsewhere than in the machine's
/// first network namespace one may listen and hears nothing. In a thread of its own, since the caller may be a runtime.
fn try_audit() -> Result<(), String> {
    let attempt = || {
        let tap = AuditTap::start().map_err(|error| error.to_string())?;
        let nonce = audit::nonce().map_err(|error| error.to_string())?;
        let watch = tap.expect(&nonce);
        try_namespaces(Some(&nonce))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let heard = runtime.map_err(|error| error.to_string())?.block_on(watch.settle());
        heard.hole.map_or(Ok(()), Err)
    };
    std::thread::scope(|scope| scope.spawn(attempt).join())
        .unwrap_or_else(|_| Err("it could not be tried".to_owned()))
}

fn old_abi(abi: u32) -> String {
    format!("Landlock ABI {ABI_OF_L2} is needed and this kernel has {abi}")
}

/// Starts this binary's hidden subcommand, which tries and tells.
fn try_namespaces(canary: Option<&str>) -> Result<(), String> {
    let output = Command::new("/proc/self/exe")
        .args(["sandbox-exec", trial::ARGUMENT].into_iter().chain(canary))
        .env_clear()
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .map_err(|error| format!("it could not be tried: {error}"))?;
    match serde_json::from_slice::<Result<(), Refusal>>(&output.stdout) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(refusal)) => Err(refusal.to_string()),
        Err(_) => Err("it could not be tried: this program does not serve `sandbox-exec`".to_owned()),
    }
}

/// The evidence of a cell that never ran: nothing was enforced, nothing was left behind, and `why` is what is missing.
pub fn evidence_of_no_cell(why: &str) -> IsolationEvidence {
    IsolationEvidence {
        level: IsolationLevel::L0,
        requested: Vec::new(),
        enforced: Vec::new(),
        missing: vec![format!("everything: the program never ran: {why}").into()],
        landlock_abi: kernel::landlock_version().ok(),
        uid: rustix::process::getuid().as_raw(),
        detector: "none".into(),
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
