//! The published schema of `analysis.json` is that of the types that write it, and what they write holds to it.
//! `BENCH_UPDATE_DOCS=1 cargo test -p bench-reports --test schema` writes it anew.

#![allow(clippy::unwrap_used, reason = "a test may panic wherever it stands")]

mod support;

use std::path::Path;

use bench_core::EndingKind;
use bench_core::experiment::ProfileKind;
use bench_reports::{Analysis, analyse, analysis_schema};
use serde_json::Value;
use support::Plan;

#[test]
fn the_published_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/formats/analysis.schema.json");
    if std::env::var_os("BENCH_UPDATE_DOCS").is_some() {
        std::fs::write(&path, analysis_schema()).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == analysis_schema(),
        "{} is out of date: run `BENCH_UPDATE_DOCS=1 cargo test -p bench-reports --test schema` and commit it",
        path.display()
    );
}

/// Analyses that differ in what they leave open: everything known, nothing known, cells missing, a model, an A/A run.
fn analyses() -> Vec<Analysis> {
    let two = || Plan::new(6, 2, &["bare", "gateway"]).contrast("gateway", "gate");
    let gated = || two().ratio_gate("total", "total_tokens", &["gateway"]).pass_gate("pass", &["gateway"]);
    let of = |plan: Plan| (plan.lock(), plan.cells());
    let mut cases = vec![
        of(gated()),
        (gated().lock(), Vec::new()),
        of(gated().upstream("openai-chat")),
        of(gated().profile("gateway", ProfileKind::Wanders)),
        of(Plan::new(1, 1, &["bare"])),
    ];
    let (lock, mut cells) = of(gated().upstream("openai-chat"));
    cells[0].ending.kind = EndingKind::UpstreamFault;
    cells[2].first_request = None;
    cells[5].metrics.turns = None;
    cells.remove(7);
    cases.push((lock, cells));
    cases.iter().map(|(lock, cells)| analyse(lock, cells).unwrap()).collect()
}

#[test]
fn every_analysis_holds_to_it() {
    let schema: Value = serde_json::from_str(&analysis_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut closed = schema.clone();
    close(&mut closed);
    let closed = jsonschema::validator_for(&closed).unwrap();
    for analysis in analyses() {
        let value = serde_json::to_value(&analysis).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(&value)
            .chain(closed.iter_errors(&value))
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{faults:#?}");
        let mut broken = value;
        broken["overall"]["decision"] = "MAYBE".into();
        assert!(!validator.is_valid(&broken), "a word that no version ever wrote");
    }
}

/// The same schema, refusing every key that it does not name: so nothing is written that is not described.
fn close(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), false.into());
            }
            object.values_mut().for_each(close);
        }
        Value::Array(array) => array.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
