//! A small ablation, analysed, and what is asked of its analysis.

use bench_record::CellRecord;
use bench_reports::{Analysis, analyse};

use super::{Plan, scale, tool};

/// Bare, gateway (a little dearer), entries (far dearer: the negative control), 6 tasks × 2 repeats, oracle.
pub(crate) fn ablation() -> (Plan, Vec<CellRecord>) {
    let plan = Plan::new(6, 2, &["bare", "gateway", "entries"])
        .contrast("gateway", "gate")
        .contrast("entries", "negative-control")
        .ratio_gate("first-request", "first_request_tokens", &["gateway", "entries"])
        .ratio_gate("tokens", "total_tokens", &["gateway", "entries"])
        .ratio_gate("turns", "turns", &["gateway", "entries"]);
    let mut cells = plan.cells();
    scale(&mut cells, "gateway", 1.10);
    scale(&mut cells, "entries", 2.20);
    for cell in cells.iter_mut().filter(|c| c.arm.as_str() == "entries") {
        cell.tools.extend([tool("bg_start", 180, 0), tool("workflow", 420, 0)]);
    }
    (plan, cells)
}

pub(crate) fn analysed(plan: &Plan, cells: &[CellRecord]) -> Analysis {
    analyse(&plan.lock(), cells).unwrap()
}

pub(crate) fn gate<'a>(
    analysis: &'a Analysis,
    contrast: &str,
    id: &str,
) -> &'a bench_reports::analysis::GateOutcome {
    let contrast = analysis.contrasts.iter().find(|c| c.name == contrast).unwrap();
    contrast.gates.iter().find(|g| g.id == id).unwrap()
}

/// The part of `analysis.json` that has to be equal byte for byte.
pub(crate) fn equal_part(analysis: &Analysis) -> String {
    let mut value = serde_json::to_value(analysis).unwrap();
    value.as_object_mut().unwrap().remove("provenance");
    for list in ["arms", "contrasts"] {
        for entry in value[list].as_array_mut().unwrap() {
            entry["metrics"].as_object_mut().unwrap().remove("wall_ms");
        }
    }
    serde_json::to_string_pretty(&value).unwrap()
}
