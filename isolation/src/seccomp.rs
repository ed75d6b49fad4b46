//! The system-call filter of a cell: register-only rules, assembled once per launcher, installed after Landlock.
//!
//! ```text
//! launcher   let filter = Filter::build(&FilterOptions { notify: NotifySet::Narrow, refusals: Refusals::Recorded, ..Default::default() })?;
//! agent      walls::enforce(rules)?;                   // Landlock first: the filter refuses its system calls
//!            probe::run(..)?;                          // the canary last (see `crate::audit`)
//!            let listener = filter.install()?;         // sets no_new_privs; allocates nothing
//!            if let Some(listener) = listener {
//!                notify::hand_over(&to_supervisor, listener)?;   // before exec: exec itself may be trapped
//!            }
//! supervisor let listener = notify::take_over(&from_agent)?;     // and poll it from here on, also while the exec is
//!                                                                // awaited: a trapped call waits for an answer
//! ```
//!
//! What is refused, and with which error, stands in [`rules`]; which calls wake the supervisor in [`crate::notify`]'s
//! sets. Every rule looks at registers alone, so nothing can be swapped between the check and the call. Paths are
//! Landlock's business, not this module's. Only x86_64 is built and tested: elsewhere [`Filter::build`] says so, and
//! the level that needs it is not reached.

mod assemble;
mod calls;
mod install;
mod rules;
#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;

use bench_core::Sha256Hex;

pub use assemble::{CallData, Outcome};
use assemble::{Instruction, Program};
pub(crate) use calls::is_metadata;
pub use calls::{ARCHITECTURE, call_name};

/// Which calls wake the cell's supervisor before they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum NotifySet {
    /// None.
    #[default]
    Off,
    /// What Landlock does not mediate and nothing else records: changes of mode, owner, times, attributes; watches;
    /// unix sockets by path. `notify-narrow`: the companion of the audit tap.
    Narrow,
    /// With it every open, exec and change of a path. `notify-open`: the unprivileged detector.
    Open,
    /// With it every question about a path (stat, access, readlink, chdir). `notify-stat`.
    Stat,
}

impl NotifySet {
    /// The detector's word in records; none = nobody watches by this way.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::Narrow => Some("notify-narrow"),
            Self::Open => Some("notify-open"),
            Self::Stat => Some("notify-stat"),
        }
    }
}

/// What a filter is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FilterOptions {
    /// Which calls wake the supervisor.
    pub notify: NotifySet,
    /// A task that needs a debugger: ptrace, process_vm_* and fixed addresses are allowed, and Landlock confines them
    /// to the cell.
    pub debugger: Debugger,
    /// Who answers a call that is refused.
    pub refusals: Refusals,
    /// Whose shared memory and message queues the cell would meet.
    pub ipc: Ipc,
}

/// Whose System V objects and message queues a cell meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ipc {
    /// Its own, in a namespace that goes with it.
    #[default]
    Own,
    /// The machine's, where they would outlive the cell: refused.
    Shared,
}

/// Who answers a call that is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refusals {
    /// The kernel, and nobody hears of it.
    #[default]
    Silent,
    /// Where there is a listener, the supervisor: it writes the attempt down and answers the same error. Registers alone
    /// decide, so there is nothing to swap; without a supervisor the kernel answers `ENOSYS`, which refuses as well.
    Recorded,
}

/// May a process of the cell trace another one?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Debugger {
    /// No.
    #[default]
    Refused,
    /// Yes, since the task declares it.
    Allowed,
}

/// Why there is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoFilter {
    /// An architecture whose system calls nobody has listed and tested here.
    #[error(
        "no system-call filter for {architecture}: only x86_64 is built and tested; use an x86_64 machine"
    )]
    Architecture {
        /// Its name.
        architecture: &'static str,
    },
}

/// A filter, ready to be installed in any number of cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    installed: Program,
    refusals: Program,
    options: FilterOptions,
    sha256: Sha256Hex,
}

impl Filter {
    /// Assembles it. Same options, same bytes.
    pub fn build(options: &FilterOptions) -> Result<Self, NoFilter> {
        let [installed, refusals] = rules::programs(options)?;
        let sha256 = Sha256Hex::of(installed.bytes());
        Ok(Self { installed, refusals, options: *options, sha256 })
    }

    /// Digest of the program's bytes, for the record.
    pub fn sha256(&self) -> &Sha256Hex {
        &self.sha256
    }

    /// What it was built for.
    pub fn options(&self) -> &FilterOptions {
        &self.options
    }

    /// How many instructions it has.
    pub fn len(&self) -> usize {
        self.instructions().len()
    }

    /// Never: every filter has a prologue.
    pub fn is_empty(&self) -> bool {
        self.instructions().is_empty()
    }

    /// What the kernel would do with this call, by the same program.
    pub fn outcome(&self, call: &CallData) -> Outcome {
        self.installed.outcome(call)
    }

    /// The error with which this call is refused, whoever answers it; none = it is not on the list.
    pub fn refusal(&self, call: &CallData) -> Option<u16> {
        match self.refusals.outcome(call) {
            Outcome::Errno(errno) => Some(errno),
            Outcome::Kill => Some(libc::EPERM as u16),
            Outcome::Allow | Outcome::Notify => None,
        }
    }

    /// Puts it around this process for good, and returns the listener if its options ask for one. Allocates nothing
    /// and locks nothing. Sets `no_new_privs`.
    pub fn install(&self) -> std::io::Result<Option<OwnedFd>> {
        install::install(self.instructions(), self.options.notify != NotifySet::Off)
    }

    /// One short phrase a rule, as it enters the record.
    pub fn phrases(&self) -> Vec<String> {
        rules::phrases(&self.options)
    }

    fn instructions(&self) -> &[Instruction] {
        self.installed.instructions()
    }
}
