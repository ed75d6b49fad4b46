//! Tokenizers: counts of text, and who counted.
//!
//! Text is counted as ordinary text: the name of a special token inside a tool's description is text for the model's
//! reader too. What a provider's own template adds around messages is another basis: [`Counter::prompt`] renders it where a
//! renderer of the provider's own is known (DeepSeek's).

mod rendered;
mod runs;

pub use rendered::Unrendered;

use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};
use tiktoken::CoreBpe;

/// The crate that encodes.
pub const PACKAGE: &str = "tiktoken";
/// Its version (pinned in the workspace manifest; a test compares both).
pub const PACKAGE_VERSION: &str = "4.1.2";
/// Names of the tokenizers of this build.
pub const NAMES: [&str; 6] = ["o200k_base", "cl100k_base", "deepseek_v3", "qwen2", "kimi_k2", "glm4"];

/// Ids asked beyond the size of the vocabulary, so that a gap before special tokens does not hide entries.
const IDS_BEYOND: u32 = 4096;

/// Text in which pre-tokenizers are known to differ: contractions, digits, scripts, white space, punctuation runs.
const PROBE: &str = "It's I'LL don't 1234567 \u{4f60}\u{597d}\u{ff0c}world\r\n\t  x  \n\n fn main() { a+=b; } \u{1f600} e\u{301}cole ---- C++ <|endoftext|>";

/// A name that no tokenizer of this build has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown tokenizer {name:?}; known: {}", NAMES.join(", "))]
pub struct UnknownTokenizer {
    /// The name asked for.
    pub name: String,
}

/// Who counts: the fields of a record's `tokenizer`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Vocabulary name.
    pub name: String,
    /// Crate that encodes.
    pub package: String,
    /// Its version.
    pub version: String,
    /// SHA-256 over the bytes of every token in order of id, and over the ids of a probe text (so that a changed
    /// pre-tokenizer changes the digest as well). Lower-case hex.
    pub vocabulary_sha256: String,
}

/// Counts tokens by one vocabulary. Making the first one of a vocabulary takes about 40 ms; share it.
pub struct Counter {
    name: &'static str,
    encoding: &'static CoreBpe,
    identity: OnceLock<Identity>,
}

impl Counter {
    /// The counter of this name (one of [`NAMES`]).
    pub fn new(name: &str) -> Result<Self, UnknownTokenizer> {
        let known = NAMES.into_iter().find(|known| *known == name);
        known
            .and_then(|name| {
                tiktoken::get_encoding(name).map(|encoding| Self {
                    name,
                    encoding,
                    identity: OnceLock::new(),
                })
            })
            .ok_or_else(|| UnknownTokenizer { name: name.to_owned() })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Tokens of a text. A run of more than 2,000 letters, or of as many spaces and signs, is counted in
    /// slices of 2,000: no text that people write has one, and an encoder's time grows beyond measure with what it cannot split.
    pub fn count(&self, text: &str) -> u64 {
        let (mut all, mut last) = (0, ("", 0));
        for slice in runs::slices(text) {
            // A run of one character has slices that are alike.
            if last.0 != slice {
                last = (slice, self.encoding.count(slice) as u64);
            }
            all += last.1;
        }
        all
    }

    /// Who counts, with a digest over the whole vocabulary (about 30 ms the first time, then kept).
    pub fn identity(&self) -> &Identity {
        self.identity.get_or_init(|| self.take_identity())
    }

    fn take_identity(&self) -> Identity {
        let size = u32::try_from(self.encoding.vocab_size()).unwrap_or(u32::MAX - IDS_BEYOND);
        let mut hasher = Sha256::new();
        for id in 0..size + IDS_BEYOND {
            let bytes = self.encoding.decode(&[id]);
            hasher.update((bytes.len() as u32).to_le_bytes());
            hasher.update(&bytes);
        }
        for id in self.encoding.encode(PROBE) {
            hasher.update(id.to_le_bytes());
        }
        Identity {
            name: self.name.to_owned(),
            package: PACKAGE.to_owned(),
            version: PACKAGE_VERSION.to_owned(),
            vocabulary_sha256: hex(&hasher.finalize()),
        }
    }
}

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Counter").field(&self.name).finish()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 5] = [
        "",
        "hello world",
        PROBE,
        r#"{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}"#,
        "\u{8fd9}\u{4e2a}\u{5de5}\u{5177}\u{8868}\u{9762}\u{503c}\u{5f97}\u{5b83}\u{7684}\u{6210}\u{672c}\u{5417}\u{ff1f}",
    ];

    /// Counts of `TEXTS` and the digest. The first two rows were checked against the npm package gpt-tokenizer 4.0.0.
    const GOLDEN: [(&str, [u64; 5], &str); 6] = [
        (
            "o200k_base",
            [0, 2, 39, 27, 10],
            "aa49e00db00d5f8bde297221dc66bee93497d42c19d5481a5f9b82dc873ce9a7",
        ),
        (
            "cl100k_base",
            [0, 2, 42, 26, 16],
            "b62b9f847eaabd0c14a3060856cbd59568327b0e21912ce36fde0cbb70f7de44",
        ),
        (
            "deepseek_v3",
            [0, 2, 44, 27, 8],
            "74319e31a55f32a32da007b3b023f59eb129b7d23ebe3feeace9165d6307b1b3",
        ),
        ("qwen2", [0, 2, 45, 26, 8], "f41971d31cbec0f2a10b4004f901a0514281950685b9193baee96a1ad452f890"),
        ("kimi_k2", [0, 2, 39, 26, 8], "db36de6880f353780abd54a9ad3555769afcb51501e13780e6016fe6cea03eef"),
        ("glm4", [0, 2, 42, 26, 8], "43ab1e127aced55b0cfb0713efb17a9dad812c79e23b63bf182dbcae8887816d"),
    ];

    #[test]
    fn counts_and_vocabularies_are_pinned() {
        for (name, counts, digest) in GOLDEN {
            let counter = Counter::new(name).unwrap();
            assert_eq!(TEXTS.map(|text| counter.count(text)), counts, "{name}");
            assert_eq!(counter.identity().vocabulary_sha256, digest, "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = Counter::new("o200k").unwrap_err().to_string();
        assert!(error.contains("\"o200k\"") && error.contains("o200k_base, cl100k_base"), "{error}");
        assert!(Counter::new("gpt2").is_err(), "a vocabulary that the workspace does not ask for");
    }

    #[test]
    fn the_version_named_is_the_version_built() {
        let manifest = include_str!("../../../Cargo.toml");
        assert!(manifest.contains(&format!("tiktoken = {{ version = \"={PACKAGE_VERSION}\"")));
    }

    #[test]
    fn a_run_without_a_boundary_is_counted_in_slices() {
        let counter = Counter::new("o200k_base").unwrap();
        let slice = counter.count(&"a".repeat(2_000));
        assert_eq!(counter.count(&"a".repeat(10_000)), 5 * slice);
        assert_eq!(counter.count(&format!("{}b", "a".repeat(4_000))), 2 * slice + 1);
        let ordinary = PROBE.repeat(300);
        assert_eq!(counter.count(&ordinary), counter.encoding.count(&ordinary) as u64);
    }
}
