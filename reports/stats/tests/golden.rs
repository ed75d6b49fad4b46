//! Every golden case of `tests/golden/` against the functions of this crate (`BENCH_GOLDEN_DIR` names another folder).
//!
//! A kind is answered here, or it stands in [`ELSEWHERE`] with the place that answers it; a file of any other kind fails
//! the test, so none can be forgotten.

#![expect(clippy::unwrap_used, reason = "a test")]

#[path = "golden_cases/answers.rs"]
mod answers;
#[path = "golden_cases/compare.rs"]
mod compare;

use std::path::PathBuf;

use serde_json::Value;

/// Kinds that another crate's test answers.
const ELSEWHERE: [(&str, &str); 1] =
    [("e2e_report", "reports/tests/golden_e2e.rs: whole chain from cells to decision")];

/// Kinds that nobody answers yet.
const NOT_COVERED_YET: [&str; 0] = [];

fn directory() -> PathBuf {
    std::env::var_os("BENCH_GOLDEN_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), PathBuf::from)
}

#[test]
fn golden() {
    let mut problems = Vec::new();
    let mut compared = 0;
    let mut kinds = 0;
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(directory()).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for path in files.iter().filter(|p| p.extension().is_some_and(|e| e == "json")) {
        let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let kind = file["kind"].as_str().unwrap();
        assert_eq!(file["schema"], "golden-stat-v1", "{}", path.display());
        kinds += 1;
        if ELSEWHERE.iter().any(|(k, _)| *k == kind) || NOT_COVERED_YET.contains(&kind) {
            continue;
        }
        for case in file["cases"].as_array().unwrap() {
            match answers::answer(kind, case) {
                Some(answer) => compared += compare::compare(case, &answer, &mut problems),
                None => panic!("golden kind {kind} is neither answered nor listed as not covered yet"),
            }
        }
    }
    assert!(problems.is_empty(), "{} differences:\n{}", problems.len(), problems.join("\n"));
    assert!(kinds > 0 && compared > 0, "no golden values found in {}", directory().display());
}
