//! The rules in the documents are held by tests that exist.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::path::Path;

fn sources(dir: &Path, text: &mut String) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, text);
        } else if name.ends_with(".rs") {
            text.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// Names in backticks after "Test", up to the end of the sentence.
fn named_tests(page: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for place in page
        .match_indices("est: `")
        .chain(page.match_indices("ests: `"))
        .chain(page.match_indices("ests:\n  `"))
    {
        let rest = &page[place.0..];
        let end = rest.find(['.', ')', '|']).unwrap_or(rest.len());
        names.extend(rest[..end].split('`').skip(1).step_by(2));
    }
    names
}

#[test]
fn every_rule_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut code = String::new();
    for room in ["harness", "arms", "tasks", "reports", "isolation", "tests"] {
        sources(&root.join(room), &mut code);
    }
    let mut seen = 0;
    for page in ["docs/methodology.md", "docs/threats.md"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        for name in named_tests(&text) {
            assert!(
                code.contains(&format!("fn {name}(")),
                "{page} names the test {name}, which does not exist"
            );
            seen += 1;
        }
    }
    assert!(seen >= 40, "only {seen} tests were named");
}
