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
    serde_json::from_slice(text).map_err(Unread::NotJson)
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
        let deep = "[".repeat(100_000);
        assert!(matches!(value(deep.as_bytes()), Err(Unread::NotJson(_))));
    }
}
