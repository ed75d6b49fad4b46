//! OTLP/JSON traces with the `gen_ai.*` attributes of OpenTelemetry's semantic conventions for generative AI, v0.1.0 (all of
//! them still in development there), and the few OpenInference keys by which Phoenix shows a span's kind.

use serde_json::{Value, json};

use super::{Exported, call_id, nanoseconds};
use bench_core::Sha256Hex;

/// The conventions that the attributes follow.
pub const SCHEMA: &str = "https://opentelemetry.io/schemas/gen-ai/0.1.0";

/// One trace per attempt, all attempts of a run in one message.
pub fn traces(experiment: &str, attempts: &[Exported<'_>]) -> Value {
    let spans: Vec<Value> = attempts.iter().flat_map(|attempt| spans(*attempt)).collect();
    let version = attempts.first().map_or("", |attempt| attempt.record.harness.version.as_str());
    json!({
        "resourceSpans": [{
            "resource": { "attributes": [text("service.name", "bench"), text("bench.experiment", experiment)] },
            "scopeSpans": [{
                "scope": { "name": "bench", "version": version },
                "schemaUrl": SCHEMA,
                "spans": spans,
            }],
        }],
    })
}

fn spans(attempt: Exported<'_>) -> Vec<Value> {
    let record = attempt.record;
    let words = format!("{} {} {}", record.lock_sha256, record.cell_id(), record.attempt);
    let trace = Sha256Hex::of(&words).as_str()[..32].to_owned();
    let id = |what: &str| Sha256Hex::of(format!("{words} {what}")).as_str()[..16].to_owned();
    let (Some(start), Some(end)) = (nanoseconds(&record.started_at), nanoseconds(&record.ended_at)) else {
        return Vec::new();
    };
    let root = id("attempt");
    let mut attributes = vec![
        text("gen_ai.operation.name", "invoke_agent"),
        text("gen_ai.agent.name", record.arm.as_str()),
        text("gen_ai.agent.version", &record.harness.version),
        text("gen_ai.conversation.id", &record.cell_id()),
        text("gen_ai.request.model", &attempt.model()),
        text("openinference.span.kind", "AGENT"),
        text("session.id", &record.cell_id()),
        text("bench.task", record.task.as_str()),
        text("bench.ending", record.ending.kind.word()),
    ];
    attributes.extend(tokens(
        record.metrics.input_tokens,
        record.metrics.output_tokens,
        record.metrics.cached_input_tokens,
    ));
    attributes.extend(
        record.passed().map(|passed| json!({ "key": "bench.passed", "value": { "boolValue": passed } })),
    );
    let mut spans = vec![json!({
        "traceId": trace, "spanId": root, "name": format!("invoke_agent {}", record.arm), "kind": 1,
        "startTimeUnixNano": start.to_string(), "endTimeUnixNano": end.to_string(),
        "attributes": attributes,
        "status": if record.passed() == Some(true) { json!({ "code": 1 }) } else { json!({}) },
    })];
    for at in 0..attempt.trajectory.exchanges.len() {
        let Some(times) = attempt.times(at) else { continue };
        let next = attempt.times(at + 1).map_or(end, |(next, _)| next);
        spans.push(chat(attempt, at, &trace, &root, &id(&format!("exchange {at}")), times));
        spans.extend(tools(attempt, at, &trace, &root, (times.1, next.max(times.1))));
    }
    spans
}

fn chat(
    attempt: Exported<'_>,
    at: usize,
    trace: &str,
    root: &str,
    id: &str,
    (start, end): (i128, i128),
) -> Value {
    let exchange = &attempt.trajectory.exchanges[at];
    let record = &exchange.record;
    let asked = record.model.clone().unwrap_or_else(|| attempt.model());
    let usage = record.usage.clone().unwrap_or_default();
    let mut attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.provider.name", provider(record.wire)),
        text("gen_ai.request.model", &asked),
        text("gen_ai.conversation.id", &attempt.record.cell_id()),
        text("openinference.span.kind", "LLM"),
        text("bench.request.class", &record.class),
    ];
    if let Some(answer) = &exchange.answer {
        attributes.push(text("gen_ai.response.model", &answer.model));
        attributes.push(text("gen_ai.response.id", &answer.id));
        if let Some(finish) = &answer.finish {
            let values = json!([{ "stringValue": finish }]);
            attributes.push(json!({
                "key": "gen_ai.response.finish_reasons", "value": { "arrayValue": { "values": values } },
            }));
        }
    }
    attributes.extend(tokens(
        usage.input_tokens.or(record.body_tokens),
        usage.output_tokens.or(record.response_tokens),
        usage.cached_input_tokens,
    ));
    attributes.extend(usage.reasoning_tokens.map(|n| number("gen_ai.usage.reasoning.output_tokens", n)));
    if !exchange.surface.added.is_empty() {
        let tools: Vec<Value> = exchange.surface.added.iter().map(super::atif::definition).collect();
        attributes.push(text("gen_ai.tool.definitions", &Value::Array(tools).to_string()));
    }
    json!({
        "traceId": trace, "spanId": id, "parentSpanId": root, "name": format!("chat {asked}"), "kind": 3,
        "startTimeUnixNano": start.to_string(), "endTimeUnixNano": end.to_string(), "attributes": attributes,
        "status": if record.status.is_some_and(|status| status < 400) { json!({}) } else { json!({ "code": 2 }) },
    })
}

