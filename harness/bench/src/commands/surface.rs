//! `bench surface`: what each arm shows a model in its first request, recorded without a task and without a model.

use std::fmt::Write as _;

use bench_core::{ArmId, FirstRequest};
use bench_record::RunDir;
use bench_runner::{Events, Harness, RunPlan, SurfaceProbe, probe_surface};
use serde_json::{Value, json};

use super::{surface_check, surface_mcp};
use crate::exit::{Exit, Failure, OrExit, fail};
use crate::means::{Means, require_isolation, runtime};
use crate::options::SurfaceOptions;
use crate::say;
use crate::source::{ExperimentText, Source};

/// Shows the first request of each arm.
pub(crate) fn surface(options: &SurfaceOptions) -> Result<Exit, Failure> {
    if !options.mcp.is_empty() {
        return surface_mcp::mcp(&options.mcp, &options.tokenizer, options.json);
    }
    let text = ExperimentText::read(options.file.as_deref())?.changed(&options.changes, &[])?;
    let source = Source::open(text, &options.places)?;
    require_isolation(&source.plan)?;
    let asked = if options.diff.is_empty() { &options.arm } else { &options.diff };
    let arms = chosen(&source.plan, asked)?;
    let scratch = source.state_dir.join(format!("surface-{}", std::process::id()));
    // The means first: they make the state directory such that a cell's own user gets through it.
    let means = Means::ready(&source, &scratch)?;
    let run_dir = RunDir::create(&scratch).or_exit(Exit::Usage)?;
    let probes = runtime(1)?.block_on(async {
        let harness = means.attach(&source, run_dir, Events::new()).await?;
        probe_all(&source.plan, &harness, &arms).await
    });
    std::fs::remove_dir_all(&scratch).or_exit(Exit::Environment)?;
    let (plan, probes) = (&source.plan, probes?);
    let value = to_json(plan, &probes);
    if let Some(lock) = &options.check {
        return surface_check::check(&value, lock, options);
    }
    if let Some(file) = &options.against {
        return surface_check::against(&value, file);
    }
    if let [one, other] = options.diff.as_slice() {
        return surface_check::between(&value, one, other);
    }
    if options.json {
        say::line(&serde_json::to_string_pretty(&value).expect("a surface is a JSON value"));
    } else {
        say::raw(say::harmless(&to_table(plan, &probes)).as_bytes());
    }
    match probes.iter().find(|(_, probe)| probe.first_request.is_none()) {
        None => Ok(Exit::Good),
        Some((arm, probe)) => {
            fail(Exit::Invalid, format!("arm {arm} made no request with tools or turns: {}", probe.ending))
        }
    }
}

fn chosen(plan: &RunPlan, asked: &[String]) -> Result<Vec<ArmId>, Failure> {
    let all: Vec<ArmId> = plan.experiment.arms.iter().map(|arm| arm.id.clone()).collect();
    for name in asked {
        if !all.iter().any(|arm| arm.as_str() == name) {
            let known: Vec<&str> = all.iter().map(|arm| arm.as_str()).collect();
            return fail(Exit::Usage, format!("--arm {name:?}: no such arm; known: {}", known.join(", ")));
        }
    }
    Ok(all
        .into_iter()
        .filter(|arm| asked.is_empty() || asked.iter().any(|name| name == arm.as_str()))
        .collect())
}

async fn probe_all(
    plan: &RunPlan,
    harness: &Harness,
    arms: &[ArmId],
) -> Result<Vec<(ArmId, SurfaceProbe)>, Failure> {
    let Some((task, _)) = plan.schedule.blocks.first().and_then(|block| plan.tasks.get(&block.task)) else {
        return fail(Exit::Usage, "the experiment has no task whose instruction could be sent");
    };
    let mut probes = Vec::new();
    for arm in arms {
        probes.push((arm.clone(), probe_surface(plan, harness, arm, task).await.or_exit(Exit::Environment)?));
    }
    Ok(probes)
}

fn to_json(plan: &RunPlan, probes: &[(ArmId, SurfaceProbe)]) -> Value {
    let control = control_request(plan, probes);
    let arms: Vec<Value> = probes.iter().map(|(id, probe)| arm_json(plan, id, probe, control)).collect();
    json!({
        "format_version": 1,
        "tokens": {"basis": "json", "tokenizer": plan.site.tokenizer},
        "isolation_level": plan.site.level,
        "arms": arms,
    })
}

