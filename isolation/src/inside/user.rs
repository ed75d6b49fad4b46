//! Who the program runs as: the owner of its workspace, never uid 0.
//!
//! As root every slot has an owner of its own ([`crate::slot`]); else there is only the caller. In a user namespace that
//! owner has a constant number inside.

use std::os::fd::OwnedFd;

use rustix::fs::FileType;
use rustix::process::{Gid, Uid};

use super::agent::Start;
use crate::message::{Order, Refusal};
use crate::spec::Policy;

/// The number by which the program's user is known in a user namespace of the cell's own.
const INSIDE: u32 = 1000;

/// The user of programs that have no workspace.
const NOBODY: u32 = 65534;

/// The owner of the cell's directories, as the host knows it.
pub(crate) fn owner(policy: &Policy) -> Result<u32, Refusal> {
    let own = rustix::process::geteuid();
    if !own.is_root() {
        return Ok(own.as_raw());
    }
    let Some(workspace) = policy.writable.first() else { return Ok(NOBODY) };
    let stat = rustix::fs::stat(workspace)
        .map_err(|error| Refusal::setup(format!("look at {}", workspace.display()), error))?;
    match stat.st_uid {
        0 => Err(Refusal::setup(
            "choose the cell's user",
            format!("{} belongs to root; take it from a slot, which has an owner", workspace.display()),
        )),
        owner => Ok(owner),
    }
}

/// The id map of a cell's user namespace: root stays root where the harness is root, for the mounts' sake.
pub(crate) fn id_map(owner: u32) -> String {
    if rustix::process::geteuid().is_root() {
        format!("0 0 1\n{INSIDE} {owner} 1\n")
    } else {
        format!("{INSIDE} {owner} 1\n")
    }
}

/// As [`id_map`], for groups: unprivileged, the map names the caller's own group.
pub(crate) fn group_map(owner: u32) -> String {
    if rustix::process::geteuid().is_root() {
        id_map(owner)
    } else {
        format!("{INSIDE} {} 1\n", rustix::process::getegid())
    }
}

/// The user a program is about to run as.
pub(crate) struct CellUser {
    outside: u32,
    namespaced: bool,
    privileged: bool,
}

impl CellUser {
    /// Decides it, while paths of the host can still be seen or, in namespaces, from what init was told.
    pub(crate) fn of(start: &Start<'_>) -> Result<Self, Refusal> {
        let privileged = rustix::process::geteuid().is_root();
        match start.user {
            Some(outside) => Ok(Self { outside, namespaced: true, privileged }),
            None => Ok(Self { outside: owner(&start.order.policy)?, namespaced: false, privileged }),
        }
    }

    /// Has the cell a user of its own, whom nobody else is?
    pub(crate) fn is_own(&self) -> bool {
        self.namespaced || self.privileged
    }

    /// The number as the host knows it.
    pub(crate) fn outside(&self) -> u32 {
        self.outside
    }

    /// In words.
    pub(crate) fn phrase(&self) -> String {
        if self.namespaced {
            format!("{INSIDE} inside, {} outside", self.outside)
        } else {
            self.outside.to_string()
        }
    }

    /// Gives it the output pipes: a program may open them again, by the name of /dev/stderr.
    pub(crate) fn take_over(&self, outputs: [&OwnedFd; 2]) -> Result<(), Refusal> {
        if !self.privileged {
            return Ok(());
        }
        let owner = Some(Uid::from_raw(self.inside()));
        outputs
            .into_iter()
            .try_for_each(|output| rustix::fs::fchown(output, owner, None))
            .map_err(|error| Refusal::setup("give the output to the cell's user", error))
    }

    /// The number by which this process knows it.
    fn inside(&self) -> u32 {
        if self.namespaced { INSIDE } else { self.outside }
    }

    /// Changes to it. Nothing is to be done where the caller is that user already.
    pub(crate) fn become_it(&self, policy: &Policy) -> Result<(), Refusal> {
        if !self.privileged {
            return Ok(());
        }
        if !self.namespaced {
            refuse_closed_directories(policy)?;
        }
        let id = self.inside();
        let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
        rustix::thread::set_thread_groups(&[])
            .and_then(|()| rustix::thread::set_thread_res_gid(group, group, group))
            .and_then(|()| rustix::thread::set_thread_res_uid(user, user, user))
            .map_err(|error| Refusal::no_wall("own user", error))
    }
}

/// Without a mount namespace, every directory above what the program needs must let its user through.
fn refuse_closed_directories(policy: &Policy) -> Result<(), Refusal> {
    for path in policy.readable.iter().chain(&policy.writable) {
        for dir in path.ancestors().skip(1) {
            let stat = rustix::fs::stat(dir)
                .map_err(|error| Refusal::setup(format!("look at {}", dir.display()), error))?;
            let is_dir = FileType::from_raw_mode(stat.st_mode).is_dir();
            if is_dir && stat.st_mode & 0o001 == 0 {
                let why = format!(
                    "{} lets only its owner through, so {} cannot be reached by the cell's user at level L1; \
                     `chmod o+x {}`, or keep it elsewhere",
                    dir.display(),
                    path.display(),
                    dir.display()
                );
                return Err(Refusal::setup("reach what the policy grants", why));
            }
        }
    }
    Ok(())
}

impl Order {
    /// Directories of the harness that stand as decoys in a root of the cell's own.
    pub(crate) fn hidden(&self) -> Vec<std::path::PathBuf> {
        let slots = self.policy.writable.first().and_then(|workspace| workspace.parent()?.parent());
        slots
            .map(std::path::Path::to_owned)
            .into_iter()
            .chain(self.policy.must_not_read.iter().cloned())
            .collect()
    }
}
