//! Breakpoints of all kinds. An adapter wants the whole list of a kind (of a file, for lines) anew at every change; each
//! session of the tree gets the same.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::client::NoAnswer;
use super::session::Session;

/// The kinds that an adapter may or may not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Function,
    Instruction,
    Data,
}

/// Everything on which programs of this debugger stop.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Breakpoints {
    /// By absolute path.
    lines: BTreeMap<String, Vec<Value>>,
    functions: Vec<Value>,
    instructions: Vec<Value>,
    data: Vec<Value>,
}

impl Breakpoints {
    /// Adds one on a line, in the place of an earlier one there.
    pub(super) fn add_line(&mut self, file: &str, breakpoint: Value) {
        let of_file = self.lines.entry(file.to_owned()).or_default();
        of_file.retain(|other| other["line"] != breakpoint["line"]);
        of_file.push(breakpoint);
    }

    /// Takes out those of a file, or of one line. False where there was none.
    pub(super) fn remove_lines(&mut self, file: &str, line: Option<u64>) -> bool {
        let Some(of_file) = self.lines.get_mut(file) else { return false };
        let before = of_file.len();
        of_file.retain(|other| line.is_some_and(|line| other["line"] != line));
        of_file.len() < before
    }

    /// Adds one of another kind, in the place of an earlier one with the same `key`.
    pub(super) fn add(&mut self, kind: Kind, key: &str, breakpoint: Value) {
        let list = self.of(kind);
        list.retain(|other| other[key] != breakpoint[key]);
        list.push(breakpoint);
    }

    /// Takes one of another kind out, or all of them. False where there was none.
    pub(super) fn remove(&mut self, kind: Kind, key: &str, value: Option<&str>) -> bool {
        let list = self.of(kind);
        let before = list.len();
        list.retain(|other| value.is_some_and(|value| other[key] != value));
        list.len() < before
    }

    fn of(&mut self, kind: Kind) -> &mut Vec<Value> {
        match kind {
            Kind::Function => &mut self.functions,
            Kind::Instruction => &mut self.instructions,
            Kind::Data => &mut self.data,
        }
    }

    /// Tells a session all of them.
    pub(super) fn apply_all(&self, session: &Session, deadline: Instant) -> Result<(), NoAnswer> {
        for file in self.lines.keys() {
            self.apply_lines(session, file, deadline)?;
        }
        for kind in [Kind::Function, Kind::Instruction, Kind::Data] {
            let mut same = self.clone();
            if !same.of(kind).is_empty() {
                self.apply(session, kind, deadline)?;
            }
        }
        Ok(())
    }

    /// Tells a session those of a file; what it makes of each.
    pub(super) fn apply_lines(
        &self,
        session: &Session,
        file: &str,
        deadline: Instant,
    ) -> Result<Vec<Value>, NoAnswer> {
        let breakpoints = self.lines.get(file).cloned().unwrap_or_default();
        let arguments = json!({"source": {"path": file}, "breakpoints": breakpoints});
        set(session, "setBreakpoints", arguments, deadline)
    }

    /// Tells a session those of a kind; what it makes of each.
    pub(super) fn apply(
        &self,
        session: &Session,
        kind: Kind,
        deadline: Instant,
    ) -> Result<Vec<Value>, NoAnswer> {
        let (command, list) = match kind {
            Kind::Function => ("setFunctionBreakpoints", &self.functions),
            Kind::Instruction => ("setInstructionBreakpoints", &self.instructions),
            Kind::Data => ("setDataBreakpoints", &self.data),
        };
        set(session, command, json!({"breakpoints": list}), deadline)
    }
}

fn set(
    session: &Session,
    command: &str,
    arguments: Value,
    deadline: Instant,
) -> Result<Vec<Value>, NoAnswer> {
    let body = session.client.ask(command, arguments, deadline)?;
    Ok(body["breakpoints"].as_array().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_holds_one_breakpoint() {
        let mut all = Breakpoints::default();
        all.add_line("/a.c", json!({"line": 4}));
        all.add_line("/a.c", json!({"line": 4, "condition": "i > 2"}));
        all.add_line("/a.c", json!({"line": 9}));
        assert_eq!(all.lines["/a.c"].len(), 2);
        assert!(all.remove_lines("/a.c", Some(4)) && !all.remove_lines("/a.c", Some(4)));
        assert!(all.remove_lines("/a.c", None) && all.lines["/a.c"].is_empty());
        all.add(Kind::Function, "name", json!({"name": "f"}));
        all.add(Kind::Function, "name", json!({"name": "f", "condition": "x"}));
        assert_eq!(all.functions, [json!({"name": "f", "condition": "x"})]);
        assert!(all.remove(Kind::Function, "name", Some("f")) && !all.remove(Kind::Data, "dataId", None));
    }
}
