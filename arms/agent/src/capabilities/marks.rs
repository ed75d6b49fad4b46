//! Marks on the recorder's clock: when something that runs beside the conversation began and ended. The recorder writes
//! them into the trace, so that parent, children, background and debugger stand on one time line. A mark is evidence and
//! nothing else: where it cannot be made, the work goes on.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;

/// Nobody waits longer for the recorder to take a mark.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a mark is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Subject {
    Background,
    Debugger,
    Subagent,
    Workflow,
    Step,
}

/// Which side of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Phase {
    Begin,
    End,
}

/// Where marks go, and who makes them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Marks(Option<To>);

#[derive(Debug, Clone)]
struct To {
    authority: String,
    path: String,
    bearer: String,
    agent: Option<String>,
}

impl Marks {
    /// Marks of one agent (none = the main one) for the recorder behind this door.
    pub(crate) fn to(authority: &str, base: &str, bearer: &str, agent: Option<&str>) -> Self {
        Self(Some(To {
            authority: authority.to_owned(),
            path: format!("{base}/mark"),
            bearer: bearer.to_owned(),
            agent: agent.map(str::to_owned),
        }))
    }

    /// Makes a mark.
    pub(crate) fn mark(&self, subject: Subject, id: &str, phase: Phase, detail: &str) {
        let Some(to) = &self.0 else { return };
        let body = json!({"subject": subject, "id": id, "phase": phase, "detail": detail, "agent": to.agent})
            .to_string();
        // Evidence only: without it the work is the same.
        let _ = to.send(&body);
    }
}

impl To {
    fn send(&self, body: &str) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(&self.authority)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\nauthorization: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.path,
            self.authority,
            self.bearer,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes())?;
        // Answered once it is written down: what is marked next comes later on the line as well.
        let mut answer = [0; 64];
        stream.read(&mut answer).map(drop)
    }
}
