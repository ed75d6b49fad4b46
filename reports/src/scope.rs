//! What a run shows and what it does not, in sentences; and what a reader should look at before believing it.

use std::collections::BTreeSet;

use bench_core::experiment::ProfileKind;
use bench_core::{EndingKind, IsolationLevel};

use crate::analysis::{ContrastSummary, TokensSummary};
use crate::protocol::Protocol;
use crate::selection::Selection;
use crate::tokenizers::disagreements;

/// The scope sentences: upstream, generalisation, isolation, tokens.
pub(crate) fn scope(
    protocol: &Protocol,
    level: IsolationLevel,
    tokens: Option<&TokensSummary>,
) -> Vec<String> {
    let mut sentences = vec![upstream_sentence(protocol)];
    sentences.extend(imperfect_sentence(protocol));
    sentences.push(
        "A PASS is meant for tasks like these (tasks are a random sample); a FAIL need only be true on the tasks that were run."
            .to_owned(),
    );
    sentences.push(isolation_sentence(level));
    sentences.extend(tokens.map(tokens_sentence));
    sentences
}

fn upstream_sentence(protocol: &Protocol) -> String {
    if protocol.upstream == crate::selection::IMPORTED {
        return "Outcomes were imported: who answered, behind which walls, in which order and counted by whom is their source's affair; nothing of it was checked here."
            .to_owned();
    }
    if protocol.is_deterministic() {
        return "The oracle played every task's reference plan through the tools that each request offered: this shows the cost that a surface forces under ideal play, and nothing about whether a model would choose its tools, find them, or solve the task."
            .to_owned();
    }
    format!(
        "Model calls were answered by {}: the numbers hold for this model, these settings and this time, on tasks like these.",
        protocol.upstream
    )
}

fn imperfect_sentence(protocol: &Protocol) -> Option<String> {
    let arms: Vec<String> = protocol
        .imperfect_arms()
        .iter()
        .map(|arm| format!("{} ({}, rate {})", arm.name, profile_word(arm.profile.kind), arm.profile.rate))
        .collect();
    (!arms.is_empty()).then(|| {
        format!("Played with a seeded fault: {}; its failures are simulated, not a model's.", arms.join(", "))
    })
}

fn profile_word(kind: ProfileKind) -> &'static str {
    match kind {
        ProfileKind::Perfect => "perfect",
        ProfileKind::Wanders => "wanders",
        ProfileKind::GivesUp => "gives up",
        ProfileKind::WrongArguments => "wrong arguments",
        ProfileKind::InventsTools => "invents tools",
        ProfileKind::NeverDiscovers => "never discovers",
    }
}

fn isolation_sentence(level: IsolationLevel) -> String {
    let what = match level {
        IsolationLevel::L0 => "no walls at all; every cell is invalid and nothing is gated",
        IsolationLevel::L1 => {
            "Landlock without namespaces: writing and reading elsewhere is refused by the kernel, attempts are not all seen"
        }
        IsolationLevel::L2 => "namespaces, Landlock and a supervisor that sees attempts",
        IsolationLevel::L3 => "namespaces and the kernel's own audit records",
    };
    format!("Cells ran at isolation level {level} ({what}).")
}

fn tokens_sentence(tokens: &TokensSummary) -> String {
    format!(
        "Tokens are of basis {} by {} ({} {}); a provider's bill may count otherwise.",
        tokens.basis, tokens.tokenizer.name, tokens.tokenizer.package, tokens.tokenizer.version
    )
}

/// How tokens were counted, over the records that count.
pub(crate) fn tokens_summary(protocol: &Protocol, selection: &Selection<'_>) -> Option<TokensSummary> {
    let mut bases = BTreeSet::new();
    let mut completeness = BTreeSet::new();
    for record in selection.settled() {
        bases.insert(record.tokens.basis.as_str());
        completeness.insert(record.tokens.completeness.as_str());
    }
    let joined = |words: BTreeSet<&str>| words.into_iter().collect::<Vec<_>>().join("+");
    (!bases.is_empty()).then(|| TokensSummary {
        basis: joined(bases),
        completeness: joined(completeness),
        tokenizer: protocol.tokenizer.clone(),
    })
}

/// Level at which an effect of the place in the block is worth a warning.
const PERIOD_ALPHA: f64 = 0.05;

/// An effect of order that cannot be missed, or one that cannot be looked for.
fn order_warning(protocol: &Protocol, contrast: &ContrastSummary) -> Option<String> {
    let name = &contrast.name;
    match &contrast.order {
        Some(order) if order.period_p.is_some_and(|p| p < PERIOD_ALPHA) => Some(format!(
            "{name}: in the first place of a block {} is {:.3} times as high as in the second (p = {:.3}); the ratio adjusted for it is {:.3}",
            order.metric,
            order.period_effect_ratio,
            order.period_p.unwrap_or(0.0),
            order.period_adjusted_gmr
        )),
        Some(_) => None,
        None if protocol.is_deterministic() || protocol.upstream == crate::selection::IMPORTED => None,
        None if contrast.pairs.n == 0 => None,
        None => Some(format!(
            "{name}: an effect of order cannot be looked for: it takes two blocks of each order, all costs above zero"
        )),
    }
}

/// Things to look at before believing the numbers.
pub(crate) fn warnings(
    protocol: &Protocol,
    selection: &Selection<'_>,
    contrasts: &[ContrastSummary],
) -> Vec<String> {
    let mut warnings = Vec::new();
    for arm in &protocol.arms {
        let silent =
            |kind| selection.settled().filter(|r| r.arm == arm.name && r.ending.kind == kind).count();
        for (kind, what) in [
            (EndingKind::NoModelCall, "never had an answer of the model"),
            (EndingKind::LoginRequired, "asked for a login"),
        ] {
            let cells = silent(kind);
            if cells > 0 {
                warnings.push(format!(
                    "arm {} {what} in {cells} cells, counted as failed: it may be set up wrongly",
                    arm.name
                ));
            }
        }
    }
    for contrast in contrasts {
        if contrast.pairs.n > 0 && contrast.pairs.neither == contrast.pairs.n {
            warnings.push(format!(
                "{}: neither arm passed any of {} pairs; that the pass rate is no lower shows nothing here, the tasks are too hard or something is broken",
                contrast.name, contrast.pairs.n
            ));
        }
        if contrast.pairs.duplicates > 0 {
            warnings.push(format!(
                "{}: {} pairs repeat an earlier one of their task word for word and count once; a cache answered, or the temperature is 0",
                contrast.name, contrast.pairs.duplicates
            ));
        }
        warnings.extend(order_warning(protocol, contrast));
        for (metric, comparison) in &contrast.metrics {
            if comparison.reproducible == Some(false) {
                warnings.push(format!(
                    "{}: {metric} differs between repeats of a task although it should not: something volatile (a path, a time) stands in the requests",
                    contrast.name
                ));
            }
        }
    }
    warnings.extend(disagreements(protocol, selection));
    if !protocol.repeats.is_multiple_of(2) {
        warnings.push(format!(
            "{} repeats: order AB/BA cannot be balanced within a task, only over tasks",
            protocol.repeats
        ));
    }
    warnings
}
