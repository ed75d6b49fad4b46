//! What of a tool's result code may see: the same that the model may see, and no more.

use serde_json::Value;

/// The value of a result for code. A plain text, or the content blocks of a server's result: of these the text that the
/// assistant is among the readers of, and nothing else (no structured content, no metadata, no image, no resource). A text
/// that is JSON as a whole becomes its value.
pub fn value_for_code(result: &Value) -> Value {
    let text = match result {
        Value::String(text) => text.clone(),
        Value::Object(members) if members.contains_key("content") => seen(&result["content"]),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            return result.clone();
        }
    };
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

fn seen(content: &Value) -> String {
    let for_assistant = |block: &&Value| {
        let audience = block["annotations"]["audience"].as_array();
        block["type"] == "text"
            && audience.is_none_or(|audience| audience.iter().any(|who| who == "assistant"))
    };
    let blocks = content.as_array().into_iter().flatten().filter(for_assistant);
    let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_text_for_the_assistant_reaches_code() {
        let result = json!({
            "content": [
                {"type": "text", "text": "{\"a\":", "annotations": {"audience": ["assistant", "user"]}},
                {"type": "text", "text": "1}"},
                {"type": "text", "text": "for the user", "annotations": {"audience": ["user"]}},
                {"type": "image", "data": "AAAA"},
                {"type": "resource", "resource": {"text": "hidden"}},
            ],
            "structuredContent": {"secret": true},
            "_meta": {"secret": true},
        });
        assert_eq!(value_for_code(&result), json!({"a": 1}));
    }

    #[test]
    fn a_text_that_is_json_as_a_whole_is_parsed() {
        for (text, value) in [
            ("[1,2]", json!([1, 2])),
            ("7\n", json!(7)),
            ("7 apples", json!("7 apples")),
            ("", json!("")),
            ("{\"a\":1} and", json!("{\"a\":1} and")),
        ] {
            assert_eq!(value_for_code(&json!(text)), value, "{text}");
        }
    }
}
