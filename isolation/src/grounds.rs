//! The ground on which a cell of ours stands, by which its attempts are judged: from its policy and its level.

use std::path::PathBuf;

use bench_core::IsolationLevel;

use crate::classify::{Grounds, Metadata, ProcView};
use crate::layout::DECOYS;
use crate::message::Order;
use crate::seen;
use crate::system_paths::granted_system_paths;

/// What every root of a cell's own holds of the system.
const OWN_SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/dev", "/run"];

/// Trees in memory that a cell with a root of its own may change.
const OWN_SCRATCH: &[&str] = &["/tmp", "/dev/shm"];

/// The grounds of an order.
pub(crate) fn of(order: &Order) -> Grounds {
    let own_view = seen::has_namespaces(order.level);
    let mut writable = seen::places(order.level, &order.policy.writable);
    let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
    let (mut protected, system) =
        (order.hidden(), if own_view { paths(OWN_SYSTEM) } else { granted_system_paths() });
    if own_view {
        writable.extend(paths(OWN_SCRATCH));
        protected.extend(paths(DECOYS));
    }
    let own_user = own_view || rustix::process::geteuid().is_root();
    Grounds {
        workspace: writable.first().cloned().unwrap_or_default(),
        writable,
        readable: order.policy.readable.clone(),
        system,
        search: order
            .env
            .get("PATH")
            .map(|path| path.split(':').map(PathBuf::from).collect())
            .unwrap_or_default(),
        protected,
        connect_port: order.policy.connect_port,
        proc: if own_view { ProcView::Own } else { ProcView::Shared },
        metadata: if own_user { Metadata::Refused } else { Metadata::Open },
    }
}

/// What detects attempts in a cell of this level: words for people.
pub(crate) fn detector_word(level: IsolationLevel, notify: Option<&'static str>) -> String {
    match (level, notify) {
        (IsolationLevel::L3, Some(notify)) => format!("audit+{notify}"),
        (IsolationLevel::L0 | IsolationLevel::L1 | IsolationLevel::L2 | IsolationLevel::L3, notify) => {
            notify.unwrap_or("none").to_owned()
        }
    }
}
