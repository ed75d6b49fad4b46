//! pass@k (at least one of k passes) and pass^k (all k pass), unbiased (Chen et al. 2021; Yao et al. 2024).

/// Probability that at least one of `k` draws without replacement from `n` attempts, `passed` of them good, is good:
/// 1 - C(n-c, k)/C(n, k). `None` when k > n or k = 0: never extrapolated.
pub fn pass_at_k(n: u64, passed: u64, k: u64) -> Option<f64> {
    ratio_of_choices(n, n.checked_sub(passed)?, k).map(|none| 1.0 - none)
}

/// Probability that all of `k` draws are good: C(c, k)/C(n, k). `None` when k > n or k = 0.
pub fn pass_hat_k(n: u64, passed: u64, k: u64) -> Option<f64> {
    if passed > n {
        return None;
    }
    ratio_of_choices(n, passed, k)
}

/// C(m, k)/C(n, k) as a product, so that nothing overflows.
fn ratio_of_choices(n: u64, m: u64, k: u64) -> Option<f64> {
    if k == 0 || k > n {
        return None;
    }
    if m < k {
        return Some(0.0);
    }
    Some((0..k).map(|i| (m - i) as f64 / (n - i) as f64).product())
}
