//! `bench compare`: two runs beside each other, per arm and per contrast. Decides nothing.

use bench_core::Metric;
use bench_reports::Analysis;
use bench_reports::analysis::{ContrastSummary, MetricComparison};

use crate::commands::gate::compared;
use crate::commands::report::lock_and_journal;
use crate::exit::{Exit, Failure, OrExit, fail};
use crate::options::CompareOptions;
use crate::say;

/// The metrics that are shown.
const SHOWN: [Metric; 5] =
    [Metric::FirstRequestTokens, Metric::TotalTokens, Metric::Turns, Metric::ToolCalls, Metric::WallMs];

/// Prints both runs side by side; exit code 0 when they could be compared.
pub(crate) fn compare(options: &CompareOptions) -> Result<Exit, Failure> {
    let (then, now) = (lock_and_journal(&options.then)?, lock_and_journal(&options.now)?);
    let arms = compared(&now, &then)?;
    let before = bench_reports::analyse(&then.0, &then.1).or_exit(Exit::Usage)?;
    let after = bench_reports::analyse(&now.0, &now.1).or_exit(Exit::Usage)?;
    if arms.is_empty() && contrasts(&before, &after).is_empty() {
        return fail(Exit::Usage, "the runs have neither an arm nor a contrast in common");
    }
    for one in &arms {
        let contrast = &one.analysis.contrasts[0];
        say::line(&format!("arm {}: now / then over {} pairs", say::harmless(&one.arm), contrast.pairs.n));
        for remark in &one.remarks {
            say::line(&format!("  {}", say::harmless(remark)));
        }
        for metric in SHOWN {
            let refused = one.remarks.iter().any(|remark| {
                remark.starts_with(metric.key())
                    || (metric.nature().unit == "tokens" && remark.starts_with("tokens are refused"))
            });
            if let Some(found) = contrast.metrics.get(&metric).filter(|_| !refused) {
                say::line(&format!("  {:<22} {}", metric.key(), ratio(found)));
            }
        }
        say::line(&format!("  {:<22} {}", "pass_rate", difference(contrast)));
    }
    for (old, new) in contrasts(&before, &after) {
        say::line(&format!("contrast {}: {} against {}", new.name, new.candidate, new.control));
        for metric in SHOWN {
            let of = |contrast: &ContrastSummary| contrast.metrics.get(&metric).map_or("–".to_owned(), ratio);
            say::line(&format!("  {:<22} then {}   now {}", metric.key(), of(old), of(new)));
        }
        say::line(&format!("  {:<22} then {}   now {}", "pass_rate", difference(old), difference(new)));
        for gate in &new.gates {
            let was = old.gates.iter().find(|other| other.id == gate.id);
            let word = was.map_or("not asked", |other| other.decision.word());
            say::line(&format!("  gate {:<17} then {word}   now {}", gate.id, gate.decision.word()));
        }
    }
    Ok(Exit::Good)
}

/// Contrasts of the same name in both.
fn contrasts<'a>(then: &'a Analysis, now: &'a Analysis) -> Vec<(&'a ContrastSummary, &'a ContrastSummary)> {
    let of = |new: &'a ContrastSummary| {
        then.contrasts.iter().find(|old| old.name == new.name).map(|old| (old, new))
    };
    now.contrasts.iter().filter_map(of).collect()
}

fn ratio(found: &MetricComparison) -> String {
    match (found.gmr.or(found.ratio_of_means), found.lower.zip(found.upper)) {
        (Some(point), Some((lower, upper))) => format!("{point:.3} ({lower:.3} to {upper:.3})"),
        (Some(point), None) => format!("{point:.3} (no interval)"),
        (None, _) => "undefined".to_owned(),
    }
}

fn difference(contrast: &ContrastSummary) -> String {
    let d = &contrast.pass_difference;
    match (d.point, d.lower.zip(d.upper)) {
        (Some(point), Some((lower, upper))) => {
            format!("{:+.1} pp ({:+.1} to {:+.1})", point * 100.0, lower * 100.0, upper * 100.0)
        }
        (Some(point), None) => format!("{:+.1} pp (no interval)", point * 100.0),
        (None, _) => "undefined".to_owned(),
    }
}
