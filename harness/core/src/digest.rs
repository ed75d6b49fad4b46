//! SHA-256 digests in the form that `sha256sum` prints.

use crate::shared_text::SharedText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A SHA-256 digest as 64 lower-case hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Sha256Hex(SharedText);

impl Sha256Hex {
    /// Digest of some bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self::hex(&Sha256::digest(bytes.as_ref()))
    }

    /// Digest of named parts: each name and content is preceded by its length, so that no two different sets of
    /// parts share a digest by concatenation.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let mut hasher = Sha256::new();
        for (name, content) in parts {
            hasher.update((name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update((content.len() as u64).to_le_bytes());
            hasher.update(content);
        }
        Self::hex(&hasher.finalize())
    }

    /// Digest of a value's JSON (keys in the order in which the type writes them).
    pub fn of_json<T: Serialize>(value: &T) -> Self {
        Self::of(serde_json::to_vec(value).expect("our own records are valid JSON values"))
    }

    /// A digest that someone else computed: exactly 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (text.len() == 64 && text.bytes().all(is_hex)).then(|| Self(text.into()))
    }

    /// The 64 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn hex(bytes: &[u8]) -> Self {
        use std::fmt::Write as _;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Self(text.into())
    }
}

impl std::fmt::Display for Sha256Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_sha256sum() {
        assert_eq!(
            Sha256Hex::of("abc").as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn only_64_lower_case_hex_digits_are_a_digest() {
        let digest = Sha256Hex::of("abc");
        assert_eq!(Sha256Hex::parse(digest.as_str()), Some(digest.clone()));
        assert_eq!(Sha256Hex::parse(&digest.as_str().to_uppercase()), None);
        assert_eq!(Sha256Hex::parse("abc"), None);
    }

    #[test]
    fn moving_a_byte_between_parts_changes_the_digest() {
        let one = Sha256Hex::of_parts([("a", &b"bc"[..]), ("d", &b""[..])]);
        let two = Sha256Hex::of_parts([("a", &b"b"[..]), ("d", &b"c"[..])]);
        assert_ne!(one, two);
    }
}
