//! Properties of whole analyses: what may not change an estimate, and what must mirror it.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod support;

use bench_record::{CellRecord, Verdict};
use bench_reports::analyse;
use bench_reports::analysis::ContrastSummary;
use proptest::prelude::*;

use support::Plan;

fn plan(control: &str, candidate: &str, repeats: u32) -> Plan {
    Plan::new(5, repeats, &[control, candidate])
        .contrast(candidate, "gate")
        .upstream("openai-chat")
        .ratio_gate("tokens", "total_tokens", &[candidate])
        .pass_gate("pass", &[candidate])
}

fn contrast(plan: &Plan, cells: &[CellRecord]) -> ContrastSummary {
    analyse(&plan.lock(), cells).unwrap().contrasts.remove(0)
}

fn drawn(plan: &Plan, numbers: &[(u64, bool)]) -> Vec<CellRecord> {
    let mut cells = plan.cells();
    for (cell, (tokens, passed)) in cells.iter_mut().zip(numbers.iter().cycle()) {
        cell.metrics.total_tokens = Some(*tokens);
        cell.verdict = Some(if *passed { Verdict::Passed } else { Verdict::Failed });
    }
    cells
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn swapping_the_arms_mirrors_every_estimate(
        numbers in prop::collection::vec((100u64..9000, any::<bool>()), 20),
    ) {
        let there = plan("a", "b", 2);
        let cells = drawn(&there, &numbers);
        let (one, other) = (contrast(&there, &cells), contrast(&plan("b", "a", 2), &cells));
        let (x, y) = (&one.metrics[&bench_core::Metric::TotalTokens], &other.metrics[&bench_core::Metric::TotalTokens]);
        prop_assert!(close(x.gmr.unwrap(), 1.0 / y.gmr.unwrap()));
        prop_assert!(close(x.lower.unwrap(), 1.0 / y.upper.unwrap()));
        prop_assert!(close(x.these_tasks_upper.unwrap(), 1.0 / y.these_tasks_lower.unwrap()));
        let (p, q) = (&one.pass_difference, &other.pass_difference);
        prop_assert!(close(p.point.unwrap(), -q.point.unwrap()));
        prop_assert!((p.lower.unwrap() + q.upper.unwrap()).abs() < 1e-6);
        prop_assert_eq!(one.mcnemar, other.mcnemar);
        prop_assert_eq!(one.pairs.control_only, other.pairs.candidate_only);
    }

    #[test]
    fn concordant_pairs_leave_mcnemar_alone(
        numbers in prop::collection::vec((100u64..9000, any::<bool>()), 20), both in any::<bool>(),
    ) {
        let (small, large) = (plan("a", "b", 2), plan("a", "b", 3));
        let few = drawn(&small, &numbers);
        let mut more = few.clone();
        let verdict = if both { Verdict::Passed } else { Verdict::Failed };
        more.extend(large.cells().into_iter().filter(|cell| cell.repeat == 3).map(|mut cell| {
            cell.verdict = Some(verdict);
            cell
        }));
        prop_assert_eq!(contrast(&small, &few).mcnemar, contrast(&large, &more).mcnemar);
    }

    #[test]
    fn duplicating_a_run_narrows_no_task_level_interval(
        numbers in prop::collection::vec((100u64..9000, any::<bool>()), 20),
    ) {
        let (once, twice) = (plan("a", "b", 2), plan("a", "b", 4));
        let cells = drawn(&once, &numbers);
        let mut doubled = cells.clone();
        doubled.extend(cells.iter().cloned().map(|mut cell| {
            cell.repeat += 2;
            cell
        }));
        let (x, y) = (contrast(&once, &cells), contrast(&twice, &doubled));
        let of = |c: &ContrastSummary| {
            let m = &c.metrics[&bench_core::Metric::TotalTokens];
            (m.lower.unwrap(), m.upper.unwrap())
        };
        prop_assert!(close(of(&x).0, of(&y).0) && close(of(&x).1, of(&y).1));
        let width = |c: &ContrastSummary| c.pass_difference.upper.unwrap() - c.pass_difference.lower.unwrap();
        // The design effect of equal repeats takes back what the doubled count would give.
        prop_assert!(width(&y) >= width(&x) - 1e-6, "{} then {}", width(&x), width(&y));
    }
}
