//! Golden kinds to functions: reads a case's inputs, calls the crate, names the numbers as the case does.

use bench_stats::bootstrap::{self, Method, Stream};
use bench_stats::clustered_mcnemar::{Statistic, clustered_mcnemar};
use bench_stats::crossover::{Periods, Sequence, crossover};
use bench_stats::distribution::{normal_quantile, normal_sf};
use bench_stats::mcnemar::{OrderedDiscordance, PairedDesign, mainland_gart, mcnemar, mcnemar_power};
use bench_stats::non_inferiority::{missing_bounds, non_inferiority};
use bench_stats::paired_difference::{Discordance, newcombe, tango, wald};
use bench_stats::power::{RatioDesign, largest_passing_ratio, pass_probability};
use bench_stats::ratio::mean_ratio;
use bench_stats::ratio_of_means::{fieller, linearised};
use bench_stats::sequential::{
    Shape, confidence_sequence, crossing_probability, mcnemar_e_values, sequential_bounds,
};
use bench_stats::{ClusterTrials, CostPair, Interval, PairTable, Tendency};
use bench_stats::{clustered_se, discovery, holm, median, pass_at_k, preflight, proportion, sign_flip};
use serde_json::{Value, json};

/// The answer to a case's inputs; `None` for an unknown kind.
pub(crate) fn answer(kind: &str, case: &Value) -> Option<Value> {
    let i = &case["inputs"];
    Some(match kind {
        "mcnemar" => mcnemar_case(i),
        "proportion_ci" => proportion_case(i),
        "paired_diff_ci" => paired_diff_case(i),
        "tango_critical_value" => tango_case(i),
        "ni_gate_clustered" => ni_case(i),
        "clustered_mcnemar" => clustered_mcnemar_case(i),
        "holm" => holm_case(i),
        "signflip_exact" => sign_flip_case(i),
        "bootstrap_iid" => mean_bootstrap_case(case, "data"),
        "bootstrap_cluster_gmr" => mean_bootstrap_case(case, "task_mean_log_ratios"),
        "bootstrap_cluster_rom" => rom_bootstrap_case(case),
        "bootstrap_published" => published_case(case),
        "mcnemar_power" => power_case(i),
        "crossover_abba" => crossover_case(i),
        "gmr_gate" => gmr_case(i),
        "ratio_of_means_fieller" => fieller_case(i),
        "ratio_gate_power" => ratio_power_case(i),
        "pass_at_k" => pass_at_k_case(i),
        "discovery_gate" => discovery_case(i),
        "sequential_evalue_mcnemar" => e_value_case(i),
        "confidence_sequence_rate" => confidence_case(i),
        "group_sequential_bounds" => group_sequential_case(i),
        "missing_bounds" => missing_case(i),
        "mainland_gart_order" => order_case(i),
        "clustered_se" => clustered_se_case(i),
        "median_ratio_ci" => median_case(i),
        "design_preflight" => preflight_case(i),
        _ => return None,
    })
}

const STREAM: Stream = Stream { seed: 42, stream: 1 };

fn num(v: &Value, key: &str) -> f64 {
    v[key].as_f64().unwrap_or_else(|| panic!("{key} is no number in {v}"))
}

fn int(v: &Value, key: &str) -> u64 {
    v[key].as_u64().unwrap_or_else(|| panic!("{key} is no count in {v}"))
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn table(v: &Value) -> PairTable {
    PairTable {
        both: int(v, "both"),
        control_only: int(v, "bare_only"),
        candidate_only: int(v, "cand_only"),
        neither: int(v, "neither"),
    }
}

fn cost(v: &Value) -> CostPair {
    CostPair { control: num(v, "bare"), candidate: num(v, "cand") }
}

fn list<T>(v: &Value, read: impl Fn(&Value) -> T) -> Vec<T> {
    v.as_array().unwrap().iter().map(read).collect()
}

fn pair(limits: Option<Interval>) -> Value {
    limits.map_or(Value::Null, |i| json!([i.lower, i.upper]))
}

fn word(tendency: Tendency) -> &'static str {
    match tendency {
        Tendency::Holds => "PASS",
        Tendency::Broken => "FAIL",
        Tendency::Open => "INCONCLUSIVE",
    }
}

fn lower(limits: Option<Interval>) -> Option<f64> {
    limits.map(|i| i.lower)
}

fn upper(limits: Option<Interval>) -> Option<f64> {
    limits.map(|i| i.upper)
}

