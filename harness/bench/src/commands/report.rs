//! `bench report` and `bench gate`: everything from journal and lock alone.

mod exports;
mod files;
mod traces;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bench_record::{CellRecord, Lock, RunDir, read_journal, read_numbers};
use bench_reports::{Analysis, Style};
use serde_json::Value;

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::front;
use crate::options::{InconclusiveAs, ReportFormat, ReportOptions};
use crate::say;

/// Where the published table stands in a page.
const OPENING: &str = "<!-- bench:table -->";
const CLOSING: &str = "<!-- /bench:table -->";

/// Bytes of journal up to which every record is held whole.
const WHOLE_RECORDS_UP_TO: u64 = 128 << 20;

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// The terminal table.
    Table,
    /// report.md.
    Markdown,
    /// analysis.json.
    Json,
}

/// A run with everything that reports are made of.
struct Found {
    dir: PathBuf,
    lock: Value,
    records: Vec<CellRecord>,
    analysis: Analysis,
}

impl Found {
    fn of(dir: &Path) -> Result<Self, Failure> {
        let (lock, records) = lock_and_records(dir)?;
        let analysis = bench_reports::analyse(&lock, &records).or_exit(Exit::Ours)?;
        Ok(Self { dir: dir.to_owned(), lock, records, analysis })
    }
}

/// `bench report`.
pub(crate) fn report(options: &ReportOptions) -> Result<Exit, Failure> {
    let found = Found::of(&run_dir(options.run.as_deref())?)?;
    if let Some(page) = &options.splice {
        return splice(page, &found.analysis);
    }
    if let Some(page) = &options.check {
        return check(page, &found);
    }
    files::write(&found)?;
    if let Some(export) = options.export {
        exports::write(&found, export, options.output.as_deref())?;
    }
    match format(options) {
        ReportFormat::Table => show(&found.analysis, Shown::Table),
        ReportFormat::Markdown => show(&found.analysis, Shown::Markdown),
        ReportFormat::Json => show(&found.analysis, Shown::Json),
        ReportFormat::Html => say::raw(&files::content("report.html", &found)?),
        ReportFormat::Csv => say::raw(&files::content("cells.csv", &found)?),
        ReportFormat::Junit => say::raw(&files::content("junit.xml", &found)?),
        ReportFormat::Github => github(&found.analysis)?,
    }
    Ok(Exit::Good)
}

fn format(options: &ReportOptions) -> ReportFormat {
    if options.markdown {
        ReportFormat::Markdown
    } else if options.json {
        ReportFormat::Json
    } else {
        options.format
    }
}

/// Annotations on standard output, the report in the job's summary.
fn github(analysis: &Analysis) -> Result<(), Failure> {
    if let Some(path) = front::github_summary() {
        std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .and_then(|mut file| file.write_all(bench_reports::markdown(analysis).as_bytes()))
            .map_err(|e| anyhow::anyhow!("GITHUB_STEP_SUMMARY {}: {e}", path.display()))
            .or_exit(Exit::Environment)?;
    }
    say::raw(bench_reports::github_annotations(analysis).as_bytes());
    Ok(())
}

/// Analyses a run, writes its reports, prints one and returns the exit code of its verdict.
pub(crate) fn show_run(
    dir: &Path,
    shown: Shown,
    inconclusive_as: Option<InconclusiveAs>,
) -> Result<Exit, Failure> {
    let found = Found::of(dir)?;
    files::write(&found)?;
    let analysis = found.analysis;
    show(&analysis, shown);
    say::complain(&format!("report: {}", dir.join("report/report.html").display()));
    let attempts = attempts_with_this_hash(dir, &analysis);
    if attempts > 1 {
        say::complain(&format!(
            "{attempts} runs here were made by these rules; the verdict of one picked out of several is not the rules' verdict"
        ));
    }
    Ok(softened(Exit::of_analysis(analysis.overall.exit_code), inconclusive_as))
}

/// What an INCONCLUSIVE ends in.
pub(crate) fn softened(exit: Exit, inconclusive_as: Option<InconclusiveAs>) -> Exit {
    match (exit, inconclusive_as) {
        (Exit::Inconclusive, Some(InconclusiveAs::Pass)) => Exit::Good,
        (Exit::Inconclusive, Some(InconclusiveAs::Fail)) => Exit::GateFailed,
        (exit, _) => exit,
    }
}

fn show(analysis: &Analysis, shown: Shown) {
    match shown {
        Shown::Table => {
            let style = Style { width: front::columns(), colour: front::colour() };
            say::raw(bench_reports::summary(analysis, style).as_bytes());
        }
        Shown::Markdown => say::raw(bench_reports::markdown(analysis).as_bytes()),
        Shown::Json => say::raw(json_of(analysis).as_bytes()),
    }
}

/// The run that is meant: the one named, or the newest below `runs/`.
pub(crate) fn run_dir(asked: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(dir) = asked {
        return Ok(dir.to_owned());
    }
    let newest = std::fs::read_dir("runs")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("lock.json").is_file())
        .max_by_key(|path| std::fs::metadata(path.join("lock.json")).and_then(|m| m.modified()).ok());
    match newest {
        Some(dir) => Ok(dir),
        None => fail(Exit::Usage, "no run below runs/; name a run directory, or make one with `bench run`"),
    }
}

/// Analyses a run from its journal and lock.
pub(crate) fn analyse(dir: &Path) -> Result<Analysis, Failure> {
    let (lock, records) = lock_and_journal(dir)?;
    bench_reports::analyse(&lock, &records).or_exit(Exit::Ours)
}

