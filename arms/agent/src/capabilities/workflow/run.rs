//! One run of a workflow: what is done, what is told of it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::script::{Script, Step, Values, plain};
use crate::capabilities::bell::Cancel;

/// Bytes of a step's result that a status shows.
const SHOWN: usize = 200;

/// One run: its script, what is done, how it ended.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) script: Script,
    pub(super) args: Value,
    pub(super) cancel: Cancel,
    pub(super) state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Results by step.
    pub(super) done: BTreeMap<String, Value>,
    /// Steps that were passed over, or failed and were optional.
    pub(super) without: BTreeMap<String, String>,
    pub(super) running: Vec<String>,
    pub(super) end: Option<Result<String, String>>,
    pub(super) calls: u64,
    /// Runs beside the conversation, and its end has not been told.
    pub(super) followed: bool,
}

impl Run {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn told(&self) -> String {
        let state = self.state();
        let word = match &state.end {
            None => "running".to_owned(),
            Some(Ok(text)) => format!("done. Result:\n{text}"),
            Some(Err(reason)) => format!("failed: {reason}"),
        };
        let line = |step: &Step| {
            let how = match (state.done.get(&step.id), state.without.get(&step.id)) {
                (Some(value), _) => {
                    let text = plain(value);
                    let cut = text.floor_char_boundary(SHOWN);
                    format!("done: {}{}", text[..cut].trim_end(), if cut < text.len() { "…" } else { "" })
                }
                (None, Some(why)) => format!("left out: {why}"),
                (None, None) if state.running.contains(&step.id) => "running".to_owned(),
                (None, None) => "waiting".to_owned(),
            };
            format!("- {}: {how}", step.id)
        };
        let lines: Vec<String> = self.script.steps.iter().map(line).collect();
        format!("{}: {word}\n{}", self.id, lines.join("\n"))
    }

    pub(super) fn values(&self) -> Values {
        let state = self.state();
        let mut values: serde_json::Map<String, Value> =
            state.done.iter().map(|(id, value)| (id.clone(), value.clone())).collect();
        for id in state.without.keys() {
            values.insert(id.clone(), Value::from(""));
        }
        values.insert("args".to_owned(), self.args.clone());
        Values(values)
    }
}
