//! The files of a run's reports, through the real binary: every cell leads to its trace, published files that are out of
//! date are found, and what is exported to Harbor comes back by `bench import` with the same outcomes.

use crate::workplace::{Workplace, smoke_experiment, walls};

#[test]
fn reports_traces_and_exports_of_a_run() {
    if !walls("reports_traces_and_exports_of_a_run") {
        return;
    }
    let place = Workplace::new();
    let file = place.file("smoke.toml", &smoke_experiment("smoke"));
    place.bench(&["run", &file, "-q", "-o", "run"]).exits(0);
    every_cell_leads_to_its_trace(&place);
    published_files_are_checked(&place);
    a_table_that_is_not_text_is_checked_too(&place);
    formats_are_printed(&place);
    exports_are_written(&place);
}

fn every_cell_leads_to_its_trace(place: &Workplace) {
    let report = place.read("run/report/report.html");
    for record in place.records("run") {
        let (block, arm) = (record["block"].as_str().unwrap(), record["arm"].as_str().unwrap());
        let target = format!("traces/{block}.html#{arm}/{}", record["attempt"]);
        assert!(report.contains(&format!("href=\"{target}\"")), "no way to {target}");
        let page = place.read(&format!("run/report/traces/{block}.html"));
        assert!(page.contains(&format!("id=\"{arm}/{}\"", record["attempt"])), "{target}");
        assert!(page.contains("Turn 1") && page.contains("What the hidden check printed"), "{target}");
    }
    let page = place
        .path()
        .join("run/report/traces")
        .join(place.records("run")[0]["block"].as_str().unwrap().to_owned() + ".html");
    let written = std::fs::metadata(&page).unwrap().modified().unwrap();
    place.bench(&["report", "run"]).exits(0);
    assert_eq!(
        std::fs::metadata(&page).unwrap().modified().unwrap(),
        written,
        "up to date, so left as it is"
    );
    std::fs::write(&page, "edited").unwrap();
    place.bench(&["report", "run"]).exits(0);
    assert!(std::fs::read_to_string(&page).unwrap().contains("Turn 1"), "made anew");
}

fn published_files_are_checked(place: &Workplace) {
    for name in [
        "report.html",
        "report.md",
        "analysis.json",
        "cells.csv",
        "junit.xml",
        "plots/forest.svg",
        "plots/slopes-gateway-vs-bare.svg",
    ] {
        let text = place.read(&format!("run/report/{name}"));
        let published = place.file(&format!("published/{name}"), &text);
        place.bench(&["report", "run", "--check", &published]).exits(0);
        place.file(&format!("published/{name}"), &format!("{text}\nedited"));
        place.bench(&["report", "run", "--check", &published]).exits(6).complains(&["publish it again"]);
    }
}

/// Its numbers are those of cells.csv; whether other programs read it, CI asks one of them.
fn a_table_that_is_not_text_is_checked_too(place: &Workplace) {
    let parquet = std::fs::read(place.path().join("run/report/cells.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    let published = place.path().join("published/cells.parquet");
    std::fs::write(&published, &parquet).unwrap();
    let published = published.to_str().unwrap();
    place.bench(&["report", "run", "--check", published]).exits(0);
    std::fs::write(published, &parquet[..parquet.len() - 9]).unwrap();
    place.bench(&["report", "run", "--check", published]).exits(6).complains(&["publish it again"]);
}

fn formats_are_printed(place: &Workplace) {
    let junit = place.bench(&["report", "run", "--format", "junit"]).exits(0).stdout;
    assert_eq!(junit, place.read("run/report/junit.xml"));
    let summary = place.path().join("summary.md");
    let outcome = place
        .command(&["report", "run", "--format", "github"])
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap();
    assert!(outcome.status.success());
    assert!(String::from_utf8_lossy(&outcome.stdout).starts_with("::notice title=PASS%3A smoke::"));
    assert!(std::fs::read_to_string(summary).unwrap().starts_with("# PASS: smoke"));
}

fn exports_are_written(place: &Workplace) {
    let cells = place.records("run").len();
    for format in ["harbor", "inspect", "otlp"] {
        place.bench(&["report", "run", "--export", format, "-o", &format!("exports/{format}")]).exits(0);
    }
    let trials = std::fs::read_dir(place.path().join("exports/harbor")).unwrap();
    assert_eq!(trials.filter(|entry| entry.as_ref().unwrap().path().is_dir()).count(), cells);
    let log = place.json("exports/inspect/bare.json");
    assert_eq!(log["samples"].as_array().unwrap().len() * 2, cells);
    assert_eq!(log["results"]["scores"][0]["metrics"]["accuracy"]["value"], 1.0);
    let tools = &log["samples"][0]["events"][0]["tools"];
    assert!(!tools.as_array().unwrap().is_empty(), "the surface stands in the model event");
    let traces = place.json("exports/otlp/traces.json");
    let spans = traces["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
    assert_eq!(
        spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with("invoke_agent")).count(),
        cells
    );
}
