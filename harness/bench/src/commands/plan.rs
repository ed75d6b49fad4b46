//! `bench plan`: the order, what the design can and cannot show, and what it is expected to spend.

mod expected;

use std::path::Path;

use serde_json::json;

use bench_reports::{preflight, preflight_lines};

use crate::commands::report::lock_and_journal;
use crate::estimate::Estimate;
use crate::exit::{Exit, Failure};
use crate::options::PlanOptions;
use crate::say;
use crate::source::{ExperimentText, Source};

/// Prints the plan. Runs nothing.
pub(crate) fn plan(options: &PlanOptions) -> Result<Exit, Failure> {
    let text = ExperimentText::read(options.file.as_deref())?.changed(&options.changes, &options.arm)?;
    let source = Source::open(text, &options.places)?;
    let plan = &source.plan;
    let estimate = Estimate::of(plan, &plan.schedule, Path::new("runs"));
    let preflight =
        preflight(plan.tasks.len(), plan.experiment.repeats, &plan.experiment.gates, &plan.experiment.rules);
    let like = options.like.as_deref().map(lock_and_journal).transpose()?;
    let expected = expected::Expected::of(plan, like.as_ref().map(|(_, records)| records.as_slice()));
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
            "cost": estimate.json(),
            "preflight": preflight,
            "expected": expected,
        });
        say::line(&serde_json::to_string_pretty(&value).expect("a plan is a JSON value"));
        return Ok(Exit::Good);
    }
    let mut text = String::new();
    describe(&source, &mut text);
    // With a run to go by its cells count; without one, whatever ran before under the same arms.
    let cost = match &options.like {
        Some(run) => [vec![estimate.headline()], expected.lines(&run.display().to_string())].concat(),
        None => estimate.lines(),
    };
    for line in preflight_lines(&preflight).into_iter().chain(cost) {
        text.push_str(&line);
        text.push('\n');
    }
    say::text(&text);
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
