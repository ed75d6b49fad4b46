//! Outcomes as CSV: columns `task`, `arm`, `outcome`, and if known `repeat`, `cluster`, `track`, `position` and any metric
//! by its key. An empty field is unknown.

use std::path::Path;

use bench_core::{Metric, Track};

use super::record::{Imported, outcome};
use crate::exit::{Exit, Failure, OrExit, fail};

/// The outcomes of one file. A byte order mark, as spreadsheets write it, and lines that begin with `#` are no part of them.
pub(super) fn read(path: &Path) -> Result<Vec<Imported>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| anyhow::anyhow!("{}: {e}; write it in UTF-8", path.display()))
        .or_exit(Exit::Usage)?;
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut columns: Option<Vec<String>> = None;
    let mut found = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| anyhow::anyhow!("{}: {e}", path.display())).or_exit(Exit::Usage)?;
        let line = record.position().map_or(0, |position| line_of(text, position));
        let values: Vec<String> = record.iter().map(str::to_owned).collect();
        match &columns {
            _ if values.iter().all(String::is_empty) => {}
            Some(columns) => found.push(row(path, line, columns, &values)?),
            None => {
                refuse_unknown(path, &values)?;
                columns = Some(values);
            }
        }
    }
    Ok(found)
}

/// The line of a record: the reader stands before what it skips, be it the rest of a line's end.
fn line_of(text: &str, position: &csv::Position) -> u64 {
    let rest = usize::try_from(position.byte()).ok().and_then(|at| text.get(at..)).unwrap_or_default();
    let skipped =
        rest.split_inclusive('\n').take_while(|line| line.trim().is_empty() || line.starts_with('#'));
    position.line() + skipped.count() as u64
}

const COLUMNS: [&str; 7] = ["task", "arm", "outcome", "repeat", "cluster", "track", "position"];

fn refuse_unknown(path: &Path, columns: &[String]) -> Result<(), Failure> {
    for name in &COLUMNS[..3] {
        if !columns.iter().any(|column| column == name) {
            let words = format!(
                "{}: no column `{name}`; the first line has {}, separated by commas",
                path.display(),
                columns.join(" | ")
            );
            return fail(Exit::Usage, words);
        }
    }
    for (place, column) in columns.iter().enumerate() {
        if columns[..place].contains(column) {
            return fail(Exit::Usage, format!("{}: column `{column}` stands twice", path.display()));
        }
        let metric = Metric::from_key(column).filter(|metric| is_importable(*metric));
        if !COLUMNS.contains(&column.as_str()) && metric.is_none() {
            let known: Vec<&str> =
                Metric::ALL.iter().filter(|m| is_importable(**m)).map(|m| m.key()).collect();
            let words = format!(
                "{}: unknown column `{column}`; known are {} and the metrics {}",
                path.display(),
                COLUMNS.join(", "),
                known.join(", ")
            );
            return fail(Exit::Usage, words);
        }
    }
    Ok(())
}

/// Metrics that are stored as numbers, not derived from others or from evidence.
fn is_importable(metric: Metric) -> bool {
    let stored = serde_json::to_value(bench_record::Metrics::default()).unwrap_or_default();
    stored.get(metric.key()).is_some()
}

fn row(path: &Path, number: u64, columns: &[String], values: &[String]) -> Result<Imported, Failure> {
    let from = format!("{}, line {number}", path.display());
    if values.len() != columns.len() {
        return fail(Exit::Usage, format!("{from}: {} fields under {} columns", values.len(), columns.len()));
    }
    let of = |name: &str| {
        let at = columns.iter().position(|column| column == name)?;
        Some(values[at].trim()).filter(|value| !value.is_empty())
    };
    let whole = |name: &str| match of(name).map(str::parse::<u32>) {
        None => Ok(1),
        Some(Ok(value)) if value > 0 => Ok(value),
        Some(_) => fail(Exit::Usage, format!("{from}: {name} must be a number from 1")),
    };
    let word = of("outcome").unwrap_or_default();
    let Some((ending, passed)) = outcome(word) else {
        return fail(
            Exit::Usage,
            format!("{from}: outcome {word:?}; write passed, failed, timeout or invalid"),
        );
    };
    let track = match of("track") {
        None | Some("default") => Track::Default,
        Some("orchestration") => Track::Orchestration,
        Some(other) => {
            return fail(Exit::Usage, format!("{from}: track {other:?}; write default or orchestration"));
        }
    };
    let mut metrics = std::collections::BTreeMap::new();
    for metric in Metric::ALL {
        match of(metric.key()).map(str::parse::<f64>) {
            None => {}
            Some(Ok(value)) if value.is_finite() => {
                metrics.insert(metric, value);
            }
            Some(_) => {
                return fail(
                    Exit::Usage,
                    format!("{from}: {metric} is no number; leave it empty if unknown"),
                );
            }
        }
    }
    let (Some(task), Some(arm)) = (of("task"), of("arm")) else {
        return fail(Exit::Usage, format!("{from}: task and arm must not be empty"));
    };
    Ok(Imported {
        task: task.to_owned(),
        cluster: of("cluster").map(str::to_owned),
        track,
        repeat: whole("repeat")?,
        arm: arm.to_owned(),
        position: whole("position")?,
        ending,
        passed,
        metrics,
        from,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<Imported>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.csv");
        std::fs::write(&path, text).unwrap();
        read(&path).map_err(|failure| failure.words())
    }

    #[test]
    fn files_as_spreadsheets_write_them_are_read() {
        let text = "\u{feff}task,arm,outcome,repeat,total_tokens\r\n# a remark\r\n\r\n\"t, 1\",a,pass,1,100\r\n\"a \"\"t\"\"\",b,fail,2,\r\n";
        let found = read_text(text).unwrap();
        let tasks: Vec<&str> = found.iter().map(|one| one.task.as_str()).collect();
        assert_eq!(tasks, ["t, 1", "a \"t\""]);
        assert_eq!(found[0].metrics.get(&Metric::TotalTokens), Some(&100.0));
        assert!(found[1].metrics.is_empty() && found[1].from.ends_with("line 5"), "{}", found[1].from);
    }

    #[test]
    fn columns_that_would_be_lost_are_refused() {
        for column in ["calls_per_turn", "primary_outcome", "pass_rate", "foo"] {
            let refused = read_text(&format!("task,arm,outcome,{column}\nt,a,pass,1\n")).unwrap_err();
            assert!(refused.contains(&format!("unknown column `{column}`")), "{refused}");
        }
        let twice = read_text("task,arm,outcome,turns,turns\nt,a,pass,1,2\n").unwrap_err();
        assert!(twice.contains("column `turns` stands twice"), "{twice}");
        let semicolons = read_text("task;arm;outcome\nt;a;pass\n").unwrap_err();
        assert!(semicolons.contains("no column `task`; the first line has task;arm;outcome"), "{semicolons}");
        assert!(read_text("task,arm,outcome\nt,a\n").unwrap_err().contains("2 fields under 3 columns"));
    }
}
