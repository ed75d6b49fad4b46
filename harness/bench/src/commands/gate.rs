//! `bench gate`: exit by verdict; with `--against`, by the same arms now and then.

mod baseline;

use std::path::{Path, PathBuf};

use bench_record::CellRecord;
use bench_reports::{OverTime, RunData, Style, common_arms, over_time};
use serde_json::Value;

use crate::commands::report::{self, Shown, lock_and_journal, softened};
use crate::exit::{Exit, Failure, OrExit, fail};
use crate::front;
use crate::options::GateOptions;
use crate::say;

/// `bench gate`.
pub(crate) fn gate(options: &GateOptions) -> Result<Exit, Failure> {
    let dir = report::run_dir(options.run.as_deref())?;
    let Some(against) = &options.against else {
        let shown = match (options.quiet, options.json) {
            (true, _) => {
                let exit = Exit::of_analysis(report::analyse(&dir)?.overall.exit_code);
                return Ok(softened(exit, options.inconclusive_as));
            }
            (false, true) => Shown::Json,
            (false, false) => Shown::Table,
        };
        return report::show_run(&dir, shown, options.inconclusive_as);
    };
    let exit = match against.is_dir() {
        true if options.add => fail(Exit::Usage, "--add needs a baseline file, not a run directory"),
        true => against_run(&dir, &lock_and_journal(against)?),
        false => against_baseline(&dir, against, options),
    }?;
    Ok(softened(exit, options.inconclusive_as))
}

fn against_run(dir: &Path, then: &(Value, Vec<CellRecord>)) -> Result<Exit, Failure> {
    let now = lock_and_journal(dir)?;
    let compared = compared(&now, then)?;
    if compared.is_empty() {
        return fail(Exit::Usage, "the runs have no arm in common: nothing can be compared over time");
    }
    Ok(shown(&compared))
}

fn against_baseline(dir: &Path, file: &Path, options: &GateOptions) -> Result<Exit, Failure> {
    let mut baseline = baseline::Baseline::open(file)?;
    let exit = if baseline.entries.len() < options.baseline_runs {
        say::line(&format!(
            "collecting: {} of {} runs in {}; nothing is judged yet",
            baseline.entries.len(),
            options.baseline_runs,
            file.display()
        ));
        Exit::Inconclusive
    } else {
        against_run(dir, &baseline.as_one_run()?)?
    };
    if options.add {
        let (lock, records) = lock_and_journal(dir)?;
        baseline.add(dir, lock, records)?;
        baseline.keep(file)?;
        say::complain(&format!("{}: {} runs now", file.display(), baseline.entries.len()));
    }
    Ok(exit)
}

/// Every common arm over time.
pub(crate) fn compared(
    now: &(Value, Vec<CellRecord>),
    then: &(Value, Vec<CellRecord>),
) -> Result<Vec<OverTime>, Failure> {
    let now = RunData { lock: &now.0, records: &now.1 };
    let then = RunData { lock: &then.0, records: &then.1 };
    common_arms(now, then)
        .or_exit(Exit::Usage)?
        .iter()
        .map(|arm| over_time(now, then, arm).or_exit(Exit::Usage))
        .collect()
}

/// Prints the comparisons; the exit code of the worst.
pub(crate) fn shown(compared: &[OverTime]) -> Exit {
    let style = Style { width: front::columns(), colour: front::colour() };
    let mut codes = Vec::new();
    for one in compared {
        say::line(&format!(
            "arm {}: now against then, paired by task and repeat, not in time",
            say::harmless(&one.arm)
        ));
        for remark in &one.remarks {
            say::line(&format!("  {}", say::harmless(remark)));
        }
        say::raw(bench_reports::summary(&one.analysis, style).as_bytes());
        say::line("");
        codes.push(one.analysis.overall.exit_code);
    }
    let worst = [1, 4, 3, 0].into_iter().find(|code| codes.contains(code)).unwrap_or(0);
    Exit::of_analysis(worst)
}

/// Where a baseline's run came from, as text.
fn name_of(dir: &Path) -> String {
    dir.file_name()
        .map_or_else(|| PathBuf::from(dir).display().to_string(), |name| name.to_string_lossy().into_owned())
}
