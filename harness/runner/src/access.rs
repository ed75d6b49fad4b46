//! What a cell's evidence does to its ending: wandering outside, or a hole in the record of what it tried.

use bench_core::experiment::OnOutsideAccess;
use bench_core::{Ending, EndingKind, IsolationEvidence};

use crate::kept::brief;

/// The ending once the evidence has been read. `rule` says what an outside access does; a hole is a hole by any rule.
pub(crate) fn with_evidence(ending: Ending, evidence: &IsolationEvidence, rule: OnOutsideAccess) -> Ending {
    if !gives_way(ending.kind) {
        return ending;
    }
    let outside = evidence.outside_events().next().is_some();
    match rule {
        OnOutsideAccess::Invalid if outside => {
            because(EndingKind::OutsideAccess, &ending, wandering(evidence))
        }
        OnOutsideAccess::Invalid | OnOutsideAccess::Count if evidence.evidence_complete == Some(false) => {
            let holes =
                evidence.missing.iter().filter_map(|line| line.strip_prefix(bench_core::evidence::HOLE));
            let why: Vec<&str> = holes.collect();
            let why = if why.is_empty() { "the watcher does not say why".to_owned() } else { why.join("; ") };
            because(EndingKind::EvidenceIncomplete, &ending, why)
        }
        OnOutsideAccess::Invalid | OnOutsideAccess::Count => ending,
    }
}

/// Endings behind which the evidence does not stand: where walls or harness failed, and what is run again by the
/// operator. An upstream's fault does give way: running a wanderer's block again would re-roll the wanderer.
fn gives_way(kind: EndingKind) -> bool {
    match kind {
        EndingKind::Completed
        | EndingKind::Timeout
        | EndingKind::TurnBudget
        | EndingKind::RequestBudget
        | EndingKind::TokenBudget
        | EndingKind::CostBudget
        | EndingKind::OutputCap
        | EndingKind::AgentError
        | EndingKind::NoSuchTool
        | EndingKind::ToolRefused
        | EndingKind::NoModelCall
        | EndingKind::LoginRequired
        | EndingKind::UpstreamFault
        | EndingKind::OracleLost
        | EndingKind::ReplayDrift => true,
        EndingKind::OutsideAccess
        | EndingKind::HarnessFault
        | EndingKind::IsolationUnavailable
        | EndingKind::EvidenceIncomplete
        | EndingKind::NotQuiescent
        | EndingKind::CanarySeen
        | EndingKind::Interrupted => false,
    }
}

fn because(kind: EndingKind, before: &Ending, why: String) -> Ending {
    let Ending { exit_code, signal, limit, .. } = before.clone();
    let detail = format!("{why}; otherwise it ended as {}", before.kind);
    Ending { exit_code, signal, limit, ..Ending::because(kind, detail) }
}

fn wandering(evidence: &IsolationEvidence) -> String {
    let times = evidence.outside_events().fold(0u64, |sum, event| sum.saturating_add(event.count));
    let first = evidence.outside_events().next();
    let example = first.map_or(String::new(), |event| {
        let by = if event.process.is_empty() { String::new() } else { format!(" by {}", event.process) };
        format!("{} {}{by}", event.operation, brief(&event.path))
    });
    format!("{times} attempts on what lies outside the cell, among them {example}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_core::IsolationEvent;

    fn evidence(classes: &[&str], complete: Option<bool>) -> IsolationEvidence {
        let event = |class: &&str| IsolationEvent {
            operation: "openat".into(),
            path: "/state/b".into(),
            process: "cat".into(),
            class: (*class).to_owned(),
            denied: true,
            count: 2,
        };
        IsolationEvidence {
            events: classes.iter().map(event).collect(),
            evidence_complete: complete,
            missing: vec![format!("{}records were lost", bench_core::evidence::HOLE).into()],
            ..bench_isolation::evidence_of_no_cell("a test")
        }
    }

    fn kind(before: EndingKind, evidence: &IsolationEvidence, rule: OnOutsideAccess) -> EndingKind {
        with_evidence(Ending::of(before), evidence, rule).kind
    }

    #[test]
    fn wandering_decides_the_ending_unless_it_is_only_counted() {
        use EndingKind::{Completed, NotQuiescent, OutsideAccess, Timeout, UpstreamFault};
        use OnOutsideAccess::{Count, Invalid};
        let wandered = evidence(&["policy_gap", "outside_access"], Some(true));
        for before in [Completed, Timeout, UpstreamFault] {
            assert_eq!(kind(before, &wandered, Invalid), OutsideAccess);
            assert_eq!(kind(before, &wandered, Count), before);
        }
        assert_eq!(kind(NotQuiescent, &wandered, Invalid), NotQuiescent);
        let detail = with_evidence(Ending::of(Timeout), &wandered, Invalid).detail.unwrap();
        assert_eq!(
            detail,
            "2 attempts on what lies outside the cell, among them openat /state/b by cat; otherwise it ended as timeout"
        );
    }

    #[test]
    fn ordinary_events_change_nothing() {
        let classes = ["policy_gap", "ancestor_probe", "housekeeping"];
        for complete in [Some(true), None] {
            let ordinary = evidence(&classes, complete);
            assert_eq!(
                kind(EndingKind::Completed, &ordinary, OnOutsideAccess::Invalid),
                EndingKind::Completed
            );
        }
    }

    #[test]
    fn a_hole_is_a_hole_by_any_rule_and_wandering_that_was_seen_comes_first() {
        let hole = evidence(&[], Some(false));
        for rule in [OnOutsideAccess::Invalid, OnOutsideAccess::Count] {
            let ending = with_evidence(Ending::of(EndingKind::Completed), &hole, rule);
            assert_eq!(ending.kind, EndingKind::EvidenceIncomplete);
            assert!(ending.detail.unwrap().starts_with("records were lost;"));
        }
        let both = evidence(&["outside_access"], Some(false));
        let seen = kind(EndingKind::Completed, &both, OnOutsideAccess::Invalid);
        assert_eq!(seen, EndingKind::OutsideAccess);
    }
}
