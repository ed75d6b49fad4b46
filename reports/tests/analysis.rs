//! From small journals to verdicts: what counts, what is taken back, what stays equal.

#![expect(clippy::unwrap_used, reason = "a test")]

mod support;

use bench_core::experiment::ProfileKind;
use bench_core::{Decision, Ending, EndingKind, IsolationLevel, Metric};
use bench_record::{CellRecord, Verdict};
use bench_reports::{Analysis, Style, analyse, first_table_markdown, markdown, summary, why_not_gated};
use proptest::prelude::*;
use serde_json::Value;
use support::{Plan, ablation, analysed, gate, scale, tool};

#[test]
fn an_ablation_passes_and_its_negative_control_fails_as_expected() {
    let (plan, cells) = ablation();
    let analysis = analysed(&plan, &cells);
    assert_eq!(analysis.overall.decision, Decision::Pass, "{:?}", analysis.overall);
    assert_eq!(analysis.overall.exit_code, 0);
    assert_eq!(gate(&analysis, "gateway", "tokens").decision, Decision::Pass);
    let red = gate(&analysis, "entries", "first-request");
    assert_eq!(red.decision, Decision::Fail);
    assert_eq!(red.cells.len(), 12);
    let turns = gate(&analysis, "gateway", "turns");
    assert_eq!(turns.decision, Decision::Pass, "identical repeats are expected under the oracle: {turns:?}");
}

#[test]
fn a_negative_control_that_does_not_fail_makes_the_run_invalid() {
    let (plan, mut cells) = ablation();
    scale(&mut cells, "entries", 1.0 / 2.2);
    let analysis = analysed(&plan, &cells);
    assert_eq!(analysis.overall.decision, Decision::InvalidRun);
    assert_eq!(analysis.overall.reasons, ["negative_control_did_not_fail"]);
    assert_eq!(analysis.overall.exit_code, 4);
}

#[test]
fn a_failed_gate_fails_the_run_and_names_gate_and_cells() {
    let (plan, mut cells) = ablation();
    scale(&mut cells, "gateway", 1.5);
    let analysis = analysed(&plan, &cells);
    assert_eq!((analysis.overall.decision, analysis.overall.exit_code), (Decision::Fail, 1));
    assert_eq!(analysis.overall.decided_by, ["first-request", "tokens"]);
    assert!(analysis.overall.decided_by_outcomes.contains(&"gateway/tokens".to_owned()));
}

#[test]
fn under_a_perfect_oracle_pass_rate_and_wall_time_are_not_applicable_and_say_why() {
    let (plan, cells) = ablation();
    let plan = plan.pass_gate("pass", &["gateway"]).ratio_gate("wall", "wall_ms", &["gateway"]);
    let analysis = analysed(&plan, &cells);
    for id in ["pass", "wall"] {
        let outcome = gate(&analysis, "gateway", id);
        assert_eq!(
            (outcome.decision, outcome.reasons.as_slice()),
            (Decision::NotApplicable, &["oracle".to_owned()][..])
        );
    }
    assert_eq!(analysis.overall.decision, Decision::Pass, "they decide nothing");
    let (plan, cells) = ablation();
    let why = why_not_gated(&analysed(&plan, &cells), Metric::PassRate).unwrap();
    assert!(why.contains("oracle") && why.contains("-40 points"), "{why}");
    assert!(why_not_gated(&analysed(&plan, &cells), Metric::TotalTokens).is_none());
}

#[test]
fn an_imperfect_profile_makes_the_pass_rate_a_number_again() {
    let (plan, mut cells) = ablation();
    let plan = plan.profile("gateway", ProfileKind::GivesUp).pass_gate("pass", &["gateway"]);
    for cell in cells.iter_mut().filter(|c| c.arm.as_str() == "gateway") {
        cell.verdict = Some(Verdict::Failed);
    }
    let analysis = analysed(&plan, &cells);
    assert_eq!(gate(&analysis, "gateway", "pass").decision, Decision::Fail);
    assert_eq!(analysis.contrasts[0].flips.len(), 12);
    assert!(analysis.scope.iter().any(|s| s.contains("seeded fault")));
}

