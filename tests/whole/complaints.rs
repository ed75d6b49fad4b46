//! docs/complaints.md names tests that exist.

use std::collections::BTreeSet;
use std::path::Path;

use crate::workplace::project;

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
            for line in text.lines() {
                let Some((_, rest)) = line.split_once("fn ") else { continue };
                let end = rest.find(['(', '<']).unwrap_or(0);
                found.insert(rest[..end].to_owned());
            }
        }
    }
}

#[test]
fn the_tests_of_this_page_exist() {
    let mut known = BTreeSet::new();
    functions(&project(), &mut known);
    let page = std::fs::read_to_string(project().join("docs/complaints.md")).unwrap();
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
        for name in cell.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() >= 3) {
            assert!(known.contains(name), "docs/complaints.md names {name}, which no file defines");
            named += 1;
        }
    }
    assert!(named >= 20, "only {named} tests are named");
}
