//! A Gemini response: one object, an array of them, or events; each carries parts that are added up and a usage that is
//! not.

use serde_json::Value;

use super::read_request::call_of;
use crate::api::Api;
use crate::fields::{array_at, str_at};
use crate::reply::Gathered;
use crate::usage::usage_of;

/// Takes one object.
pub(crate) fn value(value: &Value, gathered: &mut Gathered) {
    if let Value::Array(chunks) = value {
        // A stream that was not asked to be events is one JSON array.
        return chunks.iter().for_each(|chunk| object(chunk, gathered));
    }
    object(value, gathered);
}

fn object(value: &Value, gathered: &mut Gathered) {
    if let Some(error) = value.get("error").filter(|error| error.is_object()) {
        gathered.error(error);
    }
    if let Some(id) = str_at(value, "responseId") {
        gathered.turn.id = id.to_owned();
    }
    if let Some(model) = str_at(value, "modelVersion") {
        gathered.turn.model = model.to_owned();
    }
    if let Some(fingerprint) = str_at(value, "systemFingerprint") {
        gathered.turn.fingerprint = Some(fingerprint.to_owned());
    }
    if let Some(usage) = value.get("usageMetadata").filter(|usage| usage.is_object()) {
        gathered.usage(usage_of(Api::Gemini, usage));
    }
    if let Some(reason) = value.get("promptFeedback").and_then(|feedback| str_at(feedback, "blockReason")) {
        gathered.turn.finish = Some(reason.to_owned());
    }
    let first = |candidate: &&Value| candidate.get("index").and_then(Value::as_u64).unwrap_or(0) == 0;
    for candidate in array_at(value, "candidates").filter(first) {
        if let Some(content) = candidate.get("content") {
            array_at(content, "parts").for_each(|part| add(part, gathered));
        }
        if let Some(reason) = str_at(candidate, "finishReason") {
            gathered.turn.finish = Some(reason.to_owned());
        }
    }
}

fn add(part: &Value, gathered: &mut Gathered) {
    if let Some(call) = part.get("functionCall") {
        if gathered.has_room() {
            gathered.turn.calls.push(call_of(call));
        }
        return;
    }
    let text = str_at(part, "text").unwrap_or_default();
    if part.get("thought").and_then(Value::as_bool) == Some(true) {
        gathered.turn.reasoning.push_str(text);
    } else {
        gathered.turn.text.push_str(text);
    }
}
