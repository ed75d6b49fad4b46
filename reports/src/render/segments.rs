//! A run that several providers answered, in words: each one's decisions.

use bench_core::ContrastRole;

use crate::analysis::{Analysis, Segment};

/// What happened, and a line for each provider; empty where one answered everything.
pub(crate) fn segment_lines(analysis: &Analysis) -> Vec<String> {
    if analysis.segments.is_empty() {
        return Vec::new();
    }
    let what = format!(
        "the provider's fingerprint changed during the run ({} of them), so no PASS stands for the whole; each one's blocks by themselves:",
        analysis.segments.len()
    );
    std::iter::once(what).chain(analysis.segments.iter().map(line)).collect()
}

fn line(segment: &Segment) -> String {
    let deciding = segment.contrasts.iter().filter(|contrast| contrast.role != ContrastRole::Reported);
    let gates: Vec<String> = deciding
        .flat_map(|contrast| {
            contrast.gates.iter().map(move |gate| {
                let why = gate.reasons.join(", ");
                let why = if why.is_empty() { why } else { format!(" ({why})") };
                format!("{}: {} {}{why}", contrast.name, gate.id, gate.decision.word())
            })
        })
        .collect();
    let gates = if gates.is_empty() { "no gate".to_owned() } else { gates.join("; ") };
    let from = segment.first_started_at.as_deref().map(|at| format!(" from {at}")).unwrap_or_default();
    format!("{}, {} blocks{from}: {gates}", segment.fingerprints.join(" + "), segment.blocks)
}
