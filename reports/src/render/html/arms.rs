//! Arms: passes and medians with their ranges, how cells ended.

use bench_core::Metric;
use serde::Serialize;

use super::grid::letter;
use crate::analysis::{Analysis, ArmSummary};
use crate::render::estimate::grouped;
use crate::render::words::metric_words;

const SHOWN: [Metric; 8] = [
    Metric::FirstRequestTokens,
    Metric::TotalTokens,
    Metric::InputTokens,
    Metric::OutputTokens,
    Metric::Turns,
    Metric::ToolCalls,
    Metric::ToolErrors,
    Metric::WallMs,
];

/// Arms side by side.
#[derive(Serialize)]
pub(super) struct Arms {
    metrics: Vec<String>,
    rows: Vec<Arm>,
    endings: Vec<String>,
    ended: Vec<(String, Vec<u64>)>,
}

#[derive(Serialize)]
struct Arm {
    letter: String,
    name: String,
    role: String,
    passed: String,
    pass_interval: String,
    numbers: Vec<Option<(String, String, u64)>>,
}

/// The tables of arms and of endings.
pub(super) fn arms(analysis: &Analysis) -> Arms {
    let mut endings: Vec<String> = analysis.arms.iter().flat_map(|arm| arm.endings.keys().cloned()).collect();
    endings.sort_unstable();
    endings.dedup();
    let counts = |arm: &ArmSummary| {
        endings.iter().map(|kind| arm.endings.get(kind).copied().unwrap_or(0)).collect::<Vec<u64>>()
    };
    Arms {
        metrics: SHOWN.into_iter().map(metric_words).collect(),
        rows: analysis.arms.iter().enumerate().map(|(place, arm)| row(place, arm)).collect(),
        ended: analysis.arms.iter().map(|arm| (arm.name.clone(), counts(arm))).collect(),
        endings,
    }
}

fn row(place: usize, arm: &ArmSummary) -> Arm {
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let limits = arm.pass.lower.zip(arm.pass.upper);
    Arm {
        letter: letter(place),
        name: arm.name.clone(),
        role: arm.role.replace('-', " "),
        passed: format!("{}/{}", arm.pass.passed, arm.pass.n),
        pass_interval: limits
            .map_or("–".to_owned(), |(lower, upper)| format!("{} to {} %", percent(lower), percent(upper))),
        numbers: SHOWN
            .into_iter()
            .map(|metric| {
                let found = arm.metrics.get(&metric)?;
                let range = format!("{} to {}", grouped(found.min), grouped(found.max));
                Some((grouped(found.median), range, found.n))
            })
            .collect(),
    }
}
