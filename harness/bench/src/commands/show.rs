//! `bench show`: a run's cells, one cell, why it ended, one request byte for byte.

mod timeline;

use std::fmt::Write as _;

use bench_core::lifecycle::ViolationKind;
use bench_proxy::Decoding;
use bench_record::{CellRecord, RequestIndex, RunDir, read_journal};
use bench_trajectory::Trajectory;

use crate::commands::report::{analyse, json_of};
use crate::exit::{Exit, Failure, OrExit, fail};
use crate::front;
use crate::options::ShowOptions;
use crate::{place, progress, say};

/// Bytes of a compressed body that are unfolded to be shown.
const SHOWN: usize = 64 << 20;

/// Shows a run or a cell of it.
pub(crate) fn show(options: &ShowOptions) -> Result<Exit, Failure> {
    let run = match RunDir::open(&options.run) {
        Ok(run) => run,
        Err(error) => {
            let hint = place::meant(&options.run, |path| path.join("lock.json").is_file());
            return fail(Exit::Usage, format!("{error}{hint}"));
        }
    };
    if options.cell.is_none() && !options.json && progress::is_held(&run) {
        if options.follow || progress::canvas().is_some() {
            progress::follow(&run)?;
        } else {
            say::complain("in progress: another process works on this run (--follow waits for its end)");
        }
    }
    let (records, _) = read_journal(&run.journal()).or_exit(Exit::Usage)?;
    let Some(cell) = &options.cell else {
        return show_run(options, &records);
    };
    let record = find(&records, cell, options.attempt)?;
    if let Some(number) = options.request {
        return show_request(options, &run, record, number);
    }
    let text = if options.json {
        serde_json::to_string_pretty(record).expect("a record is a JSON value") + "\n"
    } else if options.why {
        why(record, &records)
    } else {
        describe(record) + &timeline::timeline(&Trajectory::read(&run.root().join(&record.dir)))
    };
    say::text(&text);
    Ok(Exit::Good)
}

fn show_run(options: &ShowOptions, records: &[CellRecord]) -> Result<Exit, Failure> {
    let analysis = analyse(&options.run)?;
    if options.json {
        say::raw(json_of(&analysis).as_bytes());
        return Ok(Exit::Good);
    }
    let mut text = String::new();
    let width = records.iter().map(|r| r.cell_id().len()).max().unwrap_or(4).max(4);
    let _ = writeln!(text, "{:<width$}  try  {:<10}  {:<18}  turns  tokens", "cell", "verdict", "ending");
    for record in records {
        let _ = writeln!(
            text,
            "{:<width$}  {:>3}  {:<10}  {:<18}  {:>5}  {:>6}",
            record.cell_id(),
            record.attempt,
            verdict_word(record),
            record.ending.kind,
            number(record.metrics.turns),
            number(record.metrics.total_tokens),
        );
    }
    say::text(&text);
    let style = bench_reports::Style { width: front::columns(), colour: front::colour() };
    say::raw(bench_reports::summary(&analysis, style).as_bytes());
    Ok(Exit::Good)
}

fn find<'a>(records: &'a [CellRecord], cell: &str, attempt: Option<u32>) -> Result<&'a CellRecord, Failure> {
    let of_cell = records.iter().filter(|record| record.cell_id() == cell);
    let found = match attempt {
        Some(attempt) => of_cell.clone().find(|record| record.attempt == attempt),
        None => of_cell.clone().max_by_key(|record| record.attempt),
    };
    match found {
        Some(record) => Ok(record),
        None if of_cell.clone().next().is_some() => {
            let attempts: Vec<String> = of_cell.map(|r| r.attempt.to_string()).collect();
            fail(
                Exit::Usage,
                format!(
                    "cell {cell:?} has attempts {}, not {}",
                    attempts.join(", "),
                    attempt.unwrap_or_default()
                ),
            )
        }
        None => {
            let ids: std::collections::BTreeSet<String> = records.iter().map(CellRecord::cell_id).collect();
            let known: Vec<&str> = ids.iter().map(String::as_str).collect();
            let hint = bench_core::source::nearest(cell, &known)
                .map_or_else(String::new, |near| format!("; did you mean {near}?"));
            fail(
                Exit::Usage,
                format!(
                    "no cell {cell:?} in this run{hint}; cells are named task/r01/arm, `bench show RUN` lists them"
                ),
            )
        }
    }
}

