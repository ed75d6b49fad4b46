//! The kernel's own record of what a Landlock domain was refused, closed by the kernel's own count.
//!
//! ```text
//! harness    let tap = AuditTap::start()?;                       // Err = why not, in words for `missing`
//!            let watch = tap.expect(&canary_nonce);              // before the cell is ordered
//! agent      restrict_self with LOG_NEW_EXEC_ON (landlock crate: `.log_new_exec(true)`), every other probe, and then
//!            open a file whose name holds the nonce: it must be refused, and its record names the domain.
//! harness    let heard = watch.settle().await;                   // any time after the cell ended; may overlap the next cell
//! ```
//!
//! The nonce must stand in the *path* of an existing object that the domain may not open ([`nonce`] makes one). What
//! the domain was refused up to the canary is the launcher's own probing and is not an attempt of the agent: the canary
//! comes last. [`Heard::hole`] is `None` only when the domain is gone and the kernel's `denials=N` equals the records
//! received; a canary that never arrived, a lost record, an overflowing socket or a domain that lives on is a hole.
//!
//! Auditing is never switched on here: [`AuditTap::start`] says that it is off, and [`switch`] holds what
//! `bench doctor --fix` prints, does and undoes. The tap is one thread of the harness, which must be in the machine's
//! first network and user namespaces; elsewhere the bind succeeds and nothing arrives, which the canary shows.

mod netlink;
mod record;
pub mod switch;
mod tap;

pub use record::{Record, parse};
pub use tap::{AuditTap, Heard, NoTap, Watch, nonce};
