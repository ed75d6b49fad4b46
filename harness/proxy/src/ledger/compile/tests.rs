//! Sums over facts made by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use bench_core::Sha256Hex;
use bench_core::ledger::{Size, TokenizerIdentity};
use bench_wire::{Call, Turn, WireUsage};
use proptest::prelude::*;

use super::*;
use crate::ledger::{Answer, ChatFacts, Offer, Prefix, Said, ToolResult, ToolSize};
use crate::weighing::Weight;

fn size(name: &str) -> ToolSize {
    let (kind, size) = ("function".to_owned(), Size { bytes: 10, tokens: 3 });
    ToolSize {
        name: name.to_owned(),
        namespace: None,
        kind,
        exposure: "direct".to_owned(),
        place: "tools".to_owned(),
        description: size,
        schema: size,
        whole: size,
    }
}

/// An agent turn that offers `tools`, of which `new` for the first time, and is answered by calls of `calls`.
pub(in crate::ledger) fn turn(request: u32, tools: &[&str], new: &[&str], calls: &[&str]) -> Exchange {
    let names: Vec<String> = tools.iter().map(|&name| name.to_owned()).collect();
    let offer = Offer {
        callable: saturate(tools.len()),
        sha256: Sha256Hex::of(names.join(",")),
        direct: names.clone(),
        names,
    };
    let call = |name: &&str| Call {
        id: String::new(),
        name: (*name).to_owned(),
        arguments: "{}".to_owned(),
        ..Call::default()
    };
    Exchange {
        agent: None,
        request,
        class: RequestClass::AgentTurn,
        chat: Some(ChatFacts {
            model: "m".to_owned(),
            weight: Weight { body_tokens: 100, prompt_tokens: None },
            offer: Arc::new(offer),
            new_tools: new.iter().map(|name| size(name)).collect(),
            first: None,
            results: Vec::new(),
            semantic: Sha256Hex::of("semantic"),
            prefix: Prefix::default(),
        }),
        answer: Some(Answer {
            status: 200,
            turn: Some(Said::of(&Turn { calls: calls.iter().map(call).collect(), ..Turn::default() })),
            whole: true,
            output_tokens: 7,
        }),
        abandoned: false,
        retries: 0,
        thrown_away: 0,
        waited: None,
    }
}

fn saturate(count: usize) -> u32 {
    super::super::saturating_u32(count)
}

fn said(exchange: &mut Exchange, usage: WireUsage) {
    if let Some(turn) = exchange.answer.as_mut().and_then(|answer| answer.turn.as_mut()) {
        turn.usage = Some(usage);
    }
}

fn ledger(exchanges: &[Exchange], usage_source: UsageSource) -> Ledger {
    let groups = [("fd", "files"), ("rg", "files"), ("web", "net")];
    let groups: BTreeMap<String, String> = groups.iter().map(|(t, g)| ((*t).into(), (*g).into())).collect();
    let tokenizer = TokenizerIdentity {
        name: "t".into(),
        package: "p".into(),
        version: "1".into(),
        vocabulary_sha256: Sha256Hex::of("v"),
    };
    compile(exchanges, &LedgerContext { usage_source, tokenizer, groups: &groups, knows_errors: true })
}

#[test]
fn what_is_loaded_together_is_one_load_per_group() {
    let exchanges = [
        turn(1, &["gate"], &["gate"], &["gate"]),
        turn(2, &["gate", "fd", "rg", "web", "x"], &["fd", "rg", "web", "x"], &["rg", "invented"]),
        turn(3, &["gate", "fd", "rg", "web", "x"], &[], &["fd"]),
        turn(4, &["gate"], &[], &[]),
    ];
    let ledger = ledger(&exchanges, UsageSource::LocalCount);
    let loads: Vec<_> =
        ledger.loads.iter().map(|l| (l.group.as_deref(), l.tools.len(), l.turn, l.first_call_turn)).collect();
    assert_eq!(loads, [(Some("files"), 2, 2, Some(2)), (Some("net"), 1, 2, None), (None, 1, 2, None)]);
    assert_eq!((ledger.totals.surface_changes, ledger.totals.loads), (2, 3));
    assert_eq!(
        (ledger.totals.tool_calls, ledger.tools.len()),
        (4, 5),
        "an invented tool is called, never offered"
    );
}

