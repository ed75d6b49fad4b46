//! What a cell leaves open, by the mechanisms that hold around it and the kernel's Landlock ABI. Shown in every record,
//! by `bench doctor` and in docs/isolation.md: a gap is named, never passed over.

/// What can hold around a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mechanism {
    /// The Landlock domain.
    Landlock,
    /// Namespaces: user, mount, pid, network, ipc, host name.
    Namespaces,
    /// A user id that nobody else has.
    OwnUser,
    /// The list of refused system calls.
    SystemCalls,
    /// A control group that is frozen, killed and proven empty.
    GroupKill,
    /// A control group's limit on memory.
    GroupMemory,
    /// A control group's limit on processes.
    GroupProcesses,
    /// A control group's limit on CPU time.
    GroupCpu,
    /// Somebody who sees what is attempted.
    Detector,
}

/// One thing that stays open until something closes it.
struct Gap {
    what: &'static str,
    /// Closed by this Landlock ABI and every newer one.
    abi: Option<u32>,
    /// Closed by any of these.
    by: &'static [Mechanism],
}

const fn gap(what: &'static str, abi: Option<u32>, by: &'static [Mechanism]) -> Gap {
    Gap { what, abi, by }
}

use Mechanism::{
    Detector, GroupCpu, GroupKill, GroupMemory, GroupProcesses, Namespaces, OwnUser, SystemCalls,
};

/// Every gap that is known, in the order of a reader's interest.
const GAPS: &[Gap] = &[
    gap("outside files of the same uid can be truncated: needs Landlock ABI 3", Some(3), &[Namespaces]),
    gap("TCP to every address and port: needs Landlock ABI 4", Some(4), &[Namespaces]),
    gap("ioctl on readable devices: needs Landlock ABI 5", Some(5), &[Namespaces]),
    gap("signals to other processes of the same uid: needs Landlock ABI 6", Some(6), &[Namespaces, OwnUser]),
    gap("abstract unix sockets of other processes: needs Landlock ABI 6", Some(6), &[Namespaces]),
    gap(
        "unix sockets by path, outside as well (container and key agents): needs Landlock ABI 9 or a mount namespace",
        Some(9),
        &[Namespaces],
    ),
    gap(
        "UDP, so name look-ups too: needs Landlock ABI 10, a network namespace or the system-call list",
        Some(10),
        &[Namespaces, SystemCalls],
    ),
    gap(
        "existence, size and times of every file can be asked (stat, access, chdir): Landlock does not mediate them; needs a mount namespace",
        None,
        &[Namespaces],
    ),
    gap(
        "mode, owner, times and attributes of outside files of the same uid can be changed: Landlock does not mediate them; needs a mount namespace or an own uid",
        None,
        &[Namespaces, OwnUser],
    ),
    gap(
        "times and attributes of outside files that everybody may write can be changed: Landlock does not mediate them; needs a mount namespace",
        None,
        &[Namespaces],
    ),
    gap(
        "names appearing in outside directories can be watched (inotify): Landlock does not mediate it; needs a mount namespace",
        None,
        &[Namespaces],
    ),
    gap(
        "command lines and states of other processes can be read in /proc: no pid namespace",
        None,
        &[Namespaces],
    ),
    gap(
        "priority, limits and affinity of other processes of the same uid can be set: no own uid",
        None,
        &[Namespaces, OwnUser],
    ),
    gap(
        "the allowed TCP port is open on every address, not on loopback alone: Landlock's rule knows ports only; needs a network namespace",
        None,
        &[Namespaces],
    ),
    gap(
        "MPTCP, TCP Fast Open, netlink, vsock, raw and packet sockets: no network namespace, no list of system calls",
        None,
        &[Namespaces, SystemCalls],
    ),
    gap(
        "listening on a TCP port that the kernel chooses: Landlock mediates bind, and listen does without; needs a network namespace",
        None,
        &[Namespaces],
    ),
    gap(
        "System V objects and message queues are shared with the host: no ipc namespace, no list of system calls",
        None,
        &[Namespaces, SystemCalls],
    ),
    gap(
        "kernel keyrings of the same uid are shared with the host: no list of system calls",
        None,
        &[Namespaces, OwnUser, SystemCalls],
    ),
    gap(
        "processes are limited by user, the caller's others counted in, so a cell that starts very many can keep others of that user from starting any: no own user and no control group",
        None,
        &[Namespaces, OwnUser, GroupProcesses],
    ),
    gap("memory is not limited: no control group", None, &[GroupMemory]),
    gap("CPU time is not limited: no control group", None, &[GroupCpu]),
    gap(
        "workspace and HOME together are looked at four times a second, not held by a quota: what is written in between goes over their cap, and a file is not found that has no name and stands in no table of descriptors (mapped, or on its way through a socket)",
        None,
        &[],
    ),
    gap(
        "processes left behind are ended by walking the tree, not by the kernel at once: no pid namespace and no control group",
        None,
        &[Namespaces, GroupKill],
    ),
    gap("attempts are refused but nobody records them: no detector", None, &[Detector]),
    gap(
        "a crash is told to the program that the machine names for it (kernel.core_pattern begins with a pipe sign) once the agent has lowered its limit on core dumps from 1 to 0",
        None,
        &[],
    ),
    gap(
        "marks on what every cell has in common: locks on the system's files and devices, and the times of /dev/null and its like",
        None,
        &[],
    ),
    gap(
        "times: how long things take can be seen by other cells of the same machine (CPU, caches, disk)",
        None,
        &[],
    ),
    gap("faults of the kernel itself: whoever fears a hostile program needs a virtual machine", None, &[]),
];

