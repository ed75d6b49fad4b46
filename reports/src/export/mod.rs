//! Attempts in the formats of other projects, so that their viewers open them: ATIF trajectories in a Harbor job folder
//! ([`harbor`]), Inspect logs ([`inspect`]), OpenTelemetry spans ([`otlp`]). JSON values made from records and
//! [`Trajectory`]; files are written by others. What a format has no word for stands in its own place for such things
//! (`extra`, `metadata`, attributes that begin with `bench.`), and what is unknown is left out, never zero.

pub mod atif;
pub mod harbor;
pub mod inspect;
pub mod otlp;

use bench_core::Sha256Hex;
use bench_record::CellRecord;
use bench_trajectory::{Message, ToolCall, Trajectory};
use serde_json::{Map, Value, json};

/// An attempt to be exported.
#[derive(Debug, Clone, Copy)]
pub struct Exported<'a> {
    /// Its record.
    pub record: &'a CellRecord,
    /// What was read back from its evidence.
    pub trajectory: &'a Trajectory,
}

impl Exported<'_> {
    /// The model that answered; the one asked for where nobody says.
    fn model(&self) -> String {
        let upstream = &self.record.upstream;
        let named =
            upstream.models_answered.iter().chain(&upstream.models_asked).find(|name| !name.is_empty());
        named.map_or("unknown", |name| name).to_owned()
    }

    /// What of a cell no other format has a word for.
    fn own_words(&self) -> Value {
        let record = self.record;
        json!({
            "cell": record.cell_id(), "attempt": record.attempt, "block": record.block, "position": record.position,
            "ending": record.ending, "verdict": record.verdict, "isolation_level": record.isolation.level,
            "first_request": record.first_request, "tokens": record.tokens, "lock_sha256": record.lock_sha256,
        })
    }

    /// Milliseconds since the epoch, in nanoseconds, of an exchange's start and end; null where a time cannot be read.
    fn times(&self, at: usize) -> Option<(i128, i128)> {
        let record = &self.trajectory.exchanges.get(at)?.record;
        let start = nanoseconds(&record.started_at)?;
        Some((start, start + (record.last_byte_ms.unwrap_or(0.0) * 1e6) as i128))
    }
}

/// A time of a record as nanoseconds since the epoch.
fn nanoseconds(time: &str) -> Option<i128> {
    time.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_nanosecond)
}

/// A time that RFC 3339 writes.
fn timestamp(nanoseconds: i128) -> String {
    jiff::Timestamp::from_nanosecond(nanoseconds).map_or_else(|_| String::new(), |time| time.to_string())
}

/// An id that is the same for the same words, in the form of a UUID.
fn uuid(words: &str) -> String {
    let digest = Sha256Hex::of(words);
    let hex = digest.as_str();
    format!("{}-{}-8{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

/// Arguments as an object: other formats know no others.
fn arguments(call: &ToolCall) -> Value {
    match serde_json::from_str::<Value>(&call.arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        Ok(other) => json!({ "value": other }),
        Err(_) => json!({ "text": call.arguments }),
    }
}

/// The call's id, or one that its place gives where the wire knows none.
fn call_id(call: &ToolCall, request: u32, place: usize) -> String {
    if call.id.is_empty() { format!("request-{request}-call-{}", place + 1) } else { call.id.clone() }
}

/// Who speaks, in the three words that other formats know.
fn speaker(message: &Message) -> &'static str {
    match message.role.as_str() {
        "system" | "developer" | "instructions" => "system",
        _ => "user",
    }
}

/// The same object without fields that are null: unknown is left out.
fn known(value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    Value::Object(fields.into_iter().filter(|(_, field)| !field.is_null()).collect::<Map<_, _>>())
}
