//! `bash`: a command line in a fresh shell, in a process group of its own.
//!
//! Returns when the shell ends, with everything printed until then: a process left behind that still holds the output
//! would otherwise keep the model waiting. Reads and waits in one place, by `poll` over the output and the shell's pidfd,
//! without threads and without timers.

use std::io::{self, PipeReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use bench_code::Stop;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::Deserialize;

use super::cut::Tail;
use crate::start::VARIABLES;

/// The longest time that a call can set, in seconds: a day is longer than any cell lives.
const LONGEST: f64 = 86_400.0;

/// Its arguments.
#[derive(Debug, Deserialize)]
pub(super) struct Arguments {
    command: String,
    timeout: Option<f64>,
}

/// How the shell came to its end.
enum Ended {
    ByItself(ExitStatus),
    /// Its own time was over.
    Stopped,
    /// Whoever wanted it does not want it any more.
    GivenUp,
}

pub(super) fn run(given: &Arguments, workspace: &Path, stop: Option<&Stop>) -> Result<String, String> {
    let deadline = match given.timeout {
        None => None,
        Some(seconds) if seconds > 0.0 && seconds <= LONGEST => {
            Some(Instant::now() + Duration::from_secs_f64(seconds))
        }
        Some(seconds) => {
            return Err(format!("timeout must be above 0 and at most {LONGEST} seconds but is {seconds}"));
        }
    };
    let mut printed = Tail::default();
    let ended = follow(given, workspace, (deadline, stop), &mut printed)
        .map_err(|error| format!("the shell could not be run: {error}"))?;
    Ok(with_end(printed.text(), &ended)).and_then(|text| match ended {
        Ended::ByItself(_) => Ok(text),
        Ended::GivenUp => Err(format!("the command was stopped; what it printed until then:\n{text}")),
        Ended::Stopped => Err(format!(
            "the command was stopped after {} seconds; what it printed until then:\n{text}",
            given.timeout.unwrap_or_default()
        )),
    })
}

fn with_end(printed: String, ended: &Ended) -> String {
    let remark = match ended {
        Ended::Stopped | Ended::GivenUp => None,
        Ended::ByItself(status) => match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("Command exited with code {code}")),
            (None, signal) => Some(format!("Command was ended by signal {}", signal.unwrap_or_default())),
        },
    };
    match remark {
        None if printed.is_empty() => "[No output.]".to_owned(),
        None => printed,
        Some(remark) if printed.is_empty() => remark,
        Some(remark) => {
            let gap = if printed.ends_with('\n') { "" } else { "\n" };
            format!("{printed}{gap}{remark}")
        }
    }
}

/// Runs the shell until it ends or the deadline passes, collecting what is printed.
fn follow(
    given: &Arguments,
    workspace: &Path,
    (deadline, stop): (Option<Instant>, Option<&Stop>),
    printed: &mut Tail,
) -> io::Result<Ended> {
    let (output, mut child) = spawn(given, workspace)?;
    rustix::io::ioctl_fionbio(&output, true)?;
    let group = Pid::from_child(&child);
    let shell = pidfd_open(group, PidfdFlags::empty())?;
    let mut output_open = true;
    loop {
        let mut watched = vec![PollFd::new(&shell, PollFlags::IN)];
        if output_open {
            watched.push(PollFd::new(&output, PollFlags::IN));
        }
        if let Some(stop) = stop {
            watched.push(PollFd::new(stop, PollFlags::IN));
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            kill_group(group);
            child.wait()?;
            drain(&output, printed)?;
            return Ok(Ended::Stopped);
        }
        let timeout = left.map(|left| Timespec::try_from(left).expect("a day fits"));
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                kill_group(group);
                child.wait()?;
                return Err(error.into());
            }
        }
        if stop.is_some_and(Stop::is_said) {
            kill_group(group);
            child.wait()?;
            drain(&output, printed)?;
            return Ok(Ended::GivenUp);
        }
        let shell_ended = !watched[0].revents().is_empty();
        // After the shell's end the pipe holds all that it and its finished children have written.
        output_open = drain(&output, printed)? && output_open;
        if shell_ended {
            return child.wait().map(Ended::ByItself);
        }
    }
}

fn spawn(given: &Arguments, workspace: &Path) -> io::Result<(PipeReader, Child)> {
    match spawn_with("bash", given, workspace) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => spawn_with("sh", given, workspace),
        other => other,
    }
}

fn spawn_with(shell: &str, given: &Arguments, workspace: &Path) -> io::Result<(PipeReader, Child)> {
    let (output, input) = io::pipe()?;
    let mut command = Command::new(shell);
    command.arg("-c").arg(&given.command).current_dir(workspace).process_group(0);
    command.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
    // What the model runs has no business with the model's own line.
    VARIABLES.iter().for_each(|name| {
        command.env_remove(name);
    });
    // `command` keeps the writing end until it is dropped here; only then can the output end.
    command.spawn().map(|child| (output, child))
}

