//! Are the arguments of a call what the tool's schema asks for? Every fault is named at once, so that the model can
//! correct them all in one further call. Covers the part of JSON Schema that the catalogue uses.

use serde_json::{Map, Value};

use crate::catalogue::ToolDefinition;

/// Checks the arguments of a call; the error names every fault by its place.
pub(crate) fn check(tool: &ToolDefinition, given: &Value) -> Result<(), String> {
    let mut faults = Vec::new();
    check_value(&tool.parameters, given, "", &mut faults);
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("the arguments of {} do not fit: {}", tool.name, faults.join("; ")))
}

fn check_value(schema: &Value, given: &Value, place: &str, faults: &mut Vec<String>) {
    let kind = schema["type"].as_str().unwrap_or("any");
    let shown = if place.is_empty() { "the whole" } else { place };
    if !is_of_kind(kind, given) {
        faults.push(format!("{shown} must be {} but is {}", with_article(kind), kind_of(given)));
        return;
    }
    if let Some(allowed) = schema["enum"].as_array().filter(|allowed| !allowed.contains(given)) {
        let words: Vec<String> = allowed.iter().map(Value::to_string).collect();
        faults.push(format!("{shown} must be one of {} but is {given}", words.join(", ")));
    }
    if let (Some(least), Some(number)) = (schema["minimum"].as_f64(), given.as_f64())
        && number < least
    {
        faults.push(format!("{shown} must be at least {least} but is {given}"));
    }
    match given {
        Value::Object(members) if schema.get("properties").is_some() => {
            check_members(schema, members, place, faults);
        }
        Value::Array(items) => {
            if (items.len() as u64) < schema["minItems"].as_u64().unwrap_or(0) {
                faults.push(format!("{shown} must not be empty"));
            }
            for (index, item) in items.iter().enumerate() {
                check_value(&schema["items"], item, &format!("{shown}[{index}]"), faults);
            }
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_members(schema: &Value, members: &Map<String, Value>, place: &str, faults: &mut Vec<String>) {
    let at = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(|name| !members.contains_key(*name)) {
        faults.push(format!("{} is missing", at(name)));
    }
    for (name, value) in members {
        match schema["properties"].get(name) {
            Some(inner) => check_value(inner, value, &at(name), faults),
            None => {
                let known =
                    schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
                let known = known.collect::<Vec<_>>().join(", ");
                faults.push(format!("{} is unknown (known: {known})", at(name)));
            }
        }
    }
}

fn is_of_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number with a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn with_article(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {kind}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::catalogue::{tool, tool_names};

    fn faults(name: &str, given: Value) -> String {
        check(&tool(name).unwrap(), &given).unwrap_err()
    }

    #[test]
    fn what_fits_is_accepted() {
        for (name, given) in [
            ("read", json!({"path": "a", "offset": 1, "limit": 2})),
            ("bash", json!({"command": "x", "timeout": 0.5})),
            ("edit", json!({"path": "a", "edits": [{"oldText": "x", "newText": ""}]})),
            ("fd", json!({})),
            ("workflow", json!({"steps": [{"id": "a", "each": [1]}], "args": {"any": [1]}})),
        ] {
            assert_eq!(check(&tool(name).unwrap(), &given), Ok(()), "{name}");
        }
    }

    #[test]
    fn every_fault_is_named_at_its_place() {
        assert_eq!(
            faults("read", json!({"offset": "3", "lines": 1})),
            "the arguments of read do not fit: path is missing; offset must be an integer but is a string; \
             lines is unknown (known: path, offset, limit)"
        );
        assert!(
            faults("read", json!({"path": "a", "offset": 0})).contains("offset must be at least 1 but is 0")
        );
        assert!(faults("edit", json!({"path": "a", "edits": []})).contains("edits must not be empty"));
        assert!(
            faults("edit", json!({"path": "a", "edits": [{"oldText": "x"}, 3]}))
                .ends_with("edits[0].newText is missing; edits[1] must be an object but is a number")
        );
        assert!(
            faults("fd", json!({"type": "pipe"})).contains("one of \"file\", \"directory\", \"symlink\"")
        );
        assert!(faults("read", json!([])).contains("the whole must be an object but is an array"));
        assert!(faults("read", json!({"path": "a", "limit": 1.5})).contains("a number with a fraction"));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[a-z]{0,4}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            let key = prop_oneof![
                Just("path".to_owned()),
                Just("edits".to_owned()),
                Just("command".to_owned()),
                "[a-z]{1,5}"
            ];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((key, inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn no_arguments_panic(given in any_json()) {
            for name in tool_names() {
                let _ = check(&tool(name).unwrap(), &given);
            }
        }
    }
}