#[test]
fn gates_that_mean_nothing_here_never_add_up_to_a_pass() {
    let plan =
        Plan::new(6, 2, &["bare", "gateway"]).contrast("gateway", "gate").pass_gate("pass", &["gateway"]);
    let analysis = analysed(&plan, &plan.cells());
    assert_eq!((analysis.overall.decision, analysis.overall.exit_code), (Decision::Inconclusive, 3));
    let plan = Plan::new(6, 2, &["bare", "gateway"]).contrast("gateway", "gate");
    let analysis = analysed(&plan, &plan.cells());
    assert_eq!((analysis.overall.decision, analysis.overall.exit_code), (Decision::NotApplicable, 0));
}

#[test]
fn wall_time_of_cells_that_ran_side_by_side_is_not_decided() {
    let plan = Plan::new(6, 2, &["bare", "gateway"])
        .upstream("openai-chat")
        .contrast("gateway", "gate")
        .ratio_gate("wall", "wall_ms", &["gateway"]);
    let mut cells = plan.cells();
    for (index, cell) in cells.iter_mut().enumerate() {
        cell.metrics.wall_ms = Some(if cell.arm.as_str() == "bare" { 100.0 } else { 50.0 } + index as f64);
    }
    assert_eq!(gate(&analysed(&plan, &cells), "gateway", "wall").decision, Decision::Pass);
    cells[3].slot = 1;
    let side_by_side = analysed(&plan, &cells);
    assert_eq!(gate(&side_by_side, "gateway", "wall").reasons, ["contended"]);
    assert_eq!(side_by_side.overall.decision, Decision::Inconclusive);
}

#[test]
fn an_inconclusive_pass_rate_says_about_how_many_more_tasks_it_takes() {
    let plan = Plan::new(6, 2, &["bare", "gateway"])
        .upstream("openai-chat")
        .contrast("gateway", "gate")
        .pass_gate("pass", &["gateway"]);
    let analysis = analysed(&plan, &plan.cells());
    let outcome = gate(&analysis, "gateway", "pass");
    assert_eq!(outcome.decision, Decision::Inconclusive);
    assert_eq!(outcome.reasons, ["interval_contains_limit", "cannot_pass_by_design"]);
    assert!(outcome.more_tasks_needed.is_some_and(|more| (20..200).contains(&more)), "{outcome:?}");
    assert_eq!(analysis.preflight.cannot_pass.len(), 1);
}

#[test]
fn the_seed_s_own_pairs_give_its_own_p() {
    let plan = Plan::new(4, 4, &["bare", "gateway"]).upstream("openai-chat").contrast("gateway", "reported");
    let mut cells = plan.cells();
    let (mut bare, mut candidate) = (0, 0);
    for cell in &mut cells {
        let index = (cell.repeat - 1) * 4 + cell.task.as_str()[1..].parse::<u32>().unwrap();
        let fails = match cell.arm.as_str() {
            "gateway" => index < 9,
            _ => (9..11).contains(&index),
        };
        if fails {
            cell.verdict = Some(Verdict::Failed);
            *(if cell.arm.as_str() == "bare" { &mut bare } else { &mut candidate }) += 1;
        }
    }
    assert_eq!((bare, candidate), (2, 9));
    let analysis = analysed(&plan, &cells);
    assert_eq!(analysis.contrasts[0].mcnemar.exact_p, Some(0.0654296875));
    assert_eq!(analysis.overall.exit_code, 0, "a reported contrast decides nothing");
}

#[test]
fn records_of_another_lock_make_the_run_exploratory_and_foreign_cells_are_refused() {
    let (plan, mut cells) = ablation();
    cells[0].lock_sha256 = bench_core::Sha256Hex::of("another");
    let analysis = analysed(&plan, &cells);
    assert!(analysis.exploratory.yes && markdown(&analysis).contains("Exploratory"));
    cells[0].repeat = 9;
    let error = analyse(&plan.lock(), &cells).unwrap_err().to_string();
    assert!(error.contains("r09") && error.contains("plan"), "{error}");
}

#[test]
fn a_damaged_lock_is_named_by_its_key() {
    let (plan, cells) = ablation();
    let mut lock = plan.lock();
    lock["gates"] = Value::from("none");
    assert!(analyse(&lock, &cells).unwrap_err().to_string().contains("gates"));
    let mut lock = plan.lock();
    lock["gates"][0]["metric"] = "pass_rate".into();
    assert!(analyse(&lock, &cells).unwrap_err().to_string().contains("non-inferiority"));
    let mut lock = plan.lock();
    lock["format_version"] = 99.into();
    assert!(analyse(&lock, &cells).unwrap_err().to_string().contains("newer bench"));
}

