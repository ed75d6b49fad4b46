//! The thread that listens, and what it knows of each domain.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags};
use serde::Serialize;
use tokio::sync::Notify;

use super::netlink::{Message, Socket};
use super::record::{Record, parse};
use super::switch;
use crate::attempt::{Attempt, Tally};

/// How long a domain may take to go after its last process. Measured: 33 to 56 ms; more means that somebody lives in
/// it, or that its record is lost.
const SETTLE_PATIENCE: Duration = Duration::from_secs(2);

/// Domains of others, and of cells whose canary has not come yet, that are remembered at once.
const MOST_DOMAINS: usize = 4096;

/// Refusals that wait for the record of their system call, which follows at its end.
const MOST_WAITING: usize = 512;

/// Why there is no tap.
#[derive(Debug, thiserror::Error)]
pub enum NoTap {
    /// Auditing is off, and nobody asked to change that.
    #[error("kernel audit is off: `bench doctor --fix` prints what it would change, and does it")]
    Off,
    /// Records may not be read by this process.
    #[error(
        "kernel audit records cannot be read ({0}): needs CAP_AUDIT_READ in the machine's first namespaces"
    )]
    Unreadable(io::Error),
    /// The thread could not be started.
    #[error("the audit reader could not be started: {0}")]
    Thread(io::Error),
}

/// A word that stands in the path of a canary: 128 random bits in hex.
pub fn nonce() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Listens to the kernel's Landlock records for as long as it lives.
pub struct AuditTap {
    state: Arc<Shared>,
    stop: OwnedFd,
    reader: Option<JoinHandle<()>>,
}

struct Shared {
    board: Mutex<Board>,
    news: Notify,
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of every domain.
#[derive(Default)]
struct Board {
    domains: HashMap<u64, Domain>,
    nonces: HashSet<String>,
    named: HashMap<String, u64>,
    /// By the number that the system call's record will have, and by their own order: the domain, and what was refused. One
    /// call may be refused several things.
    waiting: BTreeMap<(u64, u64), (u64, Attempt)>,
    refusals: u64,
    losses: u64,
    broken: Option<String>,
}

#[derive(Default)]
struct Domain {
    records: u64,
    own_probes: u64,
    tally: Tally,
    denials: Option<u64>,
    named: bool,
}

/// What the kernel recorded of one cell.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Heard {
    /// What the agent and its processes were refused. Without a name: by the agent's first process, which the kernel
    /// does not follow, or where system calls are not recorded at all.
    pub attempts: Vec<Attempt>,
    /// Why the list is not complete; none = the kernel's count equals the records.
    pub hole: Option<String>,
    /// Records received, the launcher's probes included.
    pub records: u64,
    /// Denials counted by the kernel; none = the domain was not seen to go.
    pub denials: Option<u64>,
    /// Of the records, the launcher's own probes up to the canary.
    pub own_probes: u64,
}

/// One expected cell.
pub struct Watch {
    state: Arc<Shared>,
    nonce: String,
}

impl AuditTap {
    /// Could it be started? Starts no thread.
    pub fn possible() -> Result<(), NoTap> {
        listening().map(drop)
    }

    /// Starts to listen. Changes nothing on this machine.
    pub fn start() -> Result<Self, NoTap> {
        let socket = listening()?;
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| NoTap::Thread(e.into()))?;
        let stopped = stop.try_clone().map_err(NoTap::Thread)?;
        let state = Arc::new(Shared { board: Mutex::default(), news: Notify::new() });
        let shared = Arc::clone(&state);
        let reader = std::thread::Builder::new()
            .name("audit-tap".to_owned())
            .spawn(move || listen(&socket, &stopped, &shared))
            .map_err(NoTap::Thread)?;
        Ok(Self { state, stop, reader: Some(reader) })
    }

    /// Waits from now on for the canary with this word in its path.
    pub fn expect(&self, nonce: &str) -> Watch {
        self.state.board().nonces.insert(nonce.to_owned());
        Watch { state: Arc::clone(&self.state), nonce: nonce.to_owned() }
    }
}

