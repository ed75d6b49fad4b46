//! Requests to a language server and what comes back: answers by their number, diagnostics by file, and requests of the
//! server's own, which are answered while something is waited for, or it would wait for us.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::capabilities::bell::{Bell, Cancel, Waited};
use crate::capabilities::peer::Peer;

/// What a server has published about one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Published {
    /// The version of the file that it is about, where the server says so.
    pub(super) version: Option<i64>,
    pub(super) diagnostics: Vec<Value>,
}

/// Everything that the server has said and nobody has taken yet.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    answers: BTreeMap<i64, Value>,
    asked: VecDeque<Value>,
    /// Does it say which version of a file it speaks of?
    says_versions: bool,
    /// By URI.
    pub(super) published: BTreeMap<String, Published>,
}

/// One language server.
#[derive(Debug)]
pub(super) struct Client {
    peer: Peer,
    next: i64,
    inbox: Arc<Mutex<Inbox>>,
    bell: Bell,
    cancel: Cancel,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The server says no.
    Refused(String),
    /// The wait was over; the request has been withdrawn.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
    /// The server is gone.
    Gone(String),
}

impl Client {
    pub(super) fn start(argv: &[String], folder: &std::path::Path, cancel: &Cancel) -> std::io::Result<Self> {
        let inbox: Arc<Mutex<Inbox>> = Arc::default();
        let taking = Arc::clone(&inbox);
        let bell = cancel.bell().clone();
        let peer = Peer::start(argv, folder, &bell, move |message| {
            taking.lock().unwrap_or_else(PoisonError::into_inner).take(message);
        })?;
        Ok(Self { peer, next: 1, inbox, bell, cancel: cancel.clone() })
    }

    pub(super) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the server something. Where it is gone the next wait says so.
    pub(super) fn tell(&self, method: &str, params: Value) {
        let _ = self.peer.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and waits for its answer; a wait that is given up withdraws the request.
    pub(super) fn ask(&mut self, method: &str, params: Value, deadline: Instant) -> Result<Value, NoAnswer> {
        let id = self.next;
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.peer.say(&message).map_err(|error| self.gone(&error.to_string()))?;
        let answer = self.until(deadline, |inbox| inbox.answers.remove(&id));
        if matches!(answer, Err(NoAnswer::TimedOut | NoAnswer::Cancelled)) {
            self.tell("$/cancelRequest", json!({"id": id}));
        }
        let answer = answer?;
        match answer["error"]["message"].as_str() {
            Some(why) => Err(NoAnswer::Refused(why.to_owned())),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Waits until what the server said gives something.
    pub(super) fn until<T>(
        &self,
        deadline: Instant,
        mut ready: impl FnMut(&mut Inbox) -> Option<T>,
    ) -> Result<T, NoAnswer> {
        let waited = self.bell.wait(deadline, &self.cancel, || {
            self.attend();
            let found = ready(&mut self.inbox());
            found.map(Ok).or_else(|| self.peer.closed().map(Err))
        });
        match waited {
            Waited::Ready(Ok(found)) => Ok(found),
            Waited::Ready(Err(why)) => Err(self.gone(&why)),
            Waited::TimedOut => Err(NoAnswer::TimedOut),
            Waited::Cancelled => Err(NoAnswer::Cancelled),
        }
    }

    /// Is it still there?
    pub(super) fn is_alive(&self) -> bool {
        self.peer.closed().is_none()
    }

    /// Answers what the server asks: it has no settings to get, and files are changed by nobody but the tools.
    fn attend(&self) {
        let asked: Vec<Value> = self.inbox().asked.drain(..).collect();
        for request in asked {
            let result = match request["method"].as_str() {
                Some("workspace/configuration") => {
                    let items = request["params"]["items"].as_array().map_or(0, Vec::len);
                    Value::Array(vec![Value::Null; items])
                }
                Some("workspace/applyEdit") => json!({"applied": false}),
                Some(_) | None => Value::Null,
            };
            // Where the server is gone the wait says so.
            let _ = self.peer.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
        }
    }

    fn gone(&self, why: &str) -> NoAnswer {
        let said = self.peer.last_words();
        let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
        NoAnswer::Gone(format!("it has ended ({why}){said}"))
    }
}

impl Drop for Client {
    /// Asks the server to end, as the protocol wants it; the peer's own end kills one that does not listen.
    fn drop(&mut self) {
        let _ = self.peer.say(&json!({"jsonrpc": "2.0", "id": self.next, "method": "shutdown"}));
        self.tell("exit", Value::Null);
    }
}

impl Inbox {
    fn take(&mut self, message: Value) {
        let has_method = message["method"].is_string();
        match (has_method, message.get("id")) {
            (true, Some(_)) => self.asked.push_back(message),
            (true, None) if message["method"] == "textDocument/publishDiagnostics" => {
                let params = &message["params"];
                let published = Published {
                    version: params["version"].as_i64(),
                    diagnostics: params["diagnostics"].as_array().cloned().unwrap_or_default(),
                };
                self.says_versions |= published.version.is_some();
                // Of one who says versions, a word without one is about a file that was closed.
                if published.version.is_some() == self.says_versions {
                    let uri = params["uri"].as_str().unwrap_or_default().to_owned();
                    self.published.insert(uri, published);
                }
            }
            (false, Some(id)) => {
                // An answer that nobody waits for any more is harmless: a question changes nothing.
                self.answers.insert(id.as_i64().unwrap_or_default(), message);
            }
            (true | false, None) => {}
        }
    }
}
