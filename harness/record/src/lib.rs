//! What a run leaves on disk: lock, journal, request index. Versions, writers, readers.
//!
//! The journal is the only input of every report, so everything a report needs stands in a [`CellRecord`]; request and
//! response bodies are evidence that nobody to the right of the recorder parses.

mod cell_record;
mod journal;
mod lock;
mod numbers;
mod request_record;
mod request_store;
mod run_dir;

pub use cell_record::{
    CellRecord, Charged, Check, CpuMs, HarnessIdentity, Metrics, RequestClassTotals, Verdict, VerifierRun,
};
pub use journal::{Journal, JournalError, Tail, read_journal};
pub use lock::{
    AgentLock, ArmLock, HeldLock, IsolationLock, Lock, LockError, OracleLock, SuiteLock, lock_difference,
    locks_difference,
};
pub use numbers::read_numbers;
pub use request_record::RequestRecord;
pub use request_store::{RequestIndex, RequestStore, RequestStoreError, ResponseBytes};
pub use run_dir::{RunDir, RunDirError, attempt_dir};

/// Version of [`CellRecord`], [`Lock`] and [`RequestRecord`] as written by this build.
pub const FORMAT_VERSION: u32 = 1;
