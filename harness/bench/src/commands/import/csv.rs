//! Outcomes as CSV: columns `task`, `arm`, `outcome`, and if known `repeat`, `cluster`, `track`, `position` and any metric
//! by its key. An empty field is unknown.

use std::path::Path;

use bench_core::{Metric, Track};

use super::record::{Imported, outcome};
use crate::exit::{Exit, Failure, OrExit, fail};

/// The outcomes of one file.
pub(super) fn read(path: &Path) -> Result<Vec<Imported>, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| anyhow::anyhow!("{}: {e}", path.display()))
        .or_exit(Exit::Usage)?;
    let mut lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let Some((_, head)) = lines.next() else { return Ok(Vec::new()) };
    let columns: Vec<String> = fields(head).into_iter().map(|name| name.trim().to_owned()).collect();
    refuse_unknown(path, &columns)?;
    lines.map(|(number, line)| row(path, number + 1, &columns, &fields(line))).collect()
}

const COLUMNS: [&str; 7] = ["task", "arm", "outcome", "repeat", "cluster", "track", "position"];

fn refuse_unknown(path: &Path, columns: &[String]) -> Result<(), Failure> {
    for name in &COLUMNS[..3] {
        if !columns.iter().any(|column| column == name) {
            return fail(Exit::Usage, format!("{}: no column `{name}`", path.display()));
        }
    }
    for column in columns {
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

/// Metrics that are stored as numbers, not derived from evidence.
fn is_importable(metric: Metric) -> bool {
    !metric.is_rate()
        && !matches!(metric, Metric::UnneededLoads | Metric::LateLoads | Metric::LifecycleViolations)
}

fn row(path: &Path, number: usize, columns: &[String], values: &[String]) -> Result<Imported, Failure> {
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

/// Fields of a line; quotes may hold commas, and a doubled quote is one.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use super::fields;

    #[test]
    fn quotes_hold_commas_and_quotes() {
        assert_eq!(fields("a,\"b, \"\"c\"\"\",,d"), ["a", "b, \"c\"", "", "d"]);
    }
}
