//! The small endpoints that agents ask beside the model itself, answered from a table: a list of models, a look whether
//! the server is there. Nothing here costs tokens or plays a turn.

/// A canned answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canned {
    /// HTTP status.
    pub status: u16,
    /// Content-Type of the body.
    pub content_type: &'static str,
    /// Body; empty for HEAD.
    pub body: Vec<u8>,
}

/// The canned answer to a method and path (query allowed), if the table has one. `models` are the ids to be listed.
pub fn auxiliary(method: &str, path: &str, models: &[&str]) -> Option<Canned> {
    let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
    if method.eq_ignore_ascii_case("HEAD") {
        return Some(json(Vec::new()));
    }
    if method.eq_ignore_ascii_case("POST") && path.ends_with("/api/event_logging/batch") {
        return Some(json(b"{}".to_vec()));
    }
    if !method.eq_ignore_ascii_case("GET") {
        return None;
    }
    if path.ends_with("/models") {
        let data: Vec<_> = models.iter().map(|id| model(id)).collect();
        return Some(json(serde_json::json!({"object": "list", "data": data}).to_string().into_bytes()));
    }
    let (_, id) = path.split_once("/models/")?;
    Some(json(model(id).to_string().into_bytes()))
}

/// What is counted by an endpoint that only counts: the field in which its answer stands.
pub fn counting_field(method: &str, path: &str) -> Option<&'static str> {
    let path = path.split(['?', '#']).next().unwrap_or(path).trim_end_matches('/');
    if !method.eq_ignore_ascii_case("POST") {
        None
    } else if path.ends_with("/count_tokens") || path.ends_with("/responses/input_tokens") {
        Some("input_tokens")
    } else if path.ends_with(":countTokens") {
        Some("totalTokens")
    } else {
        None
    }
}

/// The answer of an endpoint that only counts.
pub fn counted(field: &str, tokens: u64) -> Canned {
    json(serde_json::json!({ field: tokens }).to_string().into_bytes())
}

fn model(id: &str) -> serde_json::Value {
    serde_json::json!({"id": id, "object": "model", "created": 0, "owned_by": "upstream"})
}

fn json(body: Vec<u8>) -> Canned {
    Canned { status: 200, content_type: "application/json", body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_table_holds_is_answered() {
        let list = auxiliary("GET", "/v1/models?limit=5", &["m"]).unwrap();
        assert!(String::from_utf8(list.body).unwrap().contains(r#""id":"m""#));
        assert!(
            auxiliary("GET", "/models/org/name", &[]).unwrap().body.ends_with(br#""owned_by":"upstream"}"#)
        );
        assert_eq!(auxiliary("HEAD", "/api/hello", &[]).unwrap().body, b"");
        assert_eq!(auxiliary("POST", "/v1/models", &[]), None);
        assert_eq!(auxiliary("GET", "/v1/embeddings", &[]), None);
    }
}
