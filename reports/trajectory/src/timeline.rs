//! One time line of an attempt: the agent's own loop, the agents that it started, and what ran beside them (workflows and
//! their steps, commands in the background, a debugger), each a lane, all on the recorder's clock.

use crate::Trajectory;

/// What the agent says began or ended beside its conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    /// Milliseconds from the recorder's start.
    pub at_ms: f64,
    /// `background`, `debugger`, `subagent`, `workflow`, `step`.
    pub subject: String,
    /// Its name among those of its kind.
    pub id: String,
    /// Did it begin? Else it ended.
    pub begins: bool,
    /// What more was said.
    pub detail: String,
    /// The second agent whose it is; null = the main agent's.
    pub agent: Option<String>,
}

/// Something that went on for a while.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Milliseconds from the recorder's start.
    pub from_ms: f64,
    /// The same; that of the attempt's last event where nothing tells of its end.
    pub to_ms: f64,
    /// What it was.
    pub kind: SpanKind,
    /// In words.
    pub what: String,
}

/// What goes on in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// It exists.
    Life,
    /// It waits for a model.
    Request,
}

/// Everything of one doer.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    /// `main agent`, `agent NAME`, `background ID`, `debugger ID`, `workflow ID`, `step ID`, or the class of side questions.
    pub name: String,
    /// In the order of their beginnings.
    pub spans: Vec<Span>,
}

impl Trajectory {
    /// The lanes in the order in which they begin; empty where no request tells of its time.
    pub fn timeline(&self) -> Vec<Lane> {
        let over = self.over_ms();
        let mut lanes: Vec<Lane> = Vec::new();
        let mut add = |name: String, span: Span| match lanes.iter_mut().find(|lane| lane.name == name) {
            Some(lane) => lane.spans.push(span),
            None => lanes.push(Lane { name, spans: vec![span] }),
        };
        for (at, begin) in self.marks.iter().enumerate().filter(|(_, mark)| mark.begins) {
            let ends = |mark: &&Mark| {
                !mark.begins
                    && (&mark.subject, &mark.id, &mark.agent) == (&begin.subject, &begin.id, &begin.agent)
            };
            let end = self.marks[at..].iter().find(ends);
            let how = end.map_or("never told to have ended", |end| end.detail.as_str());
            let details = [begin.detail.as_str(), how].into_iter().filter(|part| !part.is_empty());
            let what = details.collect::<Vec<_>>().join("; ");
            let to_ms = end.map_or(over, |end| end.at_ms);
            add(lane_of(begin), Span { from_ms: begin.at_ms, to_ms, kind: SpanKind::Life, what });
        }
        for exchange in &self.exchanges {
            let record = &exchange.record;
            let Some(from_ms) = exchange.at_ms else { continue };
            let name = match (&record.agent, record.class.as_str()) {
                (Some(agent), _) => format!("agent {agent}"),
                (None, "agent_turn") => "main agent".to_owned(),
                (None, class) => class.replace('_', " "),
            };
            let lasted = record.last_byte_ms.unwrap_or(0.0);
            let what = format!("request {} ({}): {lasted:.0} ms", record.request, record.class);
            add(name, Span { from_ms, to_ms: from_ms + lasted, kind: SpanKind::Request, what });
        }
        for lane in &mut lanes {
            lane.spans.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
        }
        // Everything was begun by the main agent, whose first request may come after the first mark of the clock.
        let first = |lane: &Lane| (lane.name != "main agent", lane.spans[0].from_ms);
        lanes.sort_by(|a, b| {
            let ((a_other, a_from), (b_other, b_from)) = (first(a), first(b));
            a_other.cmp(&b_other).then(a_from.total_cmp(&b_from))
        });
        lanes
    }

    /// When the last thing happened that is known of.
    fn over_ms(&self) -> f64 {
        let requests = self
            .exchanges
            .iter()
            .filter_map(|exchange| Some(exchange.at_ms? + exchange.record.last_byte_ms.unwrap_or(0.0)));
        requests.chain(self.marks.iter().map(|mark| mark.at_ms)).fold(0.0, f64::max)
    }
}

fn lane_of(mark: &Mark) -> String {
    let kind = if mark.subject == "subagent" { "agent" } else { mark.subject.as_str() };
    match &mark.agent {
        None => format!("{kind} {}", mark.id),
        Some(agent) => format!("{kind} {} of {agent}", mark.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Exchange, SurfaceChange};
    use bench_record::RequestRecord;

    fn mark(subject: &str, id: &str, at_ms: f64, begins: bool) -> Mark {
        let (subject, id) = (subject.to_owned(), id.to_owned());
        Mark { at_ms, subject, id, begins, detail: String::new(), agent: None }
    }

    fn exchange(request: u32, at_ms: f64, agent: Option<&str>) -> Exchange {
        let class = if agent.is_some() { "subagent" } else { "agent_turn" };
        let record: RequestRecord = serde_json::from_value(serde_json::json!({
            "format_version": 1, "request": request, "class": class, "rule": "", "wire": "openai-chat",
            "method": "POST", "path": "/v1/chat/completions", "headers": [], "model": "m", "agent": agent,
            "started_at": "2026-12-01T10:00:00Z", "first_byte_ms": 1.0, "last_byte_ms": 5.0, "status": 200,
            "body_sha256": "0".repeat(64), "body_bytes": 1, "body_tokens": 1, "prompt_tokens": null,
            "encoding": null, "response_sha256": null, "response_type": null, "response_encoding": null,
            "usage": null, "response_tokens": null, "retry_of": null,
        }))
        .unwrap();
        Exchange {
            record,
            at_ms: Some(at_ms),
            conversation: 0,
            turn: None,
            said: Vec::new(),
            dropped: 0,
            surface: SurfaceChange::default(),
            answer: None,
        }
    }

    #[test]
    fn parent_children_background_and_debugger_stand_on_one_line() {
        let trajectory = Trajectory {
            exchanges: vec![
                exchange(1, 10.0, None),
                exchange(2, 30.0, Some("north")),
                exchange(3, 90.0, None),
            ],
            marks: vec![
                mark("background", "bg-1", 15.0, true),
                mark("subagent", "north", 20.0, true),
                mark("debugger", "main", 25.0, true),
                mark("debugger", "main", 28.0, false),
                mark("subagent", "north", 40.0, false),
                mark("debugger", "main", 50.0, true),
            ],
            ..Trajectory::default()
        };
        let told: Vec<String> = trajectory
            .timeline()
            .into_iter()
            .map(|lane| {
                let spans = lane.spans.iter().map(|span| {
                    let sign = if span.kind == SpanKind::Request { "?" } else { "" };
                    format!("{}-{}{sign}", span.from_ms, span.to_ms)
                });
                format!("{}: {}", lane.name, spans.collect::<Vec<_>>().join(" "))
            })
            .collect();
        assert_eq!(
            told,
            [
                "main agent: 10-15? 90-95?",
                "background bg-1: 15-95",
                "agent north: 20-40 30-35?",
                "debugger main: 25-28 50-95",
            ]
        );
        assert!(Trajectory::default().timeline().is_empty());
    }
}
