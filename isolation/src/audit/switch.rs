//! Auditing of the machine: how it stands, what would have to change for the tap, the change, and its undoing.
//!
//! Nothing here happens unasked. `bench doctor --fix` prints [`FixPlan::changes`] first, then calls [`apply`], and
//! keeps what it answers for [`restore`].

use std::io;

use serde::{Deserialize, Serialize};

use super::netlink::Socket;
use crate::owners::{FIRST_OWNER, OWNERS};

const GET: u16 = 1000;
const SET: u16 = 1001;
const ADD_RULE: u16 = 1011;
const DELETE_RULE: u16 = 1012;

const MASK_ENABLED: u32 = 0x1;
const MASK_BACKLOG_LIMIT: u32 = 0x10;
/// Records that may wait in the kernel; with its usual 64 a flood loses nearly all of them.
const BACKLOG_LIMIT: u32 = 16_384;

/// A rule that says never: the kernel's list, and up to one field with its operator and value.
struct Rule {
    list: u32,
    field: u32,
    operator: u32,
    value: u32,
}

const LIST_TASK: u32 = 1;
const LIST_EXCLUDE: u32 = 5;
const LIST_FILE_SYSTEM: u32 = 6;
const FIELD_UID: u32 = 1;
const FIELD_TYPE: u32 = 12;
const FIELD_FILE_SYSTEM: u32 = 26;
const LESS: u32 = 0x1000_0000;
const GREATER: u32 = 0x2000_0000;
const NOT_EQUAL: u32 = 0x3000_0000;
const EQUAL: u32 = 0x4000_0000;

/// System calls of processes that are started by anybody but the users of cells are not followed, which is what makes
/// auditing cheap; and beside the record of such a call, which names the process, its companions are left out. What only
/// they would say of each file on a path (owner, mode, capabilities: read from the disk at every open) is not gathered.
const RULES: [Rule; 7] = [
    Rule { list: LIST_TASK, field: FIELD_UID, operator: LESS, value: FIRST_OWNER },
    Rule { list: LIST_TASK, field: FIELD_UID, operator: GREATER, value: FIRST_OWNER + OWNERS - 1 },
    Rule { list: LIST_EXCLUDE, field: FIELD_TYPE, operator: EQUAL, value: 1307 },
    Rule { list: LIST_EXCLUDE, field: FIELD_TYPE, operator: EQUAL, value: 1302 },
    Rule { list: LIST_EXCLUDE, field: FIELD_TYPE, operator: EQUAL, value: 1327 },
    Rule { list: LIST_EXCLUDE, field: FIELD_TYPE, operator: EQUAL, value: 1320 },
    // No file system has the number 0: this is every one.
    Rule { list: LIST_FILE_SYSTEM, field: FIELD_FILE_SYSTEM, operator: NOT_EQUAL, value: 0 },
];

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
    /// The rules that were added, by their place in the list of this version; others were there before.
    pub rules_added: Vec<usize>,
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
        let (first, last) = (FIRST_OWNER, FIRST_OWNER + OWNERS - 1);
        changes.push(format!(
            "no audit records of system calls of new processes, but of those of cells (auditctl -a never,task -F \
             uid<{first}; auditctl -a never,task -F uid>{last})"
        ));
        changes.push(
            "of a system call its own record alone (auditctl -a never,exclude -F msgtype=CWD; the same with PATH, \
             PROCTITLE and EOE)"
                .to_owned(),
        );
        changes.push(
            "nothing about the files of a system call (auditctl -a never,filesystem -F fstype!=0)".to_owned(),
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
    let mut applied = Applied { before: plan.before, rules_added: Vec::new() };
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
        for (place, rule) in RULES.iter().enumerate() {
            match socket.set(ADD_RULE, &rule.bytes()) {
                Ok(_) => applied.rules_added.push(place),
                Err(error) if error.raw_os_error() == Some(libc::EEXIST) => {}
                Err(error) => return Err(error),
            }
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
    for rule in applied.rules_added.iter().filter_map(|place| RULES.get(*place)) {
        match socket.set(DELETE_RULE, &rule.bytes()) {
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

impl Rule {
    /// The kernel's `struct audit_rule_data`: list, action (0 = never), how many fields; a mask of system calls; then
    /// fields, values and operators of 64 words each; the length of the texts that follow, which is 0.
    fn bytes(&self) -> Vec<u8> {
        const MASK_WORDS: usize = 64;
        const MOST_FIELDS: usize = 64;
        let column = |first: u32| {
            let mut words = [0; MOST_FIELDS];
            words[0] = first;
            words
        };
        let mut words = vec![self.list, 0, 1];
        words.extend([u32::MAX; MASK_WORDS]);
        [self.field, self.value, self.operator].into_iter().for_each(|first| words.extend(column(first)));
        words.push(0);
        words.into_iter().flat_map(u32::to_ne_bytes).collect()
    }
}
