//! The generated documents are those of the code. `BENCH_UPDATE_DOCS=1 cargo test -p bench-config` writes them anew.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::path::Path;

fn compare(name: &str, generated: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("BENCH_UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, generated).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == generated,
        "{} is out of date: run `BENCH_UPDATE_DOCS=1 cargo test -p bench-config` and commit it",
        path.display()
    );
}

#[test]
fn the_reference_page_is_up_to_date() {
    compare("experiment.md", &bench_config::reference_page());
}

#[test]
fn the_schema_is_up_to_date() {
    compare("experiment.schema.json", &bench_config::schema());
}
