//! The table that a terminal shows at the end of a run.

use std::fmt::Write as _;

use bench_core::Decision;

use super::estimate;
use super::markdown::{arm_table, counts};
use super::segments::segment_lines;
use super::table::{Align, Table, wrapped};
use super::words::{
    metric_words, negative_control_words, plain, reason_in_words, reasons_and_remedy, role_words,
    verdict_word, why_not_gated,
};
use crate::analyse::MAIN_METRICS;
use crate::analysis::{Analysis, ContrastSummary};

/// How a summary is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Are verdicts coloured?
    pub colour: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, colour: false }
    }
}

/// The summary, ending with a newline. Sentences are broken at the style's width (40 at
/// least); numbers are never cut, so a table needs 80 columns.
pub fn summary(analysis: &Analysis, style: Style) -> String {
    let width = style.width.max(40);
    let mut text = String::new();
    for contrast in &analysis.contrasts {
        contrast_block(&mut text, contrast, width);
    }
    text.push_str(&arm_table(analysis).text(width));
    text.push_str("  medians over cells of valid blocks; * not comparable between runs\n\n");
    for metric in MAIN_METRICS {
        if let Some(why) = why_not_gated(analysis, metric) {
            text.push_str(&wrapped(
                &format!("not gated: {}: {}", metric_words(metric), plain(&why)),
                width,
                4,
            ));
        }
    }
    for contrast in &analysis.contrasts {
        if let Some(words) = negative_control_words(contrast) {
            text.push_str(&wrapped(&words, width, 4));
        }
    }
    for warning in &analysis.warnings {
        text.push_str(&wrapped(&format!("warning: {}", plain(warning)), width, 4));
    }
    for line in segment_lines(analysis) {
        text.push_str(&wrapped(&plain(&line), width, 4));
    }
    if let Some(sentence) = analysis.scope.first() {
        text.push_str(&wrapped(&plain(sentence), width, 0));
    }
    text.push('\n');
    text.push_str(&wrapped(&counts(analysis), width, 2));
    verdict(&mut text, analysis, width);
    coloured(text, style)
}

fn contrast_block(text: &mut String, contrast: &ContrastSummary, width: usize) {
    let title = format!(
        "{}: {} against {} ({})",
        contrast.name,
        contrast.candidate,
        contrast.control,
        role_words(contrast.role)
    );
    text.push_str(&wrapped(&title, width, 2));
    let interval = format!("{} interval", estimate::level(contrast.pass_difference.level));
    let mut table = Table::new(&[
        ("metric", Align::Left),
        ("ratio", Align::Right),
        (&interval, Align::Right),
        ("limit", Align::Right),
        ("n", Align::Right),
        ("decision", Align::Left),
    ]);
    for gate in &contrast.gates {
        let shown = estimate::of_gate(contrast, gate);
        table.row([
            metric_words(gate.metric),
            shown.point,
            shown.interval,
            shown.limit,
            shown.n,
            gate.decision.word().to_owned(),
        ]);
    }
    if table.is_empty() {
        text.push_str("  no gate\n");
    } else {
        text.push_str(&table.text(width));
    }
    for gate in &contrast.gates {
        if estimate::of_gate(contrast, gate).of_means {
            let words = format!("  {}: ratio of means, since a cost is zero", metric_words(gate.metric));
            text.push_str(&wrapped(&words, width, 4));
        }
        let remedy = reasons_and_remedy(gate);
        if !remedy.is_empty() {
            text.push_str(&wrapped(&format!("  {}: {remedy}", metric_words(gate.metric)), width, 4));
        }
    }
    text.push('\n');
}

fn verdict(text: &mut String, analysis: &Analysis, width: usize) {
    let overall = &analysis.overall;
    let mut line = format!(
        "{} {}: {}",
        verdict_word(overall.decision),
        plain(&analysis.experiment),
        plain(&overall.sentence)
    );
    if overall.decision == Decision::Inconclusive {
        let words: Vec<&str> = overall.reasons.iter().map(|code| reason_in_words(code)).collect();
        let _ = write!(line, " ({})", words.join("; "));
    }
    if analysis.exploratory.yes {
        line.push_str(" [exploratory]");
    }
    text.push_str(&wrapped(&line, width, 2));
}

/// Colours the decision words: the only escape sequences of a summary are made here.
fn coloured(text: String, style: Style) -> String {
    if !style.colour {
        return text;
    }
    let paint =
        |text: String, word: &str, code: &str| text.replace(word, &format!("\u{1b}[{code}m{word}\u{1b}[0m"));
    let text = paint(text, "INCONCLUSIVE", "33");
    let text = paint(text, "INVALID_RUN", "31");
    let text = paint(text, "NO_DATA", "31");
    let text = paint(text, "PASS", "32");
    paint(text, "FAIL", "31")
}