/// Tool calls lie between an answer and the next request; how they share that time no request shows.
fn tools(
    attempt: Exported<'_>,
    at: usize,
    trace: &str,
    root: &str,
    (start, end): (i128, i128),
) -> Vec<Value> {
    let exchange = &attempt.trajectory.exchanges[at];
    let request = exchange.record.request;
    let calls = exchange.answer.iter().flat_map(|answer| &answer.calls).enumerate();
    calls
        .map(|(place, call)| {
            let call_id = call_id(call, request, place);
            let words = format!("{trace} {request} {place} {call_id}");
            let mut attributes = vec![
                text("gen_ai.operation.name", "execute_tool"),
                text("gen_ai.tool.name", &call.name),
                text("gen_ai.tool.call.id", &call_id),
                text("gen_ai.tool.type", "function"),
                text("gen_ai.tool.call.arguments", &call.arguments),
                text("openinference.span.kind", "TOOL"),
            ];
            attributes.extend(call.result.as_ref().map(|r| text("gen_ai.tool.call.result", &r.text)));
            let failed = call.result.as_ref().is_some_and(|result| result.failed == Some(true));
            json!({
                "traceId": trace, "spanId": &Sha256Hex::of(words).as_str()[..16], "parentSpanId": root,
                "name": format!("execute_tool {}", call.name), "kind": 1,
                "startTimeUnixNano": start.to_string(), "endTimeUnixNano": end.to_string(),
                "attributes": attributes,
                "status": if failed { json!({ "code": 2 }) } else { json!({}) },
            })
        })
        .collect()
}

fn provider(wire: bench_core::WireKind) -> &'static str {
    match wire {
        bench_core::WireKind::OpenaiChat | bench_core::WireKind::OpenaiResponses => "openai",
        bench_core::WireKind::AnthropicMessages => "anthropic",
        bench_core::WireKind::Gemini => "gcp.gemini",
    }
}

fn tokens(input: Option<u64>, output: Option<u64>, cached: Option<u64>) -> Vec<Value> {
    let named = [
        ("gen_ai.usage.input_tokens", input),
        ("gen_ai.usage.output_tokens", output),
        ("gen_ai.usage.cache_read.input_tokens", cached),
        ("llm.token_count.prompt", input),
        ("llm.token_count.completion", output),
    ];
    named.into_iter().filter_map(|(key, value)| Some(number(key, value?))).collect()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// OTLP writes 64-bit numbers as text.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}
