//! docs/complaints.md names tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

use crate::workplace::project;

/// Every report that the page answers.
const REPORTS: [&str; 86] = [
    "I1", "I2", "I3", "I5", "I6", "I7", "I9", "I10", "I11", "I13", "I14", "I15", "I17", "I18", "F1", "F3",
    "F4", "F5", "F7", "F8", "F9", "F11", "F12", "F13", "R2", "R3", "R4", "R6", "R7", "R8", "R10", "R11",
    "T1", "T3", "T4", "T5", "T7", "T8", "T9", "T11", "T12", "T13", "T15", "T16", "T17", "T19", "T21", "T20",
    "C2", "C3", "C4", "C6", "S1", "S2", "S4", "S5", "S6", "S8", "S9", "S10", "S11", "O1", "O2", "O4", "O5",
    "O6", "H2", "H3", "H4", "H6", "H7", "D1", "D3", "D4", "V1", "V3", "V4", "V5", "G1", "G2", "G3", "G5",
    "G6", "G7", "G9", "G10",
];

/// Names of test functions below a folder.
fn functions(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                functions(&path, found);
            }
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut is_test = false;
            for line in text.lines().map(str::trim) {
                is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
                let Some((_, rest)) = line.split_once("fn ") else { continue };
                let end = rest.find(['(', '<']).unwrap_or(0);
                if std::mem::take(&mut is_test) {
                    found.insert(rest[..end].to_owned());
                }
            }
        }
    }
}

#[test]
fn the_tests_of_this_page_exist() {
    let mut known = BTreeSet::new();
    functions(&project(), &mut known);
    let page = std::fs::read_to_string(project().join("docs/complaints.md")).unwrap();
    for report in REPORTS {
        assert!(page.contains(&format!("\n| {report} |")), "docs/complaints.md has no row {report}");
    }
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
        for name in cell.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() >= 3) {
            assert!(known.contains(name), "docs/complaints.md names {name}, which is no test of any file");
            named += 1;
        }
    }
    assert!(named >= 20, "only {named} tests are named");
}
