//! Marks: what the reference agent says began and ended beside its conversation, set on the recorder's clock. Evidence for
//! the trace and for what ran beside what; a mark is no request, costs nothing and is answered with no content.

use hyper::StatusCode;
use serde::Deserialize;

use crate::exchange::{Arrival, BodyState};
use crate::headers::credential;
use crate::shared::Shared;
use crate::trace::TraceEvent;

/// End of the path at which marks are taken.
const PATH: &str = "/mark";
/// More than any agent makes; those beyond are dropped.
const MOST: usize = 10_000;
/// Bytes of a mark.
const LARGEST: usize = 4096;

/// A beginning or an end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mark {
    pub(crate) said: Said,
    /// On the recorder's clock.
    pub(crate) ms: f64,
}

/// What the agent says of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Said {
    /// `background`, `debugger`, `subagent`, `workflow`, `step`.
    pub(crate) subject: String,
    pub(crate) id: String,
    /// `begin` or `end`.
    pub(crate) phase: String,
    #[serde(default)]
    detail: String,
    /// Whose it is; none = the main agent's.
    #[serde(default)]
    agent: Option<String>,
}

/// Takes a mark down; `None` when the request is none.
pub(crate) fn marked(shared: &Shared, arrival: &Arrival) -> Option<StatusCode> {
    let is_mark = arrival.method == hyper::Method::POST && arrival.path.ends_with(PATH);
    if !is_mark || credential(&arrival.headers) != Some(shared.spec.credential.as_str()) {
        return None;
    }
    let fits = arrival.state == BodyState::Whole && arrival.body.len() <= LARGEST;
    let said = fits.then(|| serde_json::from_slice::<Said>(&arrival.body).ok()).flatten();
    let Some(said) = said else { return Some(StatusCode::BAD_REQUEST) };
    let ms = shared.now_ms();
    let mut state = shared.state();
    if state.marks.len() >= MOST {
        return Some(StatusCode::TOO_MANY_REQUESTS);
    }
    let event = TraceEvent::Mark {
        subject: &said.subject,
        id: &said.id,
        phase: &said.phase,
        detail: &said.detail,
        agent: said.agent.as_deref(),
    };
    state.trace(ms, &event);
    state.marks.push(Mark { said, ms });
    Some(StatusCode::NO_CONTENT)
}

/// Milliseconds for which agents and background commands ran, added up; one without an end ran until `over_ms`. Zero when
/// nothing ran.
pub(crate) fn beside_ms(marks: &[Mark], over_ms: f64) -> f64 {
    let is_work = |mark: &&Mark| ["background", "subagent"].contains(&mark.said.subject.as_str());
    let begins = marks.iter().enumerate().filter(|(_, mark)| is_work(mark) && mark.said.phase == "begin");
    let lengths = begins.map(|(at, begin)| {
        let is_end = |mark: &&Mark| {
            let (said, of) = (&mark.said, &begin.said);
            said.phase == "end" && (&said.subject, &said.id, &said.agent) == (&of.subject, &of.id, &of.agent)
        };
        let end = marks[at..].iter().find(is_end).map_or(over_ms, |end| end.ms);
        (end - begin.ms).max(0.0)
    });
    crate::trace::rounded(lengths.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(subject: &str, id: &str, phase: &str, ms: f64) -> Mark {
        let (subject, id, phase) = (subject.to_owned(), id.to_owned(), phase.to_owned());
        Mark { said: Said { subject, id, phase, detail: String::new(), agent: None }, ms }
    }

    #[test]
    fn what_ran_beside_is_added_up_and_what_never_ended_ran_to_the_end() {
        let marks = [
            mark("subagent", "a", "begin", 10.0),
            mark("background", "bg-1", "begin", 20.0),
            mark("subagent", "a", "end", 30.0),
            mark("step", "wf-1.x", "begin", 30.0),
            mark("subagent", "a", "end", 90.0),
        ];
        assert_eq!(beside_ms(&marks, 100.0), 20.0 + 80.0);
        assert_eq!(beside_ms(&[], 100.0), 0.0);
    }
}
