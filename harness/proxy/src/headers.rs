//! Which headers pass the recorder, and which are kept on disk.

use hyper::HeaderMap;
use hyper::header::{self, HeaderName};

/// Headers that belong to one connection only (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers that carry a secret: never on disk, never passed on.
const CREDENTIALS: [HeaderName; 7] = [
    header::AUTHORIZATION,
    header::PROXY_AUTHORIZATION,
    header::COOKIE,
    header::SET_COOKIE,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// The content codings of a body, innermost first; `None` = none. Lines of one name are one list.
pub(crate) fn codings(headers: &HeaderMap) -> Option<String> {
    let lines: Vec<&str> =
        headers.get_all(header::CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok()).collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

/// Header by which the reference agent says which of its second agents asks.
pub(crate) const AGENT: HeaderName = HeaderName::from_static("x-bench-agent");
/// Longest name of an agent, in bytes.
const AGENT_NAME: usize = 100;

/// The second agent that asks; `None` = the main one.
pub(crate) fn agent(headers: &HeaderMap) -> Option<&str> {
    let name = headers.get(AGENT)?.to_str().ok()?;
    (!name.is_empty() && name.len() <= AGENT_NAME).then_some(name)
}

/// Request headers for an upstream: without host, connection headers and credentials.
pub(crate) fn for_upstream(headers: &HeaderMap) -> HeaderMap {
    let mut kept = without_connection(headers);
    kept.remove(header::HOST);
    kept.remove(AGENT);
    CREDENTIALS.iter().for_each(|name| {
        kept.remove(name);
    });
    kept
}

/// Response headers for the agent: without connection headers and cookies.
pub(crate) fn for_agent(headers: &HeaderMap) -> HeaderMap {
    let mut kept = without_connection(headers);
    kept.remove(header::SET_COOKIE);
    kept
}

/// Request headers for the record, in order, without credentials.
pub(crate) fn for_record(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, _)| !CREDENTIALS.contains(name))
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}

/// The key that a request shows.
pub(crate) fn credential(headers: &HeaderMap) -> Option<&str> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(header::AUTHORIZATION).and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let named = ["x-api-key", "x-goog-api-key", "api-key"].into_iter().map(HeaderName::from_static);
    bearer.or_else(|| named.into_iter().find_map(text))
}

/// A path without the key that Google's clients put into its query (`?key=`), and that key. Keys stand on no disk, and the
/// agent's own is no one's but the recorder's.
pub(crate) fn without_key(path: &str) -> (String, Option<String>) {
    let Some((bare, query)) = path.split_once('?') else { return (path.to_owned(), None) };
    let (keys, rest): (Vec<&str>, Vec<&str>) =
        query.split('&').partition(|field| field.split('=').next().is_some_and(|name| name == "key"));
    let key = keys.last().map(|field| field.split_once('=').map_or("", |(_, value)| value).to_owned());
    match (key, rest.is_empty()) {
        (None, _) => (path.to_owned(), None),
        (Some(key), true) => (bare.to_owned(), Some(key)),
        (Some(key), false) => (format!("{bare}?{}", rest.join("&")), Some(key)),
    }
}

fn without_connection(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        kept.remove(name);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_key_in_the_query_is_taken_out_and_everything_else_stays() {
        let (model, key) = ("/v1beta/models/m:streamGenerateContent", |key: &str| Some(key.to_owned()));
        for (path, rest, shown) in [
            (format!("{model}?alt=sse&key=k1"), format!("{model}?alt=sse"), key("k1")),
            (format!("{model}?key=k1&alt=sse&x=key"), format!("{model}?alt=sse&x=key"), key("k1")),
            (format!("{model}?key=k1&key=k2"), model.to_owned(), key("k2")),
            (format!("{model}?key"), model.to_owned(), key("")),
            (format!("{model}?monkey=1"), format!("{model}?monkey=1"), None),
            (model.to_owned(), model.to_owned(), None),
        ] {
            assert_eq!(without_key(&path), (rest, shown), "{path}");
        }
    }

    #[test]
    fn all_but_host_connection_and_credentials_passes() {
        let sent = map(&[
            ("host", "127.0.0.1:1"),
            ("connection", "keep-alive, x-hop"),
            ("x-hop", "1"),
            ("authorization", "Bearer secret"),
            ("x-api-key", "secret"),
            ("cookie", "secret"),
            ("x-twice", "a"),
            ("x-twice", "b"),
            ("content-type", "application/json"),
        ]);
        assert_eq!(
            for_upstream(&sent),
            map(&[("x-twice", "a"), ("x-twice", "b"), ("content-type", "application/json")])
        );
        assert!(!format!("{:?}", for_record(&sent)).contains("secret"));
        assert_eq!(credential(&sent), Some("secret"));
        assert_eq!(credential(&map(&[("x-api-key", "k")])), Some("k"));
        assert_eq!(credential(&map(&[("authorization", "Basic k")])), None);
    }
}
