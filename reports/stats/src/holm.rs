//! Holm's step-down adjustment (Holm 1979), for "at least one benefit" claims; all-must-pass gates need none.

/// Adjusted p-values in the order given: running maximum of (m - i)·p over ascending p, at most 1. `None` when a p is
/// not in 0..=1.
pub fn holm(p: &[f64]) -> Option<Vec<f64>> {
    if p.iter().any(|v| !(0.0..=1.0).contains(v)) {
        return None;
    }
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut highest: f64 = 0.0;
    for (rank, &index) in order.iter().enumerate() {
        highest = highest.max((p.len() - rank) as f64 * p[index]).min(1.0);
        adjusted[index] = highest;
    }
    Some(adjusted)
}