/// Everything that a cell leaves open under this ABI with these mechanisms, each with its cause.
pub(crate) fn missing(abi: u32, held: &[Mechanism]) -> Vec<String> {
    GAPS.iter()
        .filter(|gap| gap.abi.is_none_or(|from| abi < from))
        .filter(|gap| !gap.by.iter().any(|mechanism| held.contains(mechanism)))
        .map(|gap| gap.what.to_owned())
        .collect()
}

/// Why a cell has no control group, and what took its place.
pub(crate) fn no_group(cause: &str, namespaces: bool) -> String {
    let end = if namespaces { "the end of its pid namespace" } else { "a walk over its tree" };
    format!("control group: none ({cause}); in its place: limits of each process and of its user, and {end}")
}

/// What the detector of a cell does not hear.
pub(crate) fn unheard(canary: bool) -> &'static str {
    if canary {
        "attempts on names that do not exist inside, and to change what is mounted read-only, leave no record: the kernel \
         records what Landlock refuses"
    } else {
        "questions about outside paths (existence, size, times) leave no record: the detector hears opens, execs and changes"
    }
}

/// The whole list with what closes each gap, as a table in Markdown: a part of docs/isolation.md.
pub fn gap_table() -> String {
    let mut table = String::from("| what stays open | closed by |\n|---|---|\n");
    for gap in GAPS {
        let by = gap.by.iter().map(|mechanism| mechanism.phrase().to_owned());
        let abi = gap.abi.map(|abi| format!("Landlock ABI {abi}"));
        let all: Vec<String> = abi.into_iter().chain(by).collect();
        let closed = if all.is_empty() { "nothing here".to_owned() } else { all.join(", ") };
        table.push_str(&format!("| {} | {closed} |\n", gap.what));
    }
    table
}

impl Mechanism {
    fn phrase(self) -> &'static str {
        match self {
            Self::Landlock => "Landlock (L1)",
            Self::Namespaces => "namespaces (L2)",
            Self::OwnUser => "a user of the cell's own (as root)",
            Self::SystemCalls => "the list of system calls (x86_64)",
            Self::GroupKill => "a control group (version 2)",
            Self::GroupMemory => "a control group's memory limit",
            Self::GroupProcesses => "a control group's limit on processes",
            Self::GroupCpu => "a control group's limit on CPU time",
            Self::Detector => "the detector (x86_64)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_holds_this_list() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/isolation.md");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(&gap_table()), "put this into docs/isolation.md:\n{}", gap_table());
    }

    #[test]
    fn a_newer_kernel_and_another_mechanism_never_add_gaps() {
        let steps: [&[Mechanism]; 4] = [
            &[Mechanism::Landlock],
            &[Mechanism::Landlock, OwnUser],
            &[Mechanism::Landlock, OwnUser, Namespaces],
            &[
                Mechanism::Landlock,
                OwnUser,
                Namespaces,
                SystemCalls,
                GroupKill,
                GroupMemory,
                GroupProcesses,
                GroupCpu,
                Detector,
            ],
        ];
        for abi in 1..12 {
            for held in steps {
                let (older, newer) = (missing(abi, held), missing(abi + 1, held));
                assert!(newer.iter().all(|gap| older.contains(gap)), "ABI {abi}");
            }
            for pair in steps.windows(2) {
                assert!(missing(abi, pair[1]).len() < missing(abi, pair[0]).len(), "ABI {abi}");
            }
        }
        assert!(!missing(10, steps[3]).is_empty(), "some things no mechanism closes");
        let tcp = |abi| missing(abi, steps[0]).iter().any(|gap| gap.starts_with("TCP to every address"));
        assert!(tcp(3) && !tcp(4));
    }
}
