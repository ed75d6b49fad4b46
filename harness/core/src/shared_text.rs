//! Text that stands in many records alike: names, digests, versions. Copies of it share one allocation, which is what keeps a
//! journal of 100,000 records in memory.

use std::borrow::{Borrow, Cow};
use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de};

/// Texts that a thread remembers at most. When there are more, it begins anew: what had been shared stays so.
const REMEMBERED: usize = 4_096;

thread_local! {
    static KNOWN: RefCell<HashSet<Arc<str>>> = RefCell::default();
}

/// A text that is not changed, and shared with its likes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedText(Arc<str>);

impl SharedText {
    /// The text as it is, one of those that this thread has made already where it is among them.
    pub fn new(text: &str) -> Self {
        KNOWN.with_borrow_mut(|known| {
            if let Some(same) = known.get(text) {
                return Self(Arc::clone(same));
            }
            if known.len() >= REMEMBERED {
                known.clear();
            }
            let made: Arc<str> = text.into();
            known.insert(Arc::clone(&made));
            Self(made)
        })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for SharedText {
    fn default() -> Self {
        Self::new("")
    }
}

impl Deref for SharedText {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for SharedText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for SharedText {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<&String> for SharedText {
    fn from(text: &String) -> Self {
        Self::new(text)
    }
}

impl From<SharedText> for String {
    fn from(text: SharedText) -> Self {
        text.as_str().to_owned()
    }
}

impl PartialEq<str> for SharedText {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for SharedText {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for SharedText {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

impl std::fmt::Display for SharedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self)
    }
}

impl std::fmt::Debug for SharedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for SharedText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for SharedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Reader)
    }
}

struct Reader;

impl de::Visitor<'_> for Reader {
    type Value = SharedText;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SharedText, E> {
        Ok(SharedText::new(text))
    }
}

/// In a schema it is the text that it holds.
impl JsonSchema for SharedText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likes_share_one_allocation_and_are_written_as_strings() {
        let read: Vec<SharedText> = serde_json::from_str(r#"["bare", "b\u0061re", "gateway"]"#).unwrap();
        assert!(Arc::ptr_eq(&read[0].0, &read[1].0) && !Arc::ptr_eq(&read[0].0, &read[2].0));
        assert!(Arc::ptr_eq(&read[0].0, &SharedText::from("bare".to_owned()).0));
        assert_eq!(serde_json::to_string(&read).unwrap(), r#"["bare","bare","gateway"]"#);
        assert!(serde_json::from_str::<SharedText>("7").is_err());
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_is_held_stays() {
        let held = SharedText::new("held");
        for number in 0..3 * REMEMBERED {
            assert_eq!(SharedText::new(&number.to_string()), number.to_string());
        }
        assert!(KNOWN.with_borrow(HashSet::len) <= REMEMBERED);
        assert_eq!(held, "held");
    }
}
