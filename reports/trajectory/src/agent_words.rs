//! What the reference agent says of its own turns on standard output (docs/formats/agent-stdout.md): evidence that no
//! request shows.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// What was noted of one turn. Counts are of this turn alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnNotes {
    /// From 1.
    pub turn: u32,
    /// Names of calls that ran beside one another, wave after wave.
    pub waves: Vec<Vec<String>>,
    /// Results that were cut before the model saw them.
    pub cut: Vec<CutResult>,
    /// Calls made by tools.
    pub nested_calls: u64,
    /// Reads of the archive of cut results.
    pub archive_reads: u64,
    /// Bytes of results kept out of the context.
    pub bytes_kept_out: u64,
    /// Compactions.
    pub compactions: u64,
    /// Scripts that came to their end, with the calls that they made.
    pub scripts: Vec<Script>,
}

/// A script of a surface on which the model acts by code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// `returned`, `threw`, `timed_out`, `stopped` or `died`.
    pub ending: String,
    /// In the order in which they were made.
    pub calls: Vec<ScriptCall>,
    /// Does it declare a graph of calls?
    pub has_graph: bool,
}

/// A call that a script made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ScriptCall {
    /// The tool.
    pub tool: String,
    /// Was another call of the script open at the same time?
    #[serde(default)]
    pub beside_others: bool,
    /// Null = given up with the script.
    pub succeeded: Option<bool>,
    /// Of what it returned; null = unknown.
    pub bytes: Option<u64>,
}

/// A result that was cut.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CutResult {
    /// The tool.
    pub tool: String,
    /// By what the whole can be read again; null without an archive.
    pub reference: Option<String>,
    /// The whole.
    pub text: String,
}

#[derive(Deserialize)]
struct Line {
    event: String,
    #[serde(default)]
    turn: u32,
    #[serde(default)]
    waves: Vec<Vec<String>>,
    #[serde(default)]
    tool: String,
    #[serde(default)]
    reference: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    tally: BTreeMap<String, Value>,
    #[serde(default)]
    ending: String,
    #[serde(default)]
    calls: Vec<ScriptCall>,
    #[serde(default)]
    graph: Option<Value>,
}

/// The notes of each turn; empty when the text is not the reference agent's.
pub(crate) fn notes(stdout: &str) -> Vec<TurnNotes> {
    let mut turns: BTreeMap<u32, TurnNotes> = BTreeMap::new();
    let mut before: BTreeMap<String, u64> = BTreeMap::new();
    for text in stdout.lines() {
        let Ok(line) = serde_json::from_str::<Line>(text) else { continue };
        let notes =
            turns.entry(line.turn).or_insert_with(|| TurnNotes { turn: line.turn, ..Default::default() });
        match line.event.as_str() {
            "waves" => notes.waves = line.waves,
            "original" => {
                notes.cut.push(CutResult { tool: line.tool, reference: line.reference, text: line.text })
            }
            "script" => notes.scripts.push(Script {
                ending: line.ending,
                calls: line.calls,
                has_graph: line.graph.is_some(),
            }),
            "tally" => {
                let now: BTreeMap<String, u64> = line
                    .tally
                    .iter()
                    .filter_map(|(key, value)| Some((key.clone(), value.as_u64()?)))
                    .collect();
                let since = |key: &str| {
                    let count = |of: &BTreeMap<String, u64>| of.get(key).copied().unwrap_or(0);
                    count(&now).saturating_sub(count(&before))
                };
                notes.nested_calls = since("nested_calls");
                notes.archive_reads = since("archive_reads");
                notes.bytes_kept_out = since("bytes_kept_out");
                notes.compactions = since("compactions");
                before = now;
            }
            // Plans and answers stand in the requests and responses too.
            _ => {}
        }
    }
    turns.remove(&0);
    turns.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cumulative_counts_become_counts_of_a_turn() {
        let text = concat!(
            "{\"event\":\"waves\",\"turn\":1,\"waves\":[[\"read\",\"rg\"],[\"edit\"]]}\n",
            "{\"event\":\"tally\",\"turn\":1,\"tally\":{\"nested_calls\":2,\"archive_reads\":1}}\n",
            "not json\n",
            "{\"event\":\"original\",\"turn\":2,\"tool\":\"bash\",\"reference\":\"a1\",\"text\":\"whole\"}\n",
            "{\"event\":\"script\",\"turn\":2,\"ending\":\"threw\",\"calls\":[{\"tool\":\"read\",\"beside_others\":true,\"succeeded\":null,\"bytes\":null}],\"graph\":null}\n",
            "{\"event\":\"tally\",\"turn\":2,\"tally\":{\"nested_calls\":5,\"archive_reads\":1}}\n",
        );
        let notes = notes(text);
        assert_eq!(notes.len(), 2);
        assert_eq!((notes[0].nested_calls, notes[1].nested_calls), (2, 3));
        assert_eq!((notes[0].archive_reads, notes[1].archive_reads), (1, 0));
        assert_eq!(notes[0].waves.len(), 2);
        assert_eq!(notes[1].cut[0].reference.as_deref(), Some("a1"));
        assert_eq!((notes[1].scripts[0].ending.as_str(), notes[1].scripts[0].calls.len()), ("threw", 1));
        assert_eq!(notes[1].scripts[0].calls[0].succeeded, None, "given up is not failed");
    }
}
