//! The golden kind `e2e_report` through the whole engine: cells become records, the golden words become ours.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use std::path::PathBuf;

use bench_core::{Ending, EndingKind};
use bench_record::{CellRecord, Metrics, Verdict};
use bench_reports::analyse;
use serde_json::{Value, json};
use support::Plan;

/// Reason codes that the golden rules know; ours add why an interval left a decision open.
const GOLDEN_REASONS: [&str; 5] = [
    "degenerate_variance",
    "censoring_sensitive",
    "tail_ratio_of_means_above_limit",
    "missing_sensitive",
    "one_task",
];

/// Golden metric -> ours.
const METRICS: [(&str, &str); 5] = [
    ("first_request_tokens", "first_request_tokens"),
    ("total_tokens", "total_tokens"),
    ("turns", "turns"),
    ("tool_calls", "tool_calls"),
    ("wall_s", "wall_ms"),
];

/// None = a folder of cases kept elsewhere that has none of this kind.
fn golden() -> Option<Value> {
    let elsewhere = std::env::var_os("BENCH_GOLDEN_DIR").is_some();
    let folder = std::env::var_os("BENCH_GOLDEN_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("stats/tests/golden"), PathBuf::from);
    let file = folder.join("e2e_report.json");
    if elsewhere && !file.exists() {
        return None;
    }
    Some(serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
}

fn record(cell: &Value) -> CellRecord {
    let count = |key: &str| cell["m"][key].as_f64().map(|v| v as u64);
    let repeat = cell["repeat"].as_u64().unwrap() as u32 + 1;
    let position = cell["position"].as_u64().unwrap() as u32;
    let mut record =
        support::cell(cell["task"].as_str().unwrap(), repeat, cell["arm"].as_str().unwrap(), position);
    record.ending = Ending::of(match cell["status"].as_str().unwrap() {
        "ok" => EndingKind::Completed,
        "timeout" => EndingKind::Timeout,
        // The golden rule counts it among missing outcomes, which is what our harness faults are.
        "harness_invalid" => EndingKind::HarnessFault,
        other => panic!("unknown status {other}"),
    });
    let passed = cell["pass"] == json!(1) && record.ending.kind == EndingKind::Completed;
    record.verdict = Some(if passed { Verdict::Passed } else { Verdict::Failed });
    record.metrics = Metrics {
        first_request_tokens: count("first_request_tokens"),
        total_tokens: count("total_tokens"),
        turns: count("turns"),
        tool_calls: count("tool_calls"),
        wall_ms: cell["m"]["wall_s"].as_f64().map(|s| s * 1000.0),
        ..Metrics::default()
    };
    record
}

fn plan_of(records: &[CellRecord]) -> Plan {
    let mut plan = Plan::new(0, 0, &["bare", "cand"]).upstream("openai-chat");
    for record in records {
        if !plan.tasks.contains(&record.task.to_string()) {
            plan.tasks.push(record.task.to_string());
        }
        plan.repeats = plan.repeats.max(record.repeat);
    }
    plan = plan.contrast("cand", "gate").pass_gate("pass", &["cand"]);
    for (_, ours) in METRICS {
        plan = plan.ratio_gate(&ours.replace('_', "-"), ours, &["cand"]);
    }
    plan
}

/// The golden data leave a cell out where our journal has one without an outcome.
fn complete(plan: &Plan, mut records: Vec<CellRecord>) -> Vec<CellRecord> {
    for mut cell in plan.cells() {
        if !records.iter().any(|r| r.cell_id() == cell.cell_id()) {
            cell.ending = Ending::of(EndingKind::HarnessFault);
            records.push(cell);
        }
    }
    records
}

/// Our analysis in the golden words.
fn translated(analysis: &Value) -> Value {
    let contrast = &analysis["contrasts"][0];
    let gate = |metric: &str| {
        contrast["gates"].as_array().unwrap().iter().find(|g| g["metric"] == metric).cloned().unwrap()
    };
    let reasons = |gate: &Value| -> Vec<Value> {
        let all = gate["reasons"].as_array().unwrap().iter();
        all.filter(|r| GOLDEN_REASONS.contains(&r.as_str().unwrap())).cloned().collect()
    };
    let (blocks, d) = (&analysis["blocks"], &contrast["pass_difference"]);
    let invalid: u64 =
        blocks["invalid_by_reason"].as_object().unwrap().values().map(|v| v.as_u64().unwrap()).sum();
    let total = blocks["total"].as_u64().unwrap();
    let pass = gate("pass_rate");
    let mut metrics = serde_json::Map::new();
    for (golden, ours) in METRICS {
        let (m, gate) = (&contrast["metrics"][ours], gate(ours));
        metrics.insert(
            golden.to_owned(),
            json!({
                "n_tasks": m["n_tasks"], "n_pairs": m["n_pairs"], "ratio_of_means": m["ratio_of_means"],
                // The golden data count cut-off cells whatever the metric; with us a first request is never cut off.
                "candidate_censored": contrast["metrics"]["total_tokens"]["censored"]["candidate"],
                "bare_censored": contrast["metrics"]["total_tokens"]["censored"]["control"], "estimator": m["estimator"], "gmr": m["gmr"],
                "lb": m["lower"], "ub": m["upper"], "these_tasks_lb": m["these_tasks_lower"],
                "these_tasks_ub": m["these_tasks_upper"], "max_pair_ratio": m["max_pair_ratio"],
                "degenerate": m["degenerate"], "decision": gate["decision"], "reasons": reasons(&gate),
            }),
        );
    }
    json!({
        "blocks_total": total, "blocks_valid": blocks["valid"], "blocks_invalid": invalid,
        "invalid_only_cand": blocks["invalid_only"]["cand"], "invalid_only_bare": blocks["invalid_only"]["bare"],
        "invalid_fraction": invalid as f64 / total as f64,
        "both": contrast["pairs"]["both"], "bare_only": contrast["pairs"]["control_only"],
        "cand_only": contrast["pairs"]["candidate_only"], "neither": contrast["pairs"]["neither"],
        "mcnemar_exact_p": contrast["mcnemar"]["exact_p"], "mcnemar_midp_p": contrast["mcnemar"]["midp_p"],
        "non_inferiority": {
            "n_pairs": contrast["pairs"]["n"], "n_tasks": contrast["pairs"]["clusters"], "diff": d["point"],
            "deff": d["deff"], "critical_value": d["critical_value"], "lower": d["lower"], "upper": d["upper"],
            "these_tasks_lower": d["these_tasks_lower"], "these_tasks_upper": d["these_tasks_upper"],
            "decision": pass["decision"], "reasons": reasons(&pass),
        },
        "metrics": metrics,
        "order": {
            "metric": contrast["order"]["metric"], "n_AB": contrast["order"]["n_ab"], "n_BA": contrast["order"]["n_ba"],
            "period_adjusted_gmr": contrast["order"]["period_adjusted_gmr"],
            "period_effect_ratio": contrast["order"]["period_effect_ratio"], "period_p": contrast["order"]["period_p"],
        },
        "overall": analysis["overall"]["decision"],
    })
}

/// Golden fields that are steps on the way and stand nowhere in an analysis.
const STEPS: [&str; 6] = [
    "discordant_tasks",
    "decision_under_adverse_completion",
    "ub_par",
    "z_mean",
    "z_se",
    "differential_invalid",
];

fn differences(at: &str, expected: &Value, actual: &Value, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(map), _) => {
            for (key, value) in map.iter().filter(|(key, _)| !STEPS.contains(&key.as_str())) {
                differences(&format!("{at}.{key}"), value, &actual[key], found);
            }
        }
        (Value::Number(x), Value::Number(y)) => {
            let (x, y) = (x.as_f64().unwrap(), y.as_f64().unwrap());
            if (x - y).abs() > 5e-6 {
                found.push(format!("{at}: expected {x}, got {y}"));
            }
        }
        _ if expected != actual => found.push(format!("{at}: expected {expected}, got {actual}")),
        _ => {}
    }
}

#[test]
fn golden_e2e_report() {
    let Some(golden) = golden() else {
        eprintln!("no case of the kind e2e_report in BENCH_GOLDEN_DIR");
        return;
    };
    assert_eq!(golden["kind"], "e2e_report");
    let mut found = Vec::new();
    for case in golden["cases"].as_array().unwrap() {
        let records: Vec<CellRecord> =
            case["inputs"]["cells"].as_array().unwrap().iter().map(record).collect();
        let plan = plan_of(&records);
        let records = complete(&plan, records);
        let analysis = serde_json::to_value(analyse(&plan.lock(), &records).unwrap()).unwrap();
        let mut expected = case["expected"].clone();
        if expected["overall"] == "NO_DATA" {
            expected.as_object_mut().unwrap().retain(|key, _| key.starts_with("blocks") || key == "overall");
        }
        differences(case["id"].as_str().unwrap(), &expected, &translated(&analysis), &mut found);
    }
    assert!(found.is_empty(), "{} differences:\n{}", found.len(), found.join("\n"));
}
