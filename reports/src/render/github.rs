//! What GitHub Actions shows: annotations as workflow commands, one per gate that is not green, and the job summary.

use bench_core::{ContrastRole, Decision};

use super::estimate;
use super::words::{metric_words, plain, reasons_and_remedy, verdict_word};
use crate::analysis::{Analysis, ContrastSummary, GateOutcome};

/// Annotations a run of a workflow shows at most of one kind; the rest stands in the summary.
const SHOWN: usize = 10;

/// The workflow commands, one a line: an error for each failed gate, a warning for each open one, one line for the whole.
pub fn github_annotations(analysis: &Analysis) -> String {
    let overall = &analysis.overall;
    let level = match overall.decision {
        Decision::Pass => "notice",
        Decision::Inconclusive | Decision::NotApplicable => "warning",
        Decision::Fail | Decision::NoData | Decision::InvalidRun => "error",
    };
    let title = format!("{}: {}", verdict_word(overall.decision), analysis.experiment);
    let mut lines = command(level, &title, &overall.sentence);
    let deciding = analysis.contrasts.iter().filter(|contrast| contrast.role == ContrastRole::Gate);
    let gates: Vec<(&ContrastSummary, &GateOutcome)> =
        deciding.flat_map(|contrast| contrast.gates.iter().map(move |gate| (contrast, gate))).collect();
    for (decision, level) in [(Decision::Fail, "error"), (Decision::Inconclusive, "warning")] {
        for (contrast, gate) in gates.iter().filter(|(_, gate)| gate.decision == decision).take(SHOWN) {
            lines.push_str(&annotation(contrast, gate, level));
        }
    }
    lines
}

fn annotation(contrast: &ContrastSummary, gate: &GateOutcome, level: &str) -> String {
    let shown = estimate::of_gate(contrast, gate);
    let title =
        format!("{} {} ({} against {})", gate.decision.word(), gate.id, contrast.candidate, contrast.control);
    let cells: Vec<&str> = gate.cells.iter().take(3).map(String::as_str).collect();
    let behind = if cells.is_empty() { String::new() } else { format!("; cells: {}", cells.join(", ")) };
    let message = format!(
        "{} {} ({}), limit {}, pairs / tasks {}: {}{behind}",
        metric_words(gate.metric),
        shown.point,
        shown.interval,
        shown.limit,
        shown.n,
        reasons_and_remedy(gate)
    );
    command(level, &title, &message)
}

/// A workflow command. What stands in it can neither end the line nor begin another.
fn command(level: &str, title: &str, message: &str) -> String {
    let message = plain(message).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let title = plain(title).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let title = title.replace(':', "%3A").replace(',', "%2C");
    format!("::{level} title={title}::{message}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_ends_a_command_or_begins_another() {
        let line = command("error", "a,b::c\n::set-env", "100 %\n::add-mask::x");
        assert_eq!(line.lines().count(), 1, "{line}");
        assert!(line.starts_with("::error title=a%2Cb%3A%3Ac\\u{a}%3A%3Aset-env::100 %25\\u{a}"), "{line}");
    }
}
