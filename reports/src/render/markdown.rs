//! `report.md`: short enough for a pull request, the verdict first.

use std::fmt::Write as _;

use bench_core::{Decision, GateScope, Metric};

use super::detail;
use super::estimate::{self, grouped, level, p_value};
use super::table::{Align, Table, escaped};
use super::words::{
    metric_words, negative_control_words, plain, reason_in_words, reasons_and_remedy, role_words,
    verdict_word, why_not_gated,
};
use crate::analyse::MAIN_METRICS;
use crate::analysis::{Analysis, ArmSummary, ContrastSummary, GateOutcome};

/// Cells named behind a failed gate.
const CELLS_SHOWN: usize = 3;

/// The report as Markdown.
pub fn markdown(analysis: &Analysis) -> String {
    let mut text = String::new();
    head(&mut text, analysis);
    for contrast in &analysis.contrasts {
        contrast_section(&mut text, analysis, contrast);
    }
    not_gated_section(&mut text, analysis);
    text.push_str("## Arms\n\nMedians over cells of valid blocks.\n\n");
    text.push_str(&arm_table(analysis).markdown());
    text.push('\n');
    detail::run_lines(&mut text, analysis);
    never_called_section(&mut text, analysis);
    endings_section(&mut text, analysis);
    scope_section(&mut text, analysis);
    text
}

/// The small result table for a README: the gates of every contrast, one line each.
pub fn first_table_markdown(analysis: &Analysis) -> String {
    let interval = format!("{} interval", level(1.0 - 2.0 * analysis.preflight.alpha));
    let mut table = Table::new(&[
        ("contrast", Align::Left),
        ("metric", Align::Left),
        ("ratio", Align::Right),
        (&interval, Align::Right),
        ("limit", Align::Right),
        ("pairs / tasks", Align::Right),
        ("decision", Align::Left),
    ]);
    for contrast in &analysis.contrasts {
        for gate in &contrast.gates {
            let shown = estimate::of_gate(contrast, gate);
            let expected =
                if negative_control_words(contrast).is_some() { " (negative control)" } else { "" };
            table.row([
                format!("{} against {}", contrast.candidate, contrast.control),
                metric_words(gate.metric),
                point_with_kind(&shown),
                shown.interval,
                shown.limit,
                shown.n,
                format!("{}{expected}", gate.decision.word()),
            ]);
        }
    }
    table.markdown()
}

fn head(text: &mut String, analysis: &Analysis) {
    let overall = &analysis.overall;
    let _ =
        writeln!(text, "# {}: {}\n", verdict_word(overall.decision), escaped(&plain(&analysis.experiment)));
    let _ = writeln!(
        text,
        "**{}**: {} (exit code {}).",
        verdict_word(overall.decision),
        escaped(&plain(&overall.sentence)),
        overall.exit_code
    );
    if overall.decision == Decision::Inconclusive {
        for code in &overall.reasons {
            let _ = writeln!(text, "- {}", escaped(&plain(reason_in_words(code))));
        }
    }
    for contrast in &analysis.contrasts {
        if let Some(words) = negative_control_words(contrast) {
            let _ = writeln!(text, "\n{}.", capital(&words));
        }
    }
    let _ = writeln!(text, "\n{}", counts(analysis));
    if let Some(why) = &analysis.exploratory.why {
        let _ = writeln!(text, "\n**Exploratory**: {}.", escaped(&plain(why)));
    }
    for warning in &analysis.warnings {
        let _ = writeln!(text, "\n> {}", escaped(&plain(warning)));
    }
    text.push('\n');
}

/// Counts of the run in one line.
pub(crate) fn counts(analysis: &Analysis) -> String {
    let (cells, blocks) = (&analysis.cells, &analysis.blocks);
    let mut parts = vec![
        format!("{} of {} cells settled", cells.attempted, cells.planned),
        format!("{} of {} blocks valid", blocks.valid, blocks.total),
        format!(
            "{} tasks × {} repeats × {} arms",
            analysis.preflight.tasks,
            analysis.preflight.repeats,
            analysis.arms.len()
        ),
        format!("upstream {}", plain(&analysis.upstream.kind)),
        format!("isolation {}", analysis.isolation_level),
    ];
    if let Some(tokens) = &analysis.tokens {
        parts.push(format!("tokens {} by {}", plain(&tokens.basis), plain(&tokens.tokenizer.name)));
    }
    for (reason, count) in &blocks.invalid_by_reason {
        parts.push(format!("{count} blocks out: {}", plain(reason)));
    }
    parts.join(" · ")
}

