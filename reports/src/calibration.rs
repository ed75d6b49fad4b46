//! Calibration of the rule set on one's own data: labels of control and candidate are swapped at random within blocks, so
//! that the arms are equal by construction, and every gate is asked again.
//!
//! How often a gate then FAILs is its realised false-FAIL rate. For false PASS the swapped candidate's costs are multiplied
//! by the gate's own limit: a candidate exactly at the limit should pass in alpha of the draws.

use bench_core::{ContrastRole, Decision, Margin};
use bench_record::CellRecord;
use bench_stats::bootstrap::Stream;
use rand_chacha::rand_core::Rng as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::gate_decision::{GateContext, decide};
use crate::pairing::BothWays;
use crate::protocol::{AnalysisError, ContrastEntry, Protocol};
use crate::selection::Selection;

/// The stream from which label swaps are drawn: the experiment's seed, this number.
const STREAM: u64 = 0x6c61_6265_6c73;

/// Realised error rates of one contrast's rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The contrast.
    pub contrast: String,
    /// Random relabellings.
    pub draws: u32,
    /// Share in which any gate FAILed though the labels mean nothing.
    pub false_fail: f64,
    /// Share in which every gate PASSed: what the design can give to equal arms.
    pub pass_of_equals: f64,
    /// Gate by gate.
    pub gates: Vec<GateCalibration>,
}

/// Realised error rates of one gate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateCalibration {
    /// The gate.
    pub gate: String,
    /// Share of FAIL between equal arms.
    pub false_fail: f64,
    /// Share of PASS between equal arms.
    pub pass_of_equals: f64,
    /// Share of PASS with the candidate's costs times the limit; null for rules that are not on a ratio.
    pub false_pass: Option<f64>,
}

/// Decision of one gate on one contrast, without estimates: for those who ask thousands of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateDecision {
    /// The contrast.
    pub contrast: String,
    /// The gate.
    pub gate: String,
    /// How it ended.
    pub decision: Decision,
}

/// Every gate's decision on every contrast it hangs on. Errors as [`analyse`](crate::analyse()).
pub fn gate_decisions(lock: &Value, records: &[CellRecord]) -> Result<Vec<GateDecision>, AnalysisError> {
    let protocol = Protocol::read(lock)?;
    let selection = Selection::of(&protocol, records)?;
    let mut decisions = Vec::new();
    for contrast in &protocol.contrasts {
        let context = GateContext {
            protocol: &protocol,
            selection: &selection,
            contrast,
            contended: false,
            cannot_pass: &[],
        };
        let both = BothWays::of(&protocol, &selection, contrast);
        for gate in protocol.gates_of(contrast) {
            decisions.push(GateDecision {
                contrast: contrast.id.to_string(),
                gate: gate.id.to_string(),
                decision: decide(&context, gate, &both.on_track(gate.track)).decision,
            });
        }
    }
    Ok(decisions)
}

/// Swaps labels `draws` times in every contrast that decides. Errors as [`analyse`](crate::analyse()).
pub fn calibrate(
    lock: &Value,
    records: &[CellRecord],
    draws: u32,
) -> Result<Vec<Calibration>, AnalysisError> {
    let mut protocol = Protocol::read(lock)?;
    // A smoke run passes nothing by rule; calibration asks what the rules themselves would do.
    protocol.rules.stage = bench_core::experiment::Stage::Confirm;
    let decides = |contrast: &&ContrastEntry| contrast.role == ContrastRole::Gate;
    let contrasts: Vec<ContrastEntry> = protocol.contrasts.iter().filter(decides).cloned().collect();
    contrasts.iter().map(|contrast| one(&protocol, contrast, records, draws)).collect()
}

fn one(
    protocol: &Protocol,
    contrast: &ContrastEntry,
    records: &[CellRecord],
    draws: u32,
) -> Result<Calibration, AnalysisError> {
    let mut selection = Selection::of(protocol, records)?;
    let arms = protocol.arm_index(&contrast.control).zip(protocol.arm_index(&contrast.candidate));
    let mut rng = Stream { seed: protocol.seed, stream: STREAM }.rng();
    let gates: Vec<_> = protocol.gates_of(contrast).collect();
    let mut counts = vec![[0u32; 3]; gates.len()];
    let (mut any_fail, mut all_pass) = (0u32, 0u32);
    for _ in 0..draws {
        for block in &mut selection.blocks {
            if let Some((control, candidate)) = arms
                && rng.next_u32() & 1 == 1
            {
                block.cells.swap(control, candidate);
            }
        }
        let (mut failed, mut passed) = (false, !gates.is_empty());
        let context =
            GateContext { protocol, selection: &selection, contrast, contended: false, cannot_pass: &[] };
        let both = BothWays::of(protocol, &selection, contrast);
        for (gate, count) in gates.iter().zip(&mut counts) {
            let both = both.on_track(gate.track);
            let decision = decide(&context, gate, &both).decision;
            failed |= decision == Decision::Fail;
            passed &= matches!(decision, Decision::Pass | Decision::NotApplicable);
            count[0] += u32::from(decision == Decision::Fail);
            count[1] += u32::from(decision == Decision::Pass);
            if let Margin::RatioAtMost { limit } = gate.margin {
                count[2] +=
                    u32::from(decide(&context, gate, &both.inflated(limit)).decision == Decision::Pass);
            }
        }
        any_fail += u32::from(failed);
        all_pass += u32::from(passed);
    }
    let share = |count: u32| f64::from(count) / f64::from(draws.max(1));
    Ok(Calibration {
        contrast: contrast.id.to_string(),
        draws,
        false_fail: share(any_fail),
        pass_of_equals: share(all_pass),
        gates: gates
            .iter()
            .zip(&counts)
            .map(|(gate, count)| GateCalibration {
                gate: gate.id.to_string(),
                false_fail: share(count[0]),
                pass_of_equals: share(count[1]),
                false_pass: matches!(gate.margin, Margin::RatioAtMost { .. }).then(|| share(count[2])),
            })
            .collect(),
    })
}
