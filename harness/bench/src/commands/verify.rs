//! `bench verify`: each task's reference plan passes, its untouched workspace fails, its declared cheats fail.

use std::path::PathBuf;

use bench_record::RunDir;
use bench_runner::{Events, RunPlan, check_task};
use serde_json::json;

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::means::{Means, require_isolation, runtime};
use crate::options::VerifyOptions;
use crate::say;
use crate::source::{ExperimentText, Source};

/// Checks every task of a suite.
pub(crate) fn verify(options: &VerifyOptions) -> Result<Exit, Failure> {
    let suite = options.suite.as_deref().unwrap_or("default");
    let source = Source::open(verify_experiment(suite, &options.task), &options.places)?;
    require_isolation(&source.plan)?;
    let scratch = source.state_dir.join(format!("verify-{}", std::process::id()));
    // The means first: they make the state directory such that a cell's own user gets through it.
    let means = Means::ready(&source, &scratch)?;
    let run_dir = RunDir::create(&scratch).or_exit(Exit::Usage)?;
    let broken = runtime(1)?.block_on(async {
        let harness = means.attach(&source, run_dir, Events::new()).await?;
        Ok::<_, Failure>(check_all(&source.plan, &harness, options).await)
    });
    std::fs::remove_dir_all(&scratch).or_exit(Exit::Environment)?;
    match broken? {
        0 => Ok(Exit::Good),
        broken => fail(Exit::GateFailed, format!("suite {suite}: {broken} checks do not hold")),
    }
}

/// One arm, the leanest surface, every task once.
fn verify_experiment(suite: &str, tasks: &[String]) -> ExperimentText {
    let named: Vec<String> = tasks.iter().map(|task| format!("{task:?}")).collect();
    let selection =
        if named.is_empty() { String::new() } else { format!("tasks = [{}]\n", named.join(", ")) };
    ExperimentText {
        text: format!(
            "name = \"verify\"\nseed = 1\nrepeats = 2\nsuite = {suite:?}\n{selection}model = \"oracle\"\n[upstream]\nkind = \"oracle\"\n[[arm]]\nname = \"bare\"\nsurface = \"bare\"\n"
        ),
        name: PathBuf::from("bench verify"),
    }
}

async fn check_all(plan: &RunPlan, harness: &bench_runner::Harness, options: &VerifyOptions) -> usize {
    let mut broken = 0;
    let mut found = Vec::new();
    for (id, reason) in &plan.skipped {
        found.push(json!({"task": id, "skipped": reason}));
        if !options.json {
            say::line(&format!("{id}: skipped, {reason}"));
        }
    }
    for (task, reference) in plan.tasks.values() {
        for check in check_task(plan, harness, task, reference).await {
            let mark = if check.holds { "ok    " } else { "BROKEN" };
            let hidden = options.json || options.quiet && check.holds;
            if !hidden {
                say::line(&format!("{mark} {}: {} – {}", task.id, check.what, check.found));
            }
            found.push(
                json!({"task": task.id, "what": check.what, "holds": check.holds, "found": check.found}),
            );
            broken += usize::from(!check.holds);
        }
    }
    if options.json {
        let value = json!({"format_version": 1, "broken": broken, "checks": found});
        say::line(&serde_json::to_string_pretty(&value).expect("checks are a JSON value"));
    }
    broken
}