fn mcnemar_case(i: &Value) -> Value {
    let m = mcnemar(int(i, "bare_only"), int(i, "cand_only"));
    json!({
        "exact_two_sided": m.exact_two_sided, "midp_two_sided": m.midp_two_sided,
        "exact_cand_worse": m.exact_candidate_worse, "exact_cand_better": m.exact_candidate_better,
        "chi2": m.chi2.map(|c| c.0), "chi2_p": m.chi2.map_or(1.0, |c| c.1),
        "chi2_cc": m.chi2_corrected.map(|c| c.0), "chi2_cc_p": m.chi2_corrected.map_or(1.0, |c| c.1),
    })
}

fn proportion_case(i: &Value) -> Value {
    let (x, n, level) = (num(i, "successes"), num(i, "n"), num(i, "level_two_sided"));
    json!({
        "wilson": pair(proportion::wilson(x, n, level)),
        "clopper_pearson": pair(proportion::clopper_pearson(x, n, level)),
        "cp_one_sided95_lower": proportion::clopper_pearson_lower(x, n, 0.05),
        "cp_one_sided95_upper": proportion::clopper_pearson_upper(x, n, 0.05),
        "wilson_one_sided95_lower": lower(proportion::wilson(x, n, 0.90)),
    })
}

fn paired_diff_case(i: &Value) -> Value {
    let t = table(i);
    let z = normal_quantile(0.5 + num(i, "level_two_sided") / 2.0);
    json!({
        "diff": t.difference(), "wald": pair(wald(t, z)), "newcombe10": pair(newcombe(t, z)), "tango": pair(tango(t, z)),
    })
}

fn tango_case(i: &Value) -> Value {
    let pairs = Discordance {
        control_only: num(i, "bare_only"),
        candidate_only: num(i, "cand_only"),
        n: num(i, "n"),
    };
    let limits = tango(pairs, num(i, "critical_value"));
    json!({"lower": lower(limits), "upper": upper(limits)})
}

fn ni_case(i: &Value) -> Value {
    let r = non_inferiority(&list(&i["tasks"], table), num(i, "margin"), num(i, "alpha_one_sided"));
    json!({
        "n_pairs": r.pairs, "n_tasks": r.clusters, "diff": r.difference,
        "discordant_tasks": r.discordant_clusters, "deff": r.deff, "critical_value": r.critical,
        "lower": lower(r.limits), "upper": upper(r.limits),
        "these_tasks_lower": lower(r.these), "these_tasks_upper": upper(r.these),
        "decision": word(r.tendency),
    })
}

fn clustered_mcnemar_case(i: &Value) -> Value {
    let r = clustered_mcnemar(&list(&i["tasks"], table));
    let shown = |s: Statistic| json!({"chi2": s.map(|s| s.0), "p": s.map_or(1.0, |s| s.1)});
    json!({
        "obuchowski": shown(r.obuchowski), "durkalski": shown(r.durkalski), "yang": shown(r.yang),
        "pooled_mcnemar_chi2": r.pooled_chi2,
    })
}

fn holm_case(i: &Value) -> Value {
    let adjusted = holm::holm(&numbers(&i["p"])).unwrap();
    let alpha = num(i, "alpha");
    let reject: Vec<bool> = adjusted.iter().map(|p| *p <= alpha + 1e-12).collect();
    json!({"adjusted": adjusted, "reject": reject})
}

fn sign_flip_case(i: &Value) -> Value {
    let r = sign_flip::sign_flip(&numbers(&i["task_effects"]), num(i, "null_value"), STREAM).unwrap();
    json!({
        "p_greater": r.p_greater, "p_less": r.p_less, "p_two_sided": r.p_two_sided, "n_assignments": r.assignments,
    })
}

fn mean_bootstrap_case(case: &Value, data: &str) -> Value {
    let values = numbers(&case["inputs"][data]);
    let mean = |units: &[usize]| Some(units.iter().map(|&u| values[u]).sum::<f64>() / units.len() as f64);
    small_bootstrap(case, values.len(), mean)
}

