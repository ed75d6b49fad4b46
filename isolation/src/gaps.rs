//! What level L1 leaves open, by the kernel's Landlock ABI. Shown in every record: a gap is named, never passed over.

/// Gaps of every L1 cell, whatever the ABI.
const ALWAYS: &[&str] = &[
    "existence, size and times of every file can be asked (stat, access, chdir): Landlock does not mediate them",
    "mode, owner, times and attributes of outside files of the same uid can be changed: Landlock does not mediate them",
    "names appearing in outside directories can be watched (inotify): Landlock does not mediate it",
    "command lines and states of other processes can be read in /proc: no pid namespace",
    "priority, limits and affinity of other processes of the same uid can be set: no own uid",
    "the allowed TCP port is open on every address, not on loopback alone: Landlock's rule knows ports only",
    "MPTCP, TCP Fast Open, listening on a free port, netlink, vsock, raw and packet sockets: no seccomp list",
    "SysV shared memory and kernel keyrings are shared with the host: no ipc namespace",
    "memory, processes, CPU and disk are not limited: no cgroup",
    "processes left behind are ended by walking the tree, not by the kernel at once: no pid namespace",
    "attempts are refused but nobody records them: no detector",
];

/// What closes with which ABI: up to the number before it, this is open.
const CLOSED_FROM: &[(u32, &str)] = &[
    (3, "outside files of the same uid can be truncated: needs Landlock ABI 3"),
    (4, "TCP to every address and port: needs Landlock ABI 4"),
    (5, "ioctl on readable devices: needs Landlock ABI 5"),
    (6, "signals to other processes of the same uid: needs Landlock ABI 6"),
    (6, "abstract unix sockets of other processes: needs Landlock ABI 6"),
    (9, "unix sockets by path, outside as well (container and key agents): needs Landlock ABI 9"),
    (10, "UDP, so name look-ups too: needs Landlock ABI 10"),
];

/// Everything that an L1 cell leaves open under this ABI, each with its cause.
pub(crate) fn missing(abi: u32) -> Vec<String> {
    let by_abi = CLOSED_FROM.iter().filter(|(closed_from, _)| abi < *closed_from).map(|(_, gap)| gap);
    by_abi.chain(ALWAYS).map(|gap| (*gap).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_kernel_never_has_more_gaps_and_some_stay_for_ever() {
        for abi in 1..12 {
            let (older, newer) = (missing(abi), missing(abi + 1));
            assert!(newer.iter().all(|gap| older.contains(gap)), "ABI {abi}");
        }
        assert_eq!(missing(10).len(), ALWAYS.len());
        assert!(missing(3).iter().any(|gap| gap.starts_with("TCP to every address")));
        assert!(!missing(4).iter().any(|gap| gap.starts_with("TCP to every address")));
    }
}
