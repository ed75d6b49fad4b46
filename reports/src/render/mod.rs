//! An [`Analysis`](crate::Analysis) for people: `report.md`, the terminal table, the small table of a README. Reads the
//! analysis and nothing else. Every estimate is shown with its interval and n, or not at all; texts that come from
//! agents or files never reach a terminal with control characters in them.

mod cells;
mod cells_csv;
mod cells_parquet;
mod detail;
mod estimate;
mod github;
mod html;
mod junit;
mod markdown;
mod plot;
mod segments;
mod summary;
mod table;
mod trace;
mod words;

pub use cells_csv::cells_csv;
pub use cells_parquet::cells_parquet;
pub use github::github_annotations;
pub use html::{CellLink, html};
pub use junit::junit;
pub use markdown::{first_table_markdown, markdown};
pub use plot::{Plot, plots};
pub use summary::{Style, summary};
pub use trace::{Attempt, trace_page, trace_place, trace_stamp};
pub use words::{preflight_lines, reason_in_words, why_not_gated};