/// A bootstrap of few units: enumerated against the exact values, and drawn against the ranges that it must hit, which
/// are echoed back when it does.
fn small_bootstrap(case: &Value, n: usize, statistic: impl Fn(&[usize]) -> Option<f64>) -> Value {
    let alpha = num(&case["inputs"], "alpha_each_tail");
    let r = bootstrap::bootstrap(n, &statistic, alpha, STREAM).unwrap();
    let drawn = bootstrap::bootstrap_drawn(n, &statistic, alpha, STREAM).unwrap();
    let Method::Enumerated { atoms } = r.method else { panic!("golden data are small enough to enumerate") };
    let mut answer = json!({
        "theta": r.theta, "perc": pair(Some(r.percentile)), "bca": pair(r.bca), "bca_levels": pair(r.bca_levels),
        "n_atoms": atoms, "boot_mean": r.mean, "boot_sd": r.sd, "p0_midrank": r.p0, "z0": r.z0,
        "accel": r.acceleration,
    });
    for (key, hit) in [
        ("perc_range_lo", Some(drawn.percentile.lower)),
        ("perc_range_hi", Some(drawn.percentile.upper)),
        ("bca_range_lo", lower(drawn.bca)),
        ("bca_range_hi", upper(drawn.bca)),
    ] {
        let range = &case["expected"][key];
        let Some(hit) = hit else {
            answer[key] = Value::Null;
            continue;
        };
        let (low, high) = (range[0].as_f64().unwrap(), range[1].as_f64().unwrap());
        let inside = (low - 1e-9..=high + 1e-9).contains(&hit);
        answer[key] = if inside { range.clone() } else { json!([hit, hit]) };
    }
    answer
}

fn rom_bootstrap_case(case: &Value) -> Value {
    let totals = list(&case["inputs"]["task_totals"], cost);
    let log_ratio = |units: &[usize]| {
        let sum = |pick: fn(&CostPair) -> f64| units.iter().map(|&u| pick(&totals[u])).sum::<f64>();
        let (control, candidate) = (sum(|p| p.control), sum(|p| p.candidate));
        (control > 0.0 && candidate > 0.0).then(|| (candidate / control).ln())
    };
    let alpha = num(&case["inputs"], "alpha_each_tail");
    match bootstrap::bootstrap_ratio_of_means(&totals, alpha, STREAM) {
        Some(own) => {
            let answer = small_bootstrap(case, totals.len(), log_ratio);
            assert_eq!(answer["theta"], json!(own.theta));
            answer
        }
        None => {
            let all: Vec<usize> = (0..totals.len()).collect();
            json!({"theta": log_ratio(&all), "perc": null, "bca": null, "defined": false})
        }
    }
}

fn published_case(case: &Value) -> Value {
    let i = &case["inputs"];
    let alpha = num(i, "alpha_each_tail");
    let data = i["data"].as_array().unwrap();
    let moments = |pairs: &[(f64, f64)]| {
        let n = pairs.len() as f64;
        let (mx, my) =
            (pairs.iter().map(|p| p.0).sum::<f64>() / n, pairs.iter().map(|p| p.1).sum::<f64>() / n);
        let sum = |f: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|p| f(p.0 - mx, p.1 - my)).sum::<f64>() / n;
        (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y))
    };
    let result = if data[0].is_array() {
        let points: Vec<(f64, f64)> =
            data.iter().map(|p| (p[0].as_f64().unwrap(), p[1].as_f64().unwrap())).collect();
        let correlation = |units: &[usize]| {
            let (xx, yy, xy) = moments(&units.iter().map(|&u| points[u]).collect::<Vec<_>>());
            (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
        };
        bootstrap::bootstrap(points.len(), correlation, alpha, STREAM)
    } else {
        let values = numbers(&i["data"]);
        let variance =
            |units: &[usize]| Some(moments(&units.iter().map(|&u| (values[u], 0.0)).collect::<Vec<_>>()).0);
        bootstrap::bootstrap(values.len(), variance, alpha, STREAM)
    };
    let r = result.unwrap();
    json!({
        "theta": r.theta, "z0": r.z0, "accel": r.acceleration,
        "perc": pair(Some(r.percentile)), "bca": pair(r.bca),
        // R's own draws are there for readers; both are compared with the 400,000 draws above.
        "R_boot": case["expected"]["R_boot"],
    })
}

fn power_case(i: &Value) -> Value {
    let power = mcnemar_power(PairedDesign {
        pairs: int(i, "n_pairs"),
        control_only: num(i, "p_bare_only"),
        candidate_only: num(i, "p_cand_only"),
        alpha: num(i, "alpha"),
    });
    json!({
        "exact_two_sided": power.exact_two_sided, "midp_two_sided": power.midp_two_sided,
        "exact_one_sided_cand_worse": power.exact_candidate_worse,
    })
}

