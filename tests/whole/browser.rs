//! The pages of a report in a real browser: no console error, nothing fetched, no serious fault by axe-core, the keyboard
//! gets through, and the pictures are like the golden ones. `.ci/run` installs what it needs.

use std::path::Path;
use std::process::Command;

use crate::workplace::{Workplace, project, skipped};

#[test]
fn pages_hold_in_a_real_browser() {
    let found = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    let (Some(node), Some(axe)) = (found("BENCH_NODE"), found("BENCH_AXE")) else {
        skipped("pages_hold_in_a_real_browser", "BENCH_NODE and BENCH_AXE do not name node and axe.min.js");
        return;
    };
    let place = Workplace::new();
    let browser = project().join("tests/browser");
    copy(&browser.join("run"), &place.path().join("run"));
    place.bench(&["report", "run"]).exits(0);
    let outcome = Command::new(node)
        .arg(browser.join("check.mjs"))
        .arg(place.path().join("run"))
        .arg(axe)
        .arg(browser.join("golden"))
        .output()
        .unwrap();
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
        }
    }
}
