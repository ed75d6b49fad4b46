//! JSON from bytes that a stranger sent. A byte of it may become fifty in memory (`[{},{},…`), so what holds more values than
//! any agent sends is refused before it is read.

use serde_json::Value;

/// The most values of one text; agents send some thousands.
pub(crate) const VALUES_CAP: usize = 1 << 21;

/// Why a text was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is no JSON.
    NotJson(serde_json::Error),
    /// It holds more values than [`VALUES_CAP`].
    TooMany,
}

impl std::fmt::Display for Unread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotJson(error) => write!(f, "not JSON: {error}"),
            Self::TooMany => write!(f, "it holds more than {VALUES_CAP} values"),
        }
    }
}

/// Reads a text.
pub(crate) fn value(text: &[u8]) -> Result<Value, Unread> {
    // A value begins at the start, after a bracket, a colon or a comma. In strings these are counted as well: a text that is
    // refused for its prose would have to hold two million of them.
    if text.len() > VALUES_CAP && text.iter().filter(|b| matches!(b, b'[' | b'{' | b',')).count() > VALUES_CAP
    {
        return Err(Unread::TooMany);
    }
    serde_json::from_slice(text).or_else(|error| match repaired(text) {
        Some(text) => serde_json::from_str(&text).map_err(Unread::NotJson),
        None => Err(Unread::NotJson(error)),
    })
}

/// The text as lenient readers take it: bytes that are no UTF-8 and halves of surrogate pairs become U+FFFD, numbers beyond
/// every double the largest one. None where there is nothing of the kind.
fn repaired(text: &[u8]) -> Option<String> {
    let whole = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(whole.len());
    let mut rest: &str = &whole;
    let mut in_string = false;
    while let Some(next) = rest.chars().next() {
        let taken = match next {
            '"' => {
                in_string = !in_string;
                out.push('"');
                1
            }
            '\\' if in_string => escaped(rest, &mut out),
            '-' | '0'..='9' if !in_string => number(rest, &mut out),
            other => {
                out.push(other);
                other.len_utf8()
            }
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
    (out.as_bytes() != text).then_some(out)
}

/// Takes an escape sequence, two where they are the halves of a pair; returns its bytes.
fn escaped(rest: &str, out: &mut String) -> usize {
    let unit = |at: usize| -> Option<u16> {
        let digits = rest.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (taken, shown) = match (unit(0), unit(6)) {
        (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, rest.get(..12)),
        (Some(0xd800..=0xdfff), _) => (6, Some("\\ufffd")),
        (Some(_), _) => (6, rest.get(..6)),
        (None, _) => {
            let length = 1 + rest.chars().nth(1).map_or(0, char::len_utf8);
            (length, rest.get(..length))
        }
    };
    out.push_str(shown.unwrap_or_default());
    taken
}

/// Takes a number; returns its bytes.
fn number(rest: &str, out: &mut String) -> usize {
    let of_number = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let end = rest.find(|c| !of_number(c)).unwrap_or(rest.len());
    match rest[..end].parse::<f64>() {
        Ok(value) if value.is_infinite() => out.push_str(&f64::MAX.copysign(value).to_string()),
        Ok(_) | Err(_) => out.push_str(&rest[..end]),
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_grow_without_measure_is_refused_unread() {
        let many = format!("[{}0]", "{},".repeat(VALUES_CAP));
        assert!(matches!(value(many.as_bytes()), Err(Unread::TooMany)));
        let long = format!("\"{}\"", "a, ".repeat(VALUES_CAP / 2));
        assert!(value(long.as_bytes()).is_ok(), "prose is no list");
        assert!(matches!(value(b"[1"), Err(Unread::NotJson(_))));
        for (text, read) in [
            (
                &br#"{"a":"x\ud83d","b":"\ude00y","c":"\ud83d\ude00"}"#[..],
                r#"{"a":"x\ufffd","b":"\ufffdy","c":"\ud83d\ude00"}"#,
            ),
            (
                b"{\"a\":\"\xff\",\"n\":1e999,\"m\":-1e999,\"s\":\"1e999 \\\" \\\\\"}",
                "{\"a\":\"\u{fffd}\",\"n\":1.7976931348623157e308,\"m\":-1.7976931348623157e308,\"s\":\"1e999 \\\" \\\\\"}",
            ),
        ] {
            assert_eq!(value(text).unwrap(), serde_json::from_str::<Value>(read).unwrap());
        }
        let deep = "[".repeat(100_000);
        assert!(matches!(value(deep.as_bytes()), Err(Unread::NotJson(_))));
    }
}