fn contrast_section(text: &mut String, analysis: &Analysis, contrast: &ContrastSummary) {
    let _ = writeln!(
        text,
        "## {}: {} against {} ({})\n",
        contrast.name,
        contrast.candidate,
        contrast.control,
        role_words(contrast.role)
    );
    let interval = format!("{} interval", level(contrast.pass_difference.level));
    let mut table = Table::new(&[
        ("gate", Align::Left),
        ("metric", Align::Left),
        ("ratio", Align::Right),
        (&interval, Align::Right),
        ("limit", Align::Right),
        ("pairs / tasks", Align::Right),
        ("decision", Align::Left),
    ]);
    for gate in &contrast.gates {
        let shown = estimate::of_gate(contrast, gate);
        let decision = decision_words(gate);
        table.row([
            gate.id.clone(),
            metric_words(gate.metric),
            point_with_kind(&shown),
            shown.interval,
            shown.limit,
            shown.n,
            decision,
        ]);
    }
    if !table.is_empty() {
        let _ = writeln!(text, "{}", table.markdown());
    }
    cells_behind(text, contrast);
    for entry in &contrast.not_gated {
        // The reason stands once, in a section of its own, unless another contrast does decide on the metric.
        let why = if why_not_gated(analysis, entry.metric).is_none() {
            format!(" {}.", capital(&escaped(&plain(&entry.why))))
        } else {
            String::new()
        };
        let estimate = not_gated_estimate(contrast, entry.metric);
        let _ = writeln!(text, "- {} (not gated): {estimate}.{why}", metric_words(entry.metric));
    }
    if let Some(line) = bootstrap_line(contrast) {
        let _ = writeln!(text, "- {line}");
    }
    let _ = writeln!(text, "- {}", mcnemar_sentence(contrast));
    detail::contrast_lines(text, contrast);
    text.push('\n');
}

fn not_gated_section(text: &mut String, analysis: &Analysis) {
    let reasons: Vec<String> = MAIN_METRICS
        .into_iter()
        .filter_map(|metric| {
            let why = why_not_gated(analysis, metric)?;
            Some(format!("- {}: {}.", metric_words(metric), escaped(&plain(&why))))
        })
        .collect();
    if !reasons.is_empty() {
        let _ = writeln!(text, "## Not gated, and why\n\n{}\n", reasons.join("\n"));
    }
}

fn point_with_kind(shown: &estimate::Estimate) -> String {
    if shown.of_means { format!("{} (means)", shown.point) } else { shown.point.clone() }
}

/// The bootstrap beside the t interval, for the metrics that gates look at.
fn bootstrap_line(contrast: &ContrastSummary) -> Option<String> {
    let mut reliable = true;
    let mut parts: Vec<String> = Vec::new();
    for gate in &contrast.gates {
        let found = contrast.metrics.get(&gate.metric).and_then(|comparison| comparison.bootstrap.as_ref());
        if let Some(bootstrap) = found {
            reliable &= bootstrap.reliable;
            parts.push(format!(
                "{} {:.3} to {:.3}",
                metric_words(gate.metric),
                bootstrap.lower,
                bootstrap.upper
            ));
        }
    }
    let label = if reliable { "never gating" } else { "never gating; too narrow below 12 tasks" };
    (!parts.is_empty()).then(|| format!("bootstrap by task ({label}): {}.", parts.join(", ")))
}

fn decision_words(gate: &GateOutcome) -> String {
    let remedy = reasons_and_remedy(gate);
    let scope = match gate.scope {
        GateScope::TasksLikeThese => "",
        GateScope::TheseTasks => " on these tasks",
    };
    let word = format!("{}{scope}", gate.decision.word());
    if remedy.is_empty() { word } else { format!("{word}: {remedy}") }
}

fn cells_behind(text: &mut String, contrast: &ContrastSummary) {
    for gate in contrast.gates.iter().filter(|gate| gate.decision == Decision::Fail && !gate.cells.is_empty())
    {
        let named: Vec<String> =
            gate.cells.iter().take(CELLS_SHOWN).map(|cell| format!("`{cell}`")).collect();
        let more = gate.cells.len().saturating_sub(CELLS_SHOWN);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(text, "- cells behind {}: {}{rest}", gate.id, named.join(", "));
    }
}

/// What is known of a metric that nothing decides on.
pub(crate) fn not_gated_estimate(contrast: &ContrastSummary, metric: Metric) -> String {
    let scope = GateScope::TasksLikeThese;
    let (pairs, tasks) = estimate::n_of(contrast, metric);
    let n = format!("{pairs} pairs on {tasks} tasks");
    if metric == Metric::PassRate {
        let (point, interval) = estimate::pass_difference(contrast, scope);
        return format!(
            "difference {point}, {} interval {interval}, {n}",
            level(contrast.pass_difference.level)
        );
    }
    match contrast.metrics.get(&metric) {
        Some(comparison) => {
            let (point, interval) = estimate::ratio(comparison, scope);
            format!("ratio {point}, {} interval {interval}, {n}", level(comparison.level))
        }
        None => "unknown in every cell".to_owned(),
    }
}

