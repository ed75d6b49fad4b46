//! Why an attempt ended, from what the kernel, the recorder and the launcher say.

use bench_core::{Blame, Ending, EndingKind, LimitHit};
use bench_isolation::{CellExit, LaunchError, Stop};
use bench_proxy::Recording;

use crate::kept::whole;

/// A cell that could not be started: whose doing was it?
pub(crate) fn launch_ending(error: &LaunchError) -> Ending {
    match error {
        LaunchError::IsolationUnavailable { .. } | LaunchError::ProbeWentThrough { .. } => {
            Ending::because(EndingKind::IsolationUnavailable, error.to_string())
        }
        LaunchError::NotExecutable { .. } | LaunchError::Setup { .. } | LaunchError::LauncherDied { .. } => {
            Ending::because(EndingKind::HarnessFault, error.to_string())
        }
    }
}

/// Why the attempt stopped, from what the kernel, the recorder and the launcher say. The recorder is asked before the
/// exit code, or a dead upstream would read as a crashed agent.
pub(crate) fn decide_ending(exit: &CellExit, recording: &Recording, limits: &bench_core::Limits) -> Ending {
    let mut ending = ending_kind(exit, recording, limits);
    ending.exit_code = exit.exit_code;
    ending.signal = exit.signal;
    ending
}

fn ending_kind(exit: &CellExit, recording: &Recording, limits: &bench_core::Limits) -> Ending {
    if !exit.isolation.quiescent {
        return Ending::because(EndingKind::NotQuiescent, "a process of the cell could not be ended");
    }
    if let Some(stop) = &recording.stop {
        return stop.clone();
    }
    let left_content = exit.stopped_by.is_none() && exit.exit_code == Some(0) && !recording.turns.is_empty();
    let was_capped = matches!(exit.stopped_by, Some(Stop::OutputCap | Stop::DiskCap | Stop::Asked));
    if let Some(why) = recording.failing.as_ref().filter(|_| !left_content && !was_capped) {
        let detail = format!("the upstream was still being asked again when the attempt ended: {why}");
        return Ending::because(EndingKind::UpstreamFault, detail);
    }
    let limit = |name: &str, value: u64, unit: &str| {
        Some(LimitHit { name: name.to_owned(), value: value as f64, unit: unit.to_owned() })
    };
    match exit.stopped_by {
        Some(Stop::WallLimit) => {
            return Ending {
                limit: limit("wall-ms", limits.wall_ms, "ms"),
                ..Ending::of(EndingKind::Timeout)
            };
        }
        Some(Stop::OutputCap) => {
            return Ending {
                limit: limit("output-bytes", limits.output_bytes, "bytes"),
                ..Ending::of(EndingKind::OutputCap)
            };
        }
        Some(Stop::DiskCap) => {
            return Ending {
                limit: limit("disk-bytes", bench_isolation::disk::DISK_CAP_BYTES, "bytes"),
                ..Ending::because(
                    EndingKind::OutputCap,
                    "workspace, HOME and TMPDIR held more than their cap of bytes or entries",
                )
            };
        }
        Some(Stop::Asked) => return Ending::because(EndingKind::Interrupted, "killed on request"),
        None => {}
    }
    if recording.turns.is_empty() {
        return never_answered(exit, recording);
    }
    match (exit.exit_code, exit.signal) {
        (Some(0), _) => Ending::of(EndingKind::Completed),
        (Some(code), _) => Ending::because(
            EndingKind::AgentError,
            format!("exit code {code}; end of stderr: {}", tail_of(exit)),
        ),
        (None, signal) => {
            Ending::because(EndingKind::AgentError, format!("signal {}", signal.unwrap_or_default()))
        }
    }
}

/// No turn was answered: was none asked for, was none let through, or was the answer always no?
fn never_answered(exit: &CellExit, recording: &Recording) -> Ending {
    let stderr = || format!("end of its stderr: {}", tail_of(exit));
    let asked: u32 = recording.requests_by_class.values().map(|class| class.requests).sum();
    let statuses = &recording.upstream.statuses;
    if !statuses.is_empty() {
        let said: Vec<String> =
            statuses.iter().map(|(status, times)| format!("{status} ({times} times)")).collect();
        let said = said.join(", ");
        // What the request says is the arm's; where it goes and what the key may is whoever wrote the experiment's.
        if statuses.keys().all(|status| ["400", "413", "415", "422"].contains(&status.as_str())) {
            let detail =
                format!("the upstream refused everything that the agent asked: {said}; {}", stderr());
            return Ending::because(EndingKind::AgentError, detail);
        }
        let detail = format!(
            "the upstream answered no model call with a success: {said}; check base URL, model id and key"
        );
        return Ending { blame: Blame::Operator, ..Ending::because(EndingKind::UpstreamFault, detail) };
    }
    let detail = if asked == 0 {
        "the agent never asked the model".to_owned()
    } else if recording.first_request.is_some() {
        format!("the agent left before its first model call was answered (requests it made: {asked})")
    } else {
        format!(
            "none of the agent's {asked} requests was a model call that could be let through; requests/index.jsonl has each with its rule"
        )
    };
    Ending::because(EndingKind::NoModelCall, format!("{detail}; {}", stderr()))
}

/// The last 300 characters of stderr, on one line.
fn tail_of(exit: &CellExit) -> String {
    let text = String::from_utf8_lossy(&whole(&exit.stderr)).into_owned();
    let tail: Vec<char> = text.trim().chars().rev().take(300).collect();
    tail.into_iter().rev().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