fn crossover_case(i: &Value) -> Value {
    let (first, second) = (numbers(&i["period1"]), numbers(&i["period2"]));
    let units: Vec<Periods> = i["sequence"]
        .as_array()
        .unwrap()
        .iter()
        .zip(first.into_iter().zip(second))
        .map(|(sequence, (first, second))| Periods {
            sequence: if sequence == "AB" { Sequence::CandidateFirst } else { Sequence::ControlFirst },
            first,
            second,
        })
        .collect();
    let r = crossover(&units, num(i, "level")).unwrap();
    json!({
        "tau": r.treatment.estimate, "se": r.treatment.standard_error,
        "t": r.treatment.estimate / r.treatment.standard_error, "df": r.df, "p": r.treatment.p,
        "lo": r.limits.lower, "hi": r.limits.upper,
        "period": r.period.estimate, "period_se": r.period.standard_error, "period_p": r.period.p,
        "carry": r.carry_over.estimate, "carry_se": r.carry_over.standard_error, "carry_p": r.carry_over.p,
    })
}

fn gmr_case(i: &Value) -> Value {
    let tasks = list(&i["tasks"], |t| list(t, cost));
    let r = mean_ratio(&tasks, num(i, "alpha_one_sided")).unwrap();
    let limit = num(i, "limit");
    let decision = word(r.tendency(limit));
    json!({
        "theta_log": r.log_ratio, "gmr": r.ratio, "se": r.standard_error, "df": r.clusters - 1,
        "lb": lower(r.limits), "ub": upper(r.limits),
        "these_tasks_lb": lower(r.these), "these_tasks_ub": upper(r.these),
        "these_tasks_se": r.these_standard_error, "these_tasks_df": r.these_df, "decision": decision,
        "degenerate_variance": r.degenerate,
        "decision_if_stochastic_metric": if r.degenerate { "INCONCLUSIVE" } else { decision },
        "ratio_of_means": r.ratio_of_means, "p_H0_ratio_ge_1.25": r.p_at_least(limit),
    })
}

fn fieller_case(i: &Value) -> Value {
    let totals = list(&i["task_totals"], cost);
    let alpha = num(i, "alpha_each_tail");
    let set = fieller(&totals, alpha).unwrap();
    let line = linearised(&totals, num(i, "limit"), alpha).unwrap();
    json!({
        "ratio": set.ratio, "lo": lower(set.limits), "hi": upper(set.limits), "g": set.g,
        "bounded": set.limits.is_some(), "p_ratio_ge_1.25": line.p_at_least, "p_ratio_le_1.25": line.p_at_most,
        "decision": word(line.tendency),
    })
}

fn ratio_power_case(i: &Value) -> Value {
    let design = RatioDesign {
        clusters: int(i, "n_tasks"),
        sd: num(i, "sd_task_mean_log_ratio"),
        limit: num(i, "limit"),
        alpha: num(i, "alpha_one_sided"),
    };
    json!({
        "prob_PASS": pass_probability(design, num(i, "true_ratio")),
        "max_true_ratio_for_80pct_PASS": largest_passing_ratio(design, 0.80),
    })
}

fn pass_at_k_case(i: &Value) -> Value {
    let k = int(i, "k");
    let of = |f: fn(u64, u64, u64) -> Option<f64>| -> (Vec<Option<f64>>, Option<f64>) {
        let each = list(&i["tasks"], |t| f(int(t, "n"), int(t, "c"), k));
        let mean = each.iter().copied().sum::<Option<f64>>().map(|sum| sum / each.len() as f64);
        (each, mean)
    };
    let (at, at_mean) = of(pass_at_k::pass_at_k);
    let (hat, hat_mean) = of(pass_at_k::pass_hat_k);
    json!({"pass_at_k_per_task": at, "pass_hat_k_per_task": hat, "pass_at_k": at_mean, "pass_hat_k": hat_mean})
}

fn discovery_case(i: &Value) -> Value {
    let tasks = list(&i["tasks"], |t| ClusterTrials { found: int(t, "found"), needed: int(t, "needed") });
    let r = discovery::rate_gate(&tasks, num(i, "threshold"), num(i, "alpha_one_sided"));
    json!({
        "rate": r.rate, "n": r.n, "n_tasks": r.clusters, "deff": r.deff, "n_eff": r.n_effective,
        "lower": lower(r.limits), "upper": upper(r.limits),
        "these_tasks_lower": lower(r.these), "these_tasks_upper": upper(r.these), "decision": word(r.tendency),
    })
}