/// McNemar's p with the wording that belongs to it.
pub(crate) fn mcnemar_sentence(contrast: &ContrastSummary) -> String {
    let test = &contrast.mcnemar;
    let Some((exact, midp)) = test.exact_p.zip(test.midp_p) else {
        return "McNemar: no pair".to_owned();
    };
    let reach = if test.cannot_reach_05 { "; with so few it cannot reach .05" } else { "" };
    format!(
        "McNemar exact p = {} (mid-p {}) of \"in no task do the arms differ\": only {} passed {} times, only {} {} times, of {} pairs{reach}.",
        p_value(exact),
        p_value(midp),
        contrast.control,
        contrast.pairs.control_only,
        contrast.candidate,
        contrast.pairs.candidate_only,
        contrast.pairs.n
    )
}

/// Arm by arm: passes and medians.
pub(crate) fn arm_table(analysis: &Analysis) -> Table {
    let mut table = Table::new(&[
        ("arm", Align::Left),
        ("passed", Align::Right),
        ("first request", Align::Right),
        ("total tokens", Align::Right),
        ("turns", Align::Right),
        ("calls", Align::Right),
        ("wall ms*", Align::Right),
    ]);
    for arm in &analysis.arms {
        let median = |metric| arm.metrics.get(&metric).map_or("–".to_owned(), |m| grouped(m.median));
        table.row([
            arm.name.clone(),
            format!("{}/{}", arm.pass.passed, arm.pass.n),
            median(Metric::FirstRequestTokens),
            median(Metric::TotalTokens),
            median(Metric::Turns),
            median(Metric::ToolCalls),
            median(Metric::WallMs),
        ]);
    }
    table
}

fn never_called_section(text: &mut String, analysis: &Analysis) {
    let mut table = Table::new(&[
        ("arm", Align::Left),
        ("tool", Align::Left),
        ("tokens per request", Align::Right),
        ("in cells", Align::Right),
    ]);
    for arm in &analysis.arms {
        for tool in &arm.tools_never_called.tools {
            table.row([arm.name.clone(), tool.name.clone(), grouped(tool.tokens), tool.cells.to_string()]);
        }
    }
    if table.is_empty() {
        return;
    }
    let totals: Vec<String> = analysis
        .arms
        .iter()
        .filter(|arm| !arm.tools_never_called.tools.is_empty())
        .map(|arm| {
            format!(
                "{} {} tokens over the run",
                arm.name,
                grouped(arm.tools_never_called.tokens_total as f64)
            )
        })
        .collect();
    let _ = writeln!(text, "## Paid for and never called\n\n{}.\n", capital(&totals.join("; ")));
    let _ = writeln!(text, "{}", table.markdown());
}

fn endings_section(text: &mut String, analysis: &Analysis) {
    let line = |arm: &ArmSummary| {
        let parts: Vec<String> = arm.endings.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        format!("{}: {}", arm.name, if parts.is_empty() { "none".to_owned() } else { parts.join(", ") })
    };
    let all: Vec<String> = analysis.arms.iter().map(line).collect();
    let _ = writeln!(text, "Endings: {}.\n", all.join(" · "));
}

fn scope_section(text: &mut String, analysis: &Analysis) {
    text.push_str("## What this shows and what it does not\n\n");
    for sentence in &analysis.scope {
        let _ = writeln!(text, "- {}", escaped(&plain(sentence)));
    }
    if !analysis.isolation_missing.is_empty() {
        let gaps: Vec<String> = analysis.isolation_missing.iter().map(|gap| escaped(&plain(gap))).collect();
        let _ = writeln!(text, "- Not closed at this level: {}.", gaps.join("; "));
    }
    for (task, reason) in &analysis.skipped_tasks {
        let _ = writeln!(text, "- Task {} was skipped: {}.", escaped(&plain(task)), escaped(&plain(reason)));
    }
    for entry in &analysis.preflight.cannot_pass {
        let _ = writeln!(text, "- Gate {} cannot pass by this design: {}.", entry.gate, entry.why);
    }
    let _ = writeln!(
        text,
        "\nRatio: geometric mean of candidate / control, first within, then over tasks; interval: t over tasks, {} two-sided ({:.0} % error per gate); PASS: upper limit ≤ limit, FAIL: lower limit > limit, for tasks like these or on these; n: pairs / tasks. *wall time is never comparable between machines or runs.",
        level(1.0 - 2.0 * analysis.preflight.alpha),
        analysis.preflight.alpha * 100.0
    );
}

/// The same with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
