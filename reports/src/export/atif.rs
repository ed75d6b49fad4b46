//! ATIF-v1.7, Harbor's trajectory: the agent's own loop as steps. Version 1.7 and not 1.8, since the field's converters
//! refuse 1.8, which adds audio alone.

use bench_trajectory::{Exchange, Tool};
use serde_json::{Value, json};

use super::{Exported, arguments, call_id, known, speaker};

/// The version written.
pub const VERSION: &str = "ATIF-v1.7";

/// An attempt as a trajectory.
pub fn trajectory(attempt: Exported<'_>) -> Value {
    let mut steps: Vec<Value> = Vec::new();
    for exchange in attempt.trajectory.turns() {
        for message in exchange.said.iter().filter(|message| !message.text.is_empty()) {
            let at = &exchange.record.started_at;
            steps.push(json!({ "source": speaker(message), "message": message.text, "timestamp": at }));
        }
        steps.push(agent_step(exchange));
    }
    if steps.is_empty() {
        // The format wants a step: an attempt without any says so.
        steps.push(json!({ "source": "system", "message": "the agent made no request that can be read" }));
    }
    for (index, step) in steps.iter_mut().enumerate() {
        step["step_id"] = json!(index + 1);
    }
    let metrics = &attempt.record.metrics;
    let first = attempt.trajectory.turns().next();
    let tools: Vec<Value> =
        first.iter().flat_map(|exchange| &exchange.surface.added).map(definition).collect();
    json!({
        "schema_version": VERSION,
        "session_id": attempt.record.cell_id(),
        "agent": known(json!({
            "name": attempt.record.arm,
            "version": attempt.record.harness.version,
            "model_name": attempt.model(),
            "tool_definitions": if tools.is_empty() { Value::Null } else { Value::Array(tools) },
            "extra": {
                "first_request": attempt.record.first_request,
                "tools": attempt.record.tools,
            },
        })),
        "final_metrics": known(json!({
            "total_prompt_tokens": metrics.input_tokens,
            "total_completion_tokens": metrics.output_tokens,
            "total_cached_tokens": metrics.cached_input_tokens,
            "total_cost_usd": metrics.cost_usd,
            "total_steps": steps.len(),
        })),
        "steps": steps,
        "extra": { "bench": attempt.own_words() },
    })
}

fn agent_step(exchange: &Exchange) -> Value {
    let record = &exchange.record;
    let Some(answer) = &exchange.answer else {
        return json!({
            "source": "agent", "message": "", "timestamp": record.started_at,
            "extra": { "status": record.status, "trouble": "no readable answer" },
        });
    };
    let request = record.request;
    let calls = answer.calls.iter().enumerate();
    let made: Vec<Value> = calls
        .clone()
        .map(|(place, call)| {
            json!({
                "tool_call_id": call_id(call, request, place),
                "function_name": call.name,
                "arguments": arguments(call),
            })
        })
        .collect();
    let results: Vec<Value> = calls
        .filter_map(|(place, call)| {
            let result = call.result.as_ref()?;
            Some(json!({ "source_call_id": call_id(call, request, place), "content": result.text }))
        })
        .collect();
    let some = |values: Vec<Value>| if values.is_empty() { Value::Null } else { Value::Array(values) };
    let text = |text: &str| if text.is_empty() { Value::Null } else { Value::from(text) };
    let usage = record.usage.clone().unwrap_or_default();
    known(json!({
        "source": "agent",
        "timestamp": record.started_at,
        "model_name": text(&answer.model),
        "message": answer.text,
        "reasoning_content": text(&answer.reasoning),
        "tool_calls": some(made),
        "observation": if results.is_empty() { Value::Null } else { json!({ "results": results }) },
        "metrics": known(json!({
            "prompt_tokens": usage.input_tokens.or(record.body_tokens),
            "completion_tokens": usage.output_tokens.or(record.response_tokens),
            "cached_tokens": usage.cached_input_tokens,
        })),
        "extra": known(json!({
            "request": request, "finish": answer.finish, "trouble": answer.trouble,
            "basis": if record.usage.is_some() { "provider" } else { "json" },
        })),
    }))
}

/// A tool as a function schema; hosted and custom ones too, since the format knows no others.
pub(super) fn definition(tool: &Tool) -> Value {
    let parameters = tool
        .schema
        .clone()
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    json!({
        "type": "function",
        "function": { "name": tool.name, "description": tool.description, "parameters": parameters },
    })
}
