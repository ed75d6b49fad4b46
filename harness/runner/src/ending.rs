//! Why an attempt ended, from what the kernel, the recorder and the launcher say.

use bench_core::{Ending, EndingKind, LimitHit};
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
        return Ending::because(
            EndingKind::NoModelCall,
            format!("the agent never asked the model; end of its stderr: {}", tail_of(exit)),
        );
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

/// The last 300 characters of stderr, on one line.
fn tail_of(exit: &CellExit) -> String {
    let text = String::from_utf8_lossy(&whole(&exit.stderr)).into_owned();
    let tail: Vec<char> = text.trim().chars().rev().take(300).collect();
    tail.into_iter().rev().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
