//! Gates: a metric, what is tolerated, and the contrasts that it hangs on.

use std::collections::BTreeSet;

use bench_core::source::unknown;
use bench_core::{ContrastId, ContrastRole, GateId, GateRule, GateScope, Margin, Metric, Track, Upstream};
use toml::Spanned;

use super::contrasts::NamedContrast;
use crate::error::Findings;
use crate::file::{ExperimentFile, GateFile};

const SCOPES: [(&str, GateScope); 2] =
    [("tasks-like-these", GateScope::TasksLikeThese), ("these-tasks", GateScope::TheseTasks)];

const TRACKS: [(&str, Track); 2] = [("default", Track::Default), ("orchestration", Track::Orchestration)];

/// The gates in the order of the file.
pub(super) fn check(
    file: &ExperimentFile,
    contrasts: &[NamedContrast<'_>],
    upstream: Option<&Upstream>,
    findings: &mut Findings<'_>,
) -> Option<Vec<GateRule>> {
    refuse_repeated_gates(file, findings);
    let mut hung = BTreeSet::new();
    let gates: Vec<Option<GateRule>> = file
        .gate
        .iter()
        .map(|table| {
            let names = contrasts_of(table, contrasts, findings);
            hung.extend(names.iter().flatten().copied());
            gate(table.get_ref(), names, upstream, findings)
        })
        .collect();
    refuse_ungated_controls(contrasts, &hung, findings);
    gates.into_iter().collect()
}

fn gate(
    file: &GateFile,
    contrasts: Option<Vec<&str>>,
    upstream: Option<&Upstream>,
    findings: &mut Findings<'_>,
) -> Option<GateRule> {
    let id = findings.id(file.name.as_ref().unwrap_or(&file.metric), GateId::new);
    let metric = metric(&file.metric, upstream, findings);
    let margin = metric.and_then(|metric| margin(file, metric, findings));
    let scope = match &file.scope {
        Some(written) => findings.word("scope", written, &SCOPES),
        None => Some(GateScope::TasksLikeThese),
    };
    let track = match &file.track {
        Some(written) => findings.word("track", written, &TRACKS).map(Some),
        None => Some(None),
    };
    // A name that is no usable id was reported where the contrast stands.
    let contrasts = contrasts?.into_iter().map(|name| ContrastId::new(name).ok()).collect::<Option<Vec<_>>>();
    Some(GateRule {
        id: id?,
        metric: metric?,
        margin: margin?,
        contrasts: contrasts?,
        scope: scope?,
        track: track?,
    })
}

fn metric(
    written: &Spanned<String>,
    upstream: Option<&Upstream>,
    findings: &mut Findings<'_>,
) -> Option<Metric> {
    let words: Vec<(&str, Metric)> = Metric::ALL.iter().map(|metric| (metric.key(), *metric)).collect();
    let metric = findings.word("metric", written, &words)?;
    if metric == Metric::WallMs && upstream == Some(&Upstream::Oracle) {
        let message =
            "wall time under the oracle says nothing about a model: this gate will be not applicable";
        findings.doubtful(written.span(), message);
    }
    Some(metric)
}

fn margin(file: &GateFile, metric: Metric, findings: &mut Findings<'_>) -> Option<Margin> {
    let others = [
        file.at_least.as_ref().map(Spanned::span),
        file.at_most.as_ref().map(Spanned::span),
        file.any_better.as_ref().map(Spanned::span),
    ];
    let usual = file.limit.is_some() || file.margin.is_some();
    let asked: Vec<_> = others.into_iter().flatten().collect();
    match asked.as_slice() {
        [] => ratio_or_difference(file, metric, findings),
        [_] if !usual => other_rule(file, metric, findings),
        [span, ..] => {
            let message = "a gate has one rule: keep one of limit, margin, at-least, at-most and any-better";
            findings.wrong(span.clone(), message);
            None
        }
    }
}

/// The rules on the candidate alone, and the one on several outcomes.
fn other_rule(file: &GateFile, metric: Metric, findings: &mut Findings<'_>) -> Option<Margin> {
    if let Some(least) = &file.at_least {
        if !metric.is_rate() {
            let message =
                format!("`{metric}` is no share of cells: `at-least` is for pass_rate and discovery_rate");
            findings.wrong(least.span(), message);
            return None;
        }
        return findings
            .number(least, "a rate above 0 and below 1, for example 0.95", |n| n > 0.0 && n < 1.0)
            .map(|least| Margin::RateAtLeast { least });
    }
    if let Some(most) = &file.at_most {
        if metric.nature().unit != "count" {
            let message = format!(
                "`{metric}` is no count: `at-most` is for counts such as unneeded_loads; write `limit`"
            );
            findings.wrong(most.span(), message);
            return None;
        }
        return findings
            .number(most, "a count of at least 0", |n| n >= 0.0)
            .map(|most| Margin::NeverAbove { most });
    }
    let words: Vec<(&str, Metric)> = Metric::ALL.iter().map(|metric| (metric.key(), *metric)).collect();
    let list = file.any_better.as_ref()?;
    let mut outcomes = Vec::new();
    for written in list.get_ref() {
        let outcome = findings.word("metric", written, &words)?;
        if outcomes.contains(&outcome) {
            findings.wrong(written.span(), format!("`{outcome}` is named twice: remove one"));
            return None;
        }
        outcomes.push(outcome);
    }
    if !outcomes.contains(&metric) {
        findings
            .wrong(list.span(), format!("the gate's metric `{metric}` is not among its outcomes: add it"));
        return None;
    }
    Some(Margin::AnyBetter { outcomes })
}

fn ratio_or_difference(file: &GateFile, metric: Metric, findings: &mut Findings<'_>) -> Option<Margin> {
    if metric == Metric::DiscoveryRate {
        let message = "`discovery_rate` is judged against a threshold: add for example at-least = 0.95";
        findings.wrong(file.metric.span(), message);
        return None;
    }
    let takes_margin = metric == Metric::PassRate;
    match (&file.limit, &file.margin) {
        (Some(_), Some(margin)) => {
            let keep = if takes_margin { "margin" } else { "limit" };
            findings.wrong(
                margin.span(),
                format!("a gate has a limit or a margin, not both: `{metric}` takes a `{keep}`"),
            );
            None
        }
        (None, None) => {
            let remedy = if takes_margin { "margin = 0.10" } else { "limit = 1.25" };
            let message = format!(
                "the gate on `{metric}` tolerates nothing that could be tested: add for example {remedy}"
            );
            findings.wrong(file.metric.span(), message);
            None
        }
        (Some(limit), None) if takes_margin => {
            let message = "`pass_rate` is compared by difference, not by ratio: write `margin` (0.10 = ten points) instead";
            findings.wrong(limit.span(), message);
            None
        }
        (None, Some(margin)) if !takes_margin => {
            let message = format!(
                "`{metric}` is a cost and compared by ratio: write `limit` (for example 1.25) instead"
            );
            findings.wrong(margin.span(), message);
            None
        }
        (Some(limit), None) => findings
            .number(limit, "a ratio above 0, for example 1.25", |n| n > 0.0)
            .map(|limit| Margin::RatioAtMost { limit }),
        (None, Some(margin)) => findings
            .number(margin, "a fraction above 0 and below 1, for example 0.10", |n| n > 0.0 && n < 1.0)
            .map(|margin| Margin::NonInferior { margin }),
    }
}

/// The names of the contrasts that a gate hangs on; `None` when a finding says what is wrong with them.
fn contrasts_of<'c>(
    table: &Spanned<GateFile>,
    contrasts: &'c [NamedContrast<'_>],
    findings: &mut Findings<'_>,
) -> Option<Vec<&'c str>> {
    let Some(list) = &table.get_ref().contrasts else {
        let decides = |contrast: &&NamedContrast<'_>| contrast.role != Some(ContrastRole::Reported);
        let all: Vec<&str> =
            contrasts.iter().filter(decides).map(|contrast| contrast.name.get_ref().as_str()).collect();
        if all.is_empty() {
            let message = "the gate hangs on nothing: there is no contrast whose role is `gate` or `negative-control`; \
                           add one, or name the contrasts here";
            findings.missing(table.span(), "gate.contrasts", message);
            return None;
        }
        return Some(all);
    };
    if list.get_ref().is_empty() {
        findings.wrong(
            list.span(),
            "the list is empty: name at least one contrast, or leave the key out for all",
        );
        return None;
    }
    let mut names = Vec::new();
    for written in list.get_ref() {
        match contrasts.iter().find(|contrast| contrast.name.get_ref() == written.get_ref()) {
            Some(found) if names.contains(&found.name.get_ref().as_str()) => {
                findings.wrong(
                    written.span(),
                    format!("contrast `{}` is named twice: remove one", written.get_ref()),
                );
            }
            Some(found) => names.push(found.name.get_ref().as_str()),
            None => {
                let known: Vec<&str> =
                    contrasts.iter().map(|contrast| contrast.name.get_ref().as_str()).collect();
                findings.wrong(written.span(), unknown("contrast", written.get_ref(), &known));
            }
        }
    }
    (names.len() == list.get_ref().len()).then_some(names)
}

fn refuse_repeated_gates(file: &ExperimentFile, findings: &mut Findings<'_>) {
    let mut seen = BTreeSet::new();
    for table in &file.gate {
        let gate = table.get_ref();
        let name = gate.name.as_ref().unwrap_or(&gate.metric);
        if !seen.insert(name.get_ref()) {
            let message = format!(
                "a second gate is named `{}`: give it its own with `name = \"…\"` (without one, a gate is named after its metric)",
                name.get_ref()
            );
            findings.wrong(name.span(), message);
        }
    }
}

/// A negative control is there to fail: without a gate on it nothing can.
fn refuse_ungated_controls(
    contrasts: &[NamedContrast<'_>],
    hung: &BTreeSet<&str>,
    findings: &mut Findings<'_>,
) {
    for contrast in contrasts.iter().filter(|contrast| contrast.role == Some(ContrastRole::NegativeControl)) {
        if !hung.contains(contrast.name.get_ref().as_str()) {
            let message = format!(
                "negative control `{}` has no gate that could fail on it: add a [[gate]] with contrasts = [\"{0}\"]",
                contrast.name.get_ref()
            );
            findings.wrong(contrast.name.span(), message);
        }
    }
}
