//! What the events of a debug adapter say about the program: is it running, where did it stop, what did it print, has it
//! ended. Kept by the reading thread, so that an event which comes before anybody waits for it is not lost.

use serde_json::Value;

/// Bytes of output that are kept; the newest.
const OUTPUT: usize = 128 << 10;

/// Why and where the program stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) reason: String,
    pub(super) text: String,
    pub(super) thread: Option<i64>,
}

/// The newest output, and how much came before it.
#[derive(Debug, Default)]
pub(super) struct Output {
    kept: String,
    dropped: usize,
    /// Bytes that were shown, counted from the first.
    shown: usize,
}

/// The state of a debugged program.
#[derive(Debug, Default)]
pub(super) struct State {
    /// The adapter takes breakpoints now.
    pub(super) initialized: bool,
    /// How often it has stopped: a stop is new when this has grown.
    pub(super) stops: u64,
    /// Where it stands; `None` while it runs.
    pub(super) stopped: Option<Stop>,
    pub(super) exit_code: Option<i64>,
    /// The adapter has nothing left to debug.
    pub(super) ended: bool,
    pub(super) output: Output,
    /// Newer capabilities that an event brought.
    pub(super) capabilities: Vec<Value>,
    /// Ids of breakpoints that were found to be real, or not, after they were set.
    pub(super) verified: Vec<(i64, bool)>,
}

impl State {
    /// Takes an event.
    pub(super) fn take(&mut self, event: &str, body: &Value) {
        let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
        match event {
            "initialized" => self.initialized = true,
            "stopped" => {
                self.stops += 1;
                let described = [text("description"), text("text")];
                let text = described.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
                self.stopped = Some(Stop {
                    reason: body["reason"].as_str().unwrap_or("unknown").to_owned(),
                    text,
                    thread: body["threadId"].as_i64(),
                });
            }
            "continued" => self.stopped = None,
            "exited" => {
                self.exit_code = body["exitCode"].as_i64();
                self.stopped = None;
            }
            "terminated" => {
                self.ended = true;
                self.stopped = None;
            }
            // The rest is the adapter's own talk: no word of the program.
            "output" if ["stdout", "stderr", "important"].iter().any(|kind| body["category"] == *kind) => {
                self.output.push(&text("output"));
            }
            "capabilities" => self.capabilities.push(body["capabilities"].clone()),
            "breakpoint" => {
                let breakpoint = &body["breakpoint"];
                if let (Some(id), Some(verified)) =
                    (breakpoint["id"].as_i64(), breakpoint["verified"].as_bool())
                {
                    self.verified.push((id, verified));
                }
            }
            // Threads and modules are asked for when they are wanted.
            _ => {}
        }
    }

    /// The program printed this.
    pub(super) fn print(&mut self, text: &str) {
        self.output.push(text);
    }

    /// Has the program come to its end?
    pub(super) fn is_over(&self) -> bool {
        self.ended || self.exit_code.is_some()
    }
}

impl Output {
    fn push(&mut self, text: &str) {
        self.kept.push_str(text);
        if self.kept.len() > OUTPUT {
            let cut = self.kept.ceil_char_boundary(self.kept.len() - OUTPUT);
            self.kept.drain(..cut);
            self.dropped += cut;
        }
    }

    /// What was not shown yet.
    pub(super) fn news(&mut self) -> String {
        let text = self.since(self.shown);
        self.shown = self.dropped + self.kept.len();
        text
    }

    /// All that is kept.
    pub(super) fn whole(&mut self) -> String {
        self.shown = self.dropped + self.kept.len();
        self.since(0)
    }

    fn since(&self, place: usize) -> String {
        let missing = self.dropped.saturating_sub(place);
        let from = place.saturating_sub(self.dropped).min(self.kept.len());
        let note =
            if missing > 0 { format!("[{missing} bytes are no longer kept.]\n") } else { String::new() };
        format!("{note}{}", &self.kept[self.kept.ceil_char_boundary(from)..])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stop_counts_even_when_nobody_waited_for_it() {
        let mut state = State::default();
        state.take("stopped", &json!({"reason": "breakpoint", "threadId": 7}));
        state.take("continued", &json!({}));
        assert_eq!((state.stops, state.stopped.clone()), (1, None));
        state.take("stopped", &json!({"reason": "exception", "text": "boom"}));
        assert_eq!(state.stopped.as_ref().unwrap().text, "boom");
        state.take("exited", &json!({"exitCode": 3}));
        assert!(state.is_over() && state.stopped.is_none());
    }

    #[test]
    fn output_keeps_its_end_and_is_shown_once() {
        let mut output = Output::default();
        output.push("one\n");
        assert_eq!(output.news(), "one\n");
        assert_eq!(output.news(), "");
        for _ in 0..3 {
            output.push(&"ä".repeat(OUTPUT / 2));
        }
        let news = output.news();
        assert!(
            news.starts_with(&format!("[{} bytes are no longer kept.]\n", 2 * OUTPUT)),
            "{}",
            &news[..60]
        );
        assert!(output.whole().len() <= OUTPUT + 60 && output.news().is_empty());
    }
}
