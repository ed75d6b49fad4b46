//! From the file's words to the nouns of core. Each part reports all that is wrong with it and answers `None` when
//! something was; what depends on a broken part stays silent about it, so that one mistake is reported once.

mod arms;
mod contrasts;
mod gates;
mod matrix;
mod numbers;
mod upstream;

use std::collections::BTreeSet;

use bench_core::experiment::{OnOutsideAccess, Rules};
use bench_core::source::{unknown, unknown_to};
use bench_core::{
    Catalogue, Experiment, ExperimentId, IsolationLevel, SuiteId, TaskId, TaskSelection, Upstream,
};
use toml::Spanned;

use crate::error::Findings;
use crate::file::ExperimentFile;

const DEFAULT_SUITE: &str = "default";

/// The experiment that the file describes; `None` when a finding says why not.
pub(crate) fn experiment(
    file: &ExperimentFile,
    catalogue: &Catalogue,
    findings: &mut Findings<'_>,
) -> Option<Experiment> {
    let name = findings.id(&file.name, ExperimentId::new);
    let repeats = numbers::repeats(file.repeats.as_ref(), findings);
    let suite = suite(file, catalogue, findings);
    let tasks = suite.as_ref().and_then(|suite| tasks(file, suite, catalogue, findings));
    let upstream = upstream::check(file.upstream.as_ref(), findings);
    let min_isolation = upstream.as_ref().and_then(|upstream| min_isolation(file, upstream, findings));
    let on_outside_access = on_outside_access(file, findings);
    let recorder_port = recorder_port(file, findings);
    let limits = numbers::limits(file.limits.as_ref(), findings);
    let run_limits = numbers::run_limits(file.run_limits.as_ref(), findings);
    let prices = numbers::prices(&file.price, findings);
    let rules = numbers::rules(file.stage.as_ref(), file.rules.as_ref(), repeats, findings);
    let arms = arms::check(file, upstream.as_ref(), catalogue, findings);
    let contrasts = contrasts::check(file, &arms, findings);
    let gates = gates::check(file, &contrasts, upstream.as_ref(), findings);
    let models = arms.iter().filter_map(|arm| arm.checked.as_ref()).map(|arm| arm.model.as_str());
    let tokenizer = tokenizer(file, models, catalogue, findings);
    let arms = arms.into_iter().map(|arm| arm.checked).collect::<Option<Vec<_>>>();
    if let (Some(arms), Some(prices)) = (&arms, &prices) {
        let of_attempt = file.limits.as_ref().and_then(|limits| limits.cost_usd.as_ref());
        let of_run = file.run_limits.as_ref().and_then(|limits| limits.cost_usd.as_ref());
        numbers::priced([of_attempt, of_run], arms, prices, findings);
    }
    Some(Experiment {
        name: name?,
        seed: file.seed.unwrap_or(1),
        repeats: repeats?,
        suite: suite?,
        tasks: tasks?,
        arms: arms?,
        contrasts: contrasts.into_iter().map(|contrast| contrast.checked).collect::<Option<Vec<_>>>()?,
        gates: gates?,
        limits: limits?,
        run_limits: run_limits?,
        prices: prices?,
        upstream: upstream?,
        min_isolation: min_isolation?,
        tokenizer: tokenizer?,
        recorder_port: recorder_port?,
        rules: Rules { on_outside_access: on_outside_access?, ..rules? },
    })
}

fn suite(file: &ExperimentFile, catalogue: &Catalogue, findings: &mut Findings<'_>) -> Option<SuiteId> {
    let written = file.suite.as_ref().map_or(DEFAULT_SUITE, |suite| suite.get_ref());
    if let Some((id, _)) = catalogue.suites.iter().find(|(id, _)| id.as_str() == written) {
        return Some(id.clone());
    }
    let known: Vec<&str> = catalogue.suites.keys().map(SuiteId::as_str).collect();
    let message = unknown("suite", written, &known);
    match &file.suite {
        Some(suite) => findings.wrong(suite.span(), message),
        None => findings.missing_from_file("suite", format!("{message}; name one with `suite = \"…\"`")),
    }
    None
}

