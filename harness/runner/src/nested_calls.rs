//! Calls that an agent's code made of its tools: no request shows them, so they are counted on the agent's standard output,
//! as its adapter says. The words come from inside the cell: no ending and no verdict rests on them.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use bench_core::evidence::NestedCallLine;
use serde_json::{Map, Value};

/// The most of a standard output that is read, in bytes.
const READ: u64 = 64 << 20;

/// Nested calls on this standard output; `None` = it cannot be read.
pub(crate) fn count(stdout: &Path, line: &NestedCallLine) -> Option<u64> {
    let mut reader = BufReader::new(File::open(stdout).ok()?.take(READ));
    let (mut found, mut text) = (0, Vec::new());
    while reader.read_until(b'\n', &mut text).ok()? > 0 {
        found += u64::from(is_nested(&text, line));
        text.clear();
    }
    Some(found)
}

fn is_nested(text: &[u8], line: &NestedCallLine) -> bool {
    let Ok(fields) = serde_json::from_slice::<Map<String, Value>>(text) else { return false };
    fields.get("type").and_then(Value::as_str) == Some(line.r#type.as_str())
        && fields.get(&line.key).is_some_and(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_of_nested_calls_count_whatever_stands_between() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = b"noise\n{\"type\":\"start\",\"parent\":\"c1\"}\n{\"type\":\"start\"}\n{\"type\":\"end\",\"parent\":\"c1\"}\n\xff\n\
            {\"type\":\"say\",\"text\":\"{\\\"type\\\":\\\"start\\\",\\\"parent\\\":1}\"}\n{\"type\":\"start\",\"parent\":\"c2\"}";
        std::fs::write(file.path(), text).unwrap();
        let line = NestedCallLine { r#type: "start".into(), key: "parent".into() };
        assert_eq!(count(file.path(), &line), Some(2));
        assert_eq!(count(Path::new("/nonexistent"), &line), None);
    }
}
