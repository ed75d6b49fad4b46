//! Pairing, analysis, gates, rendering: from lock and journal alone.
//!
//! [`analyse()`] is pure: the same lock and the same settled cells give the same [`Analysis`], whatever was interrupted
//! on the way; everything that differs between two runs of one deterministic experiment stands under
//! [`Analysis::provenance`] or in numbers about wall time. The renderings ([`markdown`], [`summary`], [`html()`]) read an
//! [`Analysis`] and the [`Rows`] of its journal, and nothing else. This crate opens no file, reads no clock and parses no request.

mod a_a;
mod analyse;
pub mod analysis;
mod arm_summary;
mod benefit;
mod calibration;
mod candidates;
mod comparison;
pub mod export;
mod gate_decision;
mod looks;
mod order;
mod over_time;
mod overall;
mod pairing;
mod power;
mod preflight;
mod protocol;
mod provenance;
mod rate_decision;
mod reliability;
pub mod render;
mod rows;
mod schema;
mod scope;
mod segments;
mod selection;
mod task_table;
mod tokenizers;

pub use analyse::analyse;
pub use analysis::Analysis;
pub use calibration::{Calibration, GateCalibration, GateDecision, calibrate, gate_decisions};
pub use looks::levels_of_looks;
pub use over_time::{OverTime, RunData, common_arms, over_time};
pub use power::{PowerDesign, PowerTable, power_table};
pub use preflight::{CannotPass, Preflight, preflight};
pub use protocol::{AnalysisError, Protocol};
pub use render::{
    Attempt, CellLink, Plot, Style, cells_csv, cells_parquet, first_table_markdown, github_annotations, html,
    junit, markdown, plots, preflight_lines, summary, trace_page, trace_place, trace_stamp, why_not_gated,
};
pub use rows::{BlockRow, Rows, Standing};
pub use schema::analysis_schema;
