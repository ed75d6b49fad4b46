//! Commands that keep running beside the conversation: started, looked at, waited for, ended.
//!
//! What a command prints is kept in memory, its newest part. A command stays on the list until its end has been told: that
//! is its episode, and it depends on calls and results alone, never on when a process happens to end.

use std::io::{self, PipeReader};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use serde::Deserialize;

use super::bell::{Bell, Cancel, Waited};
use super::marks::{Marks, Phase, Subject};
use super::process::{Leader, kill_all};

/// Bytes of output that are kept of one command.
const LOG: usize = 256 << 10;
/// Bytes of output that one answer shows.
const SHOWN: usize = 16 << 10;
/// Commands that may be on the list at once.
const MOST: usize = 16;
/// Time that a command has to end by itself once it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// Seconds that a watch waits where it does not say, and the most that it may say.
const USUAL: f64 = 60.0;
const LONGEST: f64 = 3600.0;

/// Arguments of `bg_start`.
#[derive(Debug, Deserialize)]
pub(crate) struct Start {
    command: String,
    title: String,
    working_dir: Option<String>,
}

/// Arguments of `bg_status` and `bg_kill`.
#[derive(Debug, Deserialize)]
pub(crate) struct Which {
    id: String,
}

/// Arguments of `bg_watch`.
#[derive(Debug, Deserialize)]
pub(crate) struct Watch {
    id: String,
    pattern: Option<String>,
    timeout: Option<f64>,
}

/// The commands of one conversation.
#[derive(Debug)]
pub(crate) struct Background {
    folder: PathBuf,
    bell: Bell,
    cancel: Cancel,
    marks: Marks,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    started: u32,
    list: Vec<Arc<Entry>>,
}

#[derive(Debug)]
struct Entry {
    id: String,
    title: String,
    leader: Leader,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    log: Vec<u8>,
    /// Bytes that came before those that are kept.
    dropped: usize,
    /// Bytes that were told, counted from the first.
    told: usize,
    ended: Option<ExitStatus>,
}

impl Background {
    pub(crate) fn in_folder(folder: &Path, cancel: &Cancel, marks: &Marks) -> Self {
        Self {
            folder: folder.to_owned(),
            bell: cancel.bell().clone(),
            cancel: cancel.clone(),
            marks: marks.clone(),
            entries: Mutex::default(),
        }
    }

    /// Is a command on the list?
    pub(crate) fn is_alive(&self) -> bool {
        !self.entries().list.is_empty()
    }

    pub(crate) fn start(&self, given: &Start) -> Result<String, String> {
        let folder = self.folder.join(given.working_dir.as_deref().unwrap_or("."));
        if !folder.is_dir() {
            return Err(format!("{}: there is no such folder", given.working_dir.as_deref().unwrap_or(".")));
        }
        let mut entries = self.entries();
        if entries.list.len() >= MOST {
            return Err(format!("{MOST} commands are on the list already; end one with bg_kill first"));
        }
        let (leader, child, output) = spawn(&given.command, &folder)
            .map_err(|error| format!("the command could not be run: {error}"))?;
        let ended = leader.pidfd().map_err(|error| format!("the command could not be followed: {error}"))?;
        entries.started += 1;
        let entry = Arc::new(Entry {
            id: format!("bg-{}", entries.started),
            title: given.title.clone(),
            leader,
            state: Mutex::default(),
        });
        entries.list.push(Arc::clone(&entry));
        let said = format!("Started {} ({}).", entry.id, entry.title);
        let (bell, marks) = (self.bell.clone(), self.marks.clone());
        marks.mark(Subject::Background, &entry.id, Phase::Begin, &entry.title);
        std::thread::spawn(move || {
            let status = entry.follow(child, &output, &ended, &bell);
            // Marked before anybody can hear of the end: what follows from it comes later on the line.
            marks.mark(Subject::Background, &entry.id, Phase::End, &word_of(Some(status)));
            entry.state().ended = Some(status);
            bell.ring();
        });
        Ok(said)
    }