impl Drop for AuditTap {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Watch {
    /// What was recorded, once the domain is gone; waits at most two seconds for that. To be asked after the cell has
    /// ended, at any time: other cells go on meanwhile.
    pub async fn settle(self) -> Heard {
        let settled = async {
            loop {
                let news = self.state.news.notified();
                let mut news = std::pin::pin!(news);
                // Registered before the look, so that nothing is missed between them.
                news.as_mut().enable();
                if self.state.board().is_settled(&self.nonce) {
                    return;
                }
                news.await;
            }
        };
        let _ = tokio::time::timeout(SETTLE_PATIENCE, settled).await;
        self.state.board().take(&self.nonce)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.state.board().forget(&self.nonce);
    }
}

#[cfg(test)]
impl Watch {
    /// Of a cell whose records a test tells: the canary's and the kernel's last word.
    pub(crate) fn told_by_hand(nonce: &str) -> (Self, impl FnOnce()) {
        let board = Board { nonces: HashSet::from([nonce.to_owned()]), ..Board::default() };
        let state = Arc::new(Shared { board: Mutex::new(board), news: Notify::new() });
        let told = Arc::clone(&state);
        let tell = move || {
            told.board().take_in(&[
                Message {
                    number: 1423,
                    body:
                        b"audit(1.1:1): domain=1 blockers=fs.read_file path=\"/canary-abc\" dev=\"vda\" ino=1"
                            .to_vec(),
                },
                Message {
                    number: 1424,
                    body: b"audit(1.1:2): domain=1 status=deallocated denials=1".to_vec(),
                },
            ]);
            told.news.notify_waiters();
        };
        (Self { state, nonce: nonce.to_owned() }, tell)
    }
}

fn listening() -> Result<Socket, NoTap> {
    // Whoever may not ask how auditing stands learns it from the canary.
    if matches!(switch::state(), Ok(state) if state.enabled == 0) {
        return Err(NoTap::Off);
    }
    Socket::listening().map_err(NoTap::Unreadable)
}

fn listen(socket: &Socket, stop: &OwnedFd, shared: &Shared) {
    loop {
        let mut fds = [
            PollFd::from_borrowed_fd(socket.fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN),
        ];
        match rustix::event::poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return shared.board().broken = Some(error.to_string()),
        }
        if !fds[1].revents().is_empty() {
            return;
        }
        if drain(socket, shared) {
            shared.news.notify_waiters();
        }
    }
}

/// Takes what waits; true when a waiter may want to look.
fn drain(socket: &Socket, shared: &Shared) -> bool {
    let mut news = false;
    loop {
        match socket.receive() {
            Ok(messages) if messages.is_empty() => return news,
            Ok(messages) => news |= shared.board().take_in(&messages),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                shared.board().losses += 1;
                news = true;
            }
            Err(error) => {
                shared.board().broken = Some(error.to_string());
                return true;
            }
        }
    }
}

impl Board {
    fn take_in(&mut self, messages: &[Message]) -> bool {
        let mut news = false;
        for message in messages {
            let text = String::from_utf8_lossy(&message.body);
            match parse(message.number, text.trim_end_matches('\0')) {
                Some(Record::Denied { domain, serial, attempt }) => self.denied(domain, serial, attempt),
                Some(Record::Call { serial, process }) => self.named_by_its_call(serial, process),
                Some(Record::Allocated { .. }) | None => {}
                Some(Record::Deallocated { domain, denials }) => {
                    self.gone(domain, denials);
                    news = true;
                }
            }
        }
        news
    }

