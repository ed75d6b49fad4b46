//! The upstream: who answers, where, and by which key variable. A value that may be a key is never repeated.

use std::ops::Range;

use bench_core::{Endpoint, EndpointKind, Upstream};
use toml::Spanned;

use super::numbers::cap;
use crate::error::Findings;
use crate::file::UpstreamFile;

#[derive(Clone, Copy)]
enum Kind {
    Oracle,
    Endpoint(EndpointKind),
    Replay,
}

const KINDS: [(&str, Kind); 6] = [
    ("oracle", Kind::Oracle),
    ("openai-chat", Kind::Endpoint(EndpointKind::OpenaiChat)),
    ("openai-responses", Kind::Endpoint(EndpointKind::OpenaiResponses)),
    ("anthropic-messages", Kind::Endpoint(EndpointKind::AnthropicMessages)),
    ("gemini-generate-content", Kind::Endpoint(EndpointKind::GeminiGenerateContent)),
    ("replay", Kind::Replay),
];

/// The upstream; the oracle where the file says nothing.
pub(super) fn check(
    written: Option<&Spanned<UpstreamFile>>,
    findings: &mut Findings<'_>,
) -> Option<Upstream> {
    let Some(table) = written else { return Some(Upstream::Oracle) };
    let file = table.get_ref();
    let kind = match &file.kind {
        Some(kind) => findings.word("upstream", kind, &KINDS)?,
        None => Kind::Oracle,
    };
    match kind {
        Kind::Oracle => oracle(file, findings),
        Kind::Endpoint(kind) => endpoint(kind, table, findings),
        Kind::Replay => replay(table, findings),
    }
}

fn oracle(file: &UpstreamFile, findings: &mut Findings<'_>) -> Option<Upstream> {
    let why = "the oracle is built in and takes no";
    let remedy = "remove it, or write kind = \"openai-chat\" for an endpoint";
    let accepted = without_endpoint_keys(file, (why, remedy), findings);
    let run = file.run.as_ref().map(Spanned::span);
    (refused("run", run, (why, remedy), findings) && accepted).then_some(Upstream::Oracle)
}

fn replay(table: &Spanned<UpstreamFile>, findings: &mut Findings<'_>) -> Option<Upstream> {
    let file = table.get_ref();
    let words = ("a replayed run asks nobody and takes no", "remove it");
    let accepted = without_endpoint_keys(file, words, findings);
    match &file.run {
        Some(run) if !run.get_ref().is_empty() => {
            accepted.then(|| Upstream::Replay { run: run.get_ref().clone() })
        }
        Some(_) | None => {
            let message = "a `replay` upstream needs the run directory whose answers it gives, for example run = \"runs/X\"";
            findings.missing(table.span(), "upstream.run", message);
            None
        }
    }
}

/// Reports every key that only an endpoint has.
fn without_endpoint_keys(file: &UpstreamFile, words: (&str, &str), findings: &mut Findings<'_>) -> bool {
    let spans = [
        ("base-url", file.base_url.as_ref().map(Spanned::span)),
        ("key-env", file.key_env.as_ref().map(Spanned::span)),
        ("concurrency", file.concurrency.as_ref().map(Spanned::span)),
        ("ca-file", file.ca_file.as_ref().map(Spanned::span)),
        ("first-byte-ms", file.first_byte_ms.as_ref().map(Spanned::span)),
        ("idle-ms", file.idle_ms.as_ref().map(Spanned::span)),
    ];
    spans.into_iter().fold(true, |accepted, (key, span)| refused(key, span, words, findings) && accepted)
}

/// False, and a finding, when the key is written.
fn refused(
    key: &str,
    written: Option<Range<usize>>,
    (why, remedy): (&str, &str),
    findings: &mut Findings<'_>,
) -> bool {
    let Some(span) = written else { return true };
    findings.wrong_secret(span, format!("{why} `{key}`: {remedy}"));
    false
}

