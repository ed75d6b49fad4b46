//! The recipes under `examples/`: the shell in them is run here as it stands, in the order in which CI, Slurm or Kubernetes
//! would run it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::provider::{Provider, Said};
use crate::workplace::{Outcome, Workplace, project, skipped, walls};

/// A workplace with the recipes in it and `bench` on the PATH.
fn recipes() -> Workplace {
    let place = Workplace::new();
    for folder in ["ci", "slurm", "kubernetes"] {
        for entry in fs::read_dir(project().join("examples").join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("examples/{folder}/{}", entry.file_name().to_str().unwrap());
            place.file(&name, &fs::read_to_string(entry.path()).unwrap());
        }
    }
    fs::create_dir(place.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_bench"), place.path().join("bin/bench")).unwrap();
    // What a workflow may ask for as another user it has here already.
    let sudo = place.file("bin/sudo", "#!/bin/sh\nexec \"$@\"\n");
    Command::new("chmod").args(["+x", &sudo]).status().unwrap();
    place
}

fn shell(place: &Workplace, script: &str, env: &[(&str, &str)]) -> Outcome {
    let bench = place.command(&[]);
    let mut command = Command::new("bash");
    command.args(["-eo", "pipefail", "-c", script]).current_dir(place.path()).env_clear();
    for (key, value) in bench.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", place.path().join("bin").display());
    command.env("PATH", path).env("GITHUB_STEP_SUMMARY", place.path().join("summary.md"));
    command.envs(env.iter().copied());
    Outcome::of(command.output().unwrap())
}

/// Name and script of every step of a job that has a `run`, read off the indentation of the file.
fn steps(workflow: &str, job: &str) -> Vec<(String, String)> {
    let jobs = workflow.split_once("\njobs:\n").unwrap().1;
    let own = jobs.split_once(&format!("  {job}:\n")).unwrap().1;
    let (mut steps, mut name, mut lines) = (Vec::new(), String::new(), own.lines().peekable());
    while let Some(line) = lines.next() {
        if line.starts_with("  ") && !line.starts_with("   ") {
            break;
        }
        if let Some(title) = line.strip_prefix("      - name: ") {
            name = title.to_owned();
        }
        let Some(script) = line.strip_prefix("        run: ") else { continue };
        let mut script = if script == "|" { String::new() } else { script.to_owned() };
        while script.is_empty() || lines.peek().is_some_and(|next| next.starts_with("          ")) {
            let Some(next) = lines.next_if(|next| next.starts_with("          ")) else { break };
            script.push_str(&format!("{}\n", &next[10..]));
        }
        steps.push((name.clone(), script));
    }
    steps
}

/// Runs the steps of a job one after another; each must end well.
fn job(place: &Workplace, name: &str, env: &[(&str, &str)]) -> BTreeMap<String, Outcome> {
    let workflow = place.read("examples/ci/bench.yml");
    let steps = steps(&workflow, name);
    assert!(steps.len() >= 2, "job {name}: {steps:?}");
    let own = steps.into_iter().filter(|(step, _)| step != "Build bench");
    own.map(|(step, script)| {
        let outcome = shell(place, &script, env);
        assert_eq!(outcome.code, Some(0), "job {name}, step {step}: {}\n{}", outcome.stdout, outcome.stderr);
        (step, outcome)
    })
    .collect()
}

#[test]
fn the_keyless_job_of_the_workflow_gates_replays_and_packs() {
    if !walls("the_keyless_job_of_the_workflow_gates_replays_and_packs") {
        return;
    }
    let place = recipes();
    job(&place, "keyless", &[]);
    assert!(place.read("summary.md").contains("gateway"), "the summary shows the verdict");
    assert_eq!(place.json("replayed/lock.json")["upstream"]["kind"], "replay");
    assert!(place.path().join("bench-run.tar.gz").is_file() && place.path().join("surface.lock").is_file());
}

#[test]
fn the_job_with_walls_reaches_level_l2() {
    if !walls("the_job_with_walls_reaches_level_l2") {
        return;
    }
    let place = recipes();
    if place.highest_level() == "\"L1\"" {
        skipped("the_job_with_walls_reaches_level_l2", "this machine reaches L1 only");
        return;
    }
    job(&place, "walls", &[]);
    assert_eq!(place.json("run/lock.json")["isolation"]["minimum"], "L2");
}

#[test]
fn the_job_with_a_model_asks_its_endpoint_with_the_key() {
    if !walls("the_job_with_a_model_asks_its_endpoint_with_the_key") {
        return;
    }
    let place = recipes();
    if place.highest_level() == "\"L1\"" {
        skipped("the_job_with_a_model_asks_its_endpoint_with_the_key", "this machine reaches L1 only");
        return;
    }
    let provider = Provider::start(|_, _| -> Said { crate::provider::says("deepseek-chat", "Done.") });
    let file = place.read("examples/ci/model.toml").replace("https://api.deepseek.com/v1", &provider.base);
    place.file("examples/ci/model.toml", &file);
    let steps = job(&place, "model", &[("DEEPSEEK_API_KEY", "test-key-0123456789")]);
    let plan = &steps["What it may cost"].stdout;
    assert!(plan.contains("cost: 8 cells of a real model, at most $1.00"), "{plan}");
    let steps = steps["Key, endpoint, isolation level"].stdout.clone();
    assert!(steps.contains("can be used"), "{steps}");
}

#[test]
fn the_matrix_of_the_workflow_makes_one_run_again() {
    if !walls("the_matrix_of_the_workflow_makes_one_run_again") {
        return;
    }
    let place = recipes();
    for shard in ["1", "2", "3"] {
        job(&place, "shard", &[("SHARD", shard)]);
    }
    let steps = job(&place, "whole", &[]);
    assert!(steps["One run again"].stdout.contains("3 shards, 48 of 48 cells"), "{steps:?}");
}

#[test]
fn a_slurm_array_and_a_kubernetes_job_do_every_block_once() {
    if !walls("a_slurm_array_and_a_kubernetes_job_do_every_block_once") {
        return;
    }
    let place = recipes();
    let file = place.file("x.toml", &crate::workplace::smoke_experiment("array"));
    for id in ["11", "12"] {
        let env = [
            ("SLURM_ARRAY_TASK_COUNT", "2"),
            ("SLURM_ARRAY_TASK_MIN", "11"),
            ("SLURM_ARRAY_TASK_ID", id),
            ("SLURM_CPUS_PER_TASK", "1"),
        ];
        shell(&place, &format!("bash examples/slurm/array.sbatch {file} runs/slurm"), &env).exits(0);
    }
    let verdict = shell(&place, "bash examples/slurm/merge.sbatch runs/slurm", &[]).exits(0);
    assert!(!verdict.stderr.contains("were made by these rules"), "shards are parts of one run: {verdict:?}");
    for index in ["0", "1"] {
        let env = [
            ("EXPERIMENT", file.as_str()),
            ("RUNS", "runs/pods"),
            ("SHARDS", "2"),
            ("JOB_COMPLETION_INDEX", index),
        ];
        shell(&place, "bash examples/kubernetes/run-shard.sh", &env).exits(0);
    }
    shell(&place, "bash examples/kubernetes/merge.sh", &[("RUNS", "runs/pods")]).exits(0);
    assert_eq!(place.records("runs/slurm/whole").len(), 8);
    assert_eq!(place.records("runs/pods/whole").len(), 8);
}

#[test]
fn recipes_are_executable_and_the_job_names_the_script_that_is_there() {
    let job = fs::read_to_string(project().join("examples/kubernetes/indexed-job.yaml")).unwrap();
    for word in ["completionMode: Indexed", "run-shard.sh", "EXPERIMENT", "RUNS", "SHARDS"] {
        assert!(job.contains(word), "{word}");
    }
    for script in
        ["slurm/array.sbatch", "slurm/merge.sbatch", "kubernetes/run-shard.sh", "kubernetes/merge.sh"]
    {
        let path = project().join("examples").join(script);
        let checked = Command::new("bash").arg("-n").arg(Path::new(&path)).status().unwrap();
        assert!(checked.success(), "{script}");
    }
}
