//! What an answer's head, body or failure says about trying again: by status, headers and shape alone, never by its words.

use std::time::Duration;

use hyper::header::{DATE, HeaderName, RETRY_AFTER};
use hyper::{HeaderMap, StatusCode};

use crate::coding::Decoding;
use crate::exchange::BODY_CAP;

/// A status that may be gone the next time.
pub(super) fn is_passing(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
        || status.is_server_error()
}

pub(super) fn is_whole_json(coding: Option<&str>, body: &[u8]) -> bool {
    let is_json = |bytes: &[u8]| serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    match Decoding::whole(coding, body, BODY_CAP) {
        Ok(Some(text)) => is_json(&text),
        Ok(None) => is_json(body),
        // A coding that nobody here reads: the agent may.
        Err(crate::coding::CodingError::Unknown(_)) => true,
        Err(_) => false,
    }
}

/// How long the provider asks to wait: milliseconds where it says so, else seconds or a date (RFC 9110, section 10.2.3). A
/// date is measured against the provider's own clock where it shows it, so that a clock that is wrong here does not matter.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok();
    if let Some(ms) = text(HeaderName::from_static("retry-after-ms")).and_then(number) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let asked = text(RETRY_AFTER)?;
    if let Some(seconds) = number(asked) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(asked).ok()?;
    let now = httpdate::parse_http_date(text(DATE)?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

/// An error with its causes: the outermost one says only "client error".
pub(super) fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&'static str, &str)]) -> Option<Duration> {
        let pairs = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        retry_after(&pairs.collect())
    }

    #[test]
    fn every_form_of_retry_after_is_understood() {
        assert_eq!(asked(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(asked(&[("retry-after", " 0.5 ")]), Some(Duration::from_millis(500)));
        assert_eq!(asked(&[("retry-after", "7"), ("retry-after-ms", "20")]), Some(Duration::from_millis(20)));
        let date = ("date", "Tue, 01 Dec 2026 10:00:00 GMT");
        assert_eq!(
            asked(&[date, ("retry-after", "Tue, 01 Dec 2026 10:01:30 GMT")]),
            Some(Duration::from_secs(90))
        );
        assert_eq!(asked(&[date, ("retry-after", "Tue, 01 Dec 2026 09:00:00 GMT")]), Some(Duration::ZERO));
        for unsaid in ["soon", "-1", "NaN", "inf", "", "1e400", "Tue, 99 Dec 2026 10:01:30 GMT"] {
            assert_eq!(asked(&[date, ("retry-after", unsaid)]), None, "{unsaid}");
        }
        assert_eq!(asked(&[]), None);
    }
}