    fn denied(&mut self, id: u64, serial: u64, attempt: Attempt) {
        let canary = attempt.target.path().and_then(|path| {
            let path = path.to_string_lossy();
            self.nonces.iter().find(|nonce| path.contains(nonce.as_str())).cloned()
        });
        if !self.domains.contains_key(&id) && self.domains.len() >= MOST_DOMAINS {
            // Somebody else's domains: those that are gone and were never named are not ours.
            self.domains.retain(|_, domain| domain.named || domain.denials.is_none());
        }
        let domain = self.domains.entry(id).or_default();
        domain.records += 1;
        match canary {
            Some(nonce) if !domain.named => {
                domain.named = true;
                domain.own_probes = domain.records;
                domain.tally = Tally::default();
                self.waiting.retain(|_, (waiting, _)| *waiting != id);
                self.named.insert(nonce, id);
            }
            Some(_) | None => {
                self.refusals += 1;
                self.waiting.insert((serial, self.refusals), (id, attempt));
            }
        }
        // The oldest has no such record, or it was lost.
        while self.waiting.len() > MOST_WAITING {
            if let Some((_, (domain, attempt))) = self.waiting.pop_first() {
                self.tally(domain, attempt);
            }
        }
    }

    fn named_by_its_call(&mut self, serial: u64, process: String) {
        for key in
            self.waiting.range((serial, 0)..=(serial, u64::MAX)).map(|(key, _)| *key).collect::<Vec<_>>()
        {
            if let Some((domain, attempt)) = self.waiting.remove(&key) {
                self.tally(domain, Attempt { process: process.clone(), ..attempt });
            }
        }
    }

    fn tally(&mut self, domain: u64, attempt: Attempt) {
        if let Some(domain) = self.domains.get_mut(&domain) {
            domain.tally.add(attempt);
        }
    }

    /// Nothing of this domain waits any longer for a name.
    fn wait_no_longer(&mut self, id: u64) {
        let waiting = std::mem::take(&mut self.waiting);
        let (its_own, others) = waiting.into_iter().partition(|(_, (domain, _))| *domain == id);
        self.waiting = others;
        let its_own: BTreeMap<(u64, u64), (u64, Attempt)> = its_own;
        its_own.into_values().for_each(|(domain, attempt)| self.tally(domain, attempt));
    }

    fn gone(&mut self, id: u64, denials: u64) {
        self.wait_no_longer(id);
        match self.domains.get_mut(&id) {
            Some(domain) if domain.named => domain.denials = Some(denials),
            // Nobody's canary was in it, and none can come any more.
            Some(_) => drop(self.domains.remove(&id)),
            None => {}
        }
    }

    fn is_settled(&self, nonce: &str) -> bool {
        let domain = self.named.get(nonce).and_then(|id| self.domains.get(id));
        self.broken.is_some() || domain.is_some_and(|domain| domain.denials.is_some())
    }

    fn take(&mut self, nonce: &str) -> Heard {
        let id = self.named.get(nonce).copied();
        let domain = id.and_then(|id| {
            self.wait_no_longer(id);
            self.domains.remove(&id)
        });
        let Some(domain) = domain else {
            let hole = "the canary's record never came: nothing is known of this cell".to_owned();
            return Heard { hole: Some(self.broken.clone().unwrap_or(hole)), ..Heard::default() };
        };
        let hole = self.hole(&domain);
        Heard {
            hole,
            records: domain.records,
            denials: domain.denials,
            own_probes: domain.own_probes,
            attempts: domain.tally.into_attempts(),
        }
    }

    fn hole(&self, domain: &Domain) -> Option<String> {
        let records = domain.records;
        match domain.denials {
            _ if self.broken.is_some() => self.broken.clone(),
            None => Some(
                "the domain did not end: something of the cell lives on, or its record is lost".to_owned(),
            ),
            Some(denials) if denials != records => {
                let lost = if self.losses > 0 { "; the socket overflowed" } else { "" };
                Some(format!("the kernel counted {denials} denials, {records} records came{lost}"))
            }
            Some(_) => match domain.tally.overflow() {
                0 => None,
                more => Some(format!("{more} denials beyond the different ones that are kept")),
            },
        }
    }

