//! Placeholders of adapter files, filled from what is known about an attempt.
//!
//! `{name}` inside a text becomes text. In JSON a string that is nothing but a placeholder becomes the value with its
//! own type, and a key whose value is `{name?}` is left out where there is no value. Other braces stay as they are.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Values by name; null = known by name, without a value here.
pub(crate) type Values = BTreeMap<&'static str, Value>;

/// A text with every placeholder replaced.
pub(crate) fn text(template: &str, values: &Values) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    // One pass, so that braces inside a value are never taken for placeholders.
    while let Some(open) = rest.find('{') {
        filled.push_str(&rest[..open]);
        rest = &rest[open..];
        match placeholder_at(rest, values) {
            Some((value, length)) => {
                filled.push_str(&as_text(value));
                rest = &rest[length..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

/// A text of lines: a line that holds `{name?}` without a value is left out, everything else is filled as a text.
pub(crate) fn lines(template: &str, values: &Values) -> String {
    let lacks = |line: &&str| {
        values.iter().any(|(name, value)| value.is_null() && line.contains(&format!("{{{name}?}}")))
    };
    let kept = template.lines().filter(|line| !lacks(line));
    kept.map(|line| text(line, values) + "\n").collect()
}

/// JSON with every placeholder replaced.
pub(crate) fn json(template: &Value, values: &Values) -> Value {
    match template {
        Value::String(string) => match placeholder_at(string, values) {
            Some((value, length)) if length == string.len() => value.clone(),
            Some(_) | None => Value::String(text(string, values)),
        },
        Value::Array(items) => items.iter().map(|item| json(item, values)).collect(),
        Value::Object(members) => Value::Object(members_of(members, values)),
        Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
    }
}

fn members_of(members: &Map<String, Value>, values: &Values) -> Map<String, Value> {
    let is_left_out = |value: &Value| {
        let name = value.as_str().and_then(|string| string.strip_prefix('{')?.strip_suffix("?}"));
        name.is_some_and(|name| values.get(name).is_none_or(Value::is_null))
    };
    let kept = members.iter().filter(|(_, value)| !is_left_out(value));
    kept.map(|(key, value)| (key.clone(), json(value, values))).collect()
}

/// The value of the placeholder with which the text begins, and the placeholder's length.
fn placeholder_at<'a>(text: &str, values: &'a Values) -> Option<(&'a Value, usize)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find('}')?;
    let name = inner[..end].strip_suffix('?').unwrap_or(&inner[..end]);
    values.get(name).map(|value| (value, end + 2))
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(string) => string.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values() -> Values {
        Values::from([
            ("url", json!("http://x")),
            ("seed", json!(7)),
            ("none", Value::Null),
            ("odd", json!("{url}")),
        ])
    }

    #[test]
    fn texts_are_filled_once_and_other_braces_stay() {
        assert_eq!(text("a {url}/{seed} {odd} {other} { {", &values()), "a http://x/7 {url} {other} { {");
        assert_eq!(text("[{none}]", &values()), "[]");
    }

    #[test]
    fn a_line_without_its_value_is_left_out() {
        assert_eq!(
            lines("a = \"{url}\"\nb = {none?}\nc = {seed?}\n", &values()),
            "a = \"http://x\"\nc = 7\n"
        );
    }

    #[test]
    fn json_keeps_types_and_leaves_out_what_has_no_value() {
        let template =
            json!({"a": "{seed}", "b": "x{seed}", "c": "{none?}", "d": ["{seed?}"], "e": "{other?}", "f": 1});
        assert_eq!(json(&template, &values()), json!({"a": 7, "b": "x7", "d": [7], "f": 1}));
    }
}
