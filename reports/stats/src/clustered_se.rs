//! Standard errors of a mean of values in clusters (Liang & Zeger 1986; Miller 2024, arXiv 2411.00640).

/// A mean with three standard errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClusteredMean {
    /// The mean.
    pub mean: f64,
    /// As if values were independent; `None` with one value.
    pub independent: Option<f64>,
    /// sqrt(Σ_clusters (Σ(v - mean))²)/n: anti-conservative with few clusters.
    pub clustered: f64,
    /// The same times sqrt(G/(G-1)), to be used with t_{G-1}; `None` with one cluster.
    pub corrected: Option<f64>,
    /// Clusters.
    pub clusters: usize,
}

/// Mean and standard errors of values, one slice per cluster; `None` without values.
pub fn clustered_mean(clusters: &[Vec<f64>]) -> Option<ClusteredMean> {
    let clusters: Vec<&Vec<f64>> = clusters.iter().filter(|c| !c.is_empty()).collect();
    let n: usize = clusters.iter().map(|c| c.len()).sum();
    if n == 0 {
        return None;
    }
    let size = n as f64;
    let mean = clusters.iter().flat_map(|c| c.iter()).sum::<f64>() / size;
    let squares: f64 = clusters.iter().flat_map(|c| c.iter()).map(|v| (v - mean).powi(2)).sum();
    let sums: f64 = clusters.iter().map(|c| c.iter().map(|v| v - mean).sum::<f64>().powi(2)).sum();
    let clustered = sums.sqrt() / size;
    let g = clusters.len() as f64;
    Some(ClusteredMean {
        mean,
        independent: (n > 1).then(|| (squares / (size - 1.0) / size).sqrt()),
        clustered,
        corrected: (g > 1.0).then(|| clustered * (g / (g - 1.0)).sqrt()),
        clusters: clusters.len(),
    })
}
