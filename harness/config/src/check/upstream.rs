//! The upstream: who answers, where, and by which key variable. A value that may be a key is never repeated.

use bench_core::Upstream;
use toml::Spanned;

use crate::error::Findings;
use crate::file::UpstreamFile;

#[derive(Clone, Copy)]
enum Kind {
    Oracle,
    OpenaiChat,
}

/// The upstream; the oracle where the file says nothing.
pub(super) fn check(
    written: Option<&Spanned<UpstreamFile>>,
    findings: &mut Findings<'_>,
) -> Option<Upstream> {
    let Some(table) = written else { return Some(Upstream::Oracle) };
    let file = table.get_ref();
    let kind = match &file.kind {
        Some(kind) => {
            findings.word("upstream", kind, &[("oracle", Kind::Oracle), ("openai-chat", Kind::OpenaiChat)])?
        }
        None => Kind::Oracle,
    };
    match kind {
        Kind::Oracle => oracle(file, findings),
        Kind::OpenaiChat => openai_chat(table, findings),
    }
}

fn oracle(file: &UpstreamFile, findings: &mut Findings<'_>) -> Option<Upstream> {
    let surplus = [("base-url", &file.base_url), ("key-env", &file.key_env)];
    let mut accepted = true;
    for (key, written) in surplus {
        if let Some(written) = written {
            let message = format!(
                "the oracle is built in and takes no `{key}`: remove it, or write kind = \"openai-chat\" for an endpoint"
            );
            findings.wrong_secret(written.span(), message);
            accepted = false;
        }
    }
    accepted.then_some(Upstream::Oracle)
}

fn openai_chat(table: &Spanned<UpstreamFile>, findings: &mut Findings<'_>) -> Option<Upstream> {
    let file = table.get_ref();
    let base_url = match &file.base_url {
        Some(written) => base_url(written, findings),
        None => {
            let message = "an `openai-chat` upstream needs its base URL, for example base-url = \"http://127.0.0.1:8080/v1\"";
            findings.missing(table.span(), "upstream.base-url", message);
            None
        }
    };
    let key_env = match &file.key_env {
        Some(written) => key_env(written, findings).map(Some),
        None => Some(None),
    };
    Some(Upstream::OpenaiChat { base_url: base_url?, key_env: key_env? })
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
    if url.ends_with("/chat/completions") {
        return Some(UrlFault::Plain("already names the call: end it before /chat/completions"));
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
