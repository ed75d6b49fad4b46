//! `bench task new`: a task folder that holds already, to be changed into another one.

use std::path::{Path, PathBuf};

use bench_core::{Clock as _, Sha256Hex, SuiteId, SystemClock, TaskId};

use crate::exit::{Exit, Failure, OrExit, fail};
use crate::options::{TaskCommand, TaskOptions};
use crate::say;

/// What stands for the task's own canary.
const CANARY: &str = "CANARY";

/// Hexadecimal digits of a canary.
const DIGITS: usize = 24;

/// The files, by their place in the folder.
const FILES: [(&str, &str); 6] = [
    ("task.toml", include_str!("../../templates/task/task.toml")),
    ("instruction.md", include_str!("../../templates/task/instruction.md")),
    ("workspace/README.md", include_str!("../../templates/task/workspace/README.md")),
    ("verify/run.sh", include_str!("../../templates/task/verify/run.sh")),
    ("oracle.toml", include_str!("../../templates/task/oracle.toml")),
    ("cheats/empty-file.toml", include_str!("../../templates/task/cheats/empty-file.toml")),
];

/// Makes a task.
pub(crate) fn task(options: &TaskOptions) -> Result<Exit, Failure> {
    let TaskCommand::New { name, suites } = &options.command;
    let Some((suite, task)) = name.split_once('/') else {
        return fail(
            Exit::Usage,
            format!("{name:?} names no suite; write SUITE/TASK, for example mine/first"),
        );
    };
    let suite = SuiteId::new(suite).or_exit(Exit::Usage)?;
    let task = TaskId::new(task).or_exit(Exit::Usage)?;
    let root = suites.clone().unwrap_or_else(|| PathBuf::from("tasks/suites"));
    let folder = root.join(suite.as_str()).join(task.as_str());
    if folder.exists() {
        return fail(Exit::Usage, format!("{} exists; name another task", folder.display()));
    }
    let digest = Sha256Hex::of(format!("{suite}/{task} {}", SystemClock::default().now_utc()));
    let canary = format!("bench-canary-{}", &digest.as_str()[..DIGITS]);
    for (place, text) in FILES {
        write(&folder.join(place), &text.replace(CANARY, &canary))?;
    }
    say::line(&format!("{} written: a task that holds already; change it file by file", folder.display()));
    say::line(&format!("next: bench verify {suite} --task {task}    after each change"));
    say::line(&format!("then: suite = \"{suite}\" in an experiment file; the format: docs/formats/task.md"));
    Ok(Exit::Good)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    path.parent()
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, text))
        .map_err(|e| anyhow::anyhow!("{}: {e}; name another folder with --suites DIR", path.display()))
        .or_exit(Exit::Environment)
}
