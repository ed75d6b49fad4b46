//! What the reference agent says of its own conversation on its standard output, as far as the record holds it. The words
//! come from inside the cell: numbers that no request can prove, so no ending and no verdict rests on them.

use std::path::Path;

use bench_core::ledger::OracleEvidence;
use bench_core::{Lexicon, ModelExposure, Resources, Surface};
use bench_record::CellRecord;
use serde::Deserialize;

/// The agent's last count.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
struct Tally {
    discovery_calls: u64,
    #[serde(default)]
    nested_calls: Option<u64>,
    #[serde(default)]
    workflow_calls: u64,
    concurrent_calls: u64,
    repeated_calls: u64,
    results_cut: u64,
    archive_reads: u64,
    bytes_kept_out: u64,
    #[serde(default)]
    concurrent_nested_calls: Option<u64>,
    #[serde(default)]
    scripts: Option<u64>,
    #[serde(default)]
    script_errors: Option<u64>,
    #[serde(default)]
    script_retries: Option<u64>,
    #[serde(default)]
    script_timeouts: Option<u64>,
    #[serde(default)]
    repeated_guidance_bytes: Option<u64>,
}

/// What the agent said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    tally: Option<Tally>,
    /// What existed for tools to work on before each of its requests.
    pub(crate) resources: Vec<Resources>,
}

/// Who says it: none = the main agent. What a second agent says is its own.
#[derive(Deserialize)]
struct Speaker {
    agent: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Plan {
        resources: Resources,
    },
    Tally {
        tally: Tally,
    },
    #[serde(other)]
    Other,
}

impl Said {
    /// From the attempt's standard output; what nobody can read was not said.
    pub(crate) fn read(stdout: &Path) -> Self {
        std::fs::read_to_string(stdout).map_or_else(|_| Self::default(), |text| Self::of(&text))
    }

    fn of(text: &str) -> Self {
        let mut said = Self::default();
        let of_main =
            |line: &&str| serde_json::from_str::<Speaker>(line).is_ok_and(|speaker| speaker.agent.is_none());
        let lines = text.lines().filter(of_main).filter_map(|line| serde_json::from_str::<Line>(line).ok());
        for line in lines {
            match line {
                Line::Plan { resources } => said.resources.push(resources),
                Line::Tally { tally } => said.tally = Some(tally),
                Line::Other => {}
            }
        }
        said
    }

    /// Adds the agent's last count to the record. Without one the numbers stay unknown.
    pub(crate) fn add(&self, record: &mut CellRecord) {
        let Some(tally) = &self.tally else { return };
        let metrics = &mut record.metrics;
        metrics.discovery_calls = Some(tally.discovery_calls);
        metrics.nested_tool_calls = tally.nested_calls.map(|nested| nested + tally.workflow_calls);
        metrics.concurrent_calls = Some(tally.concurrent_calls);
        metrics.repeated_calls = Some(tally.repeated_calls);
        metrics.results_cut = Some(tally.results_cut);
        metrics.archive_reads = Some(tally.archive_reads);
        metrics.bytes_kept_out = Some(tally.bytes_kept_out);
        metrics.concurrent_nested_calls = tally.concurrent_nested_calls;
        metrics.scripts = tally.scripts;
        metrics.script_errors = tally.script_errors;
        metrics.script_retries = tally.script_retries;
        metrics.script_timeouts = tally.script_timeouts;
        metrics.repeated_guidance_bytes = tally.repeated_guidance_bytes;
    }
}

/// Actions that were played through a substitute although a deferred tool of the surface plays them.
pub(crate) fn missed(oracle: &OracleEvidence, surface: &Surface, lexicon: &Lexicon) -> u64 {
    let deferred =
        |tool: &str| surface.tools.iter().any(|t| t.name == tool && t.model == ModelExposure::Deferred);
    let plays = |action: &str| {
        let own = lexicon.rules.iter().filter(|rule| !rule.substitution && rule.action.word() == action);
        own.into_iter().any(|rule| deferred(&rule.tool))
    };
    let missed = oracle.substitutions.iter().filter(|s| s.why == "not_offered" && plays(&s.action));
    missed.count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_count_holds_and_other_lines_are_passed_over() {
        let line = |n: u64| {
            format!(
                r#"{{"event":"tally","turn":1,"tally":{{"discovery_calls":{n},"nested_calls":0,"concurrent_calls":0,"repeated_calls":0,"results_cut":0,"archive_reads":0,"bytes_kept_out":0}}}}"#
            )
        };
        let text = format!("noise\n{}\n{}\n{{\"event\":\"answer\",\"text\":\"x\"}}\n", line(1), line(2));
        assert_eq!(Said::of(&text).tally.unwrap().discovery_calls, 2);
        assert_eq!(Said::of("Done.\n"), Said::default());
    }

    #[test]
    fn what_existed_before_each_request_is_kept_in_order() {
        let text = "{\"event\":\"plan\",\"turn\":1,\"resources\":[]}\n{\"event\":\"plan\",\"turn\":1,\"resources\":[\"goal\"],\"agent\":\"second\"}\n{\"event\":\"plan\",\"turn\":2,\"resources\":[\"task-list\"]}\n";
        let said = Said::of(text).resources;
        assert_eq!(said, [Resources::default(), Resources::from_iter([bench_core::Resource::TaskList])]);
    }
}
