//! A workflow's script: steps with ids, what each needs, and texts into which earlier results are filled. Read and checked
//! whole before the first step runs, so that a script that cannot end is refused and not begun.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

/// Most steps of a script.
const MOST: usize = 50;
/// Names that stand for something else than a step.
const RESERVED: [&str; 3] = ["args", "item", "index"];

/// One step as it is written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) id: String,
    /// A tool that is called.
    pub(super) tool: Option<String>,
    #[serde(default)]
    pub(super) arguments: Value,
    /// A prompt for an agent.
    pub(super) agent: Option<String>,
    pub(super) model: Option<String>,
    /// Steps that must be done before, beside those whose results it names.
    #[serde(default)]
    needs: Vec<String>,
    /// A list, or a text that is one: the step is carried out once for each item.
    pub(super) each: Option<Value>,
    /// Carried out only where this text is there, and no `false`, `0` or `none`.
    pub(super) when: Option<String>,
    /// How often it is tried again after a failure.
    #[serde(default)]
    pub(super) retries: u32,
    /// Do later steps go on without it?
    #[serde(default)]
    pub(super) optional: bool,
}

/// A checked script.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    /// For each step the steps before it, by number.
    pub(super) after: Vec<BTreeSet<usize>>,
    pub(super) result: Option<String>,
}

/// What texts are filled with.
#[derive(Debug, Clone, Default)]
pub(super) struct Values(pub(super) Map<String, Value>);

impl Script {
    /// Checks the steps; an error names every fault that is found.
    pub(super) fn of(steps: Vec<Step>, result: Option<String>) -> Result<Self, String> {
        let mut faults = Vec::new();
        if steps.is_empty() || steps.len() > MOST {
            faults.push(format!("a script has 1 to {MOST} steps, not {}", steps.len()));
        }
        let mut places = BTreeMap::new();
        for (at, step) in steps.iter().enumerate() {
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if step.id.is_empty() || !step.id.chars().all(is_word) || RESERVED.contains(&step.id.as_str()) {
                faults.push(format!(
                    "{:?} is no id: letters, digits, _ and -, not {}",
                    step.id,
                    RESERVED.join(", ")
                ));
            }
            if places.insert(step.id.as_str(), at).is_some() {
                faults.push(format!("two steps are called {}", step.id));
            }
            if step.tool.is_some() == step.agent.is_some() {
                faults.push(format!("step {} needs either tool or agent", step.id));
            }
        }
        let mut after = Vec::with_capacity(steps.len());
        for step in &steps {
            let mut before = BTreeSet::new();
            for name in step.needs.iter().chain(&step.names()) {
                match places.get(name.as_str()) {
                    Some(place) => {
                        before.insert(*place);
                    }
                    None if RESERVED.contains(&name.as_str()) => {}
                    None => faults.push(format!("step {} names {name}, which is no step", step.id)),
                }
            }
            after.push(before);
        }
        let unknown = result.iter().flat_map(|text| named_in(text));
        let unknown: Vec<String> =
            unknown.filter(|name| !places.contains_key(name.as_str()) && name != "args").collect();
        faults.extend(unknown.iter().map(|name| format!("result names {name}, which is no step")));
        if faults.is_empty() && has_circle(&after) {
            faults.push("steps wait for one another in a circle".to_owned());
        }
        if faults.is_empty() { Ok(Self { steps, after, result }) } else { Err(faults.join("; ")) }
    }
}