    fn forget(&mut self, nonce: &str) {
        self.nonces.remove(nonce);
        if let Some(id) = self.named.remove(nonce) {
            self.domains.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(nonce: &str) -> Board {
        Board { nonces: HashSet::from([nonce.to_owned()]), ..Board::default() }
    }

    fn denied(domain: &str, path: &str) -> Message {
        let text =
            format!("audit(1.1:1): domain={domain} blockers=fs.read_file path=\"{path}\" dev=\"vda\" ino=1");
        Message { number: 1423, body: text.into_bytes() }
    }

    fn numbered(message: Message, serial: u64) -> Message {
        let text = String::from_utf8(message.body).unwrap().replacen(":1)", &format!(":{serial})"), 1);
        Message { number: message.number, body: text.into_bytes() }
    }

    fn call(serial: u64, process: &str) -> Message {
        let text = format!("audit(1.1:{serial}): arch=c000003e syscall=257 comm=\"{process}\" key=(null)");
        Message { number: 1300, body: text.into_bytes() }
    }

    fn gone(domain: &str, denials: u64) -> Message {
        let text = format!("audit(1.1:1): domain={domain} status=deallocated denials={denials}\0");
        Message { number: 1424, body: text.into_bytes() }
    }

    #[test]
    fn what_came_up_to_the_canary_is_the_launcher_s_own() {
        let mut board = board("abc");
        board.take_in(&[denied("1", "/"), denied("2", "/x"), denied("1", "/canary-abc"), denied("1", "/y")]);
        assert!(!board.is_settled("abc"));
        board.take_in(&[denied("1", "/y"), gone("2", 1), gone("1", 4)]);
        assert!(board.is_settled("abc"));
        let heard = board.take("abc");
        assert_eq!((heard.records, heard.denials, heard.own_probes, &heard.hole), (4, Some(4), 2, &None));
        let list: Vec<(String, u64)> = heard.attempts.iter().map(|a| (a.target.text(), a.count)).collect();
        assert_eq!(list, [("/y".to_owned(), 2)]);
        assert!(board.domains.is_empty(), "another's domain is not kept");
    }

    #[test]
    fn a_refusal_has_the_name_of_the_process_whose_call_it_was() {
        let mut board = board("abc");
        let refused = |serial, path| numbered(denied("1", path), serial);
        board.take_in(&[
            refused(1, "/canary-abc"),
            refused(2, "/a"),
            // Of the first process, which is not followed.
            refused(3, "/b"),
            // One call that was refused two things, and calls of others in between.
            refused(4, "/c"),
            refused(4, "/d"),
            call(9, "cron"),
            call(4, "mv"),
            call(2, "cat"),
            gone("1", 5),
        ]);
        let heard = board.take("abc");
        let mut told: Vec<(String, String)> =
            heard.attempts.into_iter().map(|attempt| (attempt.target.text(), attempt.process)).collect();
        told.sort();
        let expected = [("/a", "cat"), ("/b", ""), ("/c", "mv"), ("/d", "mv")];
        assert_eq!(told, expected.map(|(path, process)| (path.to_owned(), process.to_owned())));
        assert_eq!((heard.hole, board.waiting.len()), (None, 0));
    }

    #[test]
    fn every_kind_of_hole_is_named() {
        assert!(board("abc").take("abc").hole.unwrap().contains("canary"));
        let mut lost = board("abc");
        lost.losses = 1;
        lost.take_in(&[denied("1", "/canary-abc"), gone("1", 50_000)]);
        let hole = lost.take("abc").hole.unwrap();
        assert!(hole.contains("50000 denials, 1 records") && hole.contains("overflowed"), "{hole}");
        let mut alive = board("abc");
        alive.take_in(&[denied("1", "/canary-abc")]);
        assert!(alive.take("abc").hole.unwrap().contains("did not end"));
        let mut many = board("abc");
        many.take_in(&[denied("1", "/canary-abc")]);
        let most = crate::attempt::MOST_DIFFERENT as u64 + 1;
        for number in 0..most {
            many.take_in(&[denied("1", &format!("/x/{number}"))]);
        }
        many.take_in(&[gone("1", most + 1)]);
        assert!(many.take("abc").hole.unwrap().contains("different ones"));
    }

    #[test]
    fn the_agent_s_own_opening_of_the_canary_is_an_attempt() {
        let mut board = board("abc");
        board.take_in(&[denied("1", "/canary-abc"), denied("1", "/canary-abc"), gone("1", 2)]);
        let heard = board.take("abc");
        assert_eq!((heard.attempts.len(), heard.hole), (1, None));
    }
}
