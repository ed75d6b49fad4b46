//! `report.html`: one file that opens offline, the verdict first. Reads an analysis and the rows of its journal; every
//! value goes through one escaping formatter ([`page`]), figures are inline SVG ([`svg`]), and the page works without its
//! script, which only filters and switches the theme.

mod arms;
pub(super) mod context;
mod cost;
pub(super) mod first_request;
pub(super) mod forest;
mod grid;
pub(crate) mod page;
pub(super) mod slopes;
pub(crate) mod svg;
mod verdict;
mod walls;

use bench_core::Decision;
use minijinja::Value;
use minijinja::value::Serde;
use serde::Serialize;

use super::markdown::{capital, counts};
use super::segments::segment_lines;
use super::words::{negative_control_words, reason_in_words, verdict_word};
use crate::analysis::Analysis;
use crate::rows::Rows;

/// Where the evidence of a cell can be opened from the page; none = no link.
pub type CellLink<'a> = &'a dyn Fn(&bench_record::CellRecord) -> Option<String>;

/// The page. `link` says where a cell's trace lies, relative to the page.
pub fn html(analysis: &Analysis, rows: &Rows<'_>, link: CellLink<'_>) -> String {
    let values = Values {
        title: format!("{}: {}", verdict_word(analysis.overall.decision), analysis.experiment),
        head: head(analysis),
        tracks: verdict::tracks(analysis),
        not_gated: verdict::not_gated(analysis),
        contrasts: verdict::contrasts(analysis),
        forest: forest::forest(analysis),
        first_request: first_request::bars(analysis),
        slopes: slopes::slopes(analysis, rows),
        context: context::context(rows),
        grid: grid::grid(rows, link),
        arms: arms::arms(analysis),
        walls: walls::walls(analysis, rows),
        cost: cost::cost(analysis, rows),
        order: cost::order(analysis, rows),
        scope: scope(analysis),
        provenance: provenance(analysis),
        level: super::estimate::level(1.0 - 2.0 * analysis.preflight.alpha),
    };
    page::page(page::Template::Report, Value::from(Serde(&values)))
}

#[derive(Serialize)]
struct Values {
    title: String,
    head: Head,
    tracks: Vec<verdict::Track>,
    not_gated: Vec<(String, String)>,
    contrasts: Vec<verdict::Contrast>,
    forest: Option<forest::Forest>,
    first_request: Vec<first_request::Bar>,
    slopes: Vec<slopes::Contrast>,
    context: Option<context::Context>,
    grid: grid::Grid,
    arms: arms::Arms,
    walls: walls::Walls,
    cost: Vec<cost::Cost>,
    order: cost::Order,
    scope: Scope,
    provenance: Vec<(&'static str, String)>,
    level: String,
}

#[derive(Serialize)]
struct Head {
    experiment: String,
    word: &'static str,
    tone: &'static str,
    sentence: String,
    exit_code: i32,
    reasons: Vec<String>,
    controls: Vec<String>,
    counts: String,
    exploratory: Option<String>,
    warnings: Vec<String>,
}

fn head(analysis: &Analysis) -> Head {
    let overall = &analysis.overall;
    let inconclusive = overall.decision == Decision::Inconclusive;
    let reasons = overall.reasons.iter().filter(|_| inconclusive);
    Head {
        experiment: analysis.experiment.clone(),
        word: verdict_word(overall.decision),
        tone: tone(overall.decision),
        sentence: overall.sentence.clone(),
        exit_code: overall.exit_code,
        reasons: reasons.map(|code| reason_in_words(code).to_owned()).collect(),
        controls: analysis
            .contrasts
            .iter()
            .filter_map(negative_control_words)
            .map(|words| capital(&words))
            .collect(),
        counts: counts(analysis),
        exploratory: analysis.exploratory.why.clone(),
        warnings: analysis.warnings.iter().cloned().chain(segment_lines(analysis)).collect(),
    }
}

/// The class under which a decision is coloured.
fn tone(decision: Decision) -> &'static str {
    match decision {
        Decision::Pass => "good",
        Decision::Fail => "bad",
        Decision::Inconclusive => "open",
        Decision::NotApplicable => "none",
        Decision::NoData | Decision::InvalidRun => "void",
    }
}

#[derive(Serialize)]
struct Scope {
    sentences: Vec<String>,
    skipped: Vec<(String, String)>,
    design: Vec<String>,
    cannot_pass: Vec<String>,
}

fn scope(analysis: &Analysis) -> Scope {
    let cannot_pass = analysis.preflight.cannot_pass.iter();
    Scope {
        sentences: analysis.scope.clone(),
        skipped: analysis.skipped_tasks.iter().map(|(task, why)| (task.clone(), why.clone())).collect(),
        design: super::words::preflight_lines(&analysis.preflight),
        cannot_pass: cannot_pass.map(|entry| format!("{}: {}", entry.gate, entry.why)).collect(),
    }
}

/// Where the numbers come from: what stands there, line by line.
fn provenance(analysis: &Analysis) -> Vec<(&'static str, String)> {
    let from = &analysis.provenance;
    let listed = |words: &[String]| if words.is_empty() { "none".to_owned() } else { words.join(", ") };
    let known = |word: &Option<String>| word.clone().unwrap_or_else(|| "unknown".to_owned());
    let mut lines = vec![
        ("Rules, hashed before the first cell", analysis.lock_sha256.clone()),
        ("Upstream", analysis.upstream.kind.clone()),
        ("Its hosts", listed(&from.upstream_hosts)),
        ("Models as answered", listed(&from.models_answered)),
        ("First start", known(&from.times.first_started_at)),
        ("Last end", known(&from.times.last_ended_at)),
        ("Harness", listed(&from.versions)),
        ("Kernel", known(&from.kernel)),
        ("Machines", from.hosts.len().to_string()),
        ("Attempts that were interrupted", spent(&from.spent_by_interrupted)),
        ("Attempts that a later one replaced", spent(&from.superseded)),
        ("Blocks that a later process continued", from.blocks_split.to_string()),
    ];
    if let Some(tokens) = &analysis.tokens {
        let by = &tokens.tokenizer;
        let words = format!(
            "basis {}, {}, by {} ({} {})",
            tokens.basis, tokens.completeness, by.name, by.package, by.version
        );
        lines.push(("Tokens", words));
    }
    lines
}

fn spent(spent: &crate::analysis::Spent) -> String {
    match spent.attempts {
        0 => "none".to_owned(),
        attempts => {
            format!("{attempts} with {} known tokens", super::estimate::grouped(spent.total_tokens as f64))
        }
    }
}
