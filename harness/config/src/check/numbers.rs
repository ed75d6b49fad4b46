//! Repeats, limits, the numbers of the rules, model settings.

use bench_core::experiment::{Candidates, LookShape, Rules, Stage};
use bench_core::{Arm, Limits, ModelSettings, Price, PriceCard, RunLimits};
use toml::Spanned;

use crate::error::Findings;
use crate::file::{LimitsFile, PriceFile, RulesFile, RunLimitsFile, SettingsFile};

const DEFAULT_REPEATS: u32 = 2;
/// The number of a repeat has at most four digits in reports.
const MOST_REPEATS: u32 = 9_999;
const MOST_RERUNS: u32 = 9;

/// Blocks per task.
pub(super) fn repeats(written: Option<&Spanned<u32>>, findings: &mut Findings<'_>) -> Option<u32> {
    let Some(written) = written else { return Some(DEFAULT_REPEATS) };
    let value = *written.get_ref();
    if value == 0 || value > MOST_REPEATS {
        findings.wrong(written.span(), format!("{value} repeats cannot be done: write 1 to {MOST_REPEATS}"));
        return None;
    }
    if value % 2 == 1 {
        let message = format!(
            "{value} repeats are an odd number: the order of two arms cannot be balanced within a task; {} can",
            value + 1
        );
        findings.doubtful(written.span(), message);
    }
    Some(value)
}

/// Caps per attempt.
pub(super) fn limits(file: Option<&LimitsFile>, findings: &mut Findings<'_>) -> Option<Limits> {
    let default = Limits::default();
    let Some(file) = file else { return Some(default) };
    let wall_ms = cap(file.wall_ms.as_ref(), findings);
    let verify_wall_ms = cap(file.verify_wall_ms.as_ref(), findings);
    let turns = cap(file.turns.as_ref(), findings);
    let requests = cap(file.requests.as_ref(), findings);
    let total_tokens = cap(file.total_tokens.as_ref(), findings);
    let cost_usd = dollars(file.cost_usd.as_ref(), findings);
    let output_bytes = cap(file.output_bytes.as_ref(), findings);
    Some(Limits {
        wall_ms: wall_ms?.unwrap_or(default.wall_ms),
        verify_wall_ms: verify_wall_ms?.unwrap_or(default.verify_wall_ms),
        turns: turns?.or(default.turns),
        requests: requests?.or(default.requests),
        total_tokens: total_tokens?.or(default.total_tokens),
        cost_usd: cost_usd?,
        output_bytes: output_bytes?.unwrap_or(default.output_bytes),
    })
}

/// Caps on the whole run.
pub(super) fn run_limits(file: Option<&RunLimitsFile>, findings: &mut Findings<'_>) -> Option<RunLimits> {
    let Some(file) = file else { return Some(RunLimits::default()) };
    let requests = cap(file.requests.as_ref(), findings);
    let total_tokens = cap(file.total_tokens.as_ref(), findings);
    let cost_usd = dollars(file.cost_usd.as_ref(), findings);
    let wall_ms = cap(file.wall_ms.as_ref(), findings);
    Some(RunLimits {
        requests: requests?,
        total_tokens: total_tokens?,
        cost_usd: cost_usd?,
        wall_ms: wall_ms?,
    })
}

/// What tokens cost.
pub(super) fn prices(written: &[Spanned<PriceFile>], findings: &mut Findings<'_>) -> Option<PriceCard> {
    let mut prices = Vec::new();
    for entry in written {
        let file = entry.get_ref();
        let mut price = |written: &Spanned<f64>| {
            findings.number(written, "US dollars per million tokens, 0 or more", |n| n >= 0.0)
        };
        let (input, output) = (price(&file.input), price(&file.output));
        let cached_input = file.cached_input.as_ref().map(&mut price);
        let cache_write = file.cache_write.as_ref().map(price);
        prices.push(Price {
            model: file.model.get_ref().clone(),
            input: input?,
            cached_input: match cached_input {
                Some(price) => Some(price?),
                None => None,
            },
            cache_write: match cache_write {
                Some(price) => Some(price?),
                None => None,
            },
            output: output?,
        });
    }
    Some(PriceCard { prices })
}

/// A cap in dollars holds only if every request can be priced.
pub(super) fn priced(
    caps: [Option<&Spanned<f64>>; 2],
    arms: &[Arm],
    card: &PriceCard,
    findings: &mut Findings<'_>,
) {
    for cap in caps.into_iter().flatten() {
        let unpriced = arms.iter().find(|arm| card.of(&arm.model).is_none());
        if let Some(arm) = unpriced {
            let message = format!(
                "a cap in dollars needs a price for every model, and `{}` of arm `{}` has none: add a [[price]] entry with model, input and output",
                arm.model, arm.id
            );
            findings.wrong(cap.span(), message);
        }
    }
}

/// A cap in US dollars: outer `None` = refused, inner `None` = not written.
fn dollars(written: Option<&Spanned<f64>>, findings: &mut Findings<'_>) -> Option<Option<f64>> {
    match written {
        Some(written) => findings.number(written, "US dollars above 0", |n| n > 0.0).map(Some),
        None => Some(None),
    }
}