#[test]
fn a_request_that_was_turned_down_is_no_turn_and_costs_nothing() {
    let mut failed = turn(1, &["bash"], &["bash"], &[]);
    failed.answer.as_mut().unwrap().status = 400;
    let ledger = ledger(&[failed, turn(2, &["bash"], &[], &["bash"])], UsageSource::LocalCount);
    assert_eq!((ledger.totals.requests, ledger.totals.turns, ledger.totals.total_tokens), (2, 1, Some(107)));
    assert_eq!((ledger.tools[0].first_offered_turn, ledger.tools[0].first_called_turn), (1, Some(1)));
    assert_eq!(ledger.turns[0].request, 2);
}

#[test]
fn one_basis_for_all_and_missing_is_never_zero() {
    let whole = WireUsage { input_tokens: Some(50), output_tokens: Some(5), ..WireUsage::default() };
    let mut one = turn(1, &[], &[], &[]);
    let mut two = turn(2, &[], &[], &[]);
    said(&mut one, WireUsage { cached_input_tokens: Some(0), ..whole });
    let half = ledger(&[one.clone(), two.clone()], UsageSource::Provider);
    assert_eq!((half.tokens.basis.as_str(), half.totals.input_tokens), ("json", Some(200)));
    said(&mut two, whole);
    let full = ledger(&[one.clone(), two.clone()], UsageSource::Provider);
    assert_eq!((full.tokens.basis.as_str(), full.totals.input_tokens), ("provider", Some(100)));
    assert_eq!(full.totals.cached_input_tokens, None, "said once, unknown as a sum");
    said(&mut two, WireUsage { cached_input_tokens: Some(9), ..whole });
    assert_eq!(
        ledger(&[one.clone(), two.clone()], UsageSource::Provider).totals.cached_input_tokens,
        Some(9)
    );
    let oracle = ledger(&[one, two], UsageSource::LocalCount);
    assert_eq!((oracle.tokens.basis.as_str(), oracle.provider_usage), ("json", None));
    let nothing = ledger(&[], UsageSource::Provider);
    assert_eq!((nothing.totals.input_tokens, nothing.tokens.completeness.as_str()), (None, "none"));
}

#[test]
fn refused_results_count_for_their_tool_and_a_request_given_up_makes_a_lower_bound() {
    let mut second = turn(2, &["bash"], &[], &[]);
    let results = [(Some("bash"), true), (Some("bash"), false), (Some("invented"), true)];
    second.chat.as_mut().unwrap().results = results
        .iter()
        .map(|(tool, refused)| ToolResult { tool: tool.map(str::to_owned), refused: *refused })
        .collect();
    let mut third = Exchange { answer: None, abandoned: true, ..turn(3, &["bash"], &[], &[]) };
    third.waited = Some((0.0, 1.0));
    let ledger = ledger(&[turn(1, &["bash"], &["bash"], &["bash"]), second, third], UsageSource::LocalCount);
    assert_eq!((ledger.totals.tool_errors, ledger.tools[0].errors), (Some(2), Some(1)));
    assert_eq!((ledger.tokens.completeness.as_str(), ledger.totals.turns), ("lower_bound", 2));
}

proptest! {
    #[test]
    fn waits_at_once_are_waited_for_once(waits in proptest::collection::vec((0_u16..50, 0_u16..10), 0..8)) {
        let exchanges: Vec<_> = waits
            .iter()
            .map(|&(from, length)| Exchange {
                waited: Some((f64::from(from), f64::from(from + length))),
                ..turn(1, &[], &[], &[])
            })
            .collect();
        let covered = (0..100).filter(|at| waits.iter().any(|(from, length)| from <= at && *at < from + length)).count();
        prop_assert!((ledger(&exchanges, UsageSource::LocalCount).upstream_wait_ms - covered as f64).abs() < 1e-9);
    }

    #[test]
    fn the_transcript_is_a_matter_of_content(text in "[a-z]{0,5}", id in "[a-z]{1,5}") {
        let with = |text: &str, id: &str| {
            let mut exchange = turn(1, &[], &[], &["bash"]);
            let said = Turn { text: text.to_owned(), id: id.to_owned(), ..Turn::default() };
            exchange.answer.as_mut().unwrap().turn = Some(Said::of(&said));
            ledger(&[exchange], UsageSource::LocalCount).transcript_sha256
        };
        prop_assert_eq!(with(&text, &id), with(&text, "other"));
        prop_assert_ne!(with(&text, &id), with(&format!("{text}!"), &id));
    }
}