fn endpoint(
    kind: EndpointKind,
    table: &Spanned<UpstreamFile>,
    findings: &mut Findings<'_>,
) -> Option<Upstream> {
    let file = table.get_ref();
    let words = ("an endpoint takes no", "remove it, or write kind = \"replay\"");
    let no_run = refused("run", file.run.as_ref().map(Spanned::span), words, findings);
    let base_url = match &file.base_url {
        Some(written) => base_url(written, findings),
        None => {
            let message = format!(
                "an `{}` upstream needs its base URL, for example base-url = \"http://127.0.0.1:8080/v1\"",
                kind.word()
            );
            findings.missing(table.span(), "upstream.base-url", message);
            None
        }
    };
    let key_env = match &file.key_env {
        Some(written) => key_env(written, findings).map(Some),
        None => Some(None),
    };
    let concurrency = cap(file.concurrency.as_ref(), findings);
    let first_byte_ms = cap(file.first_byte_ms.as_ref(), findings);
    let idle_ms = cap(file.idle_ms.as_ref(), findings);
    let endpoint = Endpoint {
        kind,
        base_url: base_url?,
        key_env: key_env?,
        concurrency: concurrency?,
        ca_file: file.ca_file.as_ref().map(|path| path.get_ref().clone()),
        first_byte_ms: first_byte_ms?,
        idle_ms: idle_ms?,
    };
    no_run.then_some(Upstream::Endpoint(endpoint))
}

fn base_url(written: &Spanned<String>, findings: &mut Findings<'_>) -> Option<String> {
    match url_fault(written.get_ref()) {
        None => Some(written.get_ref().clone()),
        Some(UrlFault::MayHoldSecret(message)) => {
            findings.wrong_secret(written.span(), message);
            None
        }
        Some(UrlFault::Plain(message)) => {
            let message = format!("`{}` {message}", written.get_ref());
            findings.wrong(written.span(), message);
            None
        }
    }
}

enum UrlFault {
    /// The message follows the value.
    Plain(&'static str),
    /// The value is not shown.
    MayHoldSecret(&'static str),
}

fn url_fault(url: &str) -> Option<UrlFault> {
    if url.contains(['?', '#']) {
        return Some(UrlFault::MayHoldSecret(
            "the URL (not shown) has a query or fragment: write it up to the version part, and the key's variable as key-env",
        ));
    }
    if url.contains('@') {
        return Some(UrlFault::MayHoldSecret(
            "the URL (not shown) has a user or password: leave them out, and name the key's variable as key-env",
        ));
    }
    let Some(rest) = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")) else {
        return Some(UrlFault::Plain("is not a base URL: it must start with http:// or https://"));
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let (host, port) = split_port(authority);
    if host.is_empty() || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Some(UrlFault::Plain("is not a base URL: write http://HOST:PORT/PATH without spaces"));
    }
    if port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port > 0)) {
        return Some(UrlFault::Plain("has no usable port: write 1 to 65535 after the host, or none"));
    }
    if url.ends_with('/') {
        return Some(UrlFault::Plain("ends with a slash: remove it"));
    }
    let calls = [
        ("/chat/completions", "already names the call: end it before /chat/completions"),
        ("/responses", "already names the call: end it before /responses"),
        ("/messages", "already names the call: end it before /messages"),
    ];
    if let Some((_, fault)) = calls.iter().find(|(call, _)| url.ends_with(call)) {
        return Some(UrlFault::Plain(fault));
    }
    None
}

fn split_port(authority: &str) -> (&str, Option<&str>) {
    // An IPv6 address has colons of its own inside brackets.
    let after_address = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_address..].find(':') {
        Some(at) => (&authority[..after_address + at], Some(&authority[after_address + at + 1..])),
        None => (authority, None),
    }
}

fn key_env(written: &Spanned<String>, findings: &mut Findings<'_>) -> Option<String> {
    let value = written.get_ref();
    if is_variable_name(value) && !looks_like_key(value) {
        return Some(value.clone());
    }
    let message = format!(
        "the value ({} characters, not shown) is not the name of an environment variable but may be a key itself: put the key \
         into a variable, write that variable's name here, and replace the key if this file was ever shared",
        value.chars().count()
    );
    findings.wrong_secret(written.span(), message);
    None
}

fn is_variable_name(value: &str) -> bool {
    value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && value.bytes().next().is_some_and(|b| !b.is_ascii_digit())
}

/// Long, with digits and small letters: the shape of keys that happen to be made of letters, digits and underscores only.
fn looks_like_key(value: &str) -> bool {
    let prefixes = ["sk_", "pk_", "ghp_", "gho_", "github_pat_", "hf_", "xai_", "gsk_", "AIza", "AKIA"];
    let prefixed = value.len() >= 16 && prefixes.iter().any(|prefix| value.starts_with(prefix));
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    prefixed || value.len() >= 20 && digits >= 4 && value.bytes().any(|b| b.is_ascii_lowercase())
}
