//! Where a second tokenizer would judge first requests otherwise.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use bench_record::CellRecord;
use support::{Plan, analysed};

/// A first request of so many tokens by the one tokenizer and by the other.
fn counted(cells: &mut [CellRecord], arm: &str, (first, second): (u64, Option<u64>)) {
    for cell in cells.iter_mut().filter(|cell| cell.arm.as_str() == arm) {
        let request = cell.first_request.as_mut().unwrap();
        (request.body_tokens, request.second_body_tokens) = (first, second);
    }
}

#[test]
fn where_two_tokenizers_disagree_on_a_ratio_the_report_says_so_once() {
    let plan = Plan::new(2, 2, &["bare", "gateway"]).contrast("gateway", "gate").ratio_gate(
        "first-request",
        "first_request_tokens",
        &["gateway"],
    );
    for (control, candidate, says) in [
        ((1000, Some(1000)), (1200, Some(1300)), Some("they fall on different sides of 1.25")),
        ((1000, Some(1000)), (1300, Some(1200)), Some("they fall on different sides of 1.25")),
        ((1000, Some(1000)), (990, Some(1010)), Some("they order the arms differently")),
        ((1000, Some(1000)), (1100, Some(1200)), None),
        ((1000, Some(1000)), (1000, Some(1000)), None),
        // Old journals hold one count.
        ((1000, None), (1200, Some(1300)), None),
    ] {
        let mut cells = plan.cells();
        counted(&mut cells, "bare", control);
        counted(&mut cells, "gateway", candidate);
        let warnings = analysed(&plan, &cells).warnings;
        let said: Vec<_> = warnings.iter().filter(|warning| warning.contains("the tokenizer's")).collect();
        assert_eq!(said.len(), usize::from(says.is_some()), "{control:?} {candidate:?}: {warnings:?}");
        if let (Some(said), Some(says)) = (said.first(), says) {
            assert!(said.contains(says) && said.contains("cl100k_base"), "{said}");
        }
    }
}
