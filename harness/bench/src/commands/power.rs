//! `bench power`: what a design can show, from numbers or from the spread of a run.

use bench_reports::{PowerDesign, PowerTable, power_table};

use crate::commands::report;
use crate::exit::{Exit, Failure, fail};
use crate::options::PowerOptions;
use crate::say;

/// Prints one table, or one for each metric whose spread the run knows.
pub(crate) fn power(options: &PowerOptions) -> Result<Exit, Failure> {
    let designs = designs(options)?;
    let tables: Vec<(String, PowerTable)> =
        designs.into_iter().map(|(name, design)| (name, power_table(design))).collect();
    if options.json {
        let value: serde_json::Map<String, serde_json::Value> = tables
            .iter()
            .map(|(name, table)| {
                (name.clone(), serde_json::to_value(table).expect("a table is a JSON value"))
            })
            .collect();
        say::line(&serde_json::to_string_pretty(&value).expect("tables are a JSON value"));
        return Ok(Exit::Good);
    }
    for (name, table) in &tables {
        print(name, table);
    }
    Ok(Exit::Good)
}

fn designs(options: &PowerOptions) -> Result<Vec<(String, PowerDesign)>, Failure> {
    let design = PowerDesign {
        tasks: options.tasks,
        sd: options.sd,
        limit: options.limit,
        margin: options.margin,
        discordant: options.discordant,
        alpha: options.alpha,
    };
    let Some(run) = &options.run else { return Ok(vec![("as given".to_owned(), design)]) };
    let analysis = report::analyse(run)?;
    let found: Vec<(String, PowerDesign)> = analysis
        .contrasts
        .iter()
        .flat_map(|contrast| contrast.metrics.iter().map(move |(metric, found)| (contrast, metric, found)))
        .filter_map(|(contrast, metric, found)| {
            let sd = found.variance.filter(|variance| variance.sd > 0.0)?.sd;
            Some((format!("{}/{metric}", contrast.name), PowerDesign { sd, ..design }))
        })
        .collect();
    if found.is_empty() {
        return fail(
            Exit::Usage,
            format!("{}: no metric with repeats shows any spread; give one with --sd", run.display()),
        );
    }
    Ok(found)
}

fn print(name: &str, table: &PowerTable) {
    let design = &table.design;
    say::line(&format!(
        "{}: {} tasks, sd of a task's log ratio {:.3}, limit {}, alpha {}",
        say::harmless(name),
        design.tasks,
        design.sd,
        design.limit,
        design.alpha
    ));
    let percent = |p: Option<f64>| p.map_or("n/a".to_owned(), |p| format!("{:.1} %", p * 100.0));
    let count = |n: Option<u64>| n.map_or("none up to 2,000".to_owned(), |n| n.to_string());
    for row in &table.ratios {
        say::line(&format!(
            "  true ratio {:.2}: PASS {:>7}, tasks for 80 %: {}",
            row.true_ratio,
            percent(row.pass),
            count(row.tasks_for_80)
        ));
    }
    let largest = table.largest_ratio_for_80.map_or("none".to_owned(), |ratio| format!("{ratio:.3}"));
    say::line(&format!("  largest true ratio that still passes with 80 %: {largest}"));
    say::line(&format!(
        "  pass rate, margin {}, {:.0} % of pairs discordant: {} independent pairs for a PASS of equal arms with 80 %",
        design.margin,
        design.discordant * 100.0,
        table.pairs_for_margin.map_or("more than 10,000".to_owned(), |n| n.to_string())
    ));
    for row in &table.losses {
        say::line(&format!(
            "  true loss {:.0} points in {} pairs: exact McNemar sees it in {:.1} %",
            row.true_loss * 100.0,
            design.tasks,
            row.seen * 100.0
        ));
    }
    let least =
        table.least_loss_for_80.map_or("none".to_owned(), |loss| format!("{:.0} points", loss * 100.0));
    say::line(&format!("  smallest loss seen with 80 %: {least}"));
}