/// Lock and journal of a run, as far as numbers are made of it.
pub(crate) fn lock_and_journal(dir: &Path) -> Result<(Value, Vec<CellRecord>), Failure> {
    let run = RunDir::open(dir).or_exit(Exit::Usage)?;
    let lock = lock_of(&run)?;
    let records = match run.journal().exists() {
        true => read_numbers(&run.journal()).or_exit(Exit::Environment)?.0,
        false => Vec::new(),
    };
    Ok((lock, records))
}

/// The lock of a run. Rules that were edited after they had been sealed are rules that were chosen after the data.
fn lock_of(run: &RunDir) -> Result<Value, Failure> {
    let mut lock = Lock::read(&run.lock()).or_exit(Exit::Usage)?;
    if lock.get("exploratory").is_none_or(Value::is_null) && !Lock::is_sealed(&lock) {
        lock["exploratory"] = "lock.json no longer says what its pre-registration hash was taken of".into();
    }
    Ok(lock)
}

/// Lock and whole records of a run, for the reports that show single cells; of a journal that is too large for that, the
/// numbers alone.
fn lock_and_records(dir: &Path) -> Result<(Value, Vec<CellRecord>), Failure> {
    let run = RunDir::open(dir).or_exit(Exit::Usage)?;
    let size = std::fs::metadata(run.journal()).map_or(0, |file| file.len());
    if size == 0 || size > WHOLE_RECORDS_UP_TO {
        if size > 0 {
            say::complain(&format!(
                "the journal has {} MB: report.html is made of its numbers, without the course of contexts and single events",
                size >> 20
            ));
        }
        return lock_and_journal(dir);
    }
    let lock = lock_of(&run)?;
    let (records, _) = read_journal(&run.journal()).or_exit(Exit::Environment)?;
    Ok((lock, records))
}

/// Runs beside this one, itself included, that were made by the same rules; shards are parts of one. Asking again until it passes is optional
/// stopping, so the count is shown wherever the verdict is; it is no part of analysis.json, which a journal alone decides.
pub(crate) fn attempts_with_this_hash(dir: &Path, analysis: &Analysis) -> u32 {
    let parent = dir.canonicalize().ok().and_then(|dir| dir.parent().map(Path::to_owned));
    let siblings = parent.and_then(|parent| std::fs::read_dir(parent).ok()).into_iter().flatten();
    let locks = siblings.filter_map(|entry| Lock::read(&entry.ok()?.path().join("lock.json")).ok());
    let whole = locks.filter(|lock| lock.get("shard").is_none());
    let same =
        whole.filter(|lock| lock.get("rules_sha256").and_then(Value::as_str) == Some(&analysis.lock_sha256));
    u32::try_from(same.count()).unwrap_or(u32::MAX)
}

fn splice(page: &Path, analysis: &Analysis) -> Result<Exit, Failure> {
    let text = read_page(page)?;
    let (before, _, after) = parts(page, &text)?;
    let table = bench_reports::first_table_markdown(analysis);
    std::fs::write(page, format!("{before}{OPENING}\n{table}{CLOSING}{after}"))
        .map_err(|e| anyhow::anyhow!("page {}: {e}", page.display()))
        .or_exit(Exit::Environment)?;
    Ok(Exit::Good)
}

fn check(page: &Path, found: &Found) -> Result<Exit, Failure> {
    let bytes = read_bytes(page)?;
    let text = String::from_utf8_lossy(&bytes);
    let name = page.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let now = files::published(name, found)?;
    // A page with the markers holds a table, whatever it is called.
    if let Some(now) = now.filter(|_| !text.contains(OPENING)) {
        if bytes == now {
            return Ok(Exit::Good);
        }
        let message = format!(
            "{} is not what the run's journal says now; renew it with `bench report {}` and publish it again",
            page.display(),
            found.dir.display()
        );
        return fail(Exit::Stale, message);
    }
    let (_, published, _) = parts(page, &text)?;
    if published == format!("\n{}", bench_reports::first_table_markdown(&found.analysis)) {
        return Ok(Exit::Good);
    }
    fail(
        Exit::Stale,
        format!(
            "the result table in {} is out of date; renew it with `bench report --splice {}`",
            page.display(),
            page.display()
        ),
    )
}

fn read_page(page: &Path) -> Result<String, Failure> {
    String::from_utf8(read_bytes(page)?)
        .map_err(|e| anyhow::anyhow!("page {}: {e}; a page is UTF-8 text", page.display()))
        .or_exit(Exit::Usage)
}

fn read_bytes(page: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(page).map_err(|e| anyhow::anyhow!("page {}: {e}", page.display())).or_exit(Exit::Usage)
}

fn parts<'a>(page: &Path, text: &'a str) -> Result<(&'a str, &'a str, &'a str), Failure> {
    let found = text
        .split_once(OPENING)
        .and_then(|(before, rest)| rest.split_once(CLOSING).map(|(table, after)| (before, table, after)));
    match found {
        Some(parts) => Ok(parts),
        None => fail(
            Exit::Usage,
            format!(
                "page {} has no place for the table; put the lines {OPENING} and {CLOSING} into it",
                page.display()
            ),
        ),
    }
}

/// analysis.json as text.
pub(crate) fn json_of(analysis: &Analysis) -> String {
    serde_json::to_string_pretty(analysis).expect("an analysis is a JSON value") + "\n"
}
