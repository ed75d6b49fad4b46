//! Inspect logs, version 2: one log per arm, a sample per attempt, `epoch` the repeat, `tools` of each model event the
//! surface as it was offered.

use bench_trajectory::{Answer, Exchange, Message, Tool};
use serde_json::{Value, json};

use super::{Exported, arguments, call_id, known, nanoseconds, speaker, timestamp, uuid};

/// The log of one arm over its counting attempts; null without any.
pub fn log(experiment: &str, attempts: &[Exported<'_>]) -> Option<Value> {
    let first = attempts.first()?;
    let record = first.record;
    let model = format!("bench/{}", first.model());
    let mut tasks: Vec<&str> = attempts.iter().map(|attempt| attempt.record.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let epochs = attempts.iter().map(|attempt| attempt.record.repeat).max().unwrap_or(1);
    let started = attempts.iter().map(|attempt| attempt.record.started_at.as_str()).min().unwrap_or_default();
    let ended = attempts.iter().map(|attempt| attempt.record.ended_at.as_str()).max().unwrap_or_default();
    let usage = total_usage(attempts);
    let used = if usage.is_null() { json!({}) } else { json!({ model.as_str(): usage }) };
    let id = |what: &str| uuid(&format!("{what} {} {} {started}", record.lock_sha256, record.arm));
    Some(json!({
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": id("eval"), "run_id": id("run"), "created": started,
            "task": format!("{experiment}/{}", record.arm), "task_id": id("task"), "task_version": 0,
            "task_attribs": {}, "task_args": {}, "task_args_passed": {},
            "dataset": { "name": experiment, "samples": tasks.len(), "sample_ids": tasks },
            "model": model, "model_generate_config": {}, "model_args": {},
            "config": { "epochs": epochs }, "packages": { "bench": record.harness.version },
            "metadata": { "arm": record.arm, "arm_sha256": record.arm_sha256, "lock_sha256": record.lock_sha256 },
        },
        "plan": { "name": "plan", "steps": [{ "solver": record.arm, "params": {} }], "config": {} },
        "results": results(attempts),
        "stats": {
            "started_at": started, "completed_at": ended, "model_usage": used, "role_usage": {},
            "connection_limit_history": [],
        },
        "invalidated": false,
        "tags": [],
        "metadata": {},
        "samples": attempts.iter().map(|attempt| sample(*attempt, &model)).collect::<Vec<_>>(),
    }))
}

fn results(attempts: &[Exported<'_>]) -> Value {
    let outcomes: Vec<bool> = attempts.iter().filter_map(|attempt| attempt.record.passed()).collect();
    let passed = outcomes.iter().filter(|passed| **passed).count();
    let metrics = match outcomes.len() {
        0 => json!({}),
        n => json!({ "accuracy": { "name": "accuracy", "value": passed as f64 / n as f64, "params": {} } }),
    };
    json!({
        "total_samples": attempts.len(),
        "completed_samples": outcomes.len(),
        "scores": [{
            "name": "hidden_check", "scorer": "hidden_check", "params": {}, "metrics": metrics,
            "scored_samples": outcomes.len(), "unscored_samples": attempts.len() - outcomes.len(),
        }],
    })
}

fn total_usage(attempts: &[Exported<'_>]) -> Value {
    let sum = |value: fn(&bench_record::Metrics) -> Option<u64>| -> Option<u64> {
        attempts.iter().map(|attempt| value(&attempt.record.metrics)).sum()
    };
    usage(sum(|m| m.input_tokens), sum(|m| m.output_tokens), sum(|m| m.cached_input_tokens))
}

fn usage(input: Option<u64>, output: Option<u64>, cached: Option<u64>) -> Value {
    let Some((input, output)) = input.zip(output) else { return Value::Null };
    known(json!({
        "input_tokens": input, "output_tokens": output, "total_tokens": input + output,
        "input_tokens_cache_read": cached,
    }))
}

fn sample(attempt: Exported<'_>, model: &str) -> Value {
    let record = attempt.record;
    let turns: Vec<&Exchange> = attempt.trajectory.turns().collect();
    let instruction = turns.first().and_then(|turn| turn.said.iter().find(|m| speaker(m) == "user"));
    let mut messages: Vec<Value> = Vec::new();
    let mut events: Vec<Value> = Vec::new();
    for turn in &turns {
        messages.extend(turn.said.iter().filter(|m| !m.text.is_empty()).map(said));
        events.push(model_event(turn, &messages, tools_at(attempt, turn), model));
        if let Some(answer) = &turn.answer {
            messages.push(assistant(answer, turn.record.request));
            messages.extend(results_of(answer, turn.record.request));
        }
    }
    let output = turns.last().and_then(|turn| turn.answer.as_ref().map(|answer| (turn, answer)));
    let used =
        usage(record.metrics.input_tokens, record.metrics.output_tokens, record.metrics.cached_input_tokens);
    let metadata = json!({
        "bench": attempt.own_words(), "arm": record.arm, "metrics": record.metrics,
        "standing": if record.passed().is_some() { "has an outcome" } else { "no outcome" },
    });
    known(json!({
        "id": record.task,
        "epoch": record.repeat,
        "uuid": uuid(&format!("sample {} {} {}", record.lock_sha256, record.cell_id(), record.attempt)),
        "input": instruction.map_or("", |message| message.text.as_str()),
        "target": "every hidden check holds",
        "messages": messages,
        "output": output.map_or_else(|| no_output(model), |(turn, answer)| model_output(turn, answer)),
        "scores": record.passed().map(|passed| json!({ "hidden_check": score(attempt, passed) })),
        "error": record.passed().is_none().then(|| json!({
            "message": format!("{}: {}", record.ending.kind, record.ending.detail.clone().unwrap_or_default()),
            "traceback": "", "traceback_ansi": "",
        })),
        "metadata": metadata,
        "store": {},
        "events": events,
        "model_usage": if used.is_null() { json!({}) } else { json!({ model: used }) },
        "role_usage": {},
        "attachments": {},
        "started_at": record.started_at,
        "completed_at": record.ended_at,
        "total_time": record.wall_ms.map(|ms| ms / 1_000.0),
    }))
}

fn score(attempt: Exported<'_>, passed: bool) -> Value {
    let checks = attempt.record.checks.iter();
    let lines: Vec<String> =
        checks.map(|c| format!("{}: {}", c.name, if c.passed { "holds" } else { "does not hold" })).collect();
    json!({ "value": if passed { "C" } else { "I" }, "explanation": lines.join("\n"), "history": [] })
}

fn said(message: &Message) -> Value {
    json!({ "role": speaker(message), "content": message.text })
}

fn assistant(answer: &Answer, request: u32) -> Value {
    let calls: Vec<Value> = (answer.calls.iter().enumerate())
        .map(|(place, call)| {
            json!({
                "id": call_id(call, request, place), "function": call.name, "arguments": arguments(call),
                "type": "function",
            })
        })
        .collect();
    let content = match answer.reasoning.is_empty() {
        true => Value::from(answer.text.as_str()),
        false => json!([
            { "type": "reasoning", "reasoning": answer.reasoning },
            { "type": "text", "text": answer.text },
        ]),
    };
    known(json!({
        "role": "assistant", "content": content, "model": answer.model, "source": "generate",
        "tool_calls": if calls.is_empty() { Value::Null } else { Value::Array(calls) },
    }))
}

fn results_of(answer: &Answer, request: u32) -> Vec<Value> {
    (answer.calls.iter().enumerate())
        .filter_map(|(place, call)| {
            let result = call.result.as_ref()?;
            let error = (result.failed == Some(true))
                .then(|| json!({ "type": "unknown", "message": "refused or failed" }));
            Some(known(json!({
                "role": "tool", "content": result.text, "function": call.name,
                "tool_call_id": call_id(call, request, place), "error": error,
            })))
        })
        .collect()
}

/// The surface as it stood at a turn: changes are told from turn to turn.
fn tools_at(attempt: Exported<'_>, until: &Exchange) -> Vec<Value> {
    let mut tools: Vec<&Tool> = Vec::new();
    for turn in attempt.trajectory.turns().take_while(|turn| turn.record.request <= until.record.request) {
        let change = &turn.surface;
        tools.retain(|tool| {
            !change.removed.contains(&tool.name) && !change.changed.iter().any(|new| new.name == tool.name)
        });
        tools.extend(change.added.iter().chain(&change.changed));
    }
    tools.into_iter().map(tool_info).collect()
}

fn tool_info(tool: &Tool) -> Value {
    let properties = |schema: &Value| schema.get("properties").filter(|p| p.is_object()).cloned();
    let required = |schema: &Value| schema.get("required").filter(|r| r.is_array()).cloned();
    json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": {
            "type": "object",
            "properties": tool.schema.as_ref().and_then(properties).unwrap_or_else(|| json!({})),
            "required": tool.schema.as_ref().and_then(required).unwrap_or_else(|| json!([])),
        },
    })
}

