//! The archive: results that were cut, kept whole for as long as the conversation lasts. What is read from it is small
//! and always the same for the same question.

use serde::Deserialize;

use super::cut;

/// Beginning of a reference.
pub(crate) const SCHEME: &str = "archive://";
/// Most characters that one call returns.
const ANSWER: usize = 7500;
/// Most characters that one read asks for, and as many as it shows where it does not say.
const MOST: usize = 6000;
const USUAL: usize = 4000;

/// Whole results by number, from 1.
#[derive(Debug, Default)]
pub(crate) struct Archive(Vec<String>);

/// Arguments of `archive_read`.
#[derive(Debug, Deserialize)]
pub(super) struct Arguments {
    #[serde(rename = "ref")]
    reference: String,
    operation: Operation,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Inspect,
    Read,
    Query,
}

impl Archive {
    /// Keeps a result and returns its reference.
    pub(crate) fn keep(&mut self, text: String) -> String {
        self.0.push(text);
        format!("{SCHEME}{}", self.0.len())
    }

    pub(super) fn open(&self, given: &Arguments) -> Result<String, String> {
        let number = given.reference.strip_prefix(SCHEME).and_then(|number| number.parse::<usize>().ok());
        let text = number.and_then(|number| self.0.get(number.checked_sub(1)?));
        let text = text.ok_or_else(|| {
            format!("{} is not in the archive, which holds {}", given.reference, self.0.len())
        })?;
        match given.operation {
            Operation::Inspect => Ok(format!(
                "{}: {} characters, {} lines, {} bytes",
                given.reference,
                text.chars().count(),
                text.lines().count(),
                text.len()
            )),
            Operation::Read => Ok(part(text, given.offset, given.limit.unwrap_or(USUAL).min(MOST))),
            Operation::Query => queried(text, given.text.as_deref()),
        }
    }
}

fn part(text: &str, offset: usize, limit: usize) -> String {
    let total = text.chars().count();
    let shown: String = text.chars().skip(offset).take(limit).collect();
    let end = offset + shown.chars().count();
    let more = if end < total { format!(" Go on with offset {end}.") } else { String::new() };
    format!("{}\n[Characters {offset} to {end} of {total}.{more}]", cut::start_of(&shown, ANSWER))
}

fn queried(text: &str, wanted: Option<&str>) -> Result<String, String> {
    let wanted = wanted.filter(|wanted| !wanted.is_empty()).ok_or("query needs text")?;
    let mut answer = String::new();
    let mut found = 0;
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| line.contains(wanted)) {
        found += 1;
        if answer.len() < ANSWER - 600 {
            answer.push_str(&format!("{number}:{}\n", cut::start_of(line, 500)));
        }
    }
    Ok(format!("{answer}[{found} lines hold it.]"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn open(archive: &Archive, given: serde_json::Value) -> Result<String, String> {
        archive.open(&serde_json::from_value(given).unwrap())
    }

    #[test]
    fn a_kept_result_is_read_in_small_stable_parts() {
        let mut archive = Archive::default();
        let text: String = (0..3000).map(|n| format!("line {n} ä\n")).collect();
        let reference = archive.keep(text.clone());
        assert_eq!(reference, "archive://1");
        let inspected = open(&archive, json!({"ref": reference, "operation": "inspect"})).unwrap();
        assert!(inspected.contains("3000 lines"), "{inspected}");
        let (mut together, mut offset) = (String::new(), 0);
        while offset < text.chars().count() {
            let read = json!({"ref": reference, "operation": "read", "offset": offset, "limit": 6000});
            let shown = open(&archive, read.clone()).unwrap();
            assert!(shown.len() <= ANSWER && open(&archive, read).unwrap() == shown);
            let body = shown.rsplit_once("\n[").unwrap().0;
            together.push_str(body);
            offset += body.chars().count();
        }
        assert_eq!(together, text);
        let found =
            open(&archive, json!({"ref": reference, "operation": "query", "text": "line 299"})).unwrap();
        assert!(found.starts_with("300:line 299 ä\n") && found.ends_with("[11 lines hold it.]"), "{found}");
        let much = open(&archive, json!({"ref": reference, "operation": "query", "text": "line"})).unwrap();
        assert!(much.len() <= ANSWER);
        assert!(open(&archive, json!({"ref": "archive://2", "operation": "inspect"})).is_err());
    }
}
