//! What the rules were seen to do when they were chosen: 4,000 replicates a number, percent. Designs are tasks x repeats.

use crate::draws::{Cost, Truth};

/// Designs of the cost tables.
pub(crate) const COST_DESIGNS: [(usize, u32); 4] = [(2, 4), (4, 3), (12, 3), (30, 2)];

/// False PASS at a true ratio of exactly 1.25: t on the means of tasks.
pub(crate) const COST: [(Cost, [f64; 4]); 6] = [
    (Cost::FirstRequest, [4.8, 4.7, 5.4, 5.0]),
    (Cost::Tokens, [4.3, 4.9, 4.5, 5.2]),
    (Cost::UnequalEffects, [4.2, 4.9, 4.8, 4.8]),
    (Cost::Turns, [5.1, 5.2, 5.1, 4.9]),
    (Cost::HeavyTails, [4.7, 4.8, 4.7, 5.0]),
    (Cost::BlowUps, [5.9, 8.0, 7.0, 7.1]),
];

/// False FAIL of equal arms: the sum of the two bounds' (tasks like these, these tasks), either of which may FAIL.
pub(crate) const COST_FALSE_FAIL: [(Cost, [f64; 3]); 3] = [
    (Cost::Tokens, [0.8 + 0.6, 0.4 + 0.4, 0.0]),
    (Cost::UnequalEffects, [1.6 + 4.7, 0.6 + 2.1, 0.1 + 0.3]),
    (Cost::HeavyTails, [1.0 + 0.4, 0.1 + 0.3, 0.0]),
];

/// Designs of the table of pass rates.
pub(crate) const LOSS_DESIGNS: [(usize, u32); 9] =
    [(4, 3), (8, 3), (12, 3), (20, 3), (30, 2), (30, 3), (60, 1), (60, 3), (89, 1)];

/// False PASS at a true loss of exactly ten points, margin ten: proportional, unequal, catastrophe, bimodal.
pub(crate) const LOSS: [[f64; 4]; 9] = [
    [0.4, 1.1, 0.0, 0.0],
    [2.2, 3.1, 2.2, 0.3],
    [2.8, 3.9, 4.7, 1.5],
    [3.2, 4.7, 7.0, 3.5],
    [3.4, 4.5, 5.7, 4.2],
    [3.2, 4.7, 6.5, 5.2],
    [5.5, 4.9, 5.2, 4.6],
    [4.3, 4.7, 6.1, 5.9],
    [4.6, 4.7, 4.3, 4.4],
];

/// Designs of the whole rule set.
pub(crate) const WHOLE_DESIGNS: [(usize, u32); 4] = [(4, 3), (12, 3), (30, 2), (60, 3)];

/// PASS and FAIL of the six gates together.
pub(crate) const WHOLE: [(Truth, [(f64, f64); 4]); 9] = [
    (Truth::costs(1.0), [(0.1, 1.8), (13.5, 0.5), (34.0, 0.1), (80.0, 0.0)]),
    (Truth::costs(1.1), [(0.0, 5.5), (4.8, 0.9), (16.0, 0.1), (70.0, 0.0)]),
    (Truth::costs(1.25), [(0.0, 22.0), (0.2, 18.0), (0.1, 16.0), (0.7, 16.0)]),
    (Truth::costs(1.5), [(0.0, 72.0), (0.0, 94.0), (0.0, 99.0), (0.0, 100.0)]),
    (Truth::costs(1.75), [(0.0, 97.0), (0.0, 100.0), (0.0, 100.0), (0.0, 100.0)]),
    (Truth::loses(0.10), [(0.0, 4.2), (1.5, 4.8), (3.6, 5.1), (4.0, 4.6)]),
    (Truth::loses(0.20), [(0.0, 12.0), (0.1, 27.0), (0.1, 36.0), (0.0, 71.0)]),
    (Truth::loses(0.40), [(0.0, 48.0), (0.0, 87.0), (0.0, 97.0), (0.0, 100.0)]),
    (Truth::first_request(1.3), [(0.0, 98.0), (0.0, 100.0), (0.0, 100.0), (0.0, 100.0)]),
];