impl Step {
    /// Names that its texts speak of.
    fn names(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect(&self.arguments, &mut found);
        self.each.iter().for_each(|each| collect(each, &mut found));
        for text in self.agent.iter().chain(&self.when) {
            found.extend(named_in(text));
        }
        found
    }
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.extend(named_in(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(members) => members.values().for_each(|member| collect(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// First parts of the placeholders of a text.
fn named_in(text: &str) -> Vec<String> {
    pieces(text)
        .filter_map(|piece| match piece {
            Piece::Place(path) => Some(path.split('.').next().unwrap_or(path).to_owned()),
            Piece::Text(_) => None,
        })
        .collect()
}

fn has_circle(after: &[BTreeSet<usize>]) -> bool {
    let mut done = BTreeSet::new();
    loop {
        let ready: Vec<usize> =
            (0..after.len()).filter(|at| !done.contains(at) && after[*at].is_subset(&done)).collect();
        if ready.is_empty() {
            return done.len() < after.len();
        }
        done.extend(ready);
    }
}

enum Piece<'a> {
    Text(&'a str),
    Place(&'a str),
}

/// A text taken apart at its `${…}`.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(at) = rest.find("${") else {
            return Some(Piece::Text(std::mem::take(&mut rest)));
        };
        if at > 0 {
            let (before, after) = rest.split_at(at);
            rest = after;
            return Some(Piece::Text(before));
        }
        match rest[2..].split_once('}') {
            Some((inner, after)) => {
                rest = after;
                Some(Piece::Place(inner.trim()))
            }
            None => Some(Piece::Text(std::mem::take(&mut rest))),
        }
    })
}

impl Values {
    /// Fills every text of a value.
    pub(super) fn fill(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => self.fill_text(text)?,
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?,
            Value::Object(members) => {
                let filled = members.iter().map(|(key, member)| Ok((key.clone(), self.fill(member)?)));
                Value::Object(filled.collect::<Result<_, String>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        })
    }

    /// A text that is one placeholder becomes the value with its type; else values become text.
    pub(super) fn fill_text(&self, text: &str) -> Result<Value, String> {
        let all: Vec<Piece<'_>> = pieces(text).collect();
        if let [Piece::Place(path)] = all.as_slice() {
            return self.at(path);
        }
        let mut filled = String::new();
        for piece in all {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Place(path) => filled.push_str(&plain(&self.at(path)?)),
            }
        }
        Ok(Value::String(filled))
    }

    fn at(&self, path: &str) -> Result<Value, String> {
        let mut parts = path.split('.');
        let name = parts.next().unwrap_or(path);
        let missing = || format!("${{{path}}} has no value");
        let mut value = self.0.get(name).cloned().ok_or_else(missing)?;
        for part in parts {
            // A step's result is text; where a part of it is wanted it must be JSON.
            if let Value::String(text) = &value {
                value = serde_json::from_str(text)
                    .map_err(|_| format!("{name} is not JSON, so ${{{path}}} has no value"))?;
            }
            let inner = match value.as_array() {
                Some(items) => part.parse::<usize>().ok().and_then(|at| items.get(at)),
                None => value.get(part),
            };
            value = inner.cloned().ok_or_else(missing)?;
        }
        Ok(value)
    }
}

/// A value as it stands inside a text.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The items of a list: an array, a text that is one, or the lines of a text.
pub(super) fn items(value: Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(items) => Ok(items),
        Value::String(text) => match serde_json::from_str::<Value>(&text) {
            Ok(Value::Array(items)) => Ok(items),
            Ok(_) | Err(_) => {
                Ok(text.lines().filter(|line| !line.trim().is_empty()).map(Value::from).collect())
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            Err(format!("each needs a list, not {value}"))
        }
    }
}

/// Does a filled condition hold?
pub(super) fn holds(condition: &Value) -> bool {
    let text = plain(condition);
    !["", "false", "0", "none", "null", "no"].contains(&text.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn script(steps: Value) -> Result<Script, String> {
        Script::of(serde_json::from_value(steps).map_err(|error| error.to_string())?, None)
    }

    #[test]
    fn a_script_is_checked_whole_before_anything_runs() {
        let sound = json!([
            {"id": "list", "tool": "bash", "arguments": {"command": "ls"}},
            {"id": "read", "tool": "read", "arguments": {"path": "${item}"}, "each": "${list}"},
            {"id": "sum", "agent": "Sum up: ${read} for ${args.who}", "needs": ["list"]},
        ]);
        let checked = script(sound).unwrap();
        assert_eq!(checked.after[2].iter().copied().collect::<Vec<_>>(), [0, 1]);
        let broken = json!([
            {"id": "a", "tool": "bash", "agent": "x"}, {"id": "a", "agent": "${nowhere}"}, {"id": "item", "agent": "x"},
        ]);
        let told = script(broken).unwrap_err();
        for fault in ["step a needs either", "two steps are called a", "names nowhere", "\"item\" is no id"] {
            assert!(told.contains(fault), "{told}");
        }
        let circle = json!([{"id": "a", "agent": "${b}"}, {"id": "b", "agent": "x", "needs": ["a"]}]);
        assert!(script(circle).unwrap_err().contains("in a circle"));
        assert!(script(json!([])).is_err());
    }

    #[test]
    fn values_keep_their_type_alone_and_become_text_inside_one() {
        let values = Values(
            json!({"list": "[{\"n\": 3}]", "args": {"files": ["a", "b"]}}).as_object().unwrap().clone(),
        );
        assert_eq!(values.fill_text("${args.files}"), Ok(json!(["a", "b"])));
        assert_eq!(
            values.fill_text("n is ${list.0.n} of ${args.files}"),
            Ok(json!("n is 3 of [\"a\",\"b\"]"))
        );
        assert_eq!(values.fill_text("${open"), Ok(json!("${open")));
        assert!(values.fill_text("${list.7}").unwrap_err().contains("has no value"));
        assert_eq!(items(json!("one\n\ntwo\n")), Ok(vec![json!("one"), json!("two")]));
        assert_eq!(items(json!("[1, 2]")), Ok(vec![json!(1), json!(2)]));
        assert!(holds(&json!("found 3")) && !holds(&json!(" none \n")) && !holds(&json!(false)));
    }

    proptest! {
        #[test]
        fn a_text_without_placeholders_is_left_alone(text in "[^$]{0,40}") {
            prop_assert_eq!(Values::default().fill_text(&text), Ok(json!(text)));
        }

        #[test]
        fn no_text_panics(text in "[${}.a ]{0,20}") {
            let _ = Values(json!({"a": "x"}).as_object().unwrap().clone()).fill_text(&text);
        }
    }
}