fn model_event(turn: &Exchange, input: &[Value], tools: Vec<Value>, model: &str) -> Value {
    let record = &turn.record;
    let end = nanoseconds(&record.started_at)
        .map(|start| timestamp(start + (record.last_byte_ms.unwrap_or(0.0) * 1e6) as i128));
    known(json!({
        "event": "model",
        "timestamp": record.started_at,
        "completed": end,
        "working_start": turn.at_ms.unwrap_or(0.0) / 1_000.0,
        "working_time": record.last_byte_ms.map(|ms| ms / 1_000.0),
        "model": model,
        "input": input,
        "tools": tools,
        "tool_choice": "auto",
        "config": {},
        "output": turn.answer.as_ref().map_or_else(|| no_output(model), |answer| model_output(turn, answer)),
        "error": turn.answer.as_ref().map_or_else(|| Some("no readable answer".to_owned()), |a| a.trouble.clone()),
    }))
}

fn model_output(turn: &Exchange, answer: &Answer) -> Value {
    let said = turn.record.usage.clone().unwrap_or_default();
    let stop = match answer.finish.as_deref() {
        _ if !answer.calls.is_empty() => "tool_calls",
        Some("length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS") => "max_tokens",
        Some("content_filter" | "refusal" | "SAFETY") => "content_filter",
        Some(_) => "stop",
        None => "unknown",
    };
    known(json!({
        "model": answer.model,
        "choices": [{ "message": assistant(answer, turn.record.request), "stop_reason": stop }],
        "completion": answer.text,
        "usage": usage(
            said.input_tokens.or(turn.record.body_tokens),
            said.output_tokens.or(turn.record.response_tokens),
            said.cached_input_tokens,
        ),
        "time": turn.record.last_byte_ms.map(|ms| ms / 1_000.0),
    }))
}

fn no_output(model: &str) -> Value {
    json!({ "model": model, "choices": [], "completion": "" })
}
