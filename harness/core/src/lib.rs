//! The nouns of the house: experiment, arm, surface, task, cell, schedule, ending, metric, gate.
//!
//! Pure data and pure functions. This crate opens no file, starts no process, reads no clock; it knows nothing of
//! wires, kernels or reports. Everything else depends on it and it depends on nothing of ours.

pub mod action;
pub mod catalogue;
pub mod clock;
pub mod code_mode;
pub mod digest;
pub mod ending;
pub mod event;
pub mod evidence;
pub mod experiment;
pub mod gate;
pub mod id;
pub mod invocation;
pub mod ledger;
pub mod lexicon;
pub mod lifecycle;
pub mod mechanism;
pub mod metric;
pub mod price;
pub mod schedule;
pub mod shared_text;
pub mod source;
pub mod surface;
pub mod task;
pub mod tokenizer;

pub use action::{Action, ActionKind, Plan, Step};
pub use catalogue::Catalogue;
pub use clock::{Clock, SystemClock};
pub use code_mode::{CodeLimits, CodeMode, CodePrelude, CodeShape, CodeSwitch, SurfaceServer};
pub use digest::Sha256Hex;
pub use ending::{Blame, Counting, Disposition, Ending, EndingKind, LimitHit, Rerun};
pub use event::RunEvent;
pub use evidence::{IsolationEvent, IsolationEvidence, IsolationLevel, UpstreamEvidence};
pub use experiment::{
    Arm, Capabilities, Contrast, ContrastRole, Endpoint, EndpointKind, Experiment, Factor, Limits,
    ModelSettings, Profile, RunLimits, TaskSelection, Upstream,
};
pub use gate::{Decision, GateRule, GateScope, Margin};
pub use id::{AgentId, ArmId, ContrastId, ExperimentId, GateId, IdError, SuiteId, SurfaceId, TaskId};
pub use invocation::{Invocation, PlacedFile, Program, WireKind};
pub use ledger::{FirstRequest, Load, ToolEntry, TurnEntry, Usage};
pub use lexicon::{Lexicon, LexiconRule};
pub use lifecycle::{Resource, Resources};
pub use metric::Metric;
pub use price::{Price, PriceCard};
pub use schedule::{Block, Cell, Schedule, Shard};
pub use shared_text::SharedText;
pub use source::{Problem, Source};
pub use surface::{
    CodeExposure, Compaction, Delegation, Discovery, IntentRule, Lifecycle, ModelExposure, Prompt,
    ResultBudget, Scheduling, Surface, SurfaceFactor, SurfaceTool,
};
pub use task::{AskAnswer, Task, Track};