    /// State and new output of one command.
    pub(crate) fn status(&self, given: &Which) -> Result<String, String> {
        let entry = self.entry(&given.id)?;
        Ok(self.told(&entry, None))
    }

    /// Every command with its state, without output.
    pub(crate) fn list(&self) -> String {
        let line = |entry: &Arc<Entry>| format!("{} ({}): {}", entry.id, entry.title, entry.state().word());
        let lines: Vec<String> = self.entries().list.iter().map(line).collect();
        if lines.is_empty() { "[None.]".to_owned() } else { lines.join("\n") }
    }

    /// Waits until new output holds the pattern, or the command ends.
    pub(crate) fn watch(&self, given: &Watch) -> Result<String, String> {
        let entry = self.entry(&given.id)?;
        let pattern = given.pattern.as_deref().map(RegexMatcher::new_line_matcher);
        let pattern = pattern.transpose().map_err(|error| format!("pattern: {error}"))?;
        let seconds = given.timeout.unwrap_or(USUAL);
        if !(0.0..=LONGEST).contains(&seconds) {
            return Err(format!("timeout must be at most {LONGEST} seconds but is {seconds}"));
        }
        let deadline = Instant::now() + Duration::from_secs_f64(seconds);
        let waited = self.bell.wait(deadline, &self.cancel, || {
            let state = entry.state();
            let holds = pattern.as_ref().is_some_and(|pattern| state.news_hold(pattern));
            (holds || state.ended.is_some()).then_some(())
        });
        let remark = match waited {
            Waited::Ready(()) if entry.state().ended.is_some() => None,
            Waited::Ready(()) => Some("the pattern was printed".to_owned()),
            Waited::TimedOut => Some(format!("nothing of it within {seconds} seconds; it runs on")),
            Waited::Cancelled => return Err("the wait was cancelled; the command runs on".to_owned()),
        };
        Ok(self.told(&entry, remark))
    }

    /// Ends a command and everything that it started.
    pub(crate) fn kill(&self, given: &Which) -> Result<String, String> {
        let entry = self.entry(&given.id)?;
        let how = self.end(&entry);
        Ok(self.told(&entry, Some(how.to_owned())))
    }

    fn end(&self, entry: &Entry) -> &'static str {
        if entry.state().ended.is_some() {
            return "it had ended before";
        }
        let mut below = entry.leader.descendants();
        entry.leader.signal(Signal::TERM);
        // A cancelled conversation waits for nobody's grace, but its children must be gone all the same.
        let patient = Cancel::default();
        let gone = |deadline| {
            let ended = || entry.state().ended.map(drop);
            self.bell.wait(deadline, &patient, ended) == Waited::Ready(())
        };
        let obeyed = gone(Instant::now() + GRACE);
        below.extend(entry.leader.descendants());
        entry.leader.signal(Signal::KILL);
        kill_all(&below);
        if obeyed {
            return "it was ended";
        }
        gone(Instant::now() + GRACE);
        "it took no notice of SIGTERM for 2 seconds and was killed"
    }

    /// State and news of a command; one whose end is told leaves the list.
    fn told(&self, entry: &Arc<Entry>, remark: Option<String>) -> String {
        let (word, news, over) = {
            let mut state = entry.state();
            (state.word(), state.news(), state.ended.is_some())
        };
        if over {
            self.entries().list.retain(|other| other.id != entry.id);
        }
        let remark = remark.map(|remark| format!("; {remark}")).unwrap_or_default();
        let news =
            if news.is_empty() { "[No new output.]".to_owned() } else { format!("New output:\n{news}") };
        format!("{} ({}): {word}{remark}. {news}", entry.id, entry.title)
    }

    fn entry(&self, id: &str) -> Result<Arc<Entry>, String> {
        let entries = self.entries();
        let found = entries.list.iter().find(|entry| entry.id == id).cloned();
        found.ok_or_else(|| {
            let known: Vec<&str> = entries.list.iter().map(|entry| entry.id.as_str()).collect();
            let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
            format!("{id} is not on the list, which holds {known}")
        })
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends every command.
    pub(crate) fn end_all(&self) {
        let list = std::mem::take(&mut self.entries().list);
        list.iter().for_each(|entry| {
            self.end(entry);
        });
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.end_all();
    }
}

