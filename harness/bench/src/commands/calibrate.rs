//! `bench calibrate`: how often a run's own rules err on its own data, labels swapped at random within blocks.

use crate::commands::report;
use crate::exit::{Exit, Failure, OrExit, fail};
use crate::options::CalibrateOptions;
use crate::say;

/// Prints the realised error rates of every contrast that decides.
pub(crate) fn calibrate(options: &CalibrateOptions) -> Result<Exit, Failure> {
    let dir = report::run_dir(options.run.as_deref())?;
    let (lock, records) = report::lock_and_journal(&dir)?;
    let found = bench_reports::calibrate(&lock, &records, options.draws).or_exit(Exit::Usage)?;
    if found.is_empty() {
        return fail(Exit::Usage, format!("{}: no contrast decides anything here", dir.display()));
    }
    if options.json {
        say::line(&serde_json::to_string_pretty(&found).expect("a calibration is a JSON value"));
        return Ok(Exit::Good);
    }
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    for one in &found {
        say::line(&format!(
            "{}: {} random relabellings; any gate FAILs in {}, all PASS in {}",
            one.contrast,
            one.draws,
            percent(one.false_fail),
            percent(one.pass_of_equals)
        ));
        for gate in &one.gates {
            let at_limit = gate.false_pass.map_or("n/a".to_owned(), percent);
            say::line(&format!(
                "  {}: false FAIL {}, PASS of equals {}, PASS at the limit {at_limit}",
                gate.gate,
                percent(gate.false_fail),
                percent(gate.pass_of_equals)
            ));
        }
    }
    Ok(Exit::Good)
}
