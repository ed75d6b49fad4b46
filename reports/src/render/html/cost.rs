//! What was spent, what a pass costs, and whether order mattered.

use bench_core::Metric;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::render::estimate::{grouped, p_value};
use crate::render::words::metric_words;
use crate::rows::Rows;

/// Spending of one arm.
#[derive(Serialize)]
pub(super) struct Cost {
    arm: String,
    cells: usize,
    tokens: String,
    tokens_unknown: usize,
    usd: Option<String>,
    unpriced: usize,
    tokens_per_pass: String,
    usd_per_pass: String,
    all_pass: String,
    flip: String,
}

/// Arm by arm over the cells that count.
pub(super) fn cost(analysis: &Analysis, rows: &Rows<'_>) -> Vec<Cost> {
    let share =
        |value: Option<f64>| value.map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0));
    analysis
        .arms
        .iter()
        .enumerate()
        .map(|(index, arm)| {
            let tokens: Vec<Option<f64>> =
                rows.counting(index).map(|record| record.metric(Metric::TotalTokens)).collect();
            let usd: Vec<Option<f64>> =
                rows.counting(index).map(|record| record.metric(Metric::CostUsd)).collect();
            let priced: Vec<f64> = usd.iter().copied().flatten().collect();
            Cost {
                arm: arm.name.clone(),
                cells: tokens.len(),
                tokens: grouped(tokens.iter().flatten().sum()),
                tokens_unknown: tokens.iter().filter(|value| value.is_none()).count(),
                usd: (!priced.is_empty()).then(|| format!("{:.4}", priced.iter().sum::<f64>())),
                unpriced: usd.len() - priced.len(),
                tokens_per_pass: arm.reliability.tokens_per_pass.map_or("–".to_owned(), grouped),
                usd_per_pass: arm
                    .reliability
                    .cost_usd_per_pass
                    .map_or("not priced".to_owned(), |usd| format!("{usd:.4}")),
                all_pass: share(arm.reliability.pass_hat_k),
                flip: share(arm.reliability.flip_rate),
            }
        })
        .collect()
}

/// Whether order mattered.
#[derive(Serialize)]
pub(super) struct Order {
    balanced: bool,
    deterministic: bool,
    estimates: Vec<String>,
    places: Vec<String>,
    arms: Vec<(String, Vec<Option<Place>>)>,
}

/// An arm's cells at one place of their blocks.
#[derive(Serialize)]
struct Place {
    n: usize,
    passed: usize,
    tokens: String,
}

/// Cross-over estimates where there are any, and each arm by its place in the block.
pub(super) fn order(analysis: &Analysis, rows: &Rows<'_>) -> Order {
    let estimates = analysis.contrasts.iter().filter_map(|contrast| {
        let order = contrast.order.as_ref()?;
        Some(format!(
            "{}: {} costs {:.3} times as much in the first place of a block as in the second (p = {}, {} blocks with the candidate first, {} with the control first); ratio adjusted for it {:.3}",
            contrast.name,
            metric_words(order.metric),
            order.period_effect_ratio,
            order.period_p.map_or("n/a".to_owned(), p_value),
            order.n_ab,
            order.n_ba,
            order.period_adjusted_gmr
        ))
    });
    let places = 1..=u32::try_from(rows.arms.len()).unwrap_or(u32::MAX);
    let arms = rows.arms.iter().enumerate().map(|(index, name)| {
        (name.to_string(), places.clone().map(|place| at_place(rows, index, place)).collect())
    });
    Order {
        balanced: analysis.preflight.order_balanced_within_tasks,
        deterministic: analysis.upstream.deterministic,
        estimates: estimates.collect(),
        places: places.clone().map(|place| place.to_string()).collect(),
        arms: arms.collect(),
    }
}

fn at_place(rows: &Rows<'_>, arm: usize, place: u32) -> Option<Place> {
    let records: Vec<_> = rows.counting(arm).filter(|record| record.position == place).collect();
    let tokens: Vec<f64> = records.iter().filter_map(|r| r.metric(Metric::TotalTokens)).collect();
    (!records.is_empty()).then(|| Place {
        n: records.len(),
        passed: records.iter().filter(|record| record.passed() == Some(true)).count(),
        tokens: match tokens.is_empty() {
            true => "unknown".to_owned(),
            false => grouped(tokens.iter().sum::<f64>() / tokens.len() as f64),
        },
    })
}
