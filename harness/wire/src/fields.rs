//! Fields of JSON values, read without assumptions: what is missing or of another type is empty.

use serde_json::{Map, Value};

/// Up to here every whole number is a double of its own.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The string at a key; empty when there is none.
pub(crate) fn string_at(value: &Value, key: &str) -> String {
    str_at(value, key).unwrap_or_default().to_owned()
}

/// The string at a key.
pub(crate) fn str_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// The elements of the array at a key; none when there is no array.
pub(crate) fn array_at<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The number at a path.
pub(crate) fn number_at(value: &Value, path: &[&str]) -> Option<u64> {
    let number = path.iter().try_fold(value, |value, key| value.get(*key))?;
    // Some servers write counts as floating point.
    let whole = |float: &f64| float.fract() == 0.0 && (0.0..=MOST_EXACT).contains(float);
    number.as_u64().or_else(|| number.as_f64().filter(whole).map(|float| float as u64))
}

/// Takes an array out of a body: absent and null are empty, another type is none.
pub(crate) fn take_array(body: &mut Map<String, Value>, key: &str) -> Option<Vec<Value>> {
    match body.shift_remove(key) {
        Some(Value::Array(items)) => Some(items),
        None | Some(Value::Null) => Some(Vec::new()),
        Some(_) => None,
    }
}

/// A value as text: a string as it is, null as nothing, anything else as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Text of a content field: the string itself, or the `text` of its parts joined.
pub(crate) fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.as_str().or_else(|| str_at(part, "text"))).collect()
        }
        _ => String::new(),
    }
}

/// JSON that a model wrote as text, as a value; an object with the text under `raw` when it is no JSON object.
pub(crate) fn object_of(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ if text.is_empty() => Value::Object(Map::new()),
        _ => serde_json::json!({ "raw": text }),
    }
}

/// Minified JSON of an array of values.
pub(crate) fn json_array<'a>(values: impl Iterator<Item = &'a Value>) -> String {
    let mut text = String::from("[");
    for (index, value) in values.enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&value.to_string());
    }
    text.push(']');
    text
}

/// The text in pieces of at most `size` characters; none for an empty text.
pub(crate) fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}