fn e_value_case(i: &Value) -> Value {
    let e = mcnemar_e_values(int(i, "bare_only"), int(i, "cand_only")).unwrap();
    json!({
        "e_two_sided_beta11": e.two_sided, "e_cand_worse_uniform_half_one": e.candidate_worse,
        "anytime_p_two_sided": e.anytime_p,
    })
}

fn confidence_case(i: &Value) -> Value {
    let limits = confidence_sequence(int(i, "successes"), int(i, "failures"), num(i, "alpha"));
    json!({"lower": limits.lower, "upper": limits.upper})
}

fn group_sequential_case(i: &Value) -> Value {
    let shape = if i["shape"] == "pocock" { Shape::Pocock } else { Shape::ObrienFleming };
    let bounds = sequential_bounds(shape, int(i, "looks") as u32, num(i, "constant_published"));
    let nominal: Vec<f64> = bounds.iter().map(|z| 2.0 * normal_sf(*z)).collect();
    json!({
        "overall_alpha": crossing_probability(&bounds), "z_bounds": bounds, "nominal_p_per_look": nominal,
    })
}

fn missing_case(i: &Value) -> Value {
    let r = missing_bounds(table(i), int(i, "invalid_blocks"), num(i, "margin"), num(i, "alpha_one_sided"))
        .unwrap();
    json!({
        "diff_observed": table(i).difference(), "diff_worst": r.worst_difference, "diff_best": r.best_difference,
        "worst_lower": r.worst_lower, "best_upper": r.best_upper, "decision_observed": r.observed.map(word),
        "decision_worst": word(r.worst), "decision_best": word(r.best), "final": r.agreed.map_or("NO_DATA", word),
        "missing_sensitive": r.sensitive,
    })
}

fn order_case(i: &Value) -> Value {
    let t = OrderedDiscordance {
        ab_first: int(i, "AB_first_period_only"),
        ab_second: int(i, "AB_second_period_only"),
        ba_first: int(i, "BA_first_period_only"),
        ba_second: int(i, "BA_second_period_only"),
    };
    let (candidate, control) = (t.ab_first + t.ba_second, t.ab_second + t.ba_first);
    json!({
        "p_two_sided": mainland_gart(t), "cand_only": candidate, "bare_only": control,
        "mcnemar_exact_two_sided": mcnemar(control, candidate).exact_two_sided,
    })
}

fn clustered_se_case(i: &Value) -> Value {
    let mut clusters: Vec<Vec<f64>> = Vec::new();
    for (value, cluster) in numbers(&i["values"]).into_iter().zip(i["cluster"].as_array().unwrap()) {
        let cluster = cluster.as_u64().unwrap() as usize;
        clusters.resize(clusters.len().max(cluster + 1), Vec::new());
        clusters[cluster].push(value);
    }
    let r = clustered_se::clustered_mean(&clusters).unwrap();
    json!({
        "mean": r.mean, "se_iid": r.independent, "se_clustered_miller": r.clustered,
        "se_clustered_G_over_G_minus_1": r.corrected, "n_clusters": r.clusters,
    })
}

fn median_case(i: &Value) -> Value {
    let r = median::median_ci(&numbers(&i["task_ratios"]), num(i, "level")).unwrap();
    json!({
        "median": r.median, "lo": lower(r.limits), "hi": upper(r.limits), "exact_coverage": r.coverage,
    })
}

fn preflight_case(i: &Value) -> Value {
    let r = preflight::design_bounds(int(i, "n_tasks"), int(i, "pairs_per_task"), num(i, "alpha_one_sided"));
    json!({
        "ni_lower_zero_discordance_random_tasks": r.ni_lower_random,
        "ni_lower_zero_discordance_these_tasks": r.ni_lower_these,
        "task_signflip_min_one_sided_p": r.sign_flip_min_p,
        "task_signflip_can_reject": r.sign_flip_can_reject,
        "discovery_lower_all_found_random_tasks": r.rate_lower_random,
        "discovery_lower_all_found_these_tasks": r.rate_lower_these,
        "t_multiplier": r.t_multiplier,
        "percentile_bootstrap_bound_is_extreme_task": r.percentile_is_extreme_cluster,
    })
}
