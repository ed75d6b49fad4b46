//! What the agent says of its own conversation, as JSON lines on its standard output: what was loaded, how calls were
//! carried out, what was kept out of the context, and the originals of results that were cut. Evidence that no request
//! shows; the harness reads the last count.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use bench_core::Resources;
use serde::Serialize;
use serde_json::json;

use crate::code::Graph;
use crate::pipeline::Origin;

/// Counts since the start of the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tally {
    /// Calls that list, load or search tools.
    pub discovery_calls: u64,
    /// Tools made callable after the first request.
    pub tools_loaded: u64,
    /// Of these, never called.
    pub tools_loaded_in_vain: u64,
    /// Calls of tools.
    pub calls: u64,
    /// Calls that tools made.
    pub nested_calls: u64,
    /// Of these, made by a script while another of its calls was open.
    pub concurrent_nested_calls: u64,
    /// Scripts that were handed over.
    pub scripts: u64,
    /// Of these, failed for whatever reason.
    pub script_errors: u64,
    /// Of these, handed over right after one that had failed.
    pub script_retries: u64,
    /// Of these, ended at their time limit.
    pub script_timeouts: u64,
    /// Bytes said at the end of requests, again every time.
    pub repeated_guidance_bytes: u64,
    /// Of the calls, carried out beside another.
    pub concurrent_calls: u64,
    /// Of the calls, equal in name and arguments to an earlier one.
    pub repeated_calls: u64,
    /// Of the calls, refused or failed.
    pub failed_calls: u64,
    /// Results that were cut or archived.
    pub results_cut: u64,
    /// Reads of the archive.
    pub archive_reads: u64,
    /// Bytes of results that did not enter the conversation.
    pub bytes_kept_out: u64,
    /// Summaries that took the place of the conversation.
    pub compactions: u64,
    #[serde(skip)]
    seen: BTreeSet<(String, String)>,
    #[serde(skip)]
    loaded: BTreeMap<String, bool>,
}

impl Tally {
    /// A call is carried out.
    pub(crate) fn call(&mut self, name: &str, arguments: &str, beside_others: bool) {
        self.calls += 1;
        self.concurrent_calls += u64::from(beside_others);
        self.repeated_calls += u64::from(!self.seen.insert((name.to_owned(), arguments.to_owned())));
        self.used(name);
    }

    /// A tool runs, perhaps through another one.
    pub(crate) fn reached(&mut self, name: &str, origin: Origin) {
        self.nested_calls += u64::from(origin != Origin::Model);
        self.archive_reads += u64::from(name == "archive_read");
        self.used(name);
    }

    /// A discovery call made tools callable.
    pub(crate) fn found(&mut self, tools: &[String]) {
        self.discovery_calls += 1;
        self.loaded(tools);
    }

    fn used(&mut self, name: &str) {
        if let Some(used) = self.loaded.get_mut(name) {
            *used = true;
        }
        self.recount();
    }

    /// Tools became callable.
    fn loaded(&mut self, tools: &[String]) {
        for tool in tools {
            self.loaded.entry(tool.clone()).or_insert(false);
        }
        self.recount();
    }

    fn recount(&mut self) {
        self.tools_loaded = self.loaded.len() as u64;
        self.tools_loaded_in_vain = self.loaded.values().filter(|used| !**used).count() as u64;
    }
}

/// Something to be said on standard output.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum AgentEvent<'a> {
    /// A request is planned: what exists to be worked on, its tools, those that it cannot carry out, names that two owners
    /// brought.
    Plan {
        turn: u32,
        resources: &'a Resources,
        tools: Vec<&'a str>,
        undispatchable: Vec<String>,
        collisions: Vec<String>,
    },
    /// The calls of a turn in order of the waves in which they were carried out.
    Waves { turn: u32, waves: Vec<Vec<&'a str>> },
    /// A result before it was cut.
    Original { turn: u32, tool: &'a str, reference: Option<&'a str>, text: &'a str },
    /// A script that came to its end, with the calls that it made and the graph of calls that was declared with it.
    Script { turn: u32, ending: &'a str, calls: Vec<serde_json::Value>, graph: Option<&'a Graph> },
    /// Counts so far.
    Tally { turn: u32, tally: &'a Tally },
    /// The end: what is said last.
    Answer { text: &'a str },
}

/// Says it. A standard output that nobody takes is no reason to stop working.
pub(crate) fn say(event: &AgentEvent<'_>) {
    let _ = writeln!(std::io::stdout(), "{}", json!(event));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_that_nobody_uses_and_repeated_calls_are_counted() {
        let mut tally = Tally::default();
        tally.loaded(&["fd".into(), "rg".into()]);
        tally.call("fd", "{}", false);
        tally.call("fd", "{}", true);
        assert_eq!((tally.tools_loaded, tally.tools_loaded_in_vain), (2, 1));
        assert_eq!((tally.calls, tally.repeated_calls, tally.concurrent_calls), (2, 1, 1));
    }
}
