//! `bench plan`: the order, and what the design can and cannot show.

use serde_json::json;

use bench_reports::{Preflight, preflight};

use crate::exit::{Exit, Failure};
use crate::options::PlanOptions;
use crate::say;
use crate::source::{ExperimentText, Source};

/// Prints the plan. Runs nothing.
pub(crate) fn plan(options: &PlanOptions) -> Result<Exit, Failure> {
    let source = Source::open(ExperimentText::read(options.file.as_deref())?, &options.places)?;
    let plan = &source.plan;
    let preflight =
        preflight(plan.tasks.len(), plan.experiment.repeats, &plan.experiment.gates, &plan.experiment.rules);
    if options.json {
        let blocks: Vec<_> =
            plan.schedule.blocks.iter().map(|b| json!({"block": b.id(), "order": b.order})).collect();
        let value = json!({
            "format_version": 1,
            "experiment": plan.experiment.name,
            "rules_sha256": plan.lock.rules_sha256,
            "cells": plan.schedule.len(),
            "blocks": blocks,
            "skipped": plan.skipped,
            "preflight": preflight,
        });
        say::line(&serde_json::to_string_pretty(&value).expect("a plan is a JSON value"));
        return Ok(Exit::Good);
    }
    let mut text = String::new();
    describe(&source, &mut text);
    design(&preflight, &mut text);
    say::raw(text.as_bytes());
    Ok(Exit::Good)
}

fn describe(source: &Source, text: &mut String) {
    use std::fmt::Write as _;
    let plan = &source.plan;
    let _ = writeln!(
        text,
        "{}: {} tasks × {} arms × {} repeats = {} cells, upstream {}, seed {}",
        plan.experiment.name,
        plan.tasks.len(),
        plan.arms.len(),
        plan.experiment.repeats,
        plan.schedule.len(),
        plan.experiment.upstream.word(),
        plan.experiment.seed,
    );
    let _ = writeln!(text, "pre-registration hash {}", plan.lock.rules_sha256);
    let isolation = bench_isolation::reachable();
    let _ = writeln!(
        text,
        "isolation: {} required, {} reached here\n",
        plan.experiment.min_isolation, isolation.level
    );
    let width = plan.schedule.blocks.iter().map(|b| b.id().len()).max().unwrap_or(5).max(5);
    let _ = writeln!(text, "{:<width$}  arms in order of execution", "block");
    for block in &plan.schedule.blocks {
        let order: Vec<&str> = block.order.iter().map(|arm| arm.as_str()).collect();
        let _ = writeln!(text, "{:<width$}  {}", block.id(), order.join(" → "));
    }
    for (task, reason) in &plan.skipped {
        let _ = writeln!(text, "skipped: {task} ({reason})");
    }
    text.push('\n');
}

/// What the design can show at best, if the arms behave identically.
fn design(preflight: &Preflight, text: &mut String) {
    use std::fmt::Write as _;
    let _ = writeln!(
        text,
        "what this design can show, at best ({} tasks × {} repeats):",
        preflight.tasks, preflight.repeats
    );
    let bound = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |v| format!("{v:+.3}"));
    let _ = writeln!(
        text,
        "  pass_rate: with no discordant pair the lower bound of the difference is {} for tasks like these, {} for these tasks",
        bound(preflight.ni_lower_zero_discordance_random_tasks),
        bound(preflight.ni_lower_zero_discordance_these_tasks),
    );
    let _ = writeln!(
        text,
        "  smallest one-sided p of a sign-flip test over tasks: {}",
        preflight.task_signflip_min_one_sided_p
    );
    if let Some(t) = preflight.t_multiplier {
        let _ = writeln!(text, "  a cost ratio's interval is ± {t:.2} standard errors wide (log scale)");
    }
    if !preflight.order_balanced_within_tasks {
        let _ = writeln!(text, "  order is not balanced within tasks: use an even number of repeats");
    }
    for gate in &preflight.cannot_pass {
        let _ = writeln!(text, "  cannot pass: gate {} on {}: {}", gate.gate, gate.metric, gate.why);
    }
}