/// Kills the shell and everything it started that has not left its group on purpose.
fn kill_group(group: Pid) {
    // The group is gone already: nothing to kill.
    let _ = kill_process_group(group, Signal::KILL);
}

/// Takes what there is without waiting. False once nobody can write any more.
fn drain(output: &PipeReader, printed: &mut Tail) -> io::Result<bool> {
    let mut buffer = [0; 1 << 16];
    loop {
        match rustix::io::read(output, &mut buffer) {
            Ok(0) => return Ok(false),
            Ok(count) => printed.push(&buffer[..count]),
            Err(rustix::io::Errno::AGAIN) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead as _;

    use super::*;

    fn bash_in(folder: &Path, command: &str, timeout: Option<f64>) -> Result<String, String> {
        run(&Arguments { command: command.into(), timeout }, folder, None)
    }

    fn bash(command: &str) -> String {
        bash_in(tempfile::tempdir().unwrap().path(), command, None).unwrap()
    }

    #[test]
    fn both_streams_come_back_in_the_order_of_writing_with_the_status() {
        assert_eq!(bash("echo a; echo b >&2; echo c"), "a\nb\nc\n");
        assert_eq!(bash("true"), "[No output.]");
        assert_eq!(bash("printf x; exit 3"), "x\nCommand exited with code 3");
        assert_eq!(bash("exit 3"), "Command exited with code 3");
        assert_eq!(bash("kill -9 $$"), "Command was ended by signal 9");
        assert_eq!(bash("cat"), "[No output.]");
        assert_eq!(bash("no-such-program-at-all 2>/dev/null"), "Command exited with code 127");
    }

    #[test]
    fn it_runs_in_the_workspace_without_the_agents_own_variables() {
        let folder = tempfile::tempdir().unwrap();
        let here = std::fs::canonicalize(folder.path()).unwrap();
        assert_eq!(bash_in(folder.path(), "pwd -P", None).unwrap(), format!("{}\n", here.display()));
        assert_eq!(bash("env | grep -c ^BENCH_"), "0\nCommand exited with code 1");
    }

    #[test]
    fn much_output_keeps_its_end() {
        let text = bash("seq 1 100000");
        assert!(text.starts_with("[The output has 100000 lines; only its end is shown.]\n"));
        assert!(text.ends_with("\n100000\n") && text.lines().count() <= 2001);
    }

    #[test]
    fn a_process_left_behind_does_not_hold_the_result_back() {
        // It would hold the output for a day; the pipe closes on it once the result is there.
        let text = bash("sleep 86400 & echo $!");
        let left: i32 = text.trim().parse().unwrap();
        rustix::process::kill_process(Pid::from_raw(left).unwrap(), Signal::KILL).unwrap();
    }

    #[test]
    fn killing_reaches_the_children_too() {
        let given = Arguments {
            // All three processes hold the output; its end is the death of the last of them.
            command: "(sleep 86400 & sleep 86400 & echo begun; wait) & wait".into(),
            timeout: None,
        };
        let (output, mut child) = spawn(&given, Path::new("/")).unwrap();
        let mut output = std::io::BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        kill_group(Pid::from_child(&child));
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        assert_eq!(output.read_line(&mut line).unwrap(), 0);
    }

    #[test]
    fn a_command_that_outlives_its_timeout_is_a_failed_call() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            bash_in(folder.path(), "sleep 86400", Some(0.05)).unwrap_err(),
            "the command was stopped after 0.05 seconds; what it printed until then:\n[No output.]"
        );
    }

    #[test]
    fn a_command_that_nobody_wants_any_more_is_stopped_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let (stop, said) = (Stop::new().unwrap(), Stop::new().unwrap());
        let given = Arguments { command: "(sleep 86400 > pipe) & wait".into(), timeout: None };
        let told = std::thread::scope(|scope| {
            let runs = scope.spawn(|| run(&given, folder.path(), Some(&stop)));
            // It opens once the child holds the other end, and ends once that child is gone.
            let mut held = std::fs::File::open(&pipe).unwrap();
            stop.say();
            assert_eq!(std::io::Read::read(&mut held, &mut [0]).unwrap(), 0);
            runs.join().unwrap()
        });
        assert_eq!(told.unwrap_err(), "the command was stopped; what it printed until then:\n[No output.]");
        said.say();
        let told =
            run(&Arguments { command: "sleep 86400".into(), timeout: None }, folder.path(), Some(&said));
        assert!(told.is_err());
    }

    #[test]
    fn a_timeout_that_makes_no_sense_is_refused() {
        for timeout in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            let folder = tempfile::tempdir().unwrap();
            assert!(
                bash_in(folder.path(), "true", Some(timeout)).unwrap_err().starts_with("timeout must be")
            );
        }
    }
}
