//! Keys, private paths and names taken out of text that leaves the machine. What looks like a key is a matter of its
//! form; paths and names are given.

use std::collections::BTreeMap;

use regex::bytes::Regex;

/// Forms of secrets: name and pattern. The last group, where there is one, is the secret; else the whole.
const FORMS: [(&str, &str); 9] = [
    ("key", r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"),
    ("key", r"\bAIza[0-9A-Za-z_-]{30,}"),
    ("key", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("key", r"\bgh[pousr]_[A-Za-z0-9]{30,}"),
    ("key", r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    ("key", r"\bhf_[A-Za-z0-9]{20,}"),
    ("token", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    ("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----[A-Za-z0-9+/=\\\s]*"),
    (
        "header",
        r#"(?i)\b(?:authorization|x-api-key|api[-_]key|x-goog-api-key)["']?\s*[:=]\s*["']?(?:bearer\s+)?([A-Za-z0-9._~+/=-]{8,})"#,
    ),
];

/// What is taken out, and how often it was found.
#[derive(Debug)]
pub(crate) struct Redaction {
    forms: Vec<(&'static str, Regex)>,
    texts: Vec<(String, String)>,
    counts: BTreeMap<String, u64>,
}

impl Redaction {
    /// Private texts with what stands for them, and further ones.
    pub(crate) fn new(private: Vec<(String, &'static str)>, more: &[String]) -> Self {
        let forms = FORMS.map(|(name, form)| (name, Regex::new(form).expect("the forms are valid patterns")));
        let private = private.into_iter().map(|(text, stand_in)| (text, stand_in.to_owned()));
        let more =
            more.iter().filter(|text| !text.is_empty()).map(|text| (text.clone(), "[redacted]".to_owned()));
        Self { forms: forms.into(), texts: more.chain(private).collect(), counts: BTreeMap::new() }
    }

    /// The text without them; each is replaced by a word in brackets.
    pub(crate) fn of_text(&mut self, text: &[u8]) -> String {
        let mut text = text.to_vec();
        for (name, range) in self.secrets(&text).into_iter().rev() {
            text.splice(range, format!("[{name}]").into_bytes());
        }
        let mut text = String::from_utf8_lossy(&text).into_owned();
        for (private, stand_in) in &self.texts {
            let found = text.matches(private.as_str()).count() as u64;
            if found > 0 {
                *self.counts.entry(stand_in.clone()).or_default() += found;
                text = text.replace(private.as_str(), stand_in);
            }
        }
        text
    }

    /// Bytes of the same length without them: positions in them stay right.
    pub(crate) fn in_place(&mut self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (_, range) in self.secrets(&bytes) {
            bytes[range].fill(b'x');
        }
        for (private, stand_in) in &self.texts {
            let mut from = 0;
            while let Some(at) = find(&bytes[from..], private.as_bytes()) {
                bytes[from + at..from + at + private.len()].fill(b'x');
                *self.counts.entry(stand_in.clone()).or_default() += 1;
                from += at + private.len();
            }
        }
        bytes
    }

    /// How often what was found.
    pub(crate) fn counts(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }

    /// Where secrets stand, in order, none within another.
    fn secrets(&mut self, bytes: &[u8]) -> Vec<(&'static str, std::ops::Range<usize>)> {
        let mut found = Vec::new();
        for (name, form) in &self.forms {
            for captures in form.captures_iter(bytes) {
                let secret = captures.iter().flatten().last().expect("a match has its whole");
                found.push((*name, secret.range()));
            }
        }
        found.sort_by_key(|(_, range)| (range.start, std::cmp::Reverse(range.end)));
        let mut end = 0;
        found.retain(|(_, range)| {
            let apart = range.start >= end;
            end = end.max(range.end);
            apart
        });
        for (name, _) in &found {
            *self.counts.entry(format!("[{name}]")).or_default() += 1;
        }
        found
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRETS: [&str; 8] = [
        "sk-proj-abcdefghijklmnop1234",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "xoxb-1234567890-abcdef",
        "hf_abcdefghijklmnopqrstuvwx",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.abcDEF123",
        "abcdef0123456789",
    ];

    fn redaction() -> Redaction {
        Redaction::new(vec![("/home/maria".into(), "[home]")], &["acme".into()])
    }

    #[test]
    fn keys_paths_and_names_go_and_json_stays_json() {
        let mut redaction = redaction();
        for secret in SECRETS {
            let text =
                serde_json::json!({"x-api-key": secret, "path": "/home/maria/x", "of": "acme"}).to_string();
            let shown = redaction.of_text(text.as_bytes());
            for gone in [secret, "/home/maria", "acme"] {
                assert!(!shown.contains(gone), "{gone} is left in {shown}");
            }
            serde_json::from_str::<serde_json::Value>(&shown).unwrap();
        }
        assert_eq!(redaction.counts()["[home]"], SECRETS.len() as u64);
    }

    #[test]
    fn evidence_keeps_its_length() {
        let bytes =
            b"\xff Authorization: Bearer abcdef0123456789 /home/maria acme sk-abcdefghijklmnop1".to_vec();
        let length = bytes.len();
        let shown = redaction().in_place(bytes);
        let text = String::from_utf8_lossy(&shown).into_owned();
        assert_eq!(shown.len(), length);
        assert!(!text.contains("abcdef0123") && !text.contains("maria") && !text.contains("acme"), "{text}");
    }

    #[test]
    fn ordinary_words_stay() {
        let text = "skills and risk-aware-but-short, turns = 25, sha256 0123456789abcdef0123456789abcdef";
        assert_eq!(redaction().of_text(text.as_bytes()), text);
    }
}
