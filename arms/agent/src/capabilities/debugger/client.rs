//! Requests to a debug adapter and what comes back: answers by their number, events into the session's state, requests of
//! the adapter's own. An answer that nobody waits for any more is remembered, since what was asked may have been done.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use super::state::State;
use crate::capabilities::bell::{Bell, Cancel, Waited};
use crate::capabilities::peer::Peer;

/// A request that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    seq: i64,
    command: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// The adapter says no.
    Refused(String),
    /// The wait was over. The request stands: it may still be carried out.
    TimedOut(String),
    /// The call was cancelled. The request stands: it may still be carried out.
    Cancelled(String),
    /// The adapter is gone.
    Gone(String),
}

/// Everything that the adapter has said and nobody has taken yet, and the state that its events make.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    answers: BTreeMap<i64, Value>,
    /// Requests whose wait was given up.
    given_up: BTreeSet<i64>,
    /// Commands that were answered after their wait was given up, and how.
    pub(super) late: Vec<String>,
    /// Requests of the adapter's own.
    pub(super) asked: Vec<Value>,
    pub(super) state: State,
}

/// One adapter.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) peer: Peer,
    next: Mutex<i64>,
    pub(super) inbox: Arc<Mutex<Inbox>>,
    bell: Bell,
    cancel: Cancel,
}

impl Client {
    pub(super) fn new(
        bell: &Bell,
        cancel: &Cancel,
        open: impl FnOnce(Box<dyn FnMut(Value) + Send>) -> std::io::Result<Peer>,
    ) -> std::io::Result<Self> {
        let inbox: Arc<Mutex<Inbox>> = Arc::default();
        let taking = Arc::clone(&inbox);
        let peer = open(Box::new(move |message| {
            taking.lock().unwrap_or_else(PoisonError::into_inner).take(message);
        }))?;
        Ok(Self { peer, next: Mutex::new(1), inbox, bell: bell.clone(), cancel: cancel.clone() })
    }

    pub(super) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a request and waits for nothing.
    pub(super) fn send(&self, command: &str, arguments: Value) -> Result<Sent, NoAnswer> {
        let seq = self.number();
        let message = json!({"seq": seq, "type": "request", "command": command, "arguments": arguments});
        self.peer.say(&message).map_err(|error| self.gone(&error.to_string()))?;
        Ok(Sent { seq, command: command.to_owned() })
    }

    /// Waits for the answer of a request.
    pub(super) fn answer(&self, sent: &Sent, deadline: Instant) -> Result<Value, NoAnswer> {
        let waited = self.bell.wait(deadline, &self.cancel, || {
            let answer = self.inbox().answers.remove(&sent.seq);
            answer.map(Ok).or_else(|| self.peer.closed().map(Err))
        });
        let command = sent.command.clone();
        match waited {
            Waited::Ready(Ok(answer)) => answered(answer),
            Waited::Ready(Err(why)) => Err(self.gone(&why)),
            Waited::TimedOut => {
                self.inbox().given_up.insert(sent.seq);
                Err(NoAnswer::TimedOut(command))
            }
            Waited::Cancelled => {
                self.inbox().given_up.insert(sent.seq);
                Err(NoAnswer::Cancelled(command))
            }
        }
    }

    /// Sends a request and waits for its answer.
    pub(super) fn ask(&self, command: &str, arguments: Value, deadline: Instant) -> Result<Value, NoAnswer> {
        let sent = self.send(command, arguments)?;
        self.answer(&sent, deadline)
    }

    /// Answers a request of the adapter's own.
    pub(super) fn reply(&self, request: &Value, body: Result<Value, String>) {
        let (success, body, message) = match body {
            Ok(body) => (true, body, Value::Null),
            Err(message) => (false, Value::Null, message.into()),
        };
        let reply = json!({
            "seq": self.number(), "type": "response", "request_seq": request["seq"],
            "command": request["command"], "success": success, "body": body, "message": message,
        });
        // Where the adapter is gone the next request says so.
        let _ = self.peer.say(&reply);
    }

