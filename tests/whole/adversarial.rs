//! The adversarial attempts, row by row, through the real binary: what each did (nothing), what was written down, what
//! became of the cell and its verdict; and beside each a benign twin that stays valid.
//!
//! A row that cannot be run says so by `not_run`, with its cause: a line that the test harness does not swallow. The causes
//! that are allowed stand in `ALLOWED`, every other one fails. `every_row_is_here` holds the list.

mod evidence;
mod field;
mod files;
mod kernel;
mod limits;
mod network;
mod ordinary;
mod processes;
mod verdicts;

use crate::workplace::{skipped, walls};
pub(crate) use field::{Cell, Field, SECRET, compiled};

/// How many rows there are.
const ROWS: u32 = 51;

/// Rows, and parts of rows, that may be left out, by root and by others: what is missing then is no part of `bench`.
const ALLOWED: &[(u32, &str)] = &[
    // Suites need python and pytest only for this; a machine without them still runs everything else.
    (41, "python3 is not installed"),
    (41, "pytest is not installed"),
    (42, "node is not installed"),
    (43, "cargo is not installed below /usr"),
    (50, "a tool is not installed"),
    (29, "no control group is delegated: memory"),
    (49, "no control group is delegated: cpu"),
    (51, "a container needs a container engine"),
];

/// Names a row, or a part of it, that cannot be run here, with its cause.
#[track_caller]
pub(crate) fn not_run(row: u32, cause: &str) {
    skipped(&format!("row {row}"), cause);
    assert!(ALLOWED.contains(&(row, cause)), "row {row} may not be left out: {cause}");
}

/// The levels at which a row is played: the highest of this machine, and L1; or the one that ADVERSARIAL_LEVEL names, which
/// must be reached then.
pub(crate) fn fields(row: &str) -> Vec<Field> {
    if !walls(row) {
        return Vec::new();
    }
    if let Ok(level) = std::env::var("ADVERSARIAL_LEVEL") {
        return vec![Field::at(&level)];
    }
    let highest = Field::at_the_highest_level();
    let lower = (highest.level() != "L1").then(|| Field::at("L1"));
    std::iter::once(highest).chain(lower).collect()
}

/// Every row has a test that carries its number: `row_NN_…`.
#[test]
fn every_row_is_here() {
    let sources = [
        include_str!("adversarial/files.rs"),
        include_str!("adversarial/processes.rs"),
        include_str!("adversarial/network.rs"),
        include_str!("adversarial/kernel.rs"),
        include_str!("adversarial/limits.rs"),
        include_str!("adversarial/evidence.rs"),
        include_str!("adversarial/verdicts.rs"),
        include_str!("adversarial/ordinary.rs"),
    ];
    let rows = |source: &str| -> Vec<u32> {
        let tests = source.split("#[test]").skip(1).filter_map(|test| test.split_once("fn row_"));
        tests.flat_map(|(_, rest)| numbers(rest)).collect()
    };
    let found: std::collections::BTreeSet<u32> = sources.iter().flat_map(|source| rows(source)).collect();
    let missing: Vec<u32> = (1..=ROWS).filter(|row| !found.contains(row)).collect();
    assert!(missing.is_empty(), "rows without a test: {missing:?}");
}

/// `31_32_daemons…` holds rows 31 and 32.
fn numbers(name: &str) -> Vec<u32> {
    name.split('_').map_while(|part| part.parse().ok()).collect()
}