fn show_request(
    options: &ShowOptions,
    run: &RunDir,
    record: &CellRecord,
    request: u32,
) -> Result<Exit, Failure> {
    let index = RequestIndex::read(&run.root().join(&record.dir)).or_exit(Exit::Usage)?;
    let Some(entry) = index.records().iter().find(|entry| entry.request == request) else {
        return fail(
            Exit::Usage,
            format!(
                "{} made {} requests, there is no request {request}",
                record.cell_id(),
                index.records().len()
            ),
        );
    };
    let bytes = match options.response {
        true => match index.response(request).or_exit(Exit::Usage)? {
            Some(bytes) => bytes,
            None => return fail(Exit::Usage, format!("request {request} was never answered")),
        },
        false => index.body(request).or_exit(Exit::Usage)?,
    };
    if options.raw {
        say::exact(&bytes);
        return Ok(Exit::Good);
    }
    let coding = if options.response { &entry.response_encoding } else { &entry.encoding };
    let unfolded = Decoding::whole(coding.as_deref(), &bytes, SHOWN).ok().flatten();
    let bytes = unfolded.unwrap_or(bytes);
    let head = serde_json::to_string_pretty(entry).expect("a request record is a JSON value");
    let body = serde_json::from_slice::<serde_json::Value>(&bytes)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into_owned());
    say::line(&format!("{head}\n\n{body}"));
    Ok(Exit::Good)
}

fn why(record: &CellRecord, records: &[CellRecord]) -> String {
    let ending = &record.ending;
    let mut text = format!("{} attempt {}: ending {}", record.cell_id(), record.attempt, ending.kind);
    if let Some(limit) = &ending.limit {
        let _ = write!(text, ", limit {} = {} {}", limit.name, limit.value, limit.unit);
    }
    let _ = writeln!(text, ", blame {}", word(&ending.blame));
    if let Some(detail) = &ending.detail {
        let _ = writeln!(text, "  {detail}");
    }
    if let Some(code) = ending.exit_code {
        let _ = writeln!(text, "  exit code {code}");
    }
    if let Some(signal) = ending.signal {
        let _ = writeln!(text, "  signal {signal}");
    }
    let row = ending.disposition();
    let _ = writeln!(
        text,
        "  so: {}; counts {}; {}",
        if row.verified { "verified" } else { "not verified" },
        counting_words(row.counting),
        match row.rerun {
            bench_core::Rerun::No => "not run again",
            bench_core::Rerun::BlockOnce => "its block is run again once",
        }
    );
    let _ = writeln!(text, "  verdict {}", verdict_word(record));
    for check in &record.checks {
        let _ = writeln!(text, "  check {}: {}", check.name, if check.passed { "passed" } else { "failed" });
    }
    if let Some(oracle) = &record.oracle {
        let _ = writeln!(text, "  oracle played {} of {} steps", oracle.steps_played, oracle.steps);
        if let Some(fault) = &oracle.fault {
            let _ = writeln!(text, "  profile: {fault}");
        }
        for s in &oracle.substitutions {
            let _ = writeln!(text, "  step {}: {} played through {} ({})", s.step, s.action, s.tool, s.why);
        }
    }
    text.push_str(&surface_use(record));
    for other in records.iter().filter(|r| r.cell_id() == record.cell_id() && r.attempt != record.attempt) {
        let _ = writeln!(text, "  attempt {}: {}", other.attempt, other.ending.kind);
    }
    let _ = writeln!(text, "  evidence: {}", record.dir);
    text
}