/// A cap of at least 1: outer `None` = refused, inner `None` = not written.
pub(super) fn cap<T: Copy + Default + PartialEq>(
    written: Option<&Spanned<T>>,
    findings: &mut Findings<'_>,
) -> Option<Option<T>> {
    let Some(written) = written else { return Some(None) };
    if *written.get_ref() == T::default() {
        findings
            .wrong(written.span(), "0 leaves nothing to work with: write at least 1, or leave the key out");
        return None;
    }
    Some(Some(*written.get_ref()))
}

const STAGES: [(&str, Stage); 2] = [("smoke", Stage::Smoke), ("confirm", Stage::Confirm)];

const LOOK_SHAPES: [(&str, LookShape); 2] =
    [("obrien-fleming", LookShape::ObrienFleming), ("pocock", LookShape::Pocock)];

/// More looks than this spend more on looking than they save.
const MOST_LOOKS: u32 = 10;

const CANDIDATES: [(&str, Candidates); 3] =
    [("all", Candidates::All), ("holm", Candidates::Holm), ("fixed-sequence", Candidates::FixedSequence)];

/// Numbers of the decision rules.
pub(super) fn rules(
    stage: Option<&Spanned<String>>,
    file: Option<&RulesFile>,
    repeats: Option<u32>,
    findings: &mut Findings<'_>,
) -> Option<Rules> {
    let stage = match stage {
        Some(written) => findings.word("stage", written, &STAGES)?,
        None => Stage::Confirm,
    };
    let default = Rules { stage, ..Rules::default() };
    let Some(file) = file else { return Some(default) };
    let mut number = |written: &Option<Spanned<f64>>, otherwise, range, inside: fn(f64) -> bool| match written
    {
        Some(written) => findings.number(written, range, inside),
        None => Some(otherwise),
    };
    let alpha = number(&file.alpha, default.alpha, "a number above 0 and below 0.5", |n| n > 0.0 && n < 0.5);
    let max_invalid_fraction =
        number(&file.max_invalid_fraction, default.max_invalid_fraction, "a share from 0 to 1", |n| {
            (0.0..=1.0).contains(&n)
        });
    let par = number(&file.par, default.par, "a factor of at least 1", |n| n >= 1.0);
    let sd_floor = match &file.sd_floor {
        Some(written) => findings.number(written, "a standard deviation above 0", |n| n > 0.0).map(Some),
        None => Some(None),
    };
    let candidates = match &file.candidates {
        Some(written) => findings.word("way to claim", written, &CANDIDATES),
        None => Some(default.candidates),
    };
    let looks = looks(file, repeats, findings);
    let look_shape = match &file.look_shape {
        Some(written) => findings.word("shape of looks", written, &LOOK_SHAPES),
        None => Some(default.look_shape),
    };
    let max_reruns_per_block = reruns(file, default.max_reruns_per_block, findings);
    Some(Rules {
        alpha: alpha?,
        max_invalid_fraction: max_invalid_fraction?,
        par: par?,
        max_reruns_per_block: max_reruns_per_block?,
        on_outside_access: default.on_outside_access,
        stage,
        sd_floor: sd_floor?,
        looks: looks?,
        look_shape: look_shape?,
        candidates: candidates?,
    })
}

/// Looks: as many whole repeats lie before each.
fn looks(file: &RulesFile, repeats: Option<u32>, findings: &mut Findings<'_>) -> Option<u32> {
    let Some(written) = &file.looks else { return Some(1) };
    let value = *written.get_ref();
    if !(1..=MOST_LOOKS).contains(&value) {
        findings.wrong(written.span(), format!("{value} looks cannot be planned: write 1 to {MOST_LOOKS}"));
        return None;
    }
    match repeats {
        Some(repeats) if !repeats.is_multiple_of(value) => {
            let message = format!(
                "{value} looks do not divide {repeats} repeats: a look comes after as many whole repeats each"
            );
            findings.wrong(written.span(), message);
            None
        }
        Some(_) | None => Some(value),
    }
}

fn reruns(file: &RulesFile, otherwise: u32, findings: &mut Findings<'_>) -> Option<u32> {
    let Some(written) = &file.max_reruns_per_block else { return Some(otherwise) };
    let value = *written.get_ref();
    if value > MOST_RERUNS {
        let message =
            format!("{value} re-runs of one block would re-roll its outcome: write 0 to {MOST_RERUNS}");
        findings.wrong(written.span(), message);
        return None;
    }
    Some(value)
}

/// Model settings: those of the file over those that hold otherwise.
pub(super) fn settings(
    file: Option<&SettingsFile>,
    otherwise: &ModelSettings,
    findings: &mut Findings<'_>,
) -> Option<ModelSettings> {
    let Some(file) = file else { return Some(otherwise.clone()) };
    let temperature = match &file.temperature {
        Some(written) => findings.number(written, "a temperature of at least 0", |n| n >= 0.0).map(Some),
        None => Some(otherwise.temperature),
    };
    let max_output_tokens = cap(file.max_output_tokens.as_ref(), findings);
    Some(ModelSettings {
        temperature: temperature?,
        max_output_tokens: max_output_tokens?.or(otherwise.max_output_tokens),
        thinking: file.thinking.clone().or_else(|| otherwise.thinking.clone()),
        sampling_seed: file.sampling_seed.or(otherwise.sampling_seed),
    })
}