fn tasks(
    file: &ExperimentFile,
    suite: &SuiteId,
    catalogue: &Catalogue,
    findings: &mut Findings<'_>,
) -> Option<TaskSelection> {
    let Some(list) = &file.tasks else { return Some(TaskSelection::All) };
    if list.get_ref().is_empty() {
        findings.wrong(
            list.span(),
            "the list is empty: name at least one task, or leave the key out for all of them",
        );
        return None;
    }
    let known = &catalogue.suites[suite];
    let mut seen = BTreeSet::new();
    let mut chosen = Vec::new();
    for written in list.get_ref() {
        let word = written.get_ref();
        match known.iter().find(|task| task.as_str() == word) {
            Some(_) if !seen.insert(word.as_str()) => {
                findings.wrong(written.span(), format!("task `{word}` is named twice: remove one"));
            }
            Some(task) => chosen.push(task.clone()),
            None => {
                let owner = format!("of suite `{suite}`");
                let known: Vec<&str> = known.iter().map(TaskId::as_str).collect();
                findings.wrong(written.span(), unknown_to("task", word, &owner, &known));
            }
        }
    }
    (chosen.len() == list.get_ref().len()).then_some(TaskSelection::Named(chosen))
}

fn min_isolation(
    file: &ExperimentFile,
    upstream: &Upstream,
    findings: &mut Findings<'_>,
) -> Option<IsolationLevel> {
    let default = if upstream.is_deterministic() { IsolationLevel::L1 } else { IsolationLevel::L2 };
    let Some(written) = &file.min_isolation else { return Some(default) };
    if written.get_ref() == "L0" {
        let message =
            "L0 means no walls at all, and this build starts no cell without them; write \"L1\" or higher";
        findings.wrong(written.span(), message);
        return None;
    }
    let words = [("L1", IsolationLevel::L1), ("L2", IsolationLevel::L2), ("L3", IsolationLevel::L3)];
    let level = findings.word("isolation level", written, &words)?;
    if level < default {
        let message = format!(
            "{level} is below {default}, the default for the upstream `{}`; taken because it is written here",
            upstream.word()
        );
        findings.doubtful(written.span(), message);
    }
    Some(level)
}

fn on_outside_access(file: &ExperimentFile, findings: &mut Findings<'_>) -> Option<OnOutsideAccess> {
    let Some(written) = &file.on_outside_access else { return Some(OnOutsideAccess::default()) };
    let words = [("invalid", OnOutsideAccess::Invalid), ("count", OnOutsideAccess::Count)];
    findings.word("rule for outside access", written, &words)
}

fn tokenizer<'m>(
    file: &ExperimentFile,
    models: impl Iterator<Item = &'m str>,
    catalogue: &Catalogue,
    findings: &mut Findings<'_>,
) -> Option<String> {
    let written = match &file.tokenizer {
        Some(name) => name.get_ref(),
        None => bench_core::tokenizer::tokenizer_of_all(models),
    };
    if catalogue.tokenizers.iter().any(|known| known == written) {
        return Some(written.to_owned());
    }
    let message = unknown("tokenizer", written, &catalogue.tokenizers);
    match &file.tokenizer {
        Some(name) => findings.wrong(name.span(), message),
        None => findings.missing_from_file("tokenizer", message),
    }
    None
}

fn recorder_port(file: &ExperimentFile, findings: &mut Findings<'_>) -> Option<Option<u16>> {
    match file.recorder_port.as_ref().map(|port| (*port.get_ref(), port)) {
        Some((0, written)) => {
            findings.wrong(
                written.span(),
                "port 0 is no fixed port: write 1 to 65535, or leave the key out for any free one",
            );
            None
        }
        Some((port, _)) => Some(Some(port)),
        None => Some(None),
    }
}

/// Reports every name after the first that was used before.
fn refuse_repeated<'n>(
    kind: &str,
    names: impl Iterator<Item = &'n Spanned<String>>,
    findings: &mut Findings<'_>,
) {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name.get_ref()) {
            let message = format!("a second {kind} is named `{}`: give each its own name", name.get_ref());
            findings.wrong(name.span(), message);
        }
    }
}