/// What of the surface was paid for and not used.
fn surface_use(record: &CellRecord) -> String {
    let mut text = String::new();
    let (idle, cost) = bench_core::mechanism::never_called(&record.tools);
    if idle > 0 {
        let cost = cost.map_or_else(|| "unknown".to_owned(), |cost| cost.to_string());
        let _ = writeln!(text, "  tools never called: {idle}, {cost} tokens over the attempt");
    }
    for mechanism in bench_core::mechanism::mechanisms(&record.tools, &record.loads) {
        let fired = if mechanism.fired { "used" } else { "never used" };
        let _ = writeln!(text, "  {} ({}): {fired}", mechanism.kind.word(), mechanism.tools.join(", "));
    }
    for violation in record.lifecycle.iter().flatten() {
        let kind = match violation.kind {
            ViolationKind::Surplus => "must not show",
            ViolationKind::Missing => "does not show",
        };
        let _ =
            writeln!(text, "  request {} {kind} {}: {}", violation.request, violation.tool, violation.why);
    }
    let broken = |turn: &bench_core::ledger::TurnEntry| {
        let part = turn.context.as_ref()?.prefix_broken_in.as_ref()?;
        Some(format!("turn {} in {part}", turn.turn))
    };
    let broken: Vec<String> = record.turns_series.iter().filter_map(broken).collect();
    if !broken.is_empty() {
        let _ = writeln!(text, "  cacheable prefix broken at {}", broken.join(", "));
    }
    text
}

fn counting_words(counting: bench_core::Counting) -> &'static str {
    match counting {
        bench_core::Counting::AsGraded => "as graded",
        bench_core::Counting::AsFailed => "as failed",
        bench_core::Counting::HarnessInvalid => "as harness-invalid: its block leaves every metric",
        bench_core::Counting::Missing => "as missing",
    }
}

fn describe(record: &CellRecord) -> String {
    let mut text = why(record, &[]);
    if let Some(first) = &record.first_request {
        let _ = writeln!(
            text,
            "\nfirst request: {} bytes, {} tokens ({}); system {} tokens, {} tools {} tokens",
            first.body_bytes,
            first.body_tokens,
            record.tokens.tokenizer.name,
            first.system.tokens,
            first.tools.callable,
            first.tools.tokens
        );
    }
    let _ = writeln!(text, "\nturn  request  input  output  tools  calls");
    for turn in &record.turns_series {
        let _ = writeln!(
            text,
            "{:>4}  {:>7}  {:>5}  {:>6}  {:>5}  {}",
            turn.turn,
            turn.request,
            turn.input_tokens,
            turn.output_tokens,
            turn.tools_callable,
            turn.calls.join(", ")
        );
    }
    let _ = writeln!(text, "\ntool             tokens  calls  errors");
    for tool in &record.tools {
        let errors = tool.errors.map_or_else(|| "?".to_owned(), |e| e.to_string());
        let _ = writeln!(text, "{:<15}  {:>6}  {:>5}  {:>6}", tool.name, tool.tokens, tool.calls, errors);
    }
    for agent in &record.agents {
        let _ = writeln!(
            text,
            "second agent {}: {} requests, {} tokens in, {} out",
            agent.name, agent.requests, agent.input_tokens, agent.output_tokens
        );
    }
    for found in record.lifecycle.iter().flatten() {
        let _ = writeln!(
            text,
            "lifecycle: {} is {} in request {}: {}",
            found.tool,
            word(&found.kind),
            found.request,
            found.why
        );
    }
    let isolation = &record.isolation;
    let _ = writeln!(text, "\nisolation {}; not closed at this level:", isolation.level);
    isolation.missing.iter().for_each(|gap| {
        let _ = writeln!(text, "  {gap}");
    });
    text
}

fn verdict_word(record: &CellRecord) -> &'static str {
    match record.verdict {
        Some(bench_record::Verdict::Passed) => "passed",
        Some(bench_record::Verdict::Failed) => "failed",
        None => "none",
    }
}

fn number(value: Option<u64>) -> String {
    value.map_or_else(|| "?".to_owned(), |v| v.to_string())
}

fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_value(value).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}
