//! Auditing of the machine: how it stands, what would have to change for the tap, the change, and its undoing.
//!
//! Nothing here happens unasked. `bench doctor --fix` prints [`FixPlan::changes`] first, then calls [`apply`], and
//! keeps what it answers for [`restore`].

use std::io;

use serde::{Deserialize, Serialize};

use super::netlink::Socket;

const GET: u16 = 1000;
const SET: u16 = 1001;
const ADD_RULE: u16 = 1011;
const DELETE_RULE: u16 = 1012;

const MASK_ENABLED: u32 = 0x1;
const MASK_BACKLOG_LIMIT: u32 = 0x10;
/// Records that may wait in the kernel; with its usual 64 a flood loses nearly all of them.
const BACKLOG_LIMIT: u32 = 16_384;
const FILTER_TASK: u32 = 1;

/// How auditing stands on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditState {
    /// 0 = off, 1 = on, 2 = on and locked until the next start.
    pub enabled: u32,
    /// Records that may wait.
    pub backlog_limit: u32,
    /// Records lost so far.
    pub lost: u32,
}

/// What would be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixPlan {
    /// How it stands.
    pub before: AuditState,
    /// One line a change, with the command that does the same by hand. Empty = nothing is to be done.
    pub changes: Vec<String>,
}

/// What was changed, to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// How it stood.
    pub before: AuditState,
    /// Was the rule added, or was it there before?
    pub rule_added: bool,
}

/// Asks the kernel how auditing stands. Needs `CAP_AUDIT_CONTROL`.
pub fn state() -> io::Result<AuditState> {
    let status = Socket::asking()?.get(GET)?;
    let word = |index: usize| {
        let bytes = status.get(4 * index..4 * index + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let fields = (word(1), word(5), word(6));
    let (Some(enabled), Some(backlog_limit), Some(lost)) = fields else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the kernel's audit status is too short"));
    };
    Ok(AuditState { enabled, backlog_limit, lost })
}

/// What the tap needs that is not so. Changes nothing.
pub fn fix_plan() -> io::Result<FixPlan> {
    let before = state()?;
    let mut changes = Vec::new();
    if before.enabled == 0 {
        changes.push("kernel auditing: off -> on (auditctl -e 1)".to_owned());
        // Only where auditing is ours to switch: whoever has it on has his own rules.
        changes.push(
            "no audit records of system calls of new processes, Landlock's alone (auditctl -a never,task)"
                .to_owned(),
        );
    }
    if before.backlog_limit != 0 && before.backlog_limit < BACKLOG_LIMIT {
        let was = before.backlog_limit;
        changes.push(format!(
            "audit records that may wait: {was} -> {BACKLOG_LIMIT} (auditctl -b {BACKLOG_LIMIT})"
        ));
    }
    Ok(FixPlan { before, changes })
}

/// Does it.
pub fn apply(plan: &FixPlan) -> io::Result<Applied> {
    let socket = Socket::asking()?;
    let mut applied = Applied { before: plan.before, rule_added: false };
    let done = apply_each(&socket, plan, &mut applied);
    if let Err(error) = done {
        // Half of it is worse than none.
        let _ = restore(&applied);
        return Err(error);
    }
    Ok(applied)
}

fn apply_each(socket: &Socket, plan: &FixPlan, applied: &mut Applied) -> io::Result<()> {
    if plan.before.backlog_limit != 0 && plan.before.backlog_limit < BACKLOG_LIMIT {
        socket.set(SET, &status(MASK_BACKLOG_LIMIT, 0, BACKLOG_LIMIT))?;
    }
    if plan.before.enabled == 0 {
        match socket.set(ADD_RULE, &never_task()) {
            Ok(_) => applied.rule_added = true,
            Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
            Err(error) => return Err(error),
        }
        socket.set(SET, &status(MASK_ENABLED, 1, 0))?;
    }
    Ok(())
}

/// Puts it back as it was.
pub fn restore(applied: &Applied) -> io::Result<()> {
    let socket = Socket::asking()?;
    let now = state()?;
    if now.enabled != applied.before.enabled {
        socket.set(SET, &status(MASK_ENABLED, applied.before.enabled, 0))?;
    }
    if applied.rule_added {
        match socket.set(DELETE_RULE, &never_task()) {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => return Err(error),
        }
    }
    if now.backlog_limit != applied.before.backlog_limit {
        socket.set(SET, &status(MASK_BACKLOG_LIMIT, 0, applied.before.backlog_limit))?;
    }
    Ok(())
}

/// The kernel's `struct audit_status` as far as the fields that are set here.
fn status(mask: u32, enabled: u32, backlog_limit: u32) -> Vec<u8> {
    let mut words = [0u32; 11];
    (words[0], words[1], words[5]) = (mask, enabled, backlog_limit);
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}

/// The kernel's `struct audit_rule_data` for `never,task` without fields.
fn never_task() -> Vec<u8> {
    const MASK_WORDS: usize = 64;
    const FIELD_WORDS: usize = 3 * 64;
    let mut words = vec![FILTER_TASK, 0, 0];
    words.extend([u32::MAX; MASK_WORDS]);
    words.extend([0; FIELD_WORDS]);
    words.push(0);
    words.into_iter().flat_map(u32::to_ne_bytes).collect()
}