    /// Waits until the state, or a request of the adapter's own, gives something.
    pub(super) fn until<T>(
        &self,
        deadline: Instant,
        mut ready: impl FnMut(&mut Inbox) -> Option<T>,
    ) -> Waited<Option<T>> {
        self.bell.wait(deadline, &self.cancel, || {
            let found = ready(&mut self.inbox());
            found.map(Some).or_else(|| self.peer.closed().map(|_| None))
        })
    }

    /// Requests without an answer whose wait was given up.
    pub(super) fn unanswered(&self) -> usize {
        self.inbox().given_up.len()
    }

    fn number(&self) -> i64 {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let seq = *next;
        *next += 1;
        seq
    }

    pub(super) fn gone(&self, why: &str) -> NoAnswer {
        let said = self.peer.last_words();
        let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
        NoAnswer::Gone(format!("the debug adapter has ended ({why}){said}"))
    }
}

fn answered(answer: Value) -> Result<Value, NoAnswer> {
    if answer["success"] == true {
        return Ok(answer.get("body").cloned().unwrap_or_default());
    }
    let said = answer["body"]["error"]["format"].as_str().map(|format| filled(format, &answer));
    let said = said.or_else(|| answer["message"].as_str().map(str::to_owned));
    Err(NoAnswer::Refused(said.unwrap_or_else(|| "the adapter refused without a reason".to_owned())))
}

/// An error's text with its variables in their places.
fn filled(format: &str, answer: &Value) -> String {
    let variables = answer["body"]["error"]["variables"].as_object().cloned().unwrap_or_default();
    variables.iter().fold(format.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value.as_str().unwrap_or_default())
    })
}

impl Inbox {
    /// Has the answer of this request come?
    pub(super) fn has_answer(&self, sent: &Sent) -> bool {
        self.answers.contains_key(&sent.seq)
    }

    /// Why this request was refused, where it was.
    pub(super) fn refusal(&mut self, sent: &Sent) -> Option<NoAnswer> {
        let is_refused = self.answers.get(&sent.seq).is_some_and(|answer| answer["success"] != true);
        let answer = is_refused.then(|| self.answers.remove(&sent.seq))??;
        answered(answer).err()
    }

    fn take(&mut self, message: Value) {
        match message["type"].as_str() {
            Some("response") => {
                let seq = message["request_seq"].as_i64().unwrap_or_default();
                if self.given_up.remove(&seq) {
                    let how = if message["success"] == true { "was carried out" } else { "was refused" };
                    let command = message["command"].as_str().unwrap_or_default();
                    self.late.push(format!("{command}, given up before, {how} after all"));
                } else {
                    self.answers.insert(seq, message);
                }
            }
            Some("event") => {
                let event = message["event"].as_str().unwrap_or_default().to_owned();
                self.state.take(&event, &message["body"]);
            }
            Some("request") => self.asked.push(message),
            Some(_) | None => {}
        }
    }
}

impl NoAnswer {
    /// What the model is told.
    pub(super) fn told(self) -> String {
        let stands = "it was not withdrawn and may still be carried out: look at the session (action sessions) \
                      before you repeat it, or end it with terminate";
        match self {
            Self::Refused(why) | Self::Gone(why) => why,
            Self::TimedOut(command) => format!("no answer to {command} within the timeout; {stands}"),
            Self::Cancelled(command) => format!("the wait for {command} was cancelled; {stands}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_answer_is_told_and_never_taken_for_another() {
        let mut inbox = Inbox::default();
        inbox.given_up.insert(4);
        inbox.take(json!({"type": "response", "request_seq": 4, "success": true, "command": "evaluate"}));
        inbox.take(json!({"type": "response", "request_seq": 5, "success": true, "command": "next"}));
        assert_eq!(inbox.late, ["evaluate, given up before, was carried out after all"]);
        assert_eq!(inbox.answers.keys().copied().collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn a_refusal_carries_its_reason() {
        let refused = json!({"success": false, "body": {"error": {"format": "no {what}", "variables": {"what": "line"}}}});
        assert_eq!(answered(refused), Err(NoAnswer::Refused("no line".into())));
        assert_eq!(answered(json!({"success": false, "message": "m"})), Err(NoAnswer::Refused("m".into())));
        let told = NoAnswer::TimedOut("evaluate".into()).told();
        assert!(told.contains("may still be carried out"), "{told}");
    }
}
