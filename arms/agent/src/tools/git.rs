//! `git_show`, `git_diff`, `git_log`: the history of the repository, read and never changed.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::cut::Tail;
use crate::start::VARIABLES;

/// Commits listed where the call sets no limit.
const LIMIT: usize = 20;

/// Arguments of `git_show`.
#[derive(Debug, Deserialize)]
pub(super) struct Show {
    revision: String,
    path: Option<String>,
}

/// Arguments of `git_diff`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Diff {
    from: Option<String>,
    to: Option<String>,
    #[serde(default)]
    staged: bool,
    path: Option<String>,
    #[serde(default)]
    stat: bool,
}

/// Arguments of `git_log`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Log {
    revision: Option<String>,
    path: Option<String>,
    limit: Option<usize>,
}

pub(super) fn show(given: &Show, workspace: &Path) -> Result<String, String> {
    let revision = revision(&given.revision)?;
    match &given.path {
        Some(path) => git(workspace, &["show".into(), format!("{revision}:{path}")]),
        None => git(workspace, &["show".into(), "--no-color".into(), revision.into(), "--".into()]),
    }
}

pub(super) fn diff(given: &Diff, workspace: &Path) -> Result<String, String> {
    let mut args = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"].map(str::to_owned).to_vec();
    args.extend(given.stat.then(|| "--stat".to_owned()));
    args.extend(given.staged.then(|| "--staged".to_owned()));
    for revision_asked in given.from.iter().chain(&given.to) {
        args.push(revision(revision_asked)?.to_owned());
    }
    args.push("--".to_owned());
    args.extend(given.path.clone());
    git(workspace, &args)
}

pub(super) fn log(given: &Log, workspace: &Path) -> Result<String, String> {
    let count = format!("-n{}", given.limit.unwrap_or(LIMIT));
    let mut args =
        ["log", "--no-color", "--date=short", "--format=%h %ad %an %s"].map(str::to_owned).to_vec();
    args.push(count);
    if let Some(asked) = &given.revision {
        args.push(revision(asked)?.to_owned());
    }
    args.push("--".to_owned());
    args.extend(given.path.clone());
    git(workspace, &args)
}

/// A revision that cannot be taken for an option.
fn revision(text: &str) -> Result<&str, String> {
    if text.is_empty() || text.starts_with('-') {
        return Err(format!("{text:?} is not a revision; write a hash, a branch or HEAD~1"));
    }
    Ok(text)
}

fn git(workspace: &Path, args: &[String]) -> Result<String, String> {
    let mut command = Command::new("git");
    // Neither the user's settings nor a helper program of the repository may change what is printed or be started.
    command.args(["--no-pager", "-c", "core.quotepath=off", "-c", "core.fsmonitor=false"]).args(args);
    VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
    command.current_dir(workspace).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("git could not be run: {error}"))?;
    let mut told = Tail::default();
    told.push(&output.stdout);
    if output.status.success() {
        let text = told.text();
        return Ok(if text.is_empty() { "[Nothing.]".to_owned() } else { text });
    }
    let fault = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(if fault.is_empty() { format!("git failed: {}", output.status) } else { fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let run = |line: &str| {
            let status = Command::new("sh").args(["-c", line]).current_dir(folder.path()).status().unwrap();
            assert!(status.success(), "{line}");
        };
        run("git init -q . && git config user.name A && git config user.email a@b.c");
        run("echo one > f && git add f && git commit -q -m first && echo two >> f");
        folder
    }

    #[test]
    fn history_is_read() {
        let folder = repository();
        let here = folder.path();
        assert!(log(&Log::default(), here).unwrap().trim_end().ends_with(" A first"));
        let file = Show { revision: "HEAD".into(), path: Some("f".into()) };
        assert_eq!(show(&file, here).unwrap(), "one\n");
        assert!(show(&Show { revision: "HEAD".into(), path: None }, here).unwrap().contains("+one"));
        assert!(diff(&Diff::default(), here).unwrap().ends_with("+two\n"));
        let staged = Diff { staged: true, ..Diff::default() };
        assert_eq!(diff(&staged, here).unwrap(), "[Nothing.]");
    }

    #[test]
    fn options_are_no_revisions_and_faults_are_told() {
        let folder = repository();
        let of = |text: &str| show(&Show { revision: text.into(), path: None }, folder.path()).unwrap_err();
        assert!(of("--output=x").contains("is not a revision"));
        assert!(of("nowhere").contains("nowhere"));
    }
}
