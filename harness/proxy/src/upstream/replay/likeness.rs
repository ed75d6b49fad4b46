//! Is a request the recorded one? Equal but for the declared volatile parts: fields that say who asks, and patterns of text
//! that differ from one day or machine to the next.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Top-level fields that differ between equal requests.
const VOLATILE_FIELDS: [&str; 6] =
    ["client_metadata", "metadata", "prompt_cache_key", "safety_identifier", "session_id", "user"];

/// Patterns of text that differ between equal requests, by name. The first that fits at a place holds.
pub const VOLATILE_PATTERNS: [(&str, &str); 6] = [
    // Where a cell's slot lies: `<state>/slots/00/ws`.
    ("place", r#"/[^\s"'<>:,;]*?/slots/[0-9]{2}/"#),
    ("uuid", r"(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    (
        "date",
        r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?|\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, )?(?:Jan|Febr)uary [0-9]{1,2}, [0-9]{4}\b|\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, )?(?:March|April|May|June|July|August|(?:Septem|Octo|Novem|Decem)ber) [0-9]{1,2}, [0-9]{4}\b",
    ),
    ("time", r"\b[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?\b"),
    ("duration", r"\b[0-9]+(?:\.[0-9]+)? ?(?:ms|µs|s|secs?|seconds?|milliseconds?|m|min|minutes?)\b"),
    // Ids that an agent makes up: a word, an underscore and a long rest with a digit in it.
    ("id", r"\b(?:session|msg|run|proc|exec|pid|req|id)[_-][0-9A-Za-z]*[0-9][0-9A-Za-z]*\b"),
];

static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let compile =
        |(name, pattern)| (name, Regex::new(pattern).expect("the patterns are constants of this file"));
    VOLATILE_PATTERNS.into_iter().map(compile).collect()
});

/// The first field in which a request differs from the recorded one, with both values; `None` = it is the same.
pub(super) fn difference(recorded: &Value, asked: &Value) -> Option<String> {
    let without = |value: &Value| {
        let mut value = value.clone();
        if let Value::Object(fields) = &mut value {
            VOLATILE_FIELDS.iter().for_each(|field| {
                fields.shift_remove(*field);
            });
        }
        value
    };
    first_difference("", &without(recorded), &without(asked))
}

fn first_difference(path: &str, was: &Value, now: &Value) -> Option<String> {
    match (was, now) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            keys.into_iter().find_map(|key| {
                let place = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match (a.get(key), b.get(key)) {
                    (Some(was), Some(now)) => first_difference(&place, was, now),
                    (Some(_), None) => Some(format!("{place}: it is gone")),
                    (None, _) => Some(format!("{place}: it is new")),
                }
            })
        }
        (Value::Array(a), Value::Array(b)) => {
            let inside = a.iter().zip(b).enumerate();
            let found = inside
                .into_iter()
                .find_map(|(at, (was, now))| first_difference(&format!("{path}[{at}]"), was, now));
            found.or_else(|| {
                (a.len() != b.len())
                    .then(|| format!("{path}: it had {} entries and has {}", a.len(), b.len()))
            })
        }
        (Value::String(a), Value::String(b)) if a != b => {
            let (a, b) = (settled(a), settled(b));
            (a != b).then(|| format!("{path}: was {:?}, is {:?}", around(&a, &b), around(&b, &a)))
        }
        (was, now) => (was != now).then(|| format!("{path}: was {was}, is {now}")),
    }
}

/// The text with its volatile parts replaced by their names.
fn settled(text: &str) -> String {
    PATTERNS.iter().fold(text.to_owned(), |text, (name, pattern)| {
        pattern.replace_all(&text, format!("<{name}>").as_str()).into_owned()
    })
}

/// The text around the first place in which it differs from the other.
fn around(text: &str, other: &str) -> String {
    let at = text.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let start = at.saturating_sub(20);
    let part: String = text.chars().skip(start).take(60).collect();
    if start > 0 { format!("…{part}") } else { part }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn days_durations_places_and_ids_make_no_difference() {
        let one = json!({"user": "a", "messages": [{"content": "Today is 2026-11-30T10:00:01Z. /tmp/a/slots/00/ws took 1.5 s, session_1a2b"}]});
        let other = json!({"user": "b", "messages": [{"content": "Today is 2027-01-02T23:59:59Z. /var/lib/bench/slots/03/ws took 20.25 s, session_9z8"}]});
        assert_eq!(difference(&one, &other), None);
    }

    #[test]
    fn the_first_field_that_differs_is_named_with_what_it_was_and_is() {
        let one = json!({"model": "m", "messages": [{"role": "user", "content": "count to 10"}]});
        let other = json!({"model": "m", "messages": [{"role": "user", "content": "count to 11"}]});
        let said = difference(&one, &other).unwrap();
        assert_eq!(said, "messages[0].content: was \"count to 10\", is \"count to 11\"");
        let longer = json!({"model": "m", "messages": [{"role": "user", "content": "count to 10"}, {}]});
        assert!(difference(&one, &longer).unwrap().contains("had 1 entries and has 2"));
        assert!(difference(&one, &json!({"model": "m"})).unwrap().contains("messages: it is gone"));
        let number = |n: u32| json!({"max_tokens": n});
        assert_eq!(difference(&number(1), &number(2)).unwrap(), "max_tokens: was 1, is 2");
    }
}
