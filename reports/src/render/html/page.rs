//! What every page has: one formatter that escapes every value of a template, a policy under which nothing but the
//! page's own script runs and nothing is ever fetched, style and script inside the file.

use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, Output, State, UndefinedBehavior, Value};
use sha2::{Digest as _, Sha256};

use crate::render::words::plain;

const STYLE: &str = include_str!("../../../templates/page.css");
const SCRIPT: &str = include_str!("../../../templates/page.js");
const BASE: &str = include_str!("../../../templates/base.html");

/// What can be made into a page; each template extends `base.html`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Template {
    /// `report.html`: a run.
    Report,
    /// A page of `traces/`: a block.
    Block,
}

impl Template {
    fn name(self) -> &'static str {
        match self {
            Self::Report => "report.html",
            Self::Block => "block.html",
        }
    }

    /// Its source, of which a page's stamp depends.
    pub(crate) fn source(self) -> &'static str {
        match self {
            Self::Report => include_str!("../../../templates/report.html"),
            Self::Block => include_str!("../../../templates/block.html"),
        }
    }
}

/// The templates, read once: a run has a page for each of its blocks.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(write_value);
    let ours = [Template::Report, Template::Block].map(|template| (template.name(), template.source()));
    for (name, source) in [("base.html", BASE)].into_iter().chain(ours) {
        environment.add_template(name, source).expect("our own template is well formed");
    }
    environment
});

/// What every page holds.
static SHARED: LazyLock<Value> = LazyLock::new(|| {
    minijinja::context! {
        style => Value::from_safe_string(STYLE.to_owned()),
        script => Value::from_safe_string(SCRIPT.to_owned()),
        policy => policy(),
    }
});

/// A page. Values marked safe are HTML made here; all others are escaped.
pub(crate) fn page(template: Template, values: Value) -> String {
    let all = minijinja::context! { ..values, ..SHARED.clone() };
    let page = ENVIRONMENT.get_template(template.name()).and_then(|template| template.render(all));
    page.expect("our own template finds every value that it names")
}

/// HTML made by this crate, for a template.
pub(crate) fn made(html: String) -> Value {
    Value::from_safe_string(html)
}

/// Nothing is fetched, nothing is sent, and only the script and the style that this build wrote are obeyed.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(SCRIPT)),
        base64(&Sha256::digest(STYLE))
    )
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, byte| (word << 8) | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

fn write_value(out: &mut Output<'_>, state: &mut State<'_, '_>, value: &Value) -> Result<(), Error> {
    if value.is_safe() {
        return out.write_str(value.as_str().unwrap_or_default()).map_err(Error::from);
    }
    if let Some(text) = value.as_str() {
        return out.write_str(&escaped(text)).map_err(Error::from);
    }
    if value.kind() == ValueKind::None {
        return out.write_str("–").map_err(Error::from);
    }
    minijinja::escape_formatter(out, state, value)
}

/// Text for HTML, in an element or between quotation marks of an attribute: control characters and turned writing made
/// visible, line ends and tabs kept.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| !is_harmless(c)) {
        safe.push_str(&rest[..at]);
        let c = rest[at..].chars().next().unwrap_or_default();
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push_str(&plain(other.encode_utf8(&mut [0; 4]))),
        }
        rest = &rest[at + c.len_utf8()..];
    }
    safe.push_str(rest);
    safe
}

fn is_harmless(c: char) -> bool {
    let named = matches!(c, '&' | '<' | '>' | '"' | '\'');
    let turning = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    matches!(c, '\n' | '\t') || !(named || turning || c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_usual_one() {
        assert_eq!(base64(b"Man"), "TWFu");
        assert_eq!(base64(b"Ma"), "TWE=");
        assert_eq!(base64(b"M"), "TQ==");
    }

    #[test]
    fn nothing_written_by_others_is_obeyed() {
        let hostile = "<script>alert('x')</script> & \"\u{1b}]0;title\u{7}\u{202e}\u{0}\r\nnext\tcolumn é";
        assert_eq!(
            escaped(hostile),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;\\u{1b}]0;title\\u{7}\\u{202e}\\u{0}\\u{d}\nnext\tcolumn é"
        );
    }
}
