//! The hidden check: run when the agent is dead, in a second fresh cell, over a copy of what it left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bench_core::{IsolationLevel, Program, Task};
use bench_isolation::{Attempts, CellExit, CellSpec, LaunchError, Launcher, Policy, Stop, Workspace};

/// What the hidden check said.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// Does every check hold?
    pub passed: bool,
    /// Its named parts.
    pub checks: Vec<(String, bool)>,
    /// Exit code of the script.
    pub exit_code: Option<i32>,
    /// Exec to exit.
    pub wall_ms: f64,
    /// CPU of the verifier's cell.
    pub cpu_ms: f64,
    /// What it printed (head).
    pub stdout: Vec<u8>,
    /// What it complained of (head).
    pub stderr: Vec<u8>,
}

/// A hidden check that could not speak.
#[derive(Debug, thiserror::Error)]
pub enum VerifyFault {
    /// Its cell could not be started.
    #[error("the verifier's cell could not be started: {0}")]
    Launch(#[from] LaunchError),
    /// It ended in a way that is neither "passed" nor "failed".
    #[error(
        "verifier {path} ended with {how}, which is neither 0 (passed) nor 1 (failed); stderr: {stderr}; mend the task's verify/run.sh"
    )]
    Ended {
        /// The script.
        path: PathBuf,
        /// Exit code, signal or limit.
        how: String,
        /// End of its stderr.
        stderr: String,
    },
}

/// How a hidden check is run.
#[derive(Debug, Clone)]
pub struct VerifySite<'a> {
    /// The fresh copy of what the agent left.
    pub workspace: &'a Workspace,
    /// Wall clock, milliseconds.
    pub wall_ms: u64,
    /// PATH of the cell.
    pub path_env: &'a str,
    /// Paths that it must not be able to read.
    pub hidden: &'a [PathBuf],
}

/// Runs `verify/run.sh` of a task over `site.workspace`.
///
/// Only the exit code makes the verdict; a line `check NAME failed` can take a pass away, never give one, since the
/// code under test may print what it likes.
pub async fn verify(
    launcher: &Launcher,
    task: &Task,
    site: &VerifySite<'_>,
) -> Result<Verification, VerifyFault> {
    let script = task.verify_dir().join("run.sh");
    let mut cell = launcher.launch(cell_spec(&script, task, site, launcher.level())).await?;
    let exit = cell.wait().await?;
    let stderr = String::from_utf8_lossy(&exit.stderr.head).into_owned();
    let fault = |how: String| VerifyFault::Ended { path: script.clone(), how, stderr: last_lines(&stderr) };
    match exit.stopped_by {
        None => {}
        Some(Stop::WallLimit) => return Ok(broken_off(exit, "within verify-wall-ms")),
        Some(Stop::OutputCap) => return Ok(broken_off(exit, "within the verifier's output cap")),
        Some(Stop::DiskCap) => return Ok(broken_off(exit, "within the verifier's disk cap")),
        Some(Stop::Asked) => return Err(fault("a stop that was asked for".to_owned())),
    }
    let checks = read_checks(&exit.stdout.head);
    let passed = match exit.exit_code {
        Some(0) => checks.iter().all(|(_, passed)| *passed),
        Some(1) => false,
        Some(code) => return Err(fault(format!("exit code {code}"))),
        None => return Ok(broken_off(exit, "not ended by a signal")),
    };
    Ok(Verification {
        passed,
        checks,
        exit_code: exit.exit_code,
        wall_ms: exit.wall_ms,
        cpu_ms: exit.cpu_ms,
        stdout: exit.stdout.head,
        stderr: exit.stderr.head,
    })
}

/// What hangs, floods or kills the check is what the agent left: a fault would hand it a way to make its own cell missing.
fn broken_off(exit: CellExit, check: &str) -> Verification {
    let mut checks = read_checks(&exit.stdout.head);
    checks.push((check.to_owned(), false));
    Verification {
        passed: false,
        checks,
        exit_code: exit.exit_code,
        wall_ms: exit.wall_ms,
        cpu_ms: exit.cpu_ms,
        stdout: exit.stdout.head,
        stderr: exit.stderr.head,
    }
}

fn cell_spec(script: &Path, task: &Task, site: &VerifySite<'_>, level: IsolationLevel) -> CellSpec {
    let seen = site.workspace.seen(level);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let env = BTreeMap::from([
        ("PATH".to_owned(), site.path_env.to_owned()),
        ("HOME".to_owned(), text(&seen.home)),
        ("TMPDIR".to_owned(), text(&seen.tmp)),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("GIT_CONFIG_NOSYSTEM".to_owned(), "1".to_owned()),
        ("BENCH_VERIFY_DIR".to_owned(), text(&task.verify_dir())),
    ]);
    CellSpec {
        program: Program::Path(PathBuf::from("/bin/sh")),
        args: vec![text(script)],
        env,
        cwd: seen.root,
        policy: Policy {
            readable: vec![task.verify_dir()],
            writable: site.workspace.writable(),
            connect_port: None,
            must_not_read: site.hidden.to_vec(),
            // What a verifier tries is its author's doing; it is believed for its exit code alone.
            attempts: Attempts::Unheard,
            housekeeping: Vec::new(),
        },
        wall_ms: site.wall_ms,
        output_cap_bytes: 4 << 20,
    }
}

/// Lines `check NAME passed|failed`.
fn read_checks(stdout: &[u8]) -> Vec<(String, bool)> {
    String::from_utf8_lossy(stdout)
        .lines()
        .filter_map(|line| {
            let (name, word) = line.strip_prefix("check ")?.rsplit_once(' ')?;
            match word {
                "passed" => Some((name.to_owned(), true)),
                "failed" => Some((name.to_owned(), false)),
                _ => None,
            }
        })
        .collect()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().rev().take(3).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_check_lines_count() {
        let read =
            read_checks(b"check a passed\nnoise check b passed\ncheck two words failed\ncheck c maybe\n");
        assert_eq!(read, [("a".to_owned(), true), ("two words".to_owned(), false)]);
    }
}
