//! `bench agents`: real agents on this machine. They are found below one folder and pinned by their catalogue file;
//! installing them is running the lines that the catalogue names.

use std::process::Command;

use bench_arms::{Catalog, InstalledAgent};
use serde_json::json;

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::front;
use crate::options::{AgentsCommand, AgentsOptions};
use crate::say;

/// Lists, checks or installs agents.
pub(crate) fn agents(options: &AgentsOptions) -> Result<Exit, Failure> {
    let dir = front::agents_dir(options.places.agents_dir.as_deref());
    let agents = Catalog::builtin(Some(dir)).or_exit(Exit::Ours)?.installed_agents();
    match &options.command {
        None | Some(AgentsCommand::List) => list(&agents, options),
        Some(AgentsCommand::Check { names }) => check(&named(&agents, names)?, options),
        Some(AgentsCommand::Install { names, yes }) => install(&named(&agents, names)?, *yes),
    }
}

fn named<'a>(agents: &'a [InstalledAgent], names: &[String]) -> Result<Vec<&'a InstalledAgent>, Failure> {
    if names.is_empty() {
        return Ok(agents.iter().collect());
    }
    let known: Vec<&str> = agents.iter().map(|agent| agent.name.as_str()).collect();
    let of = |name: &String| {
        agents.iter().find(|agent| agent.name.as_str() == name).map_or_else(
            || {
                let near = bench_core::source::nearest(name, &known);
                let meant = near.map_or(String::new(), |near| format!(", did you mean {near}?"));
                fail(Exit::Usage, format!("no agent {name:?}{meant}; there are {}", known.join(", ")))
            },
            Ok,
        )
    };
    names.iter().map(of).collect()
}

fn list(agents: &[InstalledAgent], options: &AgentsOptions) -> Result<Exit, Failure> {
    if options.json {
        let rows: Vec<_> = agents.iter().map(row).collect();
        say::line(&format!("{:#}", json!({"format_version": 1, "agents": rows})));
        return Ok(Exit::Good);
    }
    let width = agents.iter().map(|agent| agent.name.as_str().len()).max().unwrap_or(0);
    for agent in agents {
        say::line(&format!("{:<width$}  {}", agent.name.as_str(), standing(agent)));
    }
    Ok(Exit::Good)
}

fn check(agents: &[&InstalledAgent], options: &AgentsOptions) -> Result<Exit, Failure> {
    let owned: Vec<InstalledAgent> = agents.iter().map(|agent| (*agent).clone()).collect();
    list(&owned, options)?;
    let missing: Vec<&str> =
        agents.iter().filter(|a| a.problem.is_some()).map(|agent| agent.name.as_str()).collect();
    match missing.is_empty() {
        true => Ok(Exit::Good),
        false => fail(
            Exit::Usage,
            format!(
                "cannot be started: {}; `bench agents install {}`",
                missing.join(", "),
                missing.join(" ")
            ),
        ),
    }
}

/// Runs the lines of those that are missing. What they print is theirs and goes to standard error.
fn install(agents: &[&InstalledAgent], yes: bool) -> Result<Exit, Failure> {
    let missing: Vec<&&InstalledAgent> = agents.iter().filter(|agent| agent.problem.is_some()).collect();
    let mut lines: Vec<&str> = Vec::new();
    for line in missing.iter().flat_map(|agent| &agent.install) {
        if !lines.contains(&line.as_str()) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        say::line("nothing to install: every agent named is there");
        return Ok(Exit::Good);
    }
    let words = lines.iter().map(|line| format!("  {line}\n")).collect::<String>();
    match yes
        || say::ask(&format!("{words}Run these? [y/N] ")).is_some_and(|said| said == "y" || said == "yes")
    {
        true => lines.iter().try_for_each(|line| run(line))?,
        false => return fail(Exit::Usage, format!("nothing was run; say --yes to run\n{words}")),
    }
    say::line("installed; `bench agents check` looks again");
    Ok(Exit::Good)
}

fn run(line: &str) -> Result<(), Failure> {
    say::complain(&format!("+ {line}"));
    let ended = Command::new("/bin/sh").args(["-c", line]).stdout(std::io::stderr()).status();
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            fail(Exit::Environment, format!("`{line}` ended with {status}; mend what it says and go on"))
        }
        Err(error) => fail(Exit::Environment, format!("`{line}`: {error}")),
    }
}

fn standing(agent: &InstalledAgent) -> String {
    match (&agent.problem, &agent.version) {
        (Some(_), _) => "not installed".to_owned(),
        (None, Some(version)) => version.clone(),
        (None, None) => "built in".to_owned(),
    }
}

fn row(agent: &InstalledAgent) -> serde_json::Value {
    json!({
        "name": agent.name, "version": agent.version, "usable": agent.problem.is_none(),
        "problem": agent.problem, "install": agent.install,
    })
}