impl Entry {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what the command prints until it ends. A process left behind that still holds the output is not waited for.
    fn follow(
        &self,
        mut child: Child,
        output: &PipeReader,
        ended: &impl std::os::fd::AsFd,
        bell: &Bell,
    ) -> ExitStatus {
        let mut output_open = true;
        loop {
            let mut watched = vec![PollFd::new(ended, PollFlags::IN)];
            if output_open {
                watched.push(PollFd::new(output, PollFlags::IN));
            }
            match poll(&mut watched, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                // Without poll nothing can be followed: it is ended rather than left alone.
                Err(_) => self.leader.signal(Signal::KILL),
            }
            let over = !watched[0].revents().is_empty();
            output_open = output_open && self.drain(output);
            if over {
                return child.wait().unwrap_or_else(|_| ExitStatus::from_raw(Signal::KILL.as_raw()));
            }
            bell.ring();
        }
    }

    /// Takes what there is without waiting. False once nobody can write any more.
    fn drain(&self, output: &PipeReader) -> bool {
        let mut buffer = [0; 1 << 16];
        loop {
            match rustix::io::read(output, &mut buffer) {
                Ok(0) => return false,
                Ok(count) => self.state().push(&buffer[..count]),
                Err(rustix::io::Errno::AGAIN) => return true,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

impl State {
    fn push(&mut self, bytes: &[u8]) {
        self.log.extend_from_slice(bytes);
        if self.log.len() > 2 * LOG {
            let surplus = self.log.len() - LOG;
            self.log.drain(..surplus);
            self.dropped += surplus;
        }
    }

    fn fresh(&self) -> &[u8] {
        &self.log[self.told.saturating_sub(self.dropped).min(self.log.len())..]
    }

    fn news_hold(&self, pattern: &RegexMatcher) -> bool {
        self.fresh().split(|byte| *byte == b'\n').any(|line| pattern.is_match(line).unwrap_or(false))
    }

    /// Output that was not told yet, its end where it is long.
    fn news(&mut self) -> String {
        let fresh = self.fresh();
        let cut = fresh.len().saturating_sub(SHOWN);
        let missing = cut + self.dropped.saturating_sub(self.told);
        let text = String::from_utf8_lossy(&fresh[cut..]).into_owned();
        self.told = self.dropped + self.log.len();
        if missing > 0 { format!("[{missing} bytes before this are left out.]\n{text}") } else { text }
    }

    fn word(&self) -> String {
        word_of(self.ended)
    }
}

fn word_of(ended: Option<ExitStatus>) -> String {
    match ended.map(|status| (status.code(), status.signal())) {
        None => "running".to_owned(),
        Some((Some(code), _)) => format!("ended with code {code}"),
        Some((None, signal)) => format!("ended by signal {}", signal.unwrap_or_default()),
    }
}

fn spawn(command: &str, folder: &Path) -> io::Result<(Leader, Child, PipeReader)> {
    let with = |shell: &str| -> io::Result<(Leader, Child, PipeReader)> {
        let (output, input) = io::pipe()?;
        rustix::io::ioctl_fionbio(&output, true)?;
        let mut started = Command::new(shell);
        started.arg("-c").arg(command).current_dir(folder);
        started.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
        let (leader, child) = Leader::start(&mut started)?;
        Ok((leader, child, output))
    };
    match with("bash") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => with("sh"),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage() -> (tempfile::TempDir, Background) {
        let folder = tempfile::tempdir().unwrap();
        let cancel = Cancel::with(&Bell::default());
        let background = Background::in_folder(folder.path(), &cancel, &Marks::default());
        (folder, background)
    }

    fn start(background: &Background, command: &str) -> Result<String, String> {
        background.start(&Start { command: command.into(), title: "it".into(), working_dir: None })
    }

    fn which(id: &str) -> Which {
        Which { id: id.into() }
    }

    fn watch(background: &Background, id: &str, pattern: Option<&str>) -> String {
        background
            .watch(&Watch { id: id.into(), pattern: pattern.map(str::to_owned), timeout: Some(600.0) })
            .unwrap()
    }

    #[test]
    fn a_command_runs_on_and_its_output_is_told_once() {
        let (folder, background) = stage();
        let gate = folder.path().join("gate");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &gate, kind, mode, 0).unwrap();
        let command = "echo up; read x < gate; echo done; exit 3";
        assert_eq!(start(&background, command).unwrap(), "Started bg-1 (it).");
        let told = watch(&background, "bg-1", Some("^up$"));
        assert_eq!(told, "bg-1 (it): running; the pattern was printed. New output:\nup\n");
        assert_eq!(background.list(), "bg-1 (it): running");
        std::fs::write(&gate, "x\n").unwrap();
        let told = watch(&background, "bg-1", None);
        assert!(
            told.starts_with("bg-1 (it): ended with code 3. New output:\n") && told.ends_with("done\n"),
            "{told}"
        );
        assert!(!background.is_alive(), "its end has been told");
        assert!(
            background.status(&which("bg-1")).unwrap_err().contains("not on the list, which holds nothing")
        );
    }

    #[test]
    fn a_command_that_takes_no_notice_of_a_signal_is_killed_with_its_children() {
        let (_folder, background) = stage();
        start(&background, "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & echo deaf; while :; do sleep 1; done")
            .unwrap();
        let said = watch(&background, "bg-1", Some("^[0-9]+$"));
        let child = said.lines().find_map(|line| line.parse::<i32>().ok()).unwrap();
        let told = background.kill(&which("bg-1")).unwrap();
        assert!(told.contains("took no notice of SIGTERM for 2 seconds and was killed"), "{told}");
        assert!(told.starts_with("bg-1 (it): ended by signal 9"), "{told}");
        // A process that is gone, or waits to be reaped by the init that it came to.
        let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z ") || state.contains(") X "), "{state}");
    }

    #[test]
    fn one_that_obeys_is_ended_at_once_and_all_end_with_the_conversation() {
        let (folder, background) = stage();
        start(&background, "sleep 86400").unwrap();
        start(&background, "trap 'echo bye > farewell; exit 0' TERM; while :; do sleep 0.1; done").unwrap();
        assert!(
            background
                .kill(&which("bg-1"))
                .unwrap()
                .starts_with("bg-1 (it): ended by signal 15; it was ended")
        );
        drop(background);
        let _ = folder;
    }

    #[test]
    fn a_wait_ends_by_its_timeout_and_by_cancellation_and_says_that_it_runs_on() {
        let folder = tempfile::tempdir().unwrap();
        let cancel = Cancel::with(&Bell::default());
        let background = Background::in_folder(folder.path(), &cancel, &Marks::default());
        start(&background, "sleep 86400").unwrap();
        let short = Watch { id: "bg-1".into(), pattern: None, timeout: Some(0.0) };
        assert!(background.watch(&short).unwrap().contains("nothing of it within 0 seconds; it runs on"));
        cancel.wish();
        let long = Watch { id: "bg-1".into(), pattern: Some("x".into()), timeout: None };
        assert_eq!(background.watch(&long).unwrap_err(), "the wait was cancelled; the command runs on");
        let wrong = Watch { id: "bg-1".into(), pattern: Some("(".into()), timeout: None };
        assert!(background.watch(&wrong).unwrap_err().starts_with("pattern: "));
    }

    #[test]
    fn much_output_keeps_its_end_and_says_how_much_is_left_out() {
        let (_folder, background) = stage();
        start(&background, "seq 1 200000").unwrap();
        let told = watch(&background, "bg-1", None);
        assert!(told.contains("bytes before this are left out.]") && told.ends_with("200000\n"));
        assert!(told.len() < SHOWN + 200);
    }

    #[test]
    fn the_list_has_an_end() {
        let (_folder, background) = stage();
        for _ in 0..MOST {
            start(&background, "sleep 86400").unwrap();
        }
        assert!(start(&background, "true").unwrap_err().contains("end one with bg_kill first"));
    }
}
