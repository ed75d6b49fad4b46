//! `bench doctor`: what this machine can do, and what would make it do more.

use std::fmt::Write as _;

use serde_json::json;

use bench_arms::Catalog;

use crate::commands::host;
use crate::exit::{Exit, Failure, OrExit};
use crate::front;
use crate::options::DoctorOptions;
use crate::say;
use bench_tasks::list_suites;

/// Shows kernel, isolation, tokenizers, agents and suites.
pub(crate) fn doctor(options: &DoctorOptions) -> Result<Exit, Failure> {
    let state_dir = front::state_dir(options.places.state_dir.as_deref());
    if options.fix {
        return host::fix(&state_dir);
    }
    if options.undo {
        return host::undo(&state_dir);
    }
    let reachable = bench_isolation::reachable();
    let changes = host::changes();
    let agents_dir = front::agents_dir(options.places.agents_dir.as_deref());
    let catalog = Catalog::builtin(Some(agents_dir.clone())).or_exit(Exit::Ours)?;
    let agents = catalog.installed_agents();
    let suites = list_suites(&front::suite_roots(&options.places.suites));
    if options.json {
        let value = json!({
            "format_version": 1,
            "harness": front::harness(),
            "kernel": front::kernel(),
            "isolation": {
                "level": reachable.level, "landlock_abi": reachable.landlock_abi,
                "missing": reachable.missing, "remedy": reachable.remedy,
                "fix": changes.clone().ok(),
            },
            "tokenizers": bench_proxy::TOKENIZERS,
            "agents": agents.iter().map(|a| json!({"name": a.name, "version": a.version, "problem": a.problem})).collect::<Vec<_>>(),
            "suites": suites.iter().map(|(id, dir)| json!({"name": id, "dir": dir})).collect::<Vec<_>>(),
            "state_dir": state_dir,
            "agents_dir": agents_dir,
        });
        say::line(&serde_json::to_string_pretty(&value).expect("a doctor's sheet is a JSON value"));
        return Ok(Exit::Good);
    }
    let mut text = String::new();
    let _ = writeln!(text, "bench        {}", front::harness().version);
    let _ = writeln!(text, "kernel       {}", front::kernel());
    let abi = reachable.landlock_abi.map_or_else(|| "none".to_owned(), |abi| abi.to_string());
    let _ = writeln!(text, "isolation    {} (Landlock ABI {abi})", reachable.level);
    for gap in &reachable.missing {
        let _ = writeln!(text, "  missing    {gap}");
    }
    if let Some(remedy) = &reachable.remedy {
        let _ = writeln!(text, "  remedy     {remedy}");
    }
    match &changes {
        Ok(changes) if changes.is_empty() => {}
        Ok(changes) => {
            let _ = writeln!(
                text,
                "to reach L3  `bench doctor --fix` would change, until `bench doctor --undo`:"
            );
            for change in changes {
                let _ = writeln!(text, "  change     {change}");
            }
        }
        Err(why) => {
            let _ = writeln!(text, "to reach L3  {why}");
        }
    }
    let _ = writeln!(text, "tokenizers   {}", bench_proxy::TOKENIZERS.join(", "));
    for agent in &agents {
        let state = match (&agent.problem, &agent.version) {
            (Some(problem), _) => problem.replace('\n', "\n             "),
            (None, Some(version)) => version.clone(),
            (None, None) => "built in".to_owned(),
        };
        let _ = writeln!(text, "agent        {}: {state}", agent.name);
    }
    for (id, dir) in &suites {
        let _ = writeln!(text, "suite        {id}: {}", dir.display());
    }
    let _ = writeln!(text, "cells live   {}", state_dir.display());
    let _ = writeln!(text, "agents live  {}", agents_dir.display());
    say::raw(text.as_bytes());
    Ok(Exit::Good)
}