#[test]
fn tools_paid_for_and_never_called_are_summed_over_turns_and_cells() {
    let (plan, cells) = ablation();
    let analysis = analysed(&plan, &cells);
    let entries = &analysis.arms[2].tools_never_called;
    assert_eq!(entries.tokens_per_request, 600.0);
    assert_eq!(entries.tokens_total, 600 * 4 * 12);
    assert!(analysis.arms[0].tools_never_called.tools.is_empty());
}

#[test]
fn nothing_that_an_agent_names_reaches_the_terminal_raw() {
    let (plan, mut cells) = ablation();
    cells[0].tools.push(tool("evil\u{1b}]0;title\u{7}|`<b>", 10, 0));
    let analysis = analysed(&plan, &cells);
    for text in [markdown(&analysis), summary(&analysis, Style::default()), first_table_markdown(&analysis)] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}') && !text.contains("<b>"));
    }
}

#[test]
fn the_summary_fits_the_terminal_and_colours_only_when_asked() {
    let (plan, cells) = ablation();
    let analysis = analysed(&plan, &cells);
    for width in [80, 120] {
        let text = summary(&analysis, Style { width, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
    assert!(summary(&analysis, Style { width: 80, colour: true }).contains("\u{1b}[32mPASS"));
}

#[test]
fn an_analysis_is_read_back_as_written() {
    let (plan, cells) = ablation();
    let analysis = analysed(&plan, &cells);
    let text = serde_json::to_string(&analysis).unwrap();
    assert!(!text.contains("NaN"));
    let back: Analysis = serde_json::from_str(&text).unwrap();
    // Floats may differ in the last digit: serde_json's fast reader is not exact.
    assert_eq!((back.overall, back.cells), (analysis.overall, analysis.cells));
    assert_eq!(back.contrasts[0].gates, analysis.contrasts[0].gates);
    assert!(!text.contains("-0.0"), "an empty sum is not minus nothing");
}

#[test]
fn the_report_reads_like_this() {
    let (plan, cells) = ablation();
    let analysis = analysed(&plan, &cells);
    insta::assert_snapshot!("report_md", markdown(&analysis));
    insta::assert_snapshot!("summary_80", summary(&analysis, Style::default()));
    insta::assert_snapshot!("first_table", first_table_markdown(&analysis));
}

#[test]
fn the_analysis_has_the_pinned_fields() {
    let (plan, cells) = ablation();
    let value: Value = serde_json::to_value(analysed(&plan, &cells)).unwrap();
    let has = |at: &Value, keys: &str| {
        for key in keys.split_whitespace() {
            assert!(at.get(key).is_some(), "{key} is missing");
        }
    };
    has(
        &value,
        "format_version experiment lock_sha256 upstream exploratory attempts_with_this_hash tokens isolation_level scope cells blocks preflight arms contrasts overall provenance",
    );
    has(&value["exploratory"], "yes why");
    has(&value["tokens"], "basis tokenizer");
    has(&value["cells"], "planned attempted valid by_ending");
    has(&value["blocks"], "total valid invalid_by_reason invalid_only");
    has(&value["preflight"], "cannot_pass ni_lower_zero_discordance_random_tasks t_multiplier");
    has(&value["arms"][0], "name role pass metrics endings first_request tools_never_called");
    has(&value["arms"][0]["pass"], "passed n lower upper level");
    has(&value["arms"][0]["metrics"]["turns"], "n mean median p90 min max");
    has(&value["arms"][0]["tools_never_called"], "tokens_total");
    let contrast = &value["contrasts"][0];
    has(
        contrast,
        "name control candidate factor role pairs mcnemar pass_difference metrics gates order flips",
    );
    has(&contrast["pairs"], "both control_only candidate_only neither n tasks");
    has(&contrast["mcnemar"], "exact_p midp_p");
    has(
        &contrast["pass_difference"],
        "point lower upper these_tasks_lower these_tasks_upper level deff critical_value",
    );
    has(
        &contrast["metrics"]["turns"],
        "n_pairs n_tasks gmr lower upper these_tasks_lower these_tasks_upper ratio_of_means max_pair_ratio estimator degenerate censored",
    );
    has(&contrast["gates"][0], "id track metric limit margin decision reasons more_tasks_needed cells");
    has(&value["overall"], "decision exit_code decided_by");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever becomes unknown, fails or goes missing: no gate passes on numbers that are not there.
    #[test]
    fn a_pass_always_has_an_interval_below_its_limit(
        endings in prop::collection::vec(0usize..EndingKind::ALL.len() * 3, 24),
        unknown in prop::collection::vec(any::<bool>(), 24),
        tokens in prop::collection::vec(0u64..9000, 24),
    ) {
        let plan = Plan::new(6, 2, &["bare", "gateway"])
            .upstream("openai-chat")
            .contrast("gateway", "gate")
            .ratio_gate("tokens", "total_tokens", &["gateway"]);
        let mut cells = plan.cells();
        for (index, cell) in cells.iter_mut().enumerate() {
            let kind = EndingKind::ALL.get(endings[index]).copied().unwrap_or(EndingKind::Completed);
            cell.ending = Ending::of(kind);
            cell.metrics.total_tokens = (!unknown[index] || index % 2 == 0).then_some(tokens[index]);
        }
        let analysis = analysed(&plan, &cells);
        let contrast = &analysis.contrasts[0];
        let outcome = &contrast.gates[0];
        if outcome.decision == Decision::Pass {
            let comparison = &contrast.metrics[&Metric::TotalTokens];
            prop_assert_eq!(comparison.n_unknown, 0);
            prop_assert!(comparison.estimator == "linearised_rom" || comparison.upper.is_some_and(|u| u <= 1.25 + 1e-9));
        }
        let valid_or_not = analysis.blocks.valid + analysis.blocks.pending
            + analysis.blocks.invalid_by_reason.values().sum::<u64>();
        prop_assert_eq!(valid_or_not, analysis.blocks.total);
        // Renderings stand whatever the data.
        prop_assert!(markdown(&analysis).ends_with('\n'));
        prop_assert!(summary(&analysis, Style::default()).lines().all(|l| l.chars().count() <= 80));
    }
}

/// The lock as `bench-record` writes it, read back from its bytes.
#[test]
fn a_lock_as_written_is_read() {
    use bench_core::experiment::{Arm, Contrast, Limits, ModelSettings, Profile, Rules, Upstream};
    use bench_core::{
        ArmId, ContrastId, ContrastRole, Factor, GateId, GateRule, GateScope, Margin, Sha256Hex, TaskId,
    };
    use bench_record::{AgentLock, ArmLock, HarnessIdentity, IsolationLock, Lock, SuiteLock};
    let arm = |name: &str| Arm {
        id: ArmId::new(name).unwrap(),
        agent: bench_core::AgentId::new("reference").unwrap(),
        surface: bench_core::SurfaceId::new(name).unwrap(),
        command: Vec::new(),
        model: "oracle".into(),
        settings: ModelSettings::default(),
        capabilities: bench_core::Capabilities::default(),
        factors: std::collections::BTreeMap::new(),
        profile: Profile::default(),
    };
    let agent = AgentLock { name: arm("bare").agent, version: None, binary_sha256: None };
    let task = |i: usize| TaskId::new(format!("t{i:02}")).unwrap();
    let digest = Sha256Hex::of("x");
    let contrast = ContrastId::new("gateway").unwrap();
    let lock = Lock {
        format_version: bench_record::FORMAT_VERSION,
        experiment: "written".into(),
        experiment_sha256: digest.clone(),
        suites: vec![SuiteLock {
            name: bench_core::SuiteId::new("suite").unwrap(),
            sha256: digest.clone(),
            tasks: (0..6).map(|i| (task(i), digest.clone())).collect(),
        }],
        tasks: (0..6).map(task).collect(),
        skipped: Default::default(),
        arms: ["bare", "gateway"].map(|name| ArmLock::of(&arm(name), agent.clone(), digest.clone())).into(),
        contrasts: vec![Contrast {
            id: contrast.clone(),
            control: ArmId::new("bare").unwrap(),
            candidate: ArmId::new("gateway").unwrap(),
            factor: Factor::Surface,
            role: ContrastRole::Gate,
        }],
        gates: vec![GateRule {
            id: GateId::new("tokens").unwrap(),
            metric: Metric::TotalTokens,
            margin: Margin::RatioAtMost { limit: 1.25 },
            contrasts: vec![contrast],
            scope: GateScope::TheseTasks,
            track: None,
        }],
        metrics: Metric::ALL.into_iter().map(|m| (m.key().to_owned(), m.nature())).collect(),
        exclusion_rules: Vec::new(),
        rules: Rules::default(),
        seed: 1,
        repeats: 2,
        schedule_sha256: digest.clone(),
        limits: Limits::default(),
        run_limits: bench_core::RunLimits::default(),
        price_card_sha256: None,
        upstream: Upstream::Oracle,
        tokenizer: support::tokenizer(),
        isolation: IsolationLock { minimum: IsolationLevel::L1, level: IsolationLevel::L1 },
        oracle: None,
        harness: HarnessIdentity { version: "0.1.0".into(), revision: None },
        kernel: "6.18.0".into(),
        shard: None,
        rules_sha256: digest.clone(),
    }
    .seal();
    let read: Value = serde_json::from_slice(&serde_json::to_vec(&lock).unwrap()).unwrap();
    let mut cells = Plan::new(6, 2, &["bare", "gateway"]).cells();
    cells.iter_mut().for_each(|cell| cell.lock_sha256 = lock.sha256());
    let analysis = analyse(&read, &cells).unwrap();
    assert_eq!((analysis.overall.decision, analysis.exploratory.yes), (Decision::Pass, false));
    assert!(markdown(&analysis).contains("PASS on these tasks"));
}

#[test]
fn what_a_design_can_show_is_said_in_lines() {
    let (plan, cells) = ablation();
    let lines = bench_reports::preflight_lines(&analysed(&plan, &cells).preflight);
    assert!(lines[0].contains("2.02") && lines[1].contains("-40.4 points"), "{lines:?}");
}

/// A stochastic run with everything that can stay open: pass rate, cut-off cells, zeros, order.
fn stochastic() -> (Plan, Vec<CellRecord>) {
    let plan = Plan::new(6, 2, &["bare", "gateway"])
        .upstream("openai-chat")
        .contrast("gateway", "gate")
        .pass_gate("pass", &["gateway"])
        .ratio_gate("tokens", "total_tokens", &["gateway"])
        .ratio_gate("turns", "turns", &["gateway"])
        .ratio_gate("calls", "tool_calls", &["gateway"]);
    let mut cells = plan.cells();
    for (index, cell) in cells.iter_mut().enumerate() {
        let wobble = (index as u64 * 7919) % 13;
        cell.metrics.total_tokens = Some(4000 + 10 * wobble);
        cell.metrics.tool_calls = Some(wobble % 3);
        if index % 7 == 3 {
            cell.ending = Ending::of(EndingKind::Timeout);
            cell.verdict = Some(Verdict::Failed);
        }
    }
    (plan, cells)
}

#[test]
fn an_open_run_reads_like_this() {
    let (plan, cells) = stochastic();
    let analysis = analysed(&plan, &cells);
    let text = summary(&analysis, Style::default());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!("open_summary_80", text);
    insta::assert_snapshot!("open_report_md", markdown(&analysis));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn names_of_tasks_change_nothing(rotation in 1usize..6) {
        let (plan, cells) = stochastic();
        let mut renamed_plan = plan;
        let one = analysed(&renamed_plan, &cells);
        renamed_plan.tasks.rotate_left(rotation);
        let mut renamed = cells;
        for cell in &mut renamed {
            let index: usize = cell.task.as_str()[1..].parse().unwrap();
            let name = format!("t{:02}", (index + rotation) % 6);
            cell.task = bench_core::TaskId::new(&name).unwrap();
            cell.cluster = name.into();
        }
        let other = analysed(&renamed_plan, &renamed);
        prop_assert_eq!(&one.overall.reasons, &other.overall.reasons);
        let (a, b) = (&one.contrasts[0], &other.contrasts[0]);
        prop_assert_eq!(&a.mcnemar, &b.mcnemar);
        let (x, y) = (&a.metrics[&Metric::TotalTokens], &b.metrics[&Metric::TotalTokens]);
        prop_assert!((x.gmr.unwrap() - y.gmr.unwrap()).abs() < 1e-12);
        prop_assert!((x.upper.unwrap() - y.upper.unwrap()).abs() < 1e-12);
    }
}