fn arm_json(plan: &RunPlan, id: &ArmId, probe: &SurfaceProbe, control: Option<&FirstRequest>) -> Value {
    let arm = &plan.arms[id];
    let tool = |t: &bench_core::ToolEntry| {
        json!({
            "name": t.name, "namespace": t.namespace, "kind": t.kind, "exposure": t.exposure, "where": t.r#where,
            "description": {"bytes": t.description_bytes, "tokens": t.description_tokens},
            "schema": {"bytes": t.schema_bytes, "tokens": t.schema_tokens},
            "bytes": t.bytes, "tokens": t.tokens,
        })
    };
    let others: Vec<Value> = probe
        .others
        .iter()
        .map(|(class, bytes, tokens)| json!({"class": class, "body_bytes": bytes, "body_tokens": tokens}))
        .collect();
    let mut value = json!({
        "arm": id,
        "agent": {"name": arm.arm.agent, "version": arm.resolved.agent_version},
        "surface": arm.arm.surface,
        "wire": arm.resolved.wire.word(),
        "model": arm.arm.model,
        "tool": probe.tools.iter().map(tool).collect::<Vec<_>>(),
        "other_requests": others,
        "ending": probe.ending,
    });
    if let Some(first) = &probe.first_request {
        let by_role: Vec<Value> = first
            .system_by_role
            .iter()
            .map(|(role, size)| json!({"role": role, "bytes": size.bytes, "tokens": size.tokens}))
            .collect();
        value["request"] = json!({"raw_sha256": first.raw_sha256, "semantic_sha256": first.semantic_sha256,
            "unknown_types": first.unknown_types});
        value["body"] = json!({"bytes": first.body_bytes, "tokens": first.body_tokens});
        value["prompt"] =
            json!(first.prompt_tokens.map(|tokens| json!({"tokens": tokens, "basis": first.basis()})));
        value["system"] =
            json!({"bytes": first.system.bytes, "tokens": first.system.tokens, "by_role": by_role});
        value["messages"] = json!(first.messages);
        value["tools"] = json!(first.tools);
        value["ratio_to_control"] = json!(control.and_then(|control| ratio(first, control)));
    }
    value
}

/// First request of the control: the first contrast's, else the first arm's.
fn control_request<'p>(plan: &RunPlan, probes: &'p [(ArmId, SurfaceProbe)]) -> Option<&'p FirstRequest> {
    let control = control_arm(plan);
    probes.iter().find(|(id, _)| Some(id) == control.as_ref())?.1.first_request.as_ref()
}

/// Over one basis: the rendered prompts where both are known, else the JSON of both.
fn ratio(first: &FirstRequest, control: &FirstRequest) -> Option<f64> {
    let (one, other) = match first.prompt_tokens.zip(control.prompt_tokens) {
        Some(prompts) => prompts,
        None => (first.body_tokens, control.body_tokens),
    };
    (other > 0).then(|| one as f64 / other as f64)
}

fn control_arm(plan: &RunPlan) -> Option<ArmId> {
    let of_contrast = plan.experiment.contrasts.first().map(|contrast| contrast.control.clone());
    of_contrast.or_else(|| plan.experiment.arms.first().map(|arm| arm.id.clone()))
}

fn full_name(tool: &bench_core::ToolEntry) -> String {
    match &tool.namespace {
        Some(namespace) => format!("{namespace}.{}", tool.name),
        None => tool.name.to_string(),
    }
}

/// Where a definition stands and of what it is made; a tool that is only told of has none of its own.
fn what_it_is(tool: &bench_core::ToolEntry) -> String {
    let place = match tool.r#where.as_str() {
        "tools" => "",
        "input_item" => "in an input item; ",
        "description" => return "told of in that tool's description, and counted there".to_owned(),
        _ => return format!("told of in {} text, and counted there", tool.r#where),
    };
    let exposure = if tool.exposure == "direct" { String::new() } else { format!("{}; ", tool.exposure) };
    let parts = (tool.description_tokens, tool.schema_tokens);
    format!("{place}{exposure}description {}, schema {} tokens", parts.0, parts.1)
}

fn to_table(plan: &RunPlan, probes: &[(ArmId, SurfaceProbe)]) -> String {
    let mut text = String::new();
    let control = control_request(plan, probes);
    let name = control_arm(plan).map(|arm| arm.to_string()).unwrap_or_default();
    let _ = writeln!(
        text,
        "first request per arm; tokens: {} over the JSON as sent; ratio to {name}\n",
        plan.site.tokenizer.name
    );
    let width = probes.iter().map(|(id, _)| id.as_str().len()).max().unwrap_or(3).max(3);
    let _ = writeln!(
        text,
        "{:<width$}  tools  tool tokens  system tokens  body bytes  body tokens  ratio",
        "arm"
    );
    for (id, probe) in probes {
        let Some(first) = &probe.first_request else {
            let _ = writeln!(text, "{id:<width$}  no first request: {}", probe.ending);
            continue;
        };
        let ratio = control.and_then(|control| ratio(first, control));
        let ratio = ratio.map_or_else(|| "–".to_owned(), |r| format!("{r:.2}"));
        let _ = writeln!(
            text,
            "{id:<width$}  {:>5}  {:>11}  {:>13}  {:>10}  {:>11}  {ratio:>5}",
            first.tools.callable,
            first.tools.tokens,
            first.system.tokens,
            first.body_bytes,
            first.body_tokens
        );
    }
    let prompts = probes.iter().filter_map(|(id, p)| Some((id, p.first_request.as_ref()?.prompt_tokens?)));
    for (n, (id, tokens)) in prompts.enumerate() {
        let lead = if n == 0 {
            "\nprompt as the provider renders it (the ratio's basis where all have one)\n"
        } else {
            ""
        };
        let _ = writeln!(text, "{lead}  {id:<width$}  {tokens:>6} tokens");
    }
    for (id, probe) in probes {
        let _ = writeln!(text, "\n{id}");
        for tool in &probe.tools {
            let _ = writeln!(
                text,
                "  {:<30} {:>6} tokens  {:>6} bytes  ({})",
                full_name(tool),
                tool.tokens,
                tool.bytes,
                what_it_is(tool)
            );
        }
    }
    text
}
