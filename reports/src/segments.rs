//! The parts of a run whose provider changed: each is judged by itself, as if no other had been.
//!
//! Blocks go, in the order in which they ran, into the first part with which they agree: no model may have two fingerprints
//! in one. A cell without a fingerprint says nothing and agrees with every part.

use std::collections::BTreeMap;

use bench_core::SharedText;
use bench_record::CellRecord;

use crate::analysis::{ContrastSummary, Segment};
use crate::protocol::{AnalysisError, Protocol};
use crate::selection::{Block, BlockState, Selection};

/// Models asked for, and the fingerprint of who answered.
type Answered<'a> = BTreeMap<&'a [SharedText], &'a str>;

struct Part<'a> {
    answered: Answered<'a>,
    records: Vec<&'a CellRecord>,
    blocks: u64,
}

impl<'a> Part<'a> {
    fn agrees(&self, answered: &Answered<'a>) -> bool {
        answered.iter().all(|(asked, print)| self.answered.get(asked).is_none_or(|known| known == print))
    }
}

/// Judges every part by `judge`; empty where one provider answered everything.
pub(crate) fn segments(
    protocol: &Protocol,
    selection: &Selection<'_>,
    judge: &dyn Fn(&Selection<'_>) -> Vec<ContrastSummary>,
) -> Result<Vec<Segment>, AnalysisError> {
    if selection.providers < 2 {
        return Ok(Vec::new());
    }
    let judged = |part: Part<'_>| {
        let records: Vec<CellRecord> = part.records.iter().copied().cloned().collect();
        let own = Selection::of(protocol, &records)?;
        Ok(Segment {
            fingerprints: part.answered.values().map(|print| (*print).to_owned()).collect(),
            first_started_at: records.iter().map(|record| record.started_at.clone()).min(),
            blocks: part.blocks,
            contrasts: judge(&own),
        })
    };
    parts(selection).into_iter().map(judged).collect()
}

fn parts<'a>(selection: &Selection<'a>) -> Vec<Part<'a>> {
    let began = |block: &&Block<'a>| block.records().map(|record| record.started_at.as_str()).min();
    let mut blocks: Vec<&Block<'a>> =
        selection.blocks.iter().filter(|block| block.state == BlockState::Valid).collect();
    blocks.sort_by_key(began);
    let mut parts: Vec<Part<'a>> = Vec::new();
    for block in blocks {
        let says = |record: &'a CellRecord| {
            Some((record.upstream.models_asked.as_slice(), record.upstream.fingerprint.as_deref()?))
        };
        let answered: Answered<'a> = block.records().filter_map(says).collect();
        let at = parts.iter().position(|part| part.agrees(&answered)).unwrap_or_else(|| {
            parts.push(Part { answered: Answered::new(), records: Vec::new(), blocks: 0 });
            parts.len() - 1
        });
        parts[at].answered.extend(answered);
        parts[at].records.extend(block.records());
        parts[at].blocks += 1;
    }
    parts
}
